//! The figures of every deployed model: `clients.parquet`, and the spool that it is made from.
//!
//! A parquet file is readable only once its footer is written. So evaluations go to a spool of fixed-width numbers
//! first, which a crash cannot spoil and a resumed run can cut back; the table is made from it when the run ends.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_engine::Score;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sha2::{Digest, Sha256};

use crate::files::sha256::hexadecimal;
use crate::files::whole_file::{persist, temporary};
use crate::results::run_error::RunError;

const SCHEMA: &str = "message clients {
    required int32 round;
    required int32 row;
    required byte_array kind (string);
    required double accuracy;
    required double loss;
}";

/// Rows of the table that are gathered before they are written.
const ROW_GROUP: usize = 1 << 18;

/// Bytes of one row of the spool: round and row (`u32`), accuracy and loss (`f64`), all little-endian.
const WIDTH: usize = 24;

/// One row of the spool.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    round: u32,
    row: u32,
    score: Score,
}

impl Entry {
    fn to_bytes(self) -> [u8; WIDTH] {
        let mut bytes = [0; WIDTH];
        bytes[0..4].copy_from_slice(&self.round.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.row.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.score.accuracy.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.score.loss.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; WIDTH]) -> Self {
        let (numbers, _) = bytes.as_chunks::<4>();
        let (halves, _) = bytes.as_chunks::<8>();
        let (round, row) = (
            u32::from_le_bytes(numbers[0]),
            u32::from_le_bytes(numbers[1]),
        );
        let (accuracy, loss) = (f64::from_le_bytes(halves[1]), f64::from_le_bytes(halves[2]));
        Self {
            round,
            row,
            score: Score { loss, accuracy },
        }
    }
}

/// The scores of all evaluations of a run so far.
#[derive(Debug)]
pub(crate) struct ClientScores {
    path: PathBuf,
    spool: File,
    /// The digest of the rows kept and appended.
    digest: Sha256,
}

impl ClientScores {
    /// Opens the spool, making it if there is none.
    pub(crate) fn open(path: PathBuf) -> Result<Self, RunError> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let spool = opened.map_err(|source| RunError::write(&path, source))?;
        Ok(Self {
            path,
            spool,
            digest: Sha256::new(),
        })
    }

    /// Keeps the scores of the rounds up to `round` (none if `None`), cuts the rest off and returns how many
    /// evaluations were kept.
    pub(crate) fn keep(&mut self, round: Option<usize>) -> Result<usize, RunError> {
        let mut digest = Sha256::new();
        let kept = round.map_or(Ok((0, 0)), |round| up_to(&self.spool, round, &mut digest));
        self.digest = digest;
        kept.and_then(|(rows, evaluations)| {
            self.spool.set_len(rows * WIDTH as u64)?;
            self.spool.seek(SeekFrom::End(0))?;
            Ok(evaluations)
        })
        .map_err(|source| RunError::write(&self.path, source))
    }

    /// Appends the scores of the deployed models alive, as `(row, score)`, after `round` rounds.
    pub(crate) fn append(&mut self, round: usize, scores: &[(u32, Score)]) -> Result<(), RunError> {
        let entry = |&(row, score)| {
            Entry {
                round: round as u32,
                row,
                score,
            }
            .to_bytes()
        };
        let bytes: Vec<u8> = scores.iter().flat_map(entry).collect();
        self.digest.update(&bytes);
        self.spool
            .write_all(&bytes)
            .map_err(|source| RunError::write(&self.path, source))
    }

    /// SHA-256 of the scores so far.
    pub(crate) fn digest(&self) -> String {
        hexadecimal(&self.digest.clone().finalize())
    }

    /// Waits until what was appended would survive a power cut.
    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.spool
            .sync_data()
            .map_err(|source| RunError::write(&self.path, source))
    }

    /// Writes the table of all scores so far to `target`, in one step; every row is of `kind`.
    pub(crate) fn write_table(&self, target: &Path, kind: &str) -> Result<(), RunError> {
        let folder = target.parent().expect("the table lies in the run's folder");
        let written = || -> Result<(), ParquetError> {
            let mut file = temporary(folder)?;
            write_parquet(&self.spool, file.as_file_mut(), kind)?;
            persist(file, target)?;
            // Reading has moved the place that the next scores are written to.
            (&self.spool).seek(SeekFrom::End(0))?;
            Ok(())
        };
        written().map_err(|error| RunError::write(target, io::Error::other(error)))
    }
}

/// Rows and evaluations of the rounds up to `round`, which go into `digest`.
fn up_to(spool: &File, round: usize, digest: &mut Sha256) -> io::Result<(u64, usize)> {
    let (mut rows, mut evaluations, mut latest) = (0, 0, None);
    let mut entries = Entries::of(spool)?;
    while let Some(entry) = entries.next()? {
        if entry.round as usize > round {
            break;
        }
        rows += 1;
        digest.update(entry.to_bytes());
        evaluations += usize::from(latest != Some(entry.round));
        latest = Some(entry.round);
    }
    Ok((rows, evaluations))
}

