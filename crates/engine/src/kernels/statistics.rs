//! Statistics of the numbers that some rows have for each parameter: trimmed means, medians, deviations.

use super::mix::Shared;
use super::sorting_network::sorting_network;
use crate::cpu::Cpu;
use crate::kernels::Instructions;
use crate::stack::row_lists::{RowLists, Statistic};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::slice::from_raw_parts_mut;

/// Parameters that a thread takes at once: those of all rows stay in the second-level cache, as most rows are on several lists.
const BLOCK: usize = 256;

/// Parameters that are sorted at once.
const LANES: usize = 64;

/// The numbers of a list for [`LANES`] parameters.
type Lanes = [i32; LANES];

/// What is done with the numbers of each list.
enum Plan<'a> {
    TrimmedMean {
        trims: &'a [u32],
        /// By the length of a list and what is left out at each end.
        networks: BTreeMap<(usize, u32), Vec<(u32, u32)>>,
    },
    Deviation,
}

impl<'a> Plan<'a> {
    fn of(lists: &RowLists, statistic: Statistic<'a>) -> Self {
        let Statistic::TrimmedMean(trims) = statistic else {
            return Self::Deviation;
        };
        let mut networks = BTreeMap::new();
        for (target, trim) in trims.iter().enumerate() {
            let count = lists.list(target).len();
            let kept = *trim as usize..count - *trim as usize;
            networks
                .entry((count, *trim))
                .or_insert_with(|| sorting_network(count, kept));
        }
        Self::TrimmedMean { trims, networks }
    }
}

/// `to_i = statistic(from_j of the rows j on list i)`, parameter by parameter; `from` is `[R, width]`, `to` `[lists, width]`. Numbers are
/// sorted as [`f32::total_cmp`] has them, and what is left is added in ascending order.
///
/// # Panics
/// If a list is empty or has fewer numbers than are left out, a row is missing, or the width is no multiple of the alignment of a layout.
pub(crate) fn statistics(
    cpu: &Cpu,
    lists: &RowLists,
    statistic: Statistic<'_>,
    from: &[f32],
    width: usize,
    to: &mut [f32],
) {
    check(lists, from, width, to);
    let plan = Plan::of(lists, statistic);
    let rows: Vec<Shared> = to
        .chunks_exact_mut(width.max(1))
        .map(|row| Shared(row.as_mut_ptr()))
        .collect();
    cpu.install(|| {
        let firsts = (0..width).into_par_iter().step_by(BLOCK);
        firsts.for_each_init(Vec::new, |numbers, first| {
            let size = BLOCK.min(width - first);
            let to = |target: usize| {
                // SAFETY: the rows have `width` floats, which `to` lends until this returns, and this thread alone has these parameters.
                unsafe { from_raw_parts_mut(rows[target].0.add(first), size) }
            };
            block(
                cpu.instructions(),
                (lists, &plan),
                (from, width, first),
                to,
                numbers,
            );
        });
    });
}

/// [`statistics`] on one thread.
#[cfg(any(test, feature = "gpu"))]
pub(crate) fn statistics_of(
    lists: &RowLists,
    statistic: Statistic<'_>,
    from: &[f32],
    width: usize,
) -> Vec<f32> {
    let mut to = vec![0.0; lists.len() * width];
    check(lists, from, width, &to);
    let plan = Plan::of(lists, statistic);
    let mut numbers = Vec::new();
    for (target, row) in to.chunks_exact_mut(width.max(1)).enumerate() {
        for (chunk, row) in row.chunks_exact_mut(LANES).enumerate() {
            let list = lists.list(target);
            lanes(
                &plan,
                (target, list),
                (from, width, chunk * LANES),
                row,
                &mut numbers,
            );
        }
    }
    to
}

fn check(lists: &RowLists, from: &[f32], width: usize, to: &[f32]) {
    assert!(
        width.is_multiple_of(LANES),
        "rows are padded to the alignment of a layout"
    );
    assert_eq!(to.len(), lists.len() * width, "a row for each list");
    let rows = from.len() / width.max(1);
    let is_there = |row: &u32| (*row as usize) < rows;
    assert!(lists.rows().iter().all(is_there), "rows that exist");
    let is_empty = |target: usize| lists.list(target).is_empty();
    assert!(!(0..lists.len()).any(is_empty), "no list is empty");
}

/// The parameters of a block, from `first` on, of all new rows.
fn block<'a>(
    instructions: Instructions,
    (lists, plan): (&RowLists, &Plan<'_>),
    (from, width, first): (&[f32], usize, usize),
    to: impl Fn(usize) -> &'a mut [f32],
    numbers: &mut Vec<Lanes>,
) {
    instructions.vectorize(
        #[inline(always)]
        || {
            for target in 0..lists.len() {
                let list = lists.list(target);
                for (chunk, to) in to(target).chunks_exact_mut(LANES).enumerate() {
                    let place = (from, width, first + chunk * LANES);
                    lanes(plan, (target, list), place, to, numbers);
                }
            }
        },
    );
}

/// [`LANES`] parameters, from `first` on, of the row `target`.
#[inline(always)]
fn lanes(
    plan: &Plan<'_>,
    (target, list): (usize, &[u32]),
    (from, width, first): (&[f32], usize, usize),
    to: &mut [f32],
    numbers: &mut Vec<Lanes>,
) {
    let values = |row: &u32| &from[*row as usize * width + first..][..LANES];
    match plan {
        Plan::TrimmedMean { trims, networks } => {
            numbers.clear();
            numbers.extend(list.iter().map(|row| keys(values(row))));
            let trim = trims[target];
            for pair in &networks[&(list.len(), trim)] {
                exchange(numbers, *pair);
            }
            let kept = &numbers[trim as usize..list.len() - trim as usize];
            mean(kept, to);
        }
        Plan::Deviation => deviation(list.len(), || list.iter().map(values), to),
    }
}

