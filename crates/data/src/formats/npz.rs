//! Arrays in the archives that NumPy saves: each is an entry of a zip archive, `NAME.npy`.
//!
//! The writer is here and not the `zip` crate's, which tells of a full disk on standard error when it is dropped (9.8).

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compression, CrcWriter};

use crate::DataError;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::regular;
use crate::formats::npy::NpyArray;
use crate::formats::zip_member::{self, ZipMember};

/// Bytes of one unpacked array.
const MOST_BYTES: u64 = 1 << 36;

/// What `read` makes of the array `name` in the file at `path` of `dataset`.
///
/// # Errors
/// A [`DataError`] that names the dataset and the place, of `read` as well; [`DataError::Io`] if the file cannot be read.
pub(crate) fn in_array<T>(
    dataset: &'static str,
    path: &Path,
    name: &str,
    read: impl FnOnce(NpyArray<ZipMember<'_>>) -> Result<T, Fault>,
) -> Result<T, DataError> {
    let entry = format!("{name}.npy");
    let file = regular::open(path).map_err(DataError::io("read", path))?;
    let mut file = BufReader::new(file);
    let member = zip_member::open(&mut file, &entry, MOST_BYTES);
    let member = member.map_err(|fault| {
        let fault = match is_one_array(path) {
            true => Fault::at(0_u64, ONE_ARRAY),
            false => fault,
        };
        fault.of(dataset, path)
    })?;
    let size = member.size();
    let made = NpyArray::begin(member, size).and_then(read);
    made.map_err(|fault| fault.of(dataset, path.join(format!("{}.npy", excerpt(name)))))
}

/// What is wrong with a file that [`is_one_array`].
const ONE_ARRAY: &str = "one array found, as `numpy.save` writes it, an archive of arrays needed: `numpy.savez(FILE, x=x, y=y)`";

/// Whether the file at `path` begins as an array that NumPy saves alone.
fn is_one_array(path: &Path) -> bool {
    let mut first = [0; 6];
    let file = regular::open(path).ok();
    file.is_some_and(|mut file| file.read_exact(&mut first).is_ok() && first == *b"\x93NUMPY")
}

/// Writes arrays one after another. The bytes of the archive depend only on what is written.
pub(crate) struct NpzWriter<W> {
    file: W,
    list: Vec<u8>,
    arrays: u16,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// An archive that begins where `file` does.
    pub(crate) fn new(file: W) -> Self {
        Self {
            file,
            list: Vec::new(),
            arrays: 0,
        }
    }

    /// Adds the array `name` of the `shape`, of elements of NumPy's `kind`, which `write` writes: less than 4 GiB of them.
    pub(crate) fn array(
        &mut self,
        name: &str,
        kind: &str,
        shape: &[usize],
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = format!("{name}.npy");
        let place = self.file.stream_position()?;
        // Sum and sizes are known when the content is written.
        self.file.write_all(&local_header(&name, [0; 3]))?;
        let start = self.file.stream_position()?;
        let deflate = DeflateEncoder::new(&mut self.file, Compression::default());
        let mut content = CrcWriter::new(deflate);
        content.write_all(&npy_header(kind, shape))?;
        write(&mut content)?;
        let (sum, size) = (content.crc().sum(), content.crc().amount());
        content.into_inner().finish()?;
        let end = self.file.stream_position()?;
        let header = local_header(&name, [sum, (end - start) as u32, size]);
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(&header)?;
        self.file.seek(SeekFrom::Start(end))?;
        let (head, name) = header.split_at(30);
        self.list.extend(b"PK\x01\x02\x14\x00");
        self.list.extend(&head[4..]);
        self.list.extend([0; 10]);
        self.list.extend((place as u32).to_le_bytes());
        self.list.extend(name);
        self.arrays += 1;
        Ok(())
    }

    /// Writes the list of the arrays; returns the file.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let place = self.file.stream_position()? as u32;
        self.file.write_all(&self.list)?;
        self.file.write_all(b"PK\x05\x06\x00\x00\x00\x00")?;
        self.file.write_all(&self.arrays.to_le_bytes())?;
        self.file.write_all(&self.arrays.to_le_bytes())?;
        self.file
            .write_all(&(self.list.len() as u32).to_le_bytes())?;
        self.file.write_all(&place.to_le_bytes())?;
        self.file.write_all(&[0; 2])?;
        self.file.flush()?;
        Ok(self.file)
    }
}

/// The header before a deflated entry: the CRC-32 of the content, its packed size and its size.
fn local_header(name: &str, sums: [u32; 3]) -> Vec<u8> {
    // Version 2.0, no flags, deflated; midnight of 1980-01-01, the earliest that there is.
    let mut header = b"PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00".to_vec();
    header.extend(sums.into_iter().flat_map(u32::to_le_bytes));
    header.extend((name.len() as u16).to_le_bytes());
    header.extend([0; 2]);
    header.extend(name.as_bytes());
    header
}

/// What is before the elements of an array, in version 1.0 of the format.
fn npy_header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // NumPy lets the elements begin at a multiple of 64 bytes.
    let width = (10 + text.len() + 1).next_multiple_of(64) - 11;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((width as u16 + 1).to_le_bytes());
    header.extend(format!("{text:width$}\n").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let mut archive = NpzWriter::new(std::fs::File::create(&path).unwrap());
        let bytes: Vec<u8> = (0..200_000_u32).map(|place| (place % 251) as u8).collect();
        let first = archive.array("first", "|u1", &[1000, 200], |to| to.write_all(&bytes));
        first.unwrap();
        let second = archive.array("second", "<u4", &[2], |to| {
            to.write_all(&[1, 0, 0, 0, 0, 1, 0, 0])
        });
        second.unwrap();
        archive.array("none", "|u1", &[0], |_| Ok(())).unwrap();
        archive.finish().unwrap();
        let read = |name: &str| {
            in_array("npz", &path, name, |mut array| {
                let (mut numbers, count) = (Vec::new(), array.header().elements());
                array.each(count, |number| {
                    numbers.push(number as u32);
                    Ok(())
                })?;
                let shape = array.header().shape.clone();
                array.into_content().finish().map(|()| (shape, numbers))
            })
            .unwrap()
        };
        let same: Vec<u32> = bytes.into_iter().map(u32::from).collect();
        assert_eq!(read("first"), (vec![1000, 200], same));
        assert_eq!(read("second"), (vec![2], vec![1, 256]));
        assert_eq!(read("none"), (vec![0], vec![]));
    }
}
