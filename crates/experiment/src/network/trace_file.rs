//! The file behind bandwidths that change over time.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use meshfold_topology::redacted;

use super::error::NetworkError;
use super::rate_trace::RateTrace;
use super::traces::Traces;
use crate::files::text_file::read_text;

/// The least time and rate besides 0, and the largest.
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e15;
/// The most bytes that a file of bandwidths may have: some ten million rows.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// A step from one row to the next that is more than so many times the median step is a gap.
const GAP: f64 = 10.0;
/// The fewest steps of which one can be told to be longer than usual.
const FEWEST_STEPS: usize = 3;

/// Reads the text of the file at `path`.
pub(super) fn text(path: &Path) -> Result<String, NetworkError> {
    read_text(path, MOST_BYTES).map_err(|error| NetworkError::TraceFile {
        file: path.to_owned(),
        message: error.to_string(),
    })
}

/// Reads the bandwidths in `text`, the content of the file at `path`; with `hold` the rate before a gap holds until its end.
///
/// # Errors
/// [`NetworkError::TraceFile`] with the line at fault.
pub(super) fn parse(text: &str, path: &Path, hold: bool) -> Result<Traces, NetworkError> {
    parse_text(text, hold).map_err(|message| NetworkError::TraceFile {
        file: path.to_owned(),
        message,
    })
}

fn parse_text(text: &str, hold: bool) -> Result<Traces, String> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?;
    let owners = owner_columns(header).map_err(|message| at_line(text, header, &message))?;
    let mut pieces = Pieces::default();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        pieces
            .take(&record, owners)
            .map_err(|message| at_line(text, &record, &message))?;
    }
    if !hold && let Some((byte, message)) = pieces.gap() {
        return Err(at_byte(text, byte, &message));
    }
    pieces.traces(owners)
}

/// How many columns say whose the bandwidth is.
fn owner_columns(header: &StringRecord) -> Result<usize, String> {
    let columns: Vec<&str> = header.iter().collect();
    match columns.as_slice() {
        ["seconds", "bytes_per_second"] => Ok(0),
        ["node", "seconds", "bytes_per_second"] => Ok(1),
        ["from", "to", "seconds", "bytes_per_second"] => Ok(2),
        _ => Err(format!(
            "found {}, needed the columns seconds,bytes_per_second, before them node or from,to",
            columns_found(&columns)
        )),
    }
}

/// What to call the columns of a file that has others than are needed. Names that no such file has are not repeated.
fn columns_found(columns: &[&str]) -> String {
    let known = ["node", "from", "to", "seconds", "bytes_per_second"];
    let is_known = |name: &&str| known.contains(name);
    let named: Vec<&str> = columns.iter().copied().filter(is_known).collect();
    let others = columns.len() - named.len();
    match (named.is_empty(), others) {
        (true, 1) => "a column of another name".to_owned(),
        (true, _) => format!("{others} columns of other names"),
        (false, 0) => format!("the columns {}", named.join(",")),
        (false, _) => format!(
            "the columns {} and {others} of other names",
            named.join(",")
        ),
    }
}

/// `message` behind the number of the record's line.
fn at_line(text: &str, record: &StringRecord, message: &str) -> String {
    at_byte(text, byte_of(record), message)
}

/// Where the reading of a record began, before the blank lines and comments that were skipped.
fn byte_of(record: &StringRecord) -> u64 {
    record.position().map_or(0, |position| position.byte())
}

/// `message` behind the number of the line of the record whose reading began at `byte`.
fn at_byte(text: &str, byte: u64, message: &str) -> String {
    let byte = byte as usize;
    let (before, rest) = text.split_at_checked(byte).unwrap_or((text, ""));
    let is_skipped = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let line = before.matches('\n').count() + rest.lines().take_while(is_skipped).count() + 1;
    format!("line {line}: {message}")
}

/// The pieces read so far of each node or edge, and where the reading of each began; all of them belong to `[0, 0]` if the
/// file names neither.
#[derive(Default)]
struct Pieces(BTreeMap<[u32; 2], Owned>);

/// The pieces of one node or edge.
#[derive(Default)]
struct Owned {
    /// From when on which rate holds.
    pieces: Vec<(f64, f64)>,
    /// Of each piece the byte where the reading of its row began.
    bytes: Vec<u64>,
}

impl Owned {
    /// The first gap: the piece behind it, and what is wrong.
    fn gap(&self) -> Option<(usize, String)> {
        let steps: Vec<f64> = self
            .pieces
            .windows(2)
            .map(|two| two[1].0 - two[0].0)
            .collect();
        if steps.len() < FEWEST_STEPS {
            return None;
        }
        let mut sorted = steps.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = sorted[(sorted.len() - 1) / 2];
        let before = steps.iter().position(|step| *step > GAP * median)?;
        let (from, until) = (self.pieces[before].0, self.pieces[before + 1].0);
        let message = format!(
            "found a gap from {from} to {until} seconds among rows whose median step is {median} seconds; add the rows that are \
             missing, or set `hold: true` if the rate at {from} seconds is to hold until {until}"
        );
        Some((before + 1, message))
    }
}

