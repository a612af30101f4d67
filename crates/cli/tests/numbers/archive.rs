//! Arrays as NumPy saves them.

use flate2::Crc;

/// An array of one axis or more.
pub(crate) struct Array {
    /// NumPy's name of the type, such as `|u1`.
    pub(crate) kind: &'static str,
    pub(crate) shape: Vec<usize>,
    /// The elements, little-endian, the last axis fastest.
    pub(crate) bytes: Vec<u8>,
}

impl Array {
    /// The array as `npy`.
    fn npy(&self) -> Vec<u8> {
        let kind = self.kind;
        let axes: String = self.shape.iter().map(|axis| format!("{axis}, ")).collect();
        let header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({axes}), }}\n");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((header.len() as u16).to_le_bytes());
        npy.extend(header.as_bytes());
        npy.extend(&self.bytes);
        npy
    }
}

/// An `npz` of named `arrays`: a zip archive whose entries are not packed.
pub(crate) fn npz(arrays: &[(&str, Array)]) -> Vec<u8> {
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for (name, array) in arrays {
        let (name, content) = (format!("{name}.npy"), array.npy());
        let place = archive.len() as u32;
        let about = about(&name, &content);
        archive.extend(b"PK\x03\x04");
        archive.extend(&about);
        archive.extend(name.as_bytes());
        archive.extend(content);
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&about);
        list.extend([0; 10]);
        list.extend(place.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let (place, length, count) = (archive.len() as u32, list.len() as u32, arrays.len() as u16);
    archive.extend(list);
    archive.extend(b"PK\x05\x06\x00\x00\x00\x00");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([length.to_le_bytes(), place.to_le_bytes()].concat());
    archive.extend([0; 2]);
    archive
}

/// What stands of an entry both before it and in the list at the end.
fn about(name: &str, content: &[u8]) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(content);
    // Version 2.0, no flags, not packed, no time.
    let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for number in [sum.sum(), content.len() as u32, content.len() as u32] {
        about.extend(number.to_le_bytes());
    }
    about.extend((name.len() as u16).to_le_bytes());
    about.extend([0; 2]);
    about
}