/// Whole numbers in the order of `f32::total_cmp`. The function is its own inverse.
#[inline(always)]
fn key(bits: i32) -> i32 {
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

#[inline(always)]
fn keys(values: &[f32]) -> Lanes {
    let mut keys = [0; LANES];
    for (to, value) in keys.iter_mut().zip(values) {
        *to = key(value.to_bits() as i32);
    }
    keys
}

/// Puts the numbers at two places in order.
#[inline(always)]
fn exchange(numbers: &mut [Lanes], (low, high): (u32, u32)) {
    let (left, right) = numbers.split_at_mut(high as usize);
    let (low, high) = (&mut left[low as usize], &mut right[0]);
    for lane in 0..LANES {
        let (a, b) = (low[lane], high[lane]);
        low[lane] = a.min(b);
        high[lane] = a.max(b);
    }
}

#[inline(always)]
fn mean(kept: &[Lanes], to: &mut [f32]) {
    let mut sums = [0f32; LANES];
    for numbers in kept {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += f32::from_bits(key(*number) as u32);
        }
    }
    let count = kept.len() as f32;
    for (to, sum) in to.iter_mut().zip(sums) {
        *to = sum / count;
    }
}

#[inline(always)]
fn deviation<'a, I: Iterator<Item = &'a [f32]>>(
    count: usize,
    rows: impl Fn() -> I,
    to: &mut [f32],
) {
    let (mut means, mut squares) = ([0f32; LANES], [0f32; LANES]);
    for row in rows() {
        for (sum, value) in means.iter_mut().zip(row) {
            *sum += value;
        }
    }
    for mean in &mut means {
        *mean /= count as f32;
    }
    for row in rows() {
        for ((square, value), mean) in squares.iter_mut().zip(row).zip(&means) {
            let difference = value - mean;
            *square += difference * difference;
        }
    }
    // One number has no deviation.
    let others = (count - 1).max(1) as f32;
    for (to, square) in to.iter_mut().zip(squares) {
        *to = (square / others).sqrt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;

    /// Lists of 1 to 13 rows, and one of all.
    fn lists(rows: u32) -> RowLists {
        let mut edges: Vec<(u32, u32)> = (0..13)
            .flat_map(|target| {
                (0..=target).map(move |step| ((target * 7 + step * 3) % rows, target))
            })
            .collect();
        edges.extend((0..rows).map(|row| (row, 13)));
        RowLists::of_edges(&edges, 14)
    }

    fn plain(lists: &RowLists, statistic: Statistic<'_>, from: &[f32], width: usize) -> Vec<f64> {
        let number = |target: usize, place: usize| {
            let of_row = |row: &u32| f64::from(from[*row as usize * width + place]);
            let mut values: Vec<f64> = lists.list(target).iter().map(of_row).collect();
            let count = values.len() as f64;
            match statistic {
                Statistic::TrimmedMean(trims) => {
                    let trim = trims[target] as usize;
                    values.sort_by(f64::total_cmp);
                    let kept = &values[trim..values.len() - trim];
                    kept.iter().sum::<f64>() / kept.len() as f64
                }
                Statistic::Deviation if values.len() == 1 => 0.0,
                Statistic::Deviation => {
                    let mean = values.iter().sum::<f64>() / count;
                    let squares = values.iter().map(|value| (value - mean).powi(2));
                    (squares.sum::<f64>() / (count - 1.0)).sqrt()
                }
            }
        };
        (0..lists.len())
            .flat_map(|target| (0..width).map(move |place| (target, place)))
            .map(|(target, place)| number(target, place))
            .collect()
    }

    #[test]
    fn statistics_are_those_of_a_plain_loop_whatever_the_threads_and_the_instructions() {
        let rows = 17;
        for width in [64, 576] {
            let from = numbers(rows * width, 3);
            let lists = lists(rows as u32);
            let median: Vec<u32> = (0..lists.len())
                .map(|target| (lists.list(target).len() as u32 - 1) / 2)
                .collect();
            let quarter: Vec<u32> = median.iter().map(|trim| trim / 2).collect();
            let none = vec![0; lists.len()];
            for statistic in [
                Statistic::TrimmedMean(&median),
                Statistic::TrimmedMean(&quarter),
                Statistic::TrimmedMean(&none),
                Statistic::Deviation,
            ] {
                let wanted = plain(&lists, statistic, &from, width);
                let first = statistics_of(&lists, statistic, &from, width);
                for (found, wanted) in first.iter().zip(wanted) {
                    assert!(
                        (f64::from(*found) - wanted).abs() < 1e-6,
                        "{found} {wanted}"
                    );
                }
                for set in Instructions::every() {
                    for threads in [1, 3] {
                        let cpu = Cpu::new(Some(threads), Some(set)).unwrap();
                        let mut found = vec![9.0; lists.len() * width];
                        statistics(&cpu, &lists, statistic, &from, width, &mut found);
                        assert!(found == first, "{set} {threads} {statistic:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_none_count_as_the_largest() {
        let mut from = vec![1.0; 5 * 64];
        from[0] = f32::NAN;
        from[64] = f32::INFINITY;
        from[128] = -3.0;
        let lists = RowLists::of_edges(&[(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)], 1);
        let found = |trim| statistics_of(&lists, Statistic::TrimmedMean(&[trim]), &from, 64)[0];
        assert_eq!(found(2), 1.0, "the median");
        assert_eq!(found(1), f32::INFINITY);
        assert!(found(0).is_nan());
    }
}
