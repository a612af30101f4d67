//! The expression matrix as R writes it: samples across, genes down, tab separated.

use std::io::{BufRead, BufReader, Read};

use super::unquoted;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;

/// Bytes that the unpacked matrix may have.
pub(crate) const MOST_BYTES: u64 = 1 << 32;
/// Bytes that a row may have; that of 8,348 samples has some 66,000, the names some 200,000.
const MOST_ROW: usize = 1 << 22;
/// Numbers that a matrix may hold.
pub(super) const MOST_NUMBERS: usize = 1 << 29;

/// Expression of genes in samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    /// Names of the samples, `[M]`.
    pub(crate) samples: Vec<String>,
    /// `[G, M]`: gene by gene.
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// Number of genes `G`.
    pub(crate) fn genes(&self) -> usize {
        self.values.len() / self.samples.len()
    }

    /// The samples at `places`, `[places, G]`.
    pub(crate) fn rows(&self, places: &[u32]) -> Vec<f32> {
        /// Genes transposed at a time: a cache line of each sample.
        const TURNED: usize = 16;
        let genes = self.genes();
        let mut rows = vec![0.0; places.len() * genes];
        let blocks = self.values.chunks(TURNED * self.samples.len());
        for (block, first) in blocks.zip((0..genes).step_by(TURNED)) {
            for (row, place) in rows.chunks_exact_mut(genes).zip(places) {
                let of_genes = block.chunks_exact(self.samples.len());
                for (to, gene) in row[first..].iter_mut().zip(of_genes) {
                    *to = gene[*place as usize];
                }
            }
        }
        rows
    }
}

/// Reads the matrix `content` as a stream, with room from the start for `genes` of all samples if that makes at most `most`
/// numbers.
///
/// # Errors
/// A [`Fault`] at the row that does not have this form.
pub(crate) fn read(content: impl Read, genes: usize, most: usize) -> Result<Matrix, Fault> {
    let mut lines = Lines::new(content);
    let samples = header(&mut lines)?;
    let expected = samples.len().saturating_mul(genes);
    let mut values = Vec::with_capacity(if expected <= most { expected } else { 0 });
    while lines.advance()? {
        let at = |reason: String| Fault::at(lines.start, reason);
        let mut cells = lines.text()?.split('\t');
        let gene = unquoted(cells.next().unwrap_or_default());
        let before = values.len();
        if before + samples.len() > MOST_NUMBERS {
            return Err(at(format!("more than {MOST_NUMBERS} numbers")));
        }
        for cell in cells.take(samples.len() + 1) {
            match cell.trim_end_matches('\r').parse::<f32>() {
                Ok(value) if value.is_finite() => values.push(value),
                _ => {
                    let (gene, cell) = (excerpt(gene), excerpt(cell));
                    return Err(at(format!("gene {gene}: `{cell}` is no finite number")));
                }
            }
        }
        let (found, needed) = (values.len() - before, samples.len());
        if found != needed {
            let found = if found > needed {
                "more".into()
            } else {
                found.to_string()
            };
            let gene = excerpt(gene);
            return Err(at(format!(
                "gene {gene}: {found} values found, {needed} needed"
            )));
        }
    }
    match values.is_empty() {
        true => Err(Fault::at(lines.start, "a matrix without genes")),
        false => Ok(Matrix { samples, values }),
    }
}

/// The names of the samples of the matrix `content`.
pub(crate) fn samples(content: impl Read) -> Result<Vec<String>, Fault> {
    header(&mut Lines::new(content))
}

/// Beginning of the pointer file that Git LFS keeps in place of a large file.
const POINTER: &str = "version https://git-lfs";

/// The names in the first row. R leaves out the name above the genes; others write one, empty or not.
fn header(lines: &mut Lines<impl Read>) -> Result<Vec<String>, Fault> {
    if !lines.advance()? {
        return Err(Fault::at(0_u64, "an empty matrix"));
    }
    let first = lines.text()?;
    if first.starts_with(POINTER) {
        let reason = "a pointer of Git LFS, not the matrix itself: run `git lfs pull` in the repository it is from";
        return Err(Fault::at(0_u64, reason));
    }
    let mut names: Vec<String> = first.split('\t').map(|n| unquoted(n).into()).collect();
    if names
        .first()
        .is_some_and(|name| name.is_empty() || name.eq_ignore_ascii_case("gene"))
    {
        names.remove(0);
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Fault::at(
            0_u64,
            format!("sample {} stands there twice", excerpt(pair[0])),
        )),
        None if names.is_empty() => Err(Fault::at(0_u64, "a matrix without samples")),
        None => Ok(names),
    }
}

