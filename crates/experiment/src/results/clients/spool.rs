//! `clients.spool`: evaluations one after the other, in a file that a crash cannot spoil and a resumed run can cut back.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use meshfold_engine::Score;
use sha2::{Digest, Sha256};

/// Bytes before the rows of an evaluation in the spool: the round, the number of rows and the bytes of the names of the method's own
/// figures (`u32`, little-endian). These names follow, a line each.
pub(super) const HEAD: usize = 12;

/// Bytes of one row of an evaluation in the spool without views: the row (`u32`), accuracy and loss (`f64`), all little-endian. Views
/// and own figures follow as `f64`.
pub(super) const ROW: usize = 20;

/// The bit of a row's number in the spool that tells a client that has the model of its server.
const SERVED: u32 = 1 << 31;

/// What one evaluation finds of a deployed model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowScore {
    pub(crate) row: u32,
    /// Whether `row` is a client that has the model of its server, where the rows of the models are servers.
    pub(crate) is_served: bool,
    pub(crate) score: Score,
    /// The figures of further columns, then those of [`Scores::own`]; not numbers where they are absent.
    pub(crate) views: Vec<f64>,
}

impl RowScore {
    fn write(&self, bytes: &mut Vec<u8>) {
        let served = if self.is_served { SERVED } else { 0 };
        bytes.extend((self.row | served).to_le_bytes());
        let figures = [self.score.accuracy, self.score.loss];
        for figure in figures.iter().chain(&self.views) {
            bytes.extend(figure.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let (row, figures) = bytes.split_first_chunk().expect("a row has a number");
        let row = u32::from_le_bytes(*row);
        let (figures, _) = figures.as_chunks::<8>();
        let [accuracy, loss] = [figures[0], figures[1]].map(f64::from_le_bytes);
        let views = figures[2..].iter().copied().map(f64::from_le_bytes);
        Self {
            row: row & !SERVED,
            is_served: row & SERVED != 0,
            score: Score { loss, accuracy },
            views: views.collect(),
        }
    }
}

/// What one evaluation finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scores {
    /// The names of the figures that the method recorded of each row.
    pub(crate) own: Vec<String>,
    /// The deployed models alive, then the clients that have the model of a server.
    pub(crate) rows: Vec<RowScore>,
}

impl Scores {
    /// The bytes of the evaluation after `round` rounds.
    pub(super) fn bytes(&self, round: usize) -> Vec<u8> {
        let names = self.own.join("\n");
        let mut bytes = Vec::new();
        for count in [round, self.rows.len(), names.len()] {
            bytes.extend((count as u32).to_le_bytes());
        }
        bytes.extend(names.as_bytes());
        for row in &self.rows {
            row.write(&mut bytes);
        }
        bytes
    }
}

/// Bytes and number of the first `most` evaluations, which go into `digest`.
pub(super) fn first(
    most: usize,
    evaluations: io::Result<Evaluations<'_>>,
    digest: &mut Sha256,
) -> io::Result<(u64, usize)> {
    let (mut bytes, mut count) = (0, 0);
    let mut evaluations = evaluations?;
    while count < most
        && let Some(found) = evaluations.next()?
    {
        digest.update(&found.bytes);
        bytes += found.bytes.len() as u64;
        count += 1;
    }
    Ok((bytes, count))
}

/// An evaluation in the spool.
pub(super) struct Evaluation {
    pub(super) round: u32,
    pub(super) scores: Scores,
    /// Those that it has in the spool.
    bytes: Vec<u8>,
}

/// Reads a spool from its start. A torn last evaluation is left out.
pub(super) struct Evaluations<'a> {
    spool: BufReader<&'a File>,
    /// Bytes that are still to be read.
    left: u64,
    /// Views of a row.
    views: usize,
}

impl<'a> Evaluations<'a> {
    pub(super) fn of(mut spool: &'a File, views: usize) -> io::Result<Self> {
        let left = spool.seek(SeekFrom::End(0))?;
        spool.seek(SeekFrom::Start(0))?;
        let spool = BufReader::with_capacity(1 << 16, spool);
        Ok(Self { spool, left, views })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Evaluation>> {
        let mut bytes = Vec::new();
        if !self.read(HEAD as u64, &mut bytes)? {
            return Ok(None);
        }
        let (head, _) = bytes.as_chunks::<4>();
        let head: Vec<u32> = head.iter().copied().map(u32::from_le_bytes).collect();
        let [round, rows, names] = [head[0], head[1], head[2]];
        if !self.read(u64::from(names), &mut bytes)? {
            return Ok(None);
        }
        let Ok(names) = std::str::from_utf8(&bytes[HEAD..]) else {
            return Ok(None);
        };
        let own: Vec<String> = names.lines().map(str::to_owned).collect();
        let (width, before) = (ROW + 8 * (self.views + own.len()), bytes.len());
        if !self.read(u64::from(rows).saturating_mul(width as u64), &mut bytes)? {
            return Ok(None);
        }
        let rows = bytes[before..].chunks_exact(width);
        let rows = rows.map(RowScore::read).collect();
        let scores = Scores { own, rows };
        Ok(Some(Evaluation {
            round,
            scores,
            bytes,
        }))
    }

    /// Appends the next `count` bytes to `bytes`; `false` if there are fewer.
    fn read(&mut self, count: u64, bytes: &mut Vec<u8>) -> io::Result<bool> {
        if self.left < count {
            return Ok(false);
        }
        self.left -= count;
        let read = self.spool.by_ref().take(count).read_to_end(bytes)?;
        Ok(read as u64 == count)
    }
}
