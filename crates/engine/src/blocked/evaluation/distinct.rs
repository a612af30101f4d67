//! Finds models that are bit-identical, so that each is judged once: all are before the first round, and after every
//! mean that all clients take.

use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;

/// The rows of a stack without repetitions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Distinct {
    /// Rows of which no earlier one is the same, ascending.
    pub(crate) rows: Vec<usize>,
    /// For every row of the stack, which of `rows` is the same.
    pub(crate) which: Vec<usize>,
}

impl Distinct {
    /// Finds what repeats among `models` `[rows, width]`.
    pub(crate) fn of(models: &[f32], width: usize) -> Self {
        let all: Vec<&[f32]> = models.chunks_exact(width.max(1)).collect();
        let fingerprints: Vec<u64> = all.par_iter().map(|row| fingerprint(row)).collect();
        let (mut rows, mut which): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (row, fingerprint) in fingerprints.into_iter().enumerate() {
            // Where different rows share a fingerprint, only the first of them is found again.
            let place = *known.entry(fingerprint).or_insert(rows.len());
            match rows.get(place) {
                Some(first) if same(all[*first], all[row]) => which.push(place),
                _ => {
                    which.push(rows.len());
                    rows.push(row);
                }
            }
        }
        Self { rows, which }
    }
}

/// `rows` of `models` `[.., width]`, copied only where they do not follow each other.
pub(crate) fn block<'a>(models: &'a [f32], width: usize, rows: &[usize]) -> Cow<'a, [f32]> {
    let row = |row: &usize| &models[row * width..][..width];
    match rows {
        [first, .., last] if last - first + 1 > rows.len() => {
            Cow::Owned(rows.iter().flat_map(row).copied().collect())
        }
        [first, ..] => Cow::Borrowed(&models[first * width..][..rows.len() * width]),
        [] => Cow::Borrowed(&[]),
    }
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.iter()
        .map(|value| value.to_bits())
        .eq(b.iter().map(|value| value.to_bits()))
}

/// Numbers that are mixed side by side.
const LANES: usize = 16;

/// A number that rows of different bits rarely share.
fn fingerprint(row: &[f32]) -> u64 {
    let mut lanes = [0u32; LANES];
    for values in row.chunks(LANES) {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = (lane.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x9e37_79b1);
        }
    }
    lanes.iter().fold(0, |all: u64, lane| {
        (all.rotate_left(5) ^ u64::from(*lane)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_repeat_are_kept_once_in_the_order_in_which_they_come() {
        let models = [1.0, 2.0, 0.0, 3.0, 1.0, 2.0, -0.0, 3.0, 0.0, 3.0];
        let distinct = Distinct::of(&models, 2);
        let expected = Distinct {
            rows: vec![0, 1, 3],
            which: vec![0, 1, 0, 2, 1],
        };
        assert_eq!(distinct, expected);
    }

    #[test]
    fn rows_that_follow_each_other_are_not_copied() {
        let models: Vec<f32> = (0..8).map(|value| value as f32).collect();
        let follow = block(&models, 2, &[1, 2, 3]);
        assert!(matches!(follow, Cow::Borrowed(rows) if rows == &models[2..]));
        assert_eq!(*block(&models, 2, &[0, 2]), [0.0, 1.0, 4.0, 5.0]);
        assert_eq!(*block(&models, 2, &[3]), [6.0, 7.0]);
    }

    /// A single number anywhere in a row makes another fingerprint.
    #[test]
    fn every_number_counts() {
        let row = vec![0.5; 37];
        let all = (0..37).map(|at| {
            let mut other = row.clone();
            other[at] = 0.25;
            fingerprint(&other)
        });
        let mut all: Vec<u64> = all.chain([fingerprint(&row)]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 38);
    }
}
