//! What a run does with the figures of its models: it appends them to the spool, and makes `clients.parquet` of that when it ends.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_algorithms::RowKind;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sha2::{Digest, Sha256};

use crate::files::whole_file::{persist, temporary};
use crate::results::appended_file::AppendedFile;
use crate::results::clients::spool::{Evaluations, RowScore, Scores, first};
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

/// Bytes of one row of the table without views, for the size of its groups.
const WIDTH: usize = 24;

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
        let kept = first(evaluations, self.evaluations(), &mut digest);
        let (bytes, evaluations) =
            kept.map_err(|source| RunError::write(&self.spool.path, source))?;
        self.spool.keep(bytes, digest)?;
        Ok(evaluations)
    }

    /// Appends the scores after `round` rounds.
    pub(crate) fn append(&mut self, round: usize, scores: &Scores) -> Result<(), RunError> {
        self.spool.append(&scores.bytes(round))
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

    /// The evaluations in the spool, from the first.
    fn evaluations(&self) -> io::Result<Evaluations<'_>> {
        Evaluations::of(&self.spool.file, self.views.len())
    }

    fn write_parquet(&self, target: &mut File, kind: &str) -> Result<(), ParquetError> {
        let own = self.own_figures()?;
        let own_columns = own.iter().map(|name| format!("own.{name}"));
        let columns: Vec<String> = self.views.iter().cloned().chain(own_columns).collect();
        let schema = Arc::new(parse_message_type(&schema(&columns))?);
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(target, schema, properties)?;
        let most = ROW_GROUP / (WIDTH + 8 * columns.len());
        let mut group = Vec::new();
        let mut evaluations = self.evaluations()?;
        while let Some(found) = evaluations.next()? {
            let place = |name: &String| found.scores.own.iter().position(|own| own == name);
            let places: Vec<Option<usize>> = own.iter().map(place).collect();
            for mut row in found.scores.rows {
                let recorded = row.views.split_off(self.views.len());
                let of = |place: &Option<usize>| place.map_or(f64::NAN, |place| recorded[place]);
                row.views.extend(places.iter().map(of));
                group.push((found.round, row));
                if group.len() == most {
                    write_group(writer.next_row_group()?, &group, kind, columns.len())?;
                    group.clear();
                }
            }
        }
        if !group.is_empty() {
            write_group(writer.next_row_group()?, &group, kind, columns.len())?;
        }
        writer.close()?;
        Ok(())
    }

    /// The names of all figures that the method recorded of each row, in their order.
    fn own_figures(&self) -> io::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        let mut evaluations = self.evaluations()?;
        while let Some(found) = evaluations.next()? {
            names.extend(found.scores.own);
        }
        Ok(names)
    }
}

/// One row of the table, after so many rounds. Its views are the figures of all columns.
type Entry = (u32, RowScore);

/// The schema of the table.
fn schema(views: &[String]) -> String {
    let views = views.iter().map(|view| format!("optional double {view};"));
    format!(
        "message clients {{ {SCHEMA} {} }}",
        views.collect::<String>()
    )
}

fn write_group<W: Write + Send>(
    mut rows: SerializedRowGroupWriter<'_, W>,
    group: &[Entry],
    kind: &str,
    views: usize,
) -> Result<(), ParquetError> {
    let column = |value: fn(&Entry) -> u32| group.iter().map(value).map(u32::cast_signed).collect();
    let figures = |value: fn(&Entry) -> f64| group.iter().map(value).collect();
    let rounds: Vec<i32> = column(|(round, _)| *round);
    let numbers: Vec<i32> = column(|(_, row)| row.row);
    let accuracies: Vec<f64> = figures(|(_, row)| row.score.accuracy);
    let losses: Vec<f64> = figures(|(_, row)| row.score.loss);
    write_column::<Int32Type, W>(&mut rows, &rounds)?;
    write_column::<Int32Type, W>(&mut rows, &numbers)?;
    let kind = |(_, row): &Entry| match row.is_served {
        true => RowKind::Client.name(),
        false => kind,
    };
    let kinds: Vec<ByteArray> = group.iter().map(kind).map(ByteArray::from).collect();
    write_column::<ByteArrayType, W>(&mut rows, &kinds)?;
    write_column::<DoubleType, W>(&mut rows, &accuracies)?;
    write_column::<DoubleType, W>(&mut rows, &losses)?;
    for view in 0..views {
        let figures = group.iter().map(|(_, row)| row.views[view]);
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
    use crate::results::clients::spool::{HEAD, ROW};
    use meshfold_engine::Score;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn scores(count: u32) -> Scores {
        let score = |row| RowScore {
            row,
            is_served: false,
            score: Score {
                loss: f64::from(row) / 3.0,
                accuracy: 1.0 / (1.0 + f64::from(row)),
            },
            views: Vec::new(),
        };
        Scores {
            own: Vec::new(),
            rows: (0..count).map(score).collect(),
        }
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
    fn a_resumed_spool_keeps_the_evaluations_asked_for_and_drops_a_torn_one() {
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
        let evaluation = (HEAD + 3 * ROW) as u64;
        assert_eq!(kept(9), (4, 4 * evaluation, digests.remove(3)));
        assert_eq!(kept(2), (2, 2 * evaluation, digests.remove(1)));
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
            let mut scores = scores(2);
            scores.rows = scores.rows.into_iter().map(with_views).collect();
            clients.append(round, &scores).unwrap();
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
    fn what_a_method_records_of_rows_has_columns_that_are_null_in_other_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("clients.parquet");
        let open = || {
            let views = vec!["own_loss".to_owned()];
            ClientScores::open(folder.path().join("spool"), views).unwrap()
        };
        let mut clients = open();
        let recorded: [&[&str]; 4] = [&[], &["moved", "ages"], &["moved"], &["ages"]];
        for (round, own) in recorded.into_iter().enumerate() {
            let mut scores = scores(2);
            scores.own = own.iter().map(|name| (*name).to_owned()).collect();
            for row in &mut scores.rows {
                let figure = |at: usize| (1 + 10 * round + at) as f64 + f64::from(row.row) / 2.0;
                row.views = (0..=own.len()).map(figure).collect();
            }
            clients.append(round, &scores).unwrap();
        }
        let whole = clients.digest();
        clients.spool.file.write_all(&[3, 0, 0, 0, 9]).unwrap();
        let mut clients = open();
        assert_eq!((clients.keep(9).unwrap(), clients.digest()), (4, whole));
        assert_eq!(clients.keep(3).unwrap(), 3);
        clients.write_table(&target, "client").unwrap();
        let ends = [
            "own_loss: 1.0, own.ages: null, own.moved: null}",
            "own_loss: 1.5, own.ages: null, own.moved: null}",
            "own_loss: 11.0, own.ages: 13.0, own.moved: 12.0}",
            "own_loss: 11.5, own.ages: 13.5, own.moved: 12.5}",
            "own_loss: 21.0, own.ages: null, own.moved: 22.0}",
            "own_loss: 21.5, own.ages: null, own.moved: 22.5}",
        ];
        let rows = table(&target);
        assert_eq!(rows.len(), ends.len());
        for (row, end) in rows.iter().zip(ends) {
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
        let mut all = scores(1);
        all.rows.extend(scores(2).rows.into_iter().map(of_server));
        clients.append(3, &all).unwrap();
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
