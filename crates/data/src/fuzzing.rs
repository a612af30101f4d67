//! The parsers, for the fuzz targets in `crates/data/fuzz`: whatever the bytes, they answer and stay within bounds.

use std::io::Cursor;

use crate::cifar::{self, Record};
use crate::csv_table::{self, Column, CsvTable, CsvTest};
use crate::femnist::{Written, read_leaf};
use crate::idx::{self, Element};
use crate::leukemia_a2::{classes, read_matrix};
use crate::packing::Packing;
use crate::{mat5, npy, payload, reddit, shakespeare, tar_member, zip_member};

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

/// A MATLAB file, all of its arrays wanted.
pub fn mat5(file: &[u8]) {
    for array in mat5::arrays(file, |_| true).unwrap_or_default() {
        assert_eq!(
            array.dimensions.iter().product::<usize>(),
            array.values.len()
        );
    }
}

/// A text of plays, and one of speeches.
pub fn shakespeare(text: &[u8]) {
    let text: String = text.iter().copied().map(char::from).collect();
    for role in shakespeare::complete_works::roles(&text) {
        assert!(!role.words.contains("  "));
    }
    shakespeare::speeches::roles(&text);
}

/// A dump of comments: its authors are judged and its words cut.
pub fn reddit_dump(dump: &[u8]) {
    reddit::fuzzing::dump(dump);
}

/// LEAF's json.
pub fn reddit_leaf(file: &[u8]) {
    reddit::leaf::each_user(file, &mut |_, _| Ok(())).ok();
}

/// A cache of chosen comments; the sum at its end is that of the bytes before, so that more than the sum is tested.
pub fn reddit_cache(file: &[u8]) {
    reddit::fuzzing::cache(file);
}
