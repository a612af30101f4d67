//! The figures of every deployed model: `clients.parquet`, and the spool that it is made from.
//!
//! A parquet file is readable only once its footer is written. So evaluations go to a spool of fixed-width numbers
//! first, which a crash cannot spoil and a resumed run can cut back; the table is made from it when the run ends.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_algorithms::RowKind;
use meshfold_engine::Score;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sha2::{Digest, Sha256};

use crate::files::whole_file::{persist, temporary};
use crate::results::appended_file::AppendedFile;
use crate::results::run_error::RunError;

/// The columns that every run has.
const SCHEMA: &str = "required int32 round;
    required int32 row;
    required byte_array kind (string);
    required double accuracy;
    required double loss;";

const ALL_COLUMNS: &str = "the schema has a column for each that is written";

/// Bytes of the rows of the table that are gathered before they are written.
const ROW_GROUP: usize = WIDTH << 18;

/// Bytes of one row of the spool without views: round and row (`u32`), accuracy and loss (`f64`), all little-endian. Views
/// follow as `f64`.
const WIDTH: usize = 24;

/// The bit of a row's number in the spool that tells a client that has the model of its server.
const SERVED: u32 = 1 << 31;

/// What one evaluation finds of a deployed model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowScore {
    pub(crate) row: u32,
    /// Whether `row` is a client that has the model of its server, where the rows of the models are servers.
    pub(crate) is_served: bool,
    pub(crate) score: Score,
    /// The figures of further columns; not numbers where they are absent.
    pub(crate) views: Vec<f64>,
}

impl RowScore {
    /// Appends the row of the spool after `round` rounds.
    fn write(&self, round: u32, bytes: &mut Vec<u8>) {
        let served = if self.is_served { SERVED } else { 0 };
        bytes.extend(round.to_le_bytes());
        bytes.extend((self.row | served).to_le_bytes());
        let figures = [self.score.accuracy, self.score.loss];
        for figure in figures.iter().chain(&self.views) {
            bytes.extend(figure.to_le_bytes());
        }
    }
}

/// One row of the spool.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    round: u32,
    row: RowScore,
}

impl Entry {
    fn read(bytes: &[u8]) -> Self {
        let (numbers, _) = bytes.as_chunks::<4>();
        let (figures, _) = bytes.as_chunks::<8>();
        let [accuracy, loss] = [figures[1], figures[2]].map(f64::from_le_bytes);
        let views = figures[3..].iter().copied().map(f64::from_le_bytes);
        let row = u32::from_le_bytes(numbers[1]);
        Self {
            round: u32::from_le_bytes(numbers[0]),
            row: RowScore {
                row: row & !SERVED,
                is_served: row & SERVED != 0,
                score: Score { loss, accuracy },
                views: views.collect(),
            },
        }
    }
}

/// The scores of all evaluations of a run so far.
#[derive(Debug)]
pub(crate) struct ClientScores {
    spool: AppendedFile,
    /// The names of the views.
    views: Vec<String>,
}

impl ClientScores {
    /// Opens the spool, making it if there is none. Its rows have a figure for each of `views`, too.
    pub(crate) fn open(path: PathBuf, views: Vec<String>) -> Result<Self, RunError> {
        let spool = AppendedFile::open(path)?;
        Ok(Self { spool, views })
    }

    /// Keeps the scores of the first `evaluations`, or all if there are fewer, cuts the rest off and returns how many evaluations
    /// were kept.
    pub(crate) fn keep(&mut self, evaluations: usize) -> Result<usize, RunError> {
        let mut digest = Sha256::new();
        let kept = first(evaluations, &self.spool.file, self.width(), &mut digest);
        let (rows, evaluations) =
            kept.map_err(|source| RunError::write(&self.spool.path, source))?;
        self.spool.keep(rows * self.width() as u64, digest)?;
        Ok(evaluations)
    }

    /// Bytes of a row of the spool.
    fn width(&self) -> usize {
        WIDTH + 8 * self.views.len()
    }

    /// Appends the scores of the deployed models alive after `round` rounds.
    pub(crate) fn append(&mut self, round: usize, scores: &[RowScore]) -> Result<(), RunError> {
        let mut bytes = Vec::with_capacity(scores.len() * self.width());
        for row in scores {
            row.write(round as u32, &mut bytes);
        }
        self.spool.append(&bytes)
    }

    /// SHA-256 of the scores so far.
    pub(crate) fn digest(&self) -> String {
        self.spool.digest()
    }

