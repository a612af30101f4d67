//! `metrics.jsonl` as a run appends to it, and as it is read back bit for bit.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::results::appended_file::AppendedFile;
use crate::results::metrics::record::Record;
use crate::results::run_error::RunError;

/// Reads the records of `metrics.jsonl`, oldest first. A last line that was torn while it was written is left out.
///
/// # Errors
/// [`RunError::Read`] if the file cannot be read, [`RunError::Record`] for any other line that is no record.
pub fn read_records(path: &Path) -> Result<Vec<Record>, RunError> {
    let text = std::fs::read(path).map_err(|source| RunError::read(path, source))?;
    let lines = parse(path, &text)?;
    Ok(lines.into_iter().map(|(record, _)| record).collect())
}

/// The records in `text`, each with the offset behind its line.
fn parse(path: &Path, text: &[u8]) -> Result<Vec<(Record, usize)>, RunError> {
    let mut records = Vec::new();
    let mut end = 0;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        end += line.len();
        match serde_json::from_slice(line) {
            Ok(record) if line.ends_with(b"\n") => records.push((record, end)),
            Err(source) if line.ends_with(b"\n") => {
                let path = path.to_owned();
                return Err(RunError::Record {
                    path,
                    line: index + 1,
                    source,
                });
            }
            _ => {}
        }
    }
    Ok(records)
}

/// `metrics.jsonl` of a run in progress, which this process has claimed.
#[derive(Debug)]
pub(crate) struct Metrics(AppendedFile);

impl Metrics {
    /// Opens the file, making it if there is none.
    pub(crate) fn open(path: PathBuf) -> Result<Self, RunError> {
        AppendedFile::open(path).map(Self)
    }

    /// Keeps the first `count` records, or all if there are fewer, cuts the rest off and returns what was kept.
    pub(crate) fn keep(&mut self, count: usize) -> Result<Vec<Record>, RunError> {
        let mut text = Vec::new();
        if count > 0 {
            let file = &mut self.0.file;
            let read = file
                .seek(SeekFrom::Start(0))
                .and_then(|_| file.read_to_end(&mut text));
            read.map_err(|source| RunError::read(&self.0.path, source))?;
        }
        let mut kept = parse(&self.0.path, &text)?;
        kept.truncate(count);
        let end = kept.last().map_or(0, |(_, end)| *end);
        let digest = Sha256::new_with_prefix(&text[..end]);
        self.0.keep(end as u64, digest)?;
        Ok(kept.into_iter().map(|(record, _)| record).collect())
    }

    /// Appends one record in one write.
    pub(crate) fn append(&mut self, record: &Record) -> Result<(), RunError> {
        let mut line =
            serde_json::to_vec(record).expect("a record is plain numbers under text keys");
        line.push(b'\n');
        self.0.append(&line)
    }

    /// SHA-256 of the records so far.
    pub(crate) fn digest(&self) -> String {
        self.0.digest()
    }

    /// Waits until what was appended would survive a power cut.
    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.0.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::metrics::record::RecordedFigure;
    use crate::results::metrics::record::tests::record;
    use std::collections::BTreeMap;

    #[test]
    fn records_read_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut metrics = Metrics::open(path.clone()).unwrap();
        metrics.append(&record(0)).unwrap();
        let own = |values: [f64; 2]| {
            let number = RecordedFigure::of(&values[0].into(), &[true; 2]);
            let of_rows = RecordedFigure::of(&values.to_vec().into(), &[true; 2]);
            let own = [("number", number), ("rows", of_rows)];
            let own = own.map(|(name, figure)| (name.to_owned(), figure.unwrap()));
            BTreeMap::from(own)
        };
        let with_own = |round, values| Record {
            own: own(values),
            ..record(round)
        };
        let some = [
            with_own(1, [1.0 / 3.0, 0.1]),
            with_own(2, [f64::NAN, f64::INFINITY]),
        ];
        for record in &some {
            metrics.append(record).unwrap();
        }
        let [first, second] = some;
        assert_eq!(read_records(&path).unwrap(), [record(0), first, second]);
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_broken_one_before_it_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let line = serde_json::to_string(&record(0)).unwrap();
        std::fs::write(&path, format!("{line}\n{}", &line[..40])).unwrap();
        assert_eq!(read_records(&path).unwrap(), [record(0)]);
        std::fs::write(&path, format!("{line}\n{}\n{line}\n", &line[..40])).unwrap();
        let error = read_records(&path).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn records_that_a_checkpoint_does_not_count_are_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut metrics = Metrics::open(path.clone()).unwrap();
        for round in [0, 5, 10, 15] {
            metrics.append(&record(round)).unwrap();
        }
        assert_eq!(metrics.keep(3).unwrap().len(), 3);
        let digest = metrics.digest();
        metrics.append(&record(20)).unwrap();
        assert_ne!(metrics.digest(), digest);
        metrics.keep(3).unwrap();
        assert_eq!(metrics.digest(), digest, "what was cut off does not count");
        metrics.append(&record(20)).unwrap();
        let rounds = |path| {
            let records = read_records(path).unwrap();
            records
                .iter()
                .map(|record| record.round)
                .collect::<Vec<_>>()
        };
        assert_eq!(rounds(&path), [0, 5, 10, 20]);
        assert_eq!(metrics.keep(9).unwrap().len(), 4);
        assert!(metrics.keep(0).unwrap().is_empty());
        assert!(rounds(&path).is_empty());
    }
}
