//! The parsers, for the fuzz targets in `crates/data/fuzz`: whatever the bytes, they answer and stay within bounds.

use std::io::Cursor;

use crate::cifar::{self, Record};
use crate::csv_table::{self, Column, CsvTable, CsvTest};
use crate::femnist::{Written, read_leaf};
use crate::idx::{self, Element};
use crate::leukemia_a2::{classes, read_matrix};
use crate::packing::Packing;
use crate::{npy, payload, tar_member, zip_member};

/// Bytes that a stream may unpack to.
const MOST_BYTES: u64 = 1 << 20;

/// The idx format of both kinds of elements.
pub fn idx(bytes: &[u8]) {
    for element in [Element::Byte, Element::Int] {
        if let Ok(header) = idx::parse(bytes, element) {
            assert!(header.length <= bytes.len());
            idx::integers(&bytes[header.length..]).for_each(drop);
        }
    }
}

/// Records of CIFAR-10 and CIFAR-100.
pub fn cifar(bytes: &[u8]) {
    for (labels, classes) in [(1, 10), (2, 100)] {
        let record = Record {
            labels,
            chosen: labels - 1,
            classes,
        };
        if let Ok((pixels, labels)) = cifar::records(bytes, record) {
            assert_eq!(pixels.len(), labels.len() * 3072);
        }
    }
}

/// A compressed stream: the first byte chooses the format.
pub fn packed(bytes: &[u8]) {
    let Some((first, packed)) = bytes.split_first() else {
        return;
    };
    let formats = [Packing::Gzip, Packing::Bzip2, Packing::Xz, Packing::Zstd];
    let packing = formats[usize::from(*first) % formats.len()];
    if let Ok(content) = packing.content(packed)
        && let Ok(content) = payload::gather(content, MOST_BYTES)
    {
        assert!(content.len() as u64 <= MOST_BYTES + 1);
    }
}

/// A tar archive.
pub fn tar(bytes: &[u8]) {
    if let Ok(member) = tar_member::find(bytes, "a") {
        payload::gather(member, MOST_BYTES).ok();
    }
}

/// A zip archive with an array in it.
pub fn npz(bytes: &[u8]) {
    if let Ok(content) = zip_member::read(&mut Cursor::new(bytes), "x.npy", MOST_BYTES) {
        npy(&content);
    }
}

/// An array of NumPy.
pub fn npy(bytes: &[u8]) {
    if let Ok(header) = npy::parse(bytes) {
        assert_eq!(header.numbers(bytes).count(), header.elements());
    }
}

/// A table.
pub fn csv(bytes: &[u8]) {
    for header in [false, true] {
        let settings = CsvTable {
            file: String::new(),
            label: Column::Place(0),
            client: bytes
                .first()
                .is_some_and(|b| b % 2 == 0)
                .then_some(Column::Place(1)),
            header,
            delimiter: ',',
            standardise: false,
            test: CsvTest::default(),
            seed: 0,
        };
        csv_table::rows(bytes, &settings, None).ok();
    }
}

/// LEAF's json of images.
pub fn leaf(bytes: &[u8]) {
    let mut numbering = |_: &str| Some(0);
    if let Ok(written) = read_leaf(bytes, Written::default(), 100, &mut numbering) {
        assert_eq!(written.pixels.len(), written.labels.len() * 784);
        assert_eq!(written.owners.len(), written.labels.len());
    }
}

/// The expression matrix and the annotation of the leukaemia samples.
pub fn leukemia(bytes: &[u8]) {
    if let Ok(matrix) = read_matrix(bytes) {
        assert_eq!(matrix.values.len(), matrix.samples.len() * matrix.genes());
        matrix.rows(&[0]);
    }
    classes(bytes).ok();
}