/// The lines of a stream, one at a time.
struct Lines<R> {
    inner: BufReader<R>,
    line: Vec<u8>,
    /// Where the line begins.
    start: u64,
    /// Where the next begins.
    next: u64,
}

impl<R: Read> Lines<R> {
    fn new(content: R) -> Self {
        Self {
            inner: BufReader::with_capacity(1 << 18, content),
            line: Vec::new(),
            start: 0,
            next: 0,
        }
    }

    /// Goes to the next line that is not empty; whether there is one.
    fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            self.line.clear();
            self.start = self.next;
            let limit = MOST_ROW as u64 + 1;
            let read = self
                .inner
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut self.line);
            self.next += read.map_err(|error| Fault::at(self.start, error.to_string()))? as u64;
            if self.line.is_empty() {
                return Ok(false);
            }
            if self.line.pop_if(|last| *last == b'\n').is_none() && self.line.len() > MOST_ROW {
                return Err(Fault::at(
                    self.start,
                    format!("a row of more than {MOST_ROW} bytes"),
                ));
            }
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    fn text(&self) -> Result<&str, Fault> {
        str::from_utf8(&self.line).map_err(|_| Fault::at(self.start, "a row that is no text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Result<Matrix, Fault> {
        super::read(content, 0, 0)
    }

    #[test]
    fn room_is_made_for_what_is_expected_but_not_for_any_number_of_samples() {
        let room = |most| {
            let matrix = super::read(&b"a\tb\ng\t1\t2\n"[..], 1000, most).unwrap();
            matrix.values.capacity()
        };
        assert!(room(2000) >= 2000);
        assert!(room(1999) < 100);
    }

    #[test]
    fn genes_down_and_samples_across_are_turned() {
        let text = "\"a\"\t\"b\"\t\"c\"\n\"g\"\t1\t2\t3\n\"h\"\t4\t5\t6e-1\n";
        let matrix = read(text.as_bytes()).unwrap();
        assert_eq!(matrix.samples, ["a", "b", "c"]);
        assert_eq!(matrix.genes(), 2);
        assert_eq!(matrix.rows(&[2, 0]), [3.0, 0.6, 1.0, 4.0]);
        let named = format!("gene\t{text}");
        assert_eq!(read(named.as_bytes()).unwrap(), matrix);
        assert_eq!(samples(text.as_bytes()).unwrap(), matrix.samples);
    }

    #[test]
    fn many_genes_are_turned_in_blocks() {
        let mut text = "a\tb".to_owned();
        (0..37).for_each(|gene| text += &format!("\ng\t{gene}\t{}", -gene));
        let rows = read(text.as_bytes()).unwrap().rows(&[1, 0]);
        let expected: Vec<f32> = (0..37)
            .map(|g| -(g as f32))
            .chain((0..37).map(|g| g as f32))
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn faults_are_found_at_their_row() {
        let fault = |text: &str| read(text.as_bytes()).unwrap_err();
        assert_eq!(fault("a\tb\ng\t1\t2\nh\t3\n").offset, 10);
        assert!(
            fault("a\tb\ng\t1\tNA\n")
                .reason
                .contains("`NA` is no finite number")
        );
        assert!(
            fault("a\tb\ng\t1\t2\t3\n")
                .reason
                .contains("more values found, 2 needed")
        );
        assert!(fault("a\ta\ng\t1\t2\n").reason.contains("twice"));
        assert!(fault("").reason.contains("empty"));
        assert!(fault("a\tb\n").reason.contains("without genes"));
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:e1\nsize 837192756\n";
        assert!(fault(pointer).reason.contains("run `git lfs pull`"));
        let refused = samples(pointer.as_bytes()).unwrap_err();
        assert_eq!(refused.reason, fault(pointer).reason);
        assert!(
            fault(&"a".repeat(MOST_ROW + 9))
                .reason
                .contains("a row of more than")
        );
    }
}