    /// Waits until what was appended would survive a power cut.
    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.spool.sync()
    }

    /// Writes the table of all scores so far to `target`, in one step; every row is of `kind`, or a client that has a server's model.
    pub(crate) fn write_table(&self, target: &Path, kind: &str) -> Result<(), RunError> {
        let folder = target.parent().expect("the table lies in the run's folder");
        let written = || -> Result<(), ParquetError> {
            let mut file = temporary(folder)?;
            self.write_parquet(file.as_file_mut(), kind)?;
            persist(file, target)?;
            self.spool.go_to_end()?;
            Ok(())
        };
        written().map_err(|error| RunError::write(target, io::Error::other(error)))
    }

    fn write_parquet(&self, target: &mut File, kind: &str) -> Result<(), ParquetError> {
        let schema = Arc::new(parse_message_type(&schema(&self.views))?);
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(target, schema, properties)?;
        let mut entries = Entries::of(&self.spool.file, self.width())?;
        let rows = ROW_GROUP / self.width();
        loop {
            let mut group = Vec::new();
            while group.len() < rows
                && let Some(entry) = entries.next()?
            {
                group.push(entry);
            }
            if group.is_empty() {
                break;
            }
            write_group(writer.next_row_group()?, &group, kind, self.views.len())?;
        }
        writer.close()?;
        Ok(())
    }
}

/// The schema of the table.
fn schema(views: &[String]) -> String {
    let views = views.iter().map(|view| format!("optional double {view};"));
    format!(
        "message clients {{ {SCHEMA} {} }}",
        views.collect::<String>()
    )
}

/// Rows and evaluations among the first `most` evaluations, which go into `digest`.
fn first(most: usize, spool: &File, width: usize, digest: &mut Sha256) -> io::Result<(u64, usize)> {
    let (mut rows, mut evaluations, mut latest) = (0, 0, None);
    let mut entries = Entries::of(spool, width)?;
    while let Some(entry) = entries.next()? {
        let is_next = latest != Some(entry.round);
        if is_next && evaluations == most {
            break;
        }
        rows += 1;
        digest.update(&entries.bytes);
        evaluations += usize::from(is_next);
        latest = Some(entry.round);
    }
    Ok((rows, evaluations))
}

