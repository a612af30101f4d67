//! Models that are the same to the bit, which are judged once: all of them before the first round, and after every mean that
//! all clients take.

use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The models of a stack without repetitions.
#[derive(Debug)]
pub(super) struct Distinct<'a> {
    /// `[rows, width]`, in the order in which they first come.
    pub(super) models: Cow<'a, [f32]>,
    /// For every row of the stack, which of `models` it is.
    pub(super) which: Vec<usize>,
}

impl<'a> Distinct<'a> {
    /// Finds what repeats among `models` `[rows, width]`.
    pub(super) fn of(models: &'a [f32], width: usize) -> Self {
        let rows: Vec<&[f32]> = models.chunks_exact(width.max(1)).collect();
        let fingerprints: Vec<u64> = rows.par_iter().map(|row| fingerprint(row)).collect();
        let (mut first, mut which): (Vec<&[f32]>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (row, fingerprint) in rows.iter().zip(fingerprints) {
            let place = match known.entry(fingerprint) {
                Entry::Occupied(found) if same(first[*found.get()], row) => *found.get(),
                // Of different rows with one fingerprint the first alone is found again.
                Entry::Occupied(_) => new(&mut first, row),
                Entry::Vacant(free) => *free.insert(new(&mut first, row)),
            };
            which.push(place);
        }
        let models = match first.len() == rows.len() {
            true => Cow::Borrowed(models),
            false => Cow::Owned(first.concat()),
        };
        Self { models, which }
    }
}

/// Adds a row that has not been there; returns its place.
fn new<'a>(first: &mut Vec<&'a [f32]>, row: &'a [f32]) -> usize {
    first.push(row);
    first.len() - 1
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
        assert_eq!(distinct.which, [0, 1, 0, 2, 1]);
        let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
        assert_eq!(
            bits(&distinct.models),
            bits(&[1.0, 2.0, 0.0, 3.0, -0.0, 3.0])
        );
    }

    #[test]
    fn rows_that_all_differ_are_not_copied() {
        let models: Vec<f32> = (0..60).map(|value| value as f32).collect();
        let distinct = Distinct::of(&models, 20);
        assert!(matches!(distinct.models, Cow::Borrowed(_)));
        assert_eq!(distinct.which, [0, 1, 2]);
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