impl Pieces {
    /// Takes one row, whose first `owners` columns name a node or an edge.
    fn take(&mut self, record: &StringRecord, owners: usize) -> Result<(), String> {
        if record.len() != owners + 2 {
            return Err(format!(
                "found {} columns, needed {}",
                record.len(),
                owners + 2
            ));
        }
        let field = |index: usize| record.get(index).unwrap_or_default();
        let number = |index: usize, what: &str| {
            let found = redacted(field(index));
            match field(index).parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => {
                    match value == 0.0 || (LEAST..=MOST).contains(&value) {
                        true => Ok(value),
                        false => Err(format!(
                            "found {what} {found}, needed 0, or {LEAST:e} to {MOST:e}"
                        )),
                    }
                }
                _ => Err(format!("found {what} {found}, needed a number, 0 or more")),
            }
        };
        let mut owner = [0; 2];
        for (index, node) in owner.iter_mut().enumerate().take(owners) {
            *node = field(index).parse().map_err(|_| {
                let found = redacted(field(index));
                format!("found {found}, needed the number of a node")
            })?;
        }
        if owners == 2 && owner[0] == owner[1] {
            return Err(format!("found an edge from node {} to itself", owner[0]));
        }
        let piece = (
            number(owners, "seconds")?,
            number(owners + 1, "bytes_per_second")?,
        );
        let owned = self.0.entry(owner).or_default();
        match owned.pieces.last() {
            None if piece.0 != 0.0 => Err(format!(
                "found a first row at {} seconds, needed one at 0",
                piece.0
            )),
            Some((before, _)) if *before >= piece.0 => Err(format!(
                "found {} seconds after {before}, needed times that ascend",
                piece.0
            )),
            _ => {
                owned.pieces.push(piece);
                owned.bytes.push(byte_of(record));
                Ok(())
            }
        }
    }

    /// The first gap of the first node or edge that has one: where the reading of the row behind it began, and what is wrong.
    fn gap(&self) -> Option<(u64, String)> {
        let mut gaps = self.0.values().filter_map(|owned| {
            let (piece, message) = owned.gap()?;
            Some((owned.bytes[piece], message))
        });
        gaps.next()
    }

    fn traces(self, owners: usize) -> Result<Traces, String> {
        if self.0.is_empty() {
            return Err("found no rows, needed at least one".to_owned());
        }
        for (owner, owned) in &self.0 {
            if owned.pieces.iter().all(|(_, rate)| *rate == 0.0) {
                let whose = match owners {
                    0 => String::new(),
                    1 => format!(" for node {}", owner[0]),
                    _ => format!(" for the edge {},{}", owner[0], owner[1]),
                };
                return Err(format!("found 0 bytes per second{whose} at all times"));
            }
        }
        let mut traces = self
            .0
            .into_iter()
            .map(|(owner, owned)| (owner, RateTrace::new(&owned.pieces)));
        Ok(match owners {
            0 => Traces::All(traces.next().expect("there are rows").1),
            1 => Traces::Nodes(traces.map(|([node, _], trace)| (node, trace)).collect()),
            _ => Traces::Edges(
                traces
                    .map(|([from, to], trace)| ((from, to), trace))
                    .collect(),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Traces, String> {
        parse(text, Path::new("4g.csv"), false).map_err(|error| error.to_string())
    }

    #[test]
    fn the_columns_say_whose_the_rates_are() {
        let one = RateTrace::new(&[(0.0, 8.0), (1.5, 4.0)]);
        let other = RateTrace::new(&[(0.0, 2.0)]);
        let text = "seconds,bytes_per_second\n0,8\n1.5,4\n";
        assert_eq!(read(text), Ok(Traces::All(one.clone())));
        let text = "# a comment\nnode, seconds, bytes_per_second\n3, 0, 8\n1, 0, 2\n3, 1.5, 4\n";
        let nodes = [(1, other.clone()), (3, one.clone())];
        assert_eq!(read(text), Ok(Traces::Nodes(nodes.into())));
        let text = "from,to,seconds,bytes_per_second\n3,1,0,8\n3,1,1.5,4\n1,2,0,2\n";
        let edges = [((1, 2), other), ((3, 1), one)];
        assert_eq!(read(text), Ok(Traces::Edges(edges.into())));
    }

    #[test]
    fn a_bad_row_is_numbered() {
        for (text, message) in [
            (
                "time,rate\n0,1\n",
                "line 1: found 2 columns of other names, needed the columns seconds,bytes_per_second, before them node or from,to",
            ),
            (
                "second,bytes_per_second\n0,1\n",
                "line 1: found the columns bytes_per_second and 1 of other names, needed the columns seconds,bytes_per_second, \
                 before them node or from,to",
            ),
            (
                "bytes_per_second,seconds\n1,0\n",
                "line 1: found the columns bytes_per_second,seconds, needed the columns seconds,bytes_per_second, before them \
                 node or from,to",
            ),
            (
                "root:$6$salt$hash:19000:0:99999:7:::\n",
                "line 1: found a column of another name, needed the columns seconds,bytes_per_second, before them node or from,to",
            ),
            (
                "seconds,bytes_per_second\n0,secret\n",
                "line 2: found bytes_per_second a word of 6 letters, needed a number, 0 or more",
            ),
            (
                "node,seconds,bytes_per_second\npass word,0,1\n",
                "line 2: found text of 9 characters, needed the number of a node",
            ),
            (
                "seconds,bytes_per_second\n",
                "found no rows, needed at least one",
            ),
            (
                "seconds,bytes_per_second\n0,1\n2,1\n2,3\n",
                "line 4: found 2 seconds after 2, needed times that ascend",
            ),
            (
                "node,seconds,bytes_per_second\n0,0,1\n\n1,0.5,1\n",
                "line 4: found a first row at 0.5 seconds, needed one at 0",
            ),
            (
                "seconds,bytes_per_second\n0,1\n1,-2\n",
                "line 3: found bytes_per_second \"-2\", needed a number, 0 or more",
            ),
            (
                "seconds,bytes_per_second\n0,inf\n",
                "line 2: found bytes_per_second \"inf\", needed a number, 0 or more",
            ),
            (
                "seconds,bytes_per_second\n0,1e-310\n",
                "line 2: found bytes_per_second \"1e-310\", needed 0, or 1e-9 to 1e15",
            ),
            (
                "seconds,bytes_per_second\n0,1\n1e300,1\n",
                "line 3: found seconds \"1e300\", needed 0, or 1e-9 to 1e15",
            ),
            (
                "node,seconds,bytes_per_second\n-1,0,1\n",
                "line 2: found \"-1\", needed the number of a node",
            ),
            (
                "from,to,seconds,bytes_per_second\n2,2,0,1\n",
                "line 2: found an edge from node 2 to itself",
            ),
            (
                "# bandwidths\nseconds,bytes_per_second\n# at home\n0,1\n1\n",
                "line 5: found 1 columns, needed 2",
            ),
            (
                "node,seconds,bytes_per_second\n0,0,1\n4,0,0\n4,1,0\n",
                "found 0 bytes per second for node 4 at all times",
            ),
        ] {
            assert_eq!(read(text), Err(format!("4g.csv: {message}")), "{text}");
        }
    }

    #[test]
    fn a_gap_is_named_unless_the_rate_is_to_hold() {
        let gap = "found a gap from 2 to 500 seconds among rows whose median step is 1 seconds; add the rows that are missing, or \
                   set `hold: true` if the rate at 2 seconds is to hold until 500";
        for (text, line) in [
            ("seconds,bytes_per_second\n0,8\n1,4\n2,4\n500,8\n501,4\n", 5),
            (
                "node,seconds,bytes_per_second\n0,0,8\n1,0,8\n1,1,4\n# away\n1,2,4\n0,60,3\n\n1,500,4\n",
                9,
            ),
        ] {
            let message = format!("4g.csv: line {line}: {gap}");
            assert_eq!(read(text), Err(message), "{text}");
            assert!(parse(text, Path::new("4g.csv"), true).is_ok(), "{text}");
        }
    }

    /// A log has about one row a second; one that comes some seconds late is no gap, nor is a step where all differ.
    #[test]
    fn uneven_steps_are_no_gap() {
        for times in [
            "0 1.001 2.013 3.002 8.9 9.9 11.3",
            "0 1 2 12",
            "0 1 500",
            "0 500",
            "0 1 10 100",
        ] {
            let rows: Vec<String> = times.split(' ').map(|time| format!("{time},5\n")).collect();
            let text = format!("seconds,bytes_per_second\n{}", rows.concat());
            assert!(read(&text).is_ok(), "{times}");
        }
        let error = read("seconds,bytes_per_second\n0,5\n1,5\n2,5\n12.1,5\n").unwrap_err();
        assert!(error.contains("a gap from 2 to 12.1 seconds"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = text(Path::new("no/such/4g.csv")).unwrap_err();
        assert!(error.to_string().starts_with("no/such/4g.csv: "), "{error}");
        assert_eq!(error.key(), "links.trace.file");
    }
}
