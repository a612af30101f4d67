//! Distances between rows, pair by pair.

use crate::cpu::Cpu;
use rayon::prelude::*;
use std::ops::Range;

/// Parameters of all rows that are read before the next ones: most rows stand in several pairs, and so much stays in the second-level
/// cache.
const BLOCK: usize = 512;

/// The most parts of a row that are summed apart from each other, for threads to share.
const PARTS: usize = 64;

/// Pairs whose sums are kept at once.
const PAIRS: usize = 1 << 16;

/// Sums that go on side by side.
const LANES: usize = 64;

/// `‖left_a − right_b‖²` for each pair `(a, b)`; `left` and `right` are rows of `width` floats. Within a block the squares are added in
/// single precision, all others in double precision; the width alone decides the order.
///
/// # Panics
/// If the width is no multiple of the alignment of a layout, or a row does not exist.
pub(crate) fn pair_distances(
    cpu: &Cpu,
    (left, right): (&[f32], &[f32]),
    width: usize,
    pairs: &[(u32, u32)],
) -> Vec<f64> {
    let of_pairs = |pairs: &[(u32, u32)]| {
        let parts: Vec<Vec<f64>> = cpu.install(|| {
            let parts = parts(width).into_par_iter();
            parts
                .map(|part| {
                    cpu.instructions().vectorize(
                        #[inline(always)]
                        || sums((left, right), width, pairs, part.clone()),
                    )
                })
                .collect()
        });
        total(&parts, pairs.len())
    };
    pairs.chunks(PAIRS).flat_map(of_pairs).collect()
}

/// [`pair_distances`] on one thread.
#[cfg(test)]
pub(crate) fn pair_distances_of(
    rows: (&[f32], &[f32]),
    width: usize,
    pairs: &[(u32, u32)],
) -> Vec<f64> {
    let parts = parts(width).into_iter();
    let parts: Vec<Vec<f64>> = parts.map(|part| sums(rows, width, pairs, part)).collect();
    total(&parts, pairs.len())
}

/// The parameters of a row in parts.
fn parts(width: usize) -> Vec<Range<usize>> {
    assert!(
        width.is_multiple_of(LANES),
        "rows are padded to the alignment of a layout"
    );
    let size = width.div_ceil(PARTS).next_multiple_of(4 * BLOCK);
    let firsts = (0..width).step_by(size);
    firsts
        .map(|first| first..(first + size).min(width))
        .collect()
}

fn total(parts: &[Vec<f64>], pairs: usize) -> Vec<f64> {
    let sum = |pair: usize| parts.iter().map(|part| part[pair]).sum();
    (0..pairs).map(sum).collect()
}

/// What the parameters `part` add to each distance.
#[inline(always)]
fn sums(
    (left, right): (&[f32], &[f32]),
    width: usize,
    pairs: &[(u32, u32)],
    part: Range<usize>,
) -> Vec<f64> {
    let mut sums = vec![0.0; pairs.len()];
    for first in part.clone().step_by(BLOCK) {
        let size = BLOCK.min(part.end - first);
        for (sum, (a, b)) in sums.iter_mut().zip(pairs) {
            let left = &left[*a as usize * width + first..][..size];
            let right = &right[*b as usize * width + first..][..size];
            *sum += f64::from(distance(left, right));
        }
    }
    sums
}

#[inline(always)]
fn distance(left: &[f32], right: &[f32]) -> f32 {
    let mut squares = [0f32; LANES];
    for (left, right) in left.chunks_exact(LANES).zip(right.chunks_exact(LANES)) {
        for lane in 0..LANES {
            let difference = left[lane] - right[lane];
            squares[lane] += difference * difference;
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            squares[lane] += squares[lane + half];
        }
        half /= 2;
    }
    squares[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn distances_are_those_of_double_precision_whatever_the_threads_and_the_instructions() {
        // More than one part, and a last block that is shorter.
        for width in [64, 640, 4_672] {
            let (left, right) = (numbers(5 * width, 1), numbers(3 * width, 2));
            let pairs = [(0, 0), (4, 2), (1, 2), (1, 2), (3, 0)];
            let first = pair_distances_of((&left, &right), width, &pairs);
            for ((a, b), found) in pairs.iter().zip(&first) {
                let rows = [(&left, a), (&right, b)];
                let [a, b] = rows.map(|(rows, row)| &rows[*row as usize * width..][..width]);
                let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
                let wanted: f64 = a.iter().zip(b).map(square).sum();
                assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
            }
            for set in Instructions::every() {
                for threads in [1, 3] {
                    let cpu = Cpu::new(Some(threads), Some(set)).unwrap();
                    let found = pair_distances(&cpu, (&left, &right), width, &pairs);
                    assert!(found == first, "{set} {threads}");
                }
            }
            assert!(pair_distances_of((&left, &right), width, &[]).is_empty());
        }
    }

    #[test]
    fn many_pairs_are_taken_in_turns() {
        let rows = numbers(2 * 64, 4);
        let pairs = vec![(0, 1); PAIRS + 3];
        let cpu = Cpu::new(Some(2), None).unwrap();
        let found = pair_distances(&cpu, (&rows, &rows), 64, &pairs);
        assert_eq!(found.len(), PAIRS + 3);
        assert!(
            found
                .iter()
                .all(|distance| *distance == found[0] && *distance > 0.0)
        );
    }
}