/// Reads a spool from its start. A torn last row is left out.
struct Entries<'a>(BufReader<&'a File>);

impl<'a> Entries<'a> {
    fn of(mut spool: &'a File) -> io::Result<Self> {
        spool.seek(SeekFrom::Start(0))?;
        Ok(Self(BufReader::with_capacity(1 << 16, spool)))
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        let mut bytes = [0; WIDTH];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(Entry::from_bytes(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn write_parquet(spool: &File, target: &mut File, kind: &str) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(target, schema, properties)?;
    let mut entries = Entries::of(spool)?;
    loop {
        let mut group = Vec::new();
        while group.len() < ROW_GROUP
            && let Some(entry) = entries.next()?
        {
            group.push(entry);
        }
        if group.is_empty() {
            break;
        }
        write_group(writer.next_row_group()?, &group, kind)?;
    }
    writer.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    mut rows: SerializedRowGroupWriter<'_, W>,
    group: &[Entry],
    kind: &str,
) -> Result<(), ParquetError> {
    let column = |value: fn(&Entry) -> u32| group.iter().map(value).map(u32::cast_signed).collect();
    let figures = |value: fn(&Entry) -> f64| group.iter().map(value).collect();
    let rounds: Vec<i32> = column(|entry| entry.round);
    let numbers: Vec<i32> = column(|entry| entry.row);
    let accuracies: Vec<f64> = figures(|entry| entry.score.accuracy);
    let losses: Vec<f64> = figures(|entry| entry.score.loss);
    write_column::<Int32Type, W>(&mut rows, &rounds)?;
    write_column::<Int32Type, W>(&mut rows, &numbers)?;
    write_column::<ByteArrayType, W>(&mut rows, &vec![ByteArray::from(kind); group.len()])?;
    write_column::<DoubleType, W>(&mut rows, &accuracies)?;
    write_column::<DoubleType, W>(&mut rows, &losses)?;
    rows.close()?;
    Ok(())
}

/// Writes the next column in the order of the schema.
fn write_column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let mut column = rows.next_column()?.expect("the schema has five columns");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn scores(count: u32) -> Vec<(u32, Score)> {
        let score = |row| Score {
            loss: f64::from(row) / 3.0,
            accuracy: 1.0 / (1.0 + f64::from(row)),
        };
        (0..count).map(|row| (row, score(row))).collect()
    }

    fn table(path: &Path) -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn the_table_holds_every_evaluation_under_its_five_columns() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let mut clients = ClientScores::open(folder.path().join("spool")).unwrap();
        clients.append(0, &scores(2)).unwrap();
        clients.append(5, &scores(2)).unwrap();
        clients.write_table(&target, "client").unwrap();
        let rows = table(&target);
        assert_eq!(rows.len(), 4);
        assert_eq!(
            rows[3],
            r#"{round: 5, row: 1, kind: "client", accuracy: 0.5, loss: 0.3333333333333333}"#
        );
        clients.append(6, &scores(2)).unwrap();
        clients.write_table(&target, "client").unwrap();
        assert_eq!(
            table(&target).len(),
            6,
            "a table written early does not end the spool"
        );
    }

    #[test]
    fn a_resumed_spool_keeps_the_rounds_asked_for_and_drops_a_torn_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut clients = ClientScores::open(path.clone()).unwrap();
        let mut digests = Vec::new();
        for round in 0..4 {
            clients.append(round, &scores(3)).unwrap();
            digests.push(clients.digest());
        }
        clients.spool.write_all(&[1, 2, 3]).unwrap();
        let mut kept = |round| {
            let evaluations = clients.keep(round).unwrap();
            let bytes = std::fs::metadata(&path).unwrap().len();
            (evaluations, bytes, clients.digest())
        };
        let none = hexadecimal(&Sha256::digest([]));
        assert_eq!(kept(Some(9)), (4, 12 * WIDTH as u64, digests.remove(3)));
        assert_eq!(kept(Some(1)), (2, 6 * WIDTH as u64, digests.remove(1)));
        assert_eq!(kept(None), (0, 0, none));
    }

    #[test]
    fn more_rows_than_a_group_holds_are_all_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let mut clients = ClientScores::open(folder.path().join("spool")).unwrap();
        let count = ROW_GROUP as u32 + 17;
        clients.append(1, &scores(count)).unwrap();
        clients.write_table(&target, "server").unwrap();
        let reader = SerializedFileReader::new(File::open(&target).unwrap()).unwrap();
        assert_eq!(
            reader.metadata().file_metadata().num_rows(),
            i64::from(count)
        );
        assert_eq!(reader.metadata().num_row_groups(), 2);
    }
}
