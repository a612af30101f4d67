//! The parsers, for the fuzz targets in `crates/data/fuzz`: whatever the bytes, they answer and stay within bounds.
//!
//! Every function returns whether the bytes were accepted, so that the seeds can be checked.

pub mod counts;
mod repaired;
#[cfg(any(test, feature = "seeds"))]
pub mod seeds;

use std::io::{Cursor, Read};

use crate::datasets::cifar::Record;
use crate::datasets::csv_table::{self, Column, CsvMissing, CsvTable, CsvTest, Layout};
use crate::datasets::femnist::{Written, read_leaf};
use crate::datasets::leukemia_a2::{self, classes, read_matrix};
use crate::datasets::reddit;
use crate::datasets::shakespeare;
use crate::datasets::table_rows::{RowsBySplit, Tagged};
use crate::files::fault::Fault;
use crate::files::packing::Packing;
use crate::files::payload;
use crate::files::tar_member;
use crate::formats::idx::{self, Element};
use crate::formats::mat5;
use crate::formats::npy;
use crate::formats::zip_member;

/// Bytes that a stream may unpack to.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes that an archive's member may announce: many more than there are.
const MOST_ANNOUNCED: u64 = 1 << 36;
/// Bytes that a fault may say: a list of names that are cut, however long they are.
const MOST_WORDS: usize = 10_000;

/// The idx format of both kinds of elements.
pub fn idx(bytes: &[u8]) -> bool {
    let read = |element| {
        let header = idx::parse(bytes, element);
        header.is_ok_and(|header| {
            assert!(header.length <= bytes.len());
            idx::integers(&bytes[header.length..]).for_each(drop);
            true
        })
    };
    read(Element::Byte) | read(Element::Int)
}

/// Records of CIFAR-10 and CIFAR-100.
pub fn cifar(bytes: &[u8]) -> bool {
    let read = |labels, classes| {
        let record = Record {
            labels,
            chosen: labels - 1,
            classes,
        };
        let mut records = bytes.chunks(record.length()).enumerate();
        records.all(|(place, bytes)| record.label(place, bytes).is_ok())
    };
    read(1, 10) | read(2, 100)
}

/// A compressed stream: the first byte chooses the format. An xz stream is also read with its sums set right.
pub fn packed(bytes: &[u8]) -> bool {
    let Some((first, packed)) = bytes.split_first() else {
        return false;
    };
    let formats = [Packing::Gzip, Packing::Bzip2, Packing::Xz, Packing::Zstd];
    let packing = formats[usize::from(*first) % formats.len()];
    let read = |packed: &[u8]| {
        let content = packing.content(packed, MOST_BYTES);
        let content = content.and_then(|content| payload::gather(content, MOST_BYTES));
        content.is_ok_and(|content| {
            assert!(content.len() as u64 <= MOST_BYTES + 1);
            true
        })
    };
    read(packed) | (packing == Packing::Xz && read(&repaired::xz(packed)))
}

/// A tar archive, as it is and with the sums of its headers set right.
pub fn tar(bytes: &[u8]) -> bool {
    let read = |archive: &[u8]| {
        let member = tar_member::find(archive, "a");
        member
            .and_then(|member| payload::gather(member, MOST_ANNOUNCED))
            .is_ok()
    };
    read(bytes) | read(&repaired::tar(bytes))
}

/// A zip archive with an array in it.
pub fn npz(bytes: &[u8]) -> bool {
    let mut file = Cursor::new(bytes);
    let member = zip_member::open(&mut file, "x.npy", MOST_ANNOUNCED);
    let read = member.and_then(|member| {
        let size = member.size();
        array(member, size)?.finish()
    });
    read.map_err(|fault| assert!(fault.reason.len() < MOST_WORDS))
        .is_ok()
}

/// An array of NumPy.
pub fn npy(bytes: &[u8]) -> bool {
    array(bytes, bytes.len() as u64).is_ok_and(|rest| {
        assert!(rest.is_empty());
        true
    })
}

/// Reads the array `content` of `size` bytes; what is left of it.
fn array<R: Read>(content: R, size: u64) -> Result<R, Fault> {
    let mut array = npy::NpyArray::begin(content, size)?;
    let elements = array.header().elements();
    let mut seen = 0;
    array.each(elements, |_| {
        seen += 1;
        Ok(())
    })?;
    assert_eq!(seen, elements);
    Ok(array.into_content())
}