/// Reads a spool from its start. A torn last row is left out.
struct Entries<'a> {
    spool: BufReader<&'a File>,
    /// Those of the last row that was read.
    bytes: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// The rows of `width` bytes each.
    fn of(mut spool: &'a File, width: usize) -> io::Result<Self> {
        spool.seek(SeekFrom::Start(0))?;
        Ok(Self {
            spool: BufReader::with_capacity(1 << 16, spool),
            bytes: vec![0; width],
        })
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        match self.spool.read_exact(&mut self.bytes) {
            Ok(()) => Ok(Some(Entry::read(&self.bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn write_group<W: Write + Send>(
    mut rows: SerializedRowGroupWriter<'_, W>,
    group: &[Entry],
    kind: &str,
    views: usize,
) -> Result<(), ParquetError> {
    let column = |value: fn(&Entry) -> u32| group.iter().map(value).map(u32::cast_signed).collect();
    let figures = |value: fn(&Entry) -> f64| group.iter().map(value).collect();
    let rounds: Vec<i32> = column(|entry| entry.round);
    let numbers: Vec<i32> = column(|entry| entry.row.row);
    let accuracies: Vec<f64> = figures(|entry| entry.row.score.accuracy);
    let losses: Vec<f64> = figures(|entry| entry.row.score.loss);
    write_column::<Int32Type, W>(&mut rows, &rounds)?;
    write_column::<Int32Type, W>(&mut rows, &numbers)?;
    let kind = |entry: &Entry| match entry.row.is_served {
        true => RowKind::Client.name(),
        false => kind,
    };
    let kinds: Vec<ByteArray> = group.iter().map(kind).map(ByteArray::from).collect();
    write_column::<ByteArrayType, W>(&mut rows, &kinds)?;
    write_column::<DoubleType, W>(&mut rows, &accuracies)?;
    write_column::<DoubleType, W>(&mut rows, &losses)?;
    for view in 0..views {
        let figures = group.iter().map(|entry| entry.row.views[view]);
        write_figures_that_are_there(&mut rows, figures)?;
    }
    rows.close()?;
    Ok(())
}

/// Writes the next column; figures that are not numbers are absent.
fn write_figures_that_are_there<W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    figures: impl Iterator<Item = f64> + Clone,
) -> Result<(), ParquetError> {
    let there: Vec<i16> = figures
        .clone()
        .map(|figure| i16::from(!figure.is_nan()))
        .collect();
    let values: Vec<f64> = figures.filter(|figure| !figure.is_nan()).collect();
    let mut column = rows.next_column()?.expect(ALL_COLUMNS);
    column
        .typed::<DoubleType>()
        .write_batch(&values, Some(&there), None)?;
    column.close()
}

/// Writes the next column in the order of the schema.
fn write_column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let mut column = rows.next_column()?.expect(ALL_COLUMNS);
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sha256::hexadecimal;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn scores(count: u32) -> Vec<RowScore> {
        let score = |row| RowScore {
            row,
            is_served: false,
            score: Score {
                loss: f64::from(row) / 3.0,
                accuracy: 1.0 / (1.0 + f64::from(row)),
            },
            views: Vec::new(),
        };
        (0..count).map(score).collect()
    }

    fn opened(path: PathBuf) -> ClientScores {
        ClientScores::open(path, Vec::new()).unwrap()
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
        let mut clients = opened(folder.path().join("spool"));
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
    fn a_resumed_spool_keeps_the_evaluations_asked_for_and_drops_a_torn_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut clients = opened(path.clone());
        let mut digests = Vec::new();
        for round in 0..4 {
            clients.append(round, &scores(3)).unwrap();
            digests.push(clients.digest());
        }
        clients.spool.file.write_all(&[1, 2, 3]).unwrap();
        let mut kept = |count| {
            let evaluations = clients.keep(count).unwrap();
            let bytes = std::fs::metadata(&path).unwrap().len();
            (evaluations, bytes, clients.digest())
        };
        let none = hexadecimal(&Sha256::digest([]));
        assert_eq!(kept(9), (4, 12 * WIDTH as u64, digests.remove(3)));
        assert_eq!(kept(2), (2, 6 * WIDTH as u64, digests.remove(1)));
        assert_eq!(kept(0), (0, 0, none));
    }

    #[test]
    fn views_have_columns_of_their_own_and_absent_figures_are_null() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let views = ["own_accuracy", "label_0_accuracy"]
            .map(str::to_owned)
            .to_vec();
        let open = || ClientScores::open(folder.path().join("spool"), views.clone()).unwrap();
        let mut clients = open();
        let with_views = |row: RowScore| RowScore {
            views: vec![0.25, if row.row == 0 { f64::NAN } else { 0.75 }],
            ..row
        };
        for round in 0..3 {
            let rows: Vec<RowScore> = scores(2).into_iter().map(with_views).collect();
            clients.append(round, &rows).unwrap();
        }
        let mut clients = open();
        assert_eq!(clients.keep(2).unwrap(), 2);
        clients.write_table(&target, "client").unwrap();
        let rows = table(&target);
        assert_eq!(rows.len(), 4);
        let ends = [
            "own_accuracy: 0.25, label_0_accuracy: null}",
            "own_accuracy: 0.25, label_0_accuracy: 0.75}",
        ];
        for (row, end) in rows[2..].iter().zip(ends) {
            assert!(row.ends_with(end), "{row}");
        }
    }

    #[test]
    fn clients_of_servers_are_told_from_the_servers() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let mut clients = opened(folder.path().join("spool"));
        let of_server = |row: RowScore| RowScore {
            is_served: true,
            ..row
        };
        let served = scores(2).into_iter().map(of_server);
        let rows: Vec<RowScore> = scores(1).into_iter().chain(served).collect();
        clients.append(3, &rows).unwrap();
        assert_eq!(clients.keep(3).unwrap(), 1);
        clients.write_table(&target, "server").unwrap();
        let expected = [(0, "server", 1.0), (0, "client", 1.0), (1, "client", 0.5)];
        for (row, (number, kind, accuracy)) in table(&target).iter().zip(expected) {
            let start =
                format!("{{round: 3, row: {number}, kind: \"{kind}\", accuracy: {accuracy:?}, ");
            assert!(row.starts_with(&start), "{row}");
        }
        assert_eq!(table(&target).len(), 3);
    }

    #[test]
    fn more_rows_than_a_group_holds_are_all_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let mut clients = opened(folder.path().join("spool"));
        let count = (ROW_GROUP / WIDTH) as u32 + 17;
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