/// A table, its features numbers or, but for the first, words.
pub fn csv(bytes: &[u8]) -> bool {
    let has_clients = bytes.first().is_some_and(|byte| byte % 2 == 0);
    let read = |header, categories: &[usize]| {
        let settings = CsvTable {
            file: String::new(),
            label: Column::Place(0),
            client: has_clients.then_some(Column::Place(1)),
            features: None,
            ignore: Vec::new(),
            categories: categories.iter().copied().map(Column::Place).collect(),
            missing: (!categories.is_empty()).then_some(CsvMissing::Mean),
            header,
            delimiter: ',',
            standardise: false,
            test: CsvTest::default(),
            seed: 0,
        };
        let told = |fault| match fault {
            csv_table::TableFault::Table(reason) => assert!(reason.len() < MOST_WORDS),
            csv_table::TableFault::Unreadable { error, .. } => {
                panic!("bytes cannot be read: {error}")
            }
        };
        let Ok(table) = csv_table::table(bytes, &settings, None).map_err(told) else {
            return false;
        };
        let rows = table.ends[0];
        let tagged = Tagged {
            labels: vec![0; rows],
            classes: 1,
            clients: None,
            label_names: None,
            client_names: None,
            train: (0..rows as u32).collect(),
            test: Vec::new(),
            validation: Vec::new(),
        };
        let Ok(layout) = Layout::of(table, &tagged.train).map_err(told) else {
            return false;
        };
        let layout = layout.filled_with_gaps();
        let dealt = RowsBySplit::<f32>::of("csv", &tagged, layout.width);
        let mut dealt =
            dealt.expect("a table has at most a hundred features for each of its cells");
        csv_table::numbers(bytes, &settings, &layout, 0, &mut dealt)
            .map_err(told)
            .is_ok()
    };
    let words = [2];
    read(false, &[]) | read(true, &[]) | read(false, &words) | read(true, &words)
}

/// LEAF's json of images. A user without a name is passed over.
pub fn leaf(bytes: &[u8]) -> bool {
    let mut numbering = |user: &str| (!user.is_empty()).then_some(0);
    read_leaf(bytes, Written::default(), 100, &mut numbering).is_ok_and(|written| {
        assert_eq!(written.pixels.len(), written.labels.len() * 784);
        assert_eq!(written.owners.len(), written.labels.len());
        true
    })
}

/// The expression matrix and the annotation of the leukaemia samples.
pub fn leukemia(bytes: &[u8]) -> bool {
    let matrix = read_matrix(bytes, 0, 0).is_ok_and(|matrix| {
        assert_eq!(matrix.values.len(), matrix.samples.len() * matrix.genes());
        assert_eq!(matrix.rows(&[0]).len(), matrix.genes());
        true
    });
    matrix | classes(bytes).is_ok()
}

/// What was read of an expression matrix; the sum is that of the bytes, as with the cache of comments.
pub fn leukemia_cache(file: &[u8]) -> bool {
    leukemia_a2::fuzzing::cache(file)
}

/// A MATLAB file, all of its arrays wanted, as it is and with all of its content in one compressed element.
pub fn mat5(file: &[u8]) -> bool {
    let read = |file: &[u8]| {
        mat5::arrays(file, |_| true).is_ok_and(|arrays| {
            for array in &arrays {
                let sizes = array.dimensions.iter();
                assert_eq!(sizes.product::<usize>(), array.values.len());
            }
            !arrays.is_empty()
        })
    };
    read(file) | read(&repaired::mat5(file))
}

/// A text of plays, and one of speeches.
pub fn shakespeare(text: &[u8]) -> bool {
    let text: String = text.iter().copied().map(char::from).collect();
    let plays = shakespeare::complete_works::roles(&text);
    let speeches = shakespeare::speeches::roles(&text);
    for role in plays.iter().chain(&speeches) {
        assert!(!role.words.contains("  "));
    }
    !plays.is_empty() | !speeches.is_empty()
}

/// A dump of comments: its authors are judged and its words cut.
pub fn reddit_dump(dump: &[u8]) -> bool {
    reddit::fuzzing::dump(dump)
}

/// LEAF's json.
pub fn reddit_leaf(file: &[u8]) -> bool {
    reddit::leaf::each_user(file, &mut |_, _| Ok(())).is_ok()
}

/// A cache of chosen comments; the sum at its end is that of the bytes before, so that more than the sum is tested.
pub fn reddit_cache(file: &[u8]) -> bool {
    reddit::fuzzing::cache(file)
}
