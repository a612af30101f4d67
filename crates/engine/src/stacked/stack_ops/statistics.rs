//! Statistics of the numbers that some rows have for each parameter: trimmed means, medians, deviations.

use crate::kernels::statistics::statistics_of;
use crate::stack::row_lists::{RowLists, Statistic};
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{Memory, cube, read, tensor};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// The longest list whose numbers the kernel ranks: it compares each with each.
const LONGEST: usize = 64;

/// Numbers whose order is that of `f32::total_cmp`.
#[cube]
fn key(value: f32) -> u32 {
    let bits = u32::reinterpret(value);
    bits ^ ((bits >> 31u32) * 0x7FFF_FFFFu32 + 0x8000_0000u32)
}

/// Each unit averages a parameter of a new row. `lists` holds where the entries of each list begin, the rows from `rows_at` on, and what
/// is left out at each end from `trims_at` on.
#[cube(launch)]
fn trimmed_kernel(
    from: &[f32],
    lists: &[u32],
    to: &mut [f32],
    targets: usize,
    width: usize,
    rows_at: usize,
    trims_at: usize,
) {
    let target = ABSOLUTE_POS / width;
    let place = ABSOLUTE_POS % width;
    if target >= targets {
        terminate!();
    }
    let begin = lists[target] as usize;
    let end = lists[target + 1] as usize;
    let trim = lists[trims_at + target];
    let count = lists[target + 1] - lists[target];
    let mut sum = 0.0f32;
    for entry in begin..end {
        let value = from[lists[rows_at + entry] as usize * width + place];
        let own = key(value);
        let mut smaller = 0u32;
        for other in begin..end {
            let number = key(from[lists[rows_at + other] as usize * width + place]);
            if number < own || (number == own && other < entry) {
                smaller += 1u32;
            }
        }
        if smaller >= trim && smaller + trim < count {
            sum += value;
        }
    }
    to[ABSOLUTE_POS] = sum / f32::cast_from(count - 2u32 * trim);
}

/// Each unit takes the deviation of a parameter of a new row.
#[cube(launch)]
fn deviation_kernel(
    from: &[f32],
    lists: &[u32],
    to: &mut [f32],
    targets: usize,
    width: usize,
    rows_at: usize,
) {
    let target = ABSOLUTE_POS / width;
    let place = ABSOLUTE_POS % width;
    if target >= targets {
        terminate!();
    }
    let begin = lists[target] as usize;
    let end = lists[target + 1] as usize;
    let count = lists[target + 1] - lists[target];
    let mut sum = 0.0f32;
    for entry in begin..end {
        sum += from[lists[rows_at + entry] as usize * width + place];
    }
    let mean = sum / f32::cast_from(count);
    let mut squares = 0.0f32;
    for entry in begin..end {
        let difference = from[lists[rows_at + entry] as usize * width + place] - mean;
        squares += difference * difference;
    }
    let mut others = 1u32;
    if count > 1u32 {
        others = count - 1u32;
    }
    to[ABSOLUTE_POS] = (squares / f32::cast_from(others)).sqrt();
}

/// The `statistic` of the rows of `from` `[R, P_pad]` on each list: `[lists, P_pad]`. If a list is long, the host computes it, with other
/// rounding.
pub(crate) fn statistics(from: Tensor<2>, lists: &RowLists, statistic: Statistic<'_>) -> Tensor<2> {
    let [_, width] = from.dims();
    if lists.longest() > LONGEST {
        let memory = Memory::of(&cube(from.clone()));
        let rows = statistics_of(lists, statistic, &read(from), width);
        return tensor(memory.upload_stack(&rows, width));
    }
    let from = cube(from);
    let to = Memory::of(&from).floats(&[lists.len(), width]);
    if !lists.is_empty() {
        launch(from, lists, statistic, &to);
    }
    tensor(to)
}

fn launch(from: CubeTensor, lists: &RowLists, statistic: Statistic<'_>, to: &CubeTensor) {
    let (client, width) = (from.client.clone(), to.meta.shape()[1]);
    let trims = match statistic {
        Statistic::TrimmedMean(trims) => trims,
        Statistic::Deviation => &[],
    };
    let starts = lists.starts().iter().map(|start| *start as u32);
    let words: Vec<u32> = starts
        .chain(lists.rows().iter().copied())
        .chain(trims.iter().copied())
        .collect();
    let (targets, rows_at) = (lists.len(), lists.starts().len());
    let trims_at = rows_at + lists.rows().len();
    let words = Memory::of(to).upload_words(&words).into_buffer_arg();
    let (count, dim) = line(&client, targets * width);
    moves(lists.rows().len() * width, targets * width);
    let (from, to) = (from.into_buffer_arg(), to.clone().into_buffer_arg());
    match statistic {
        Statistic::TrimmedMean(_) => trimmed_kernel::launch(
            &client, count, dim, from, words, to, targets, width, rows_at, trims_at,
        ),
        Statistic::Deviation => {
            deviation_kernel::launch(
                &client, count, dim, from, words, to, targets, width, rows_at,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn statistics_are_those_of_the_host() {
        let gpu = gpu();
        let width = 192;
        // Lists of one row, of a few, with a row twice, and one that the host takes.
        for (rows, lengths) in [(1, vec![1]), (9, vec![1, 2, 5, 9, 12]), (70, vec![3, 65])] {
            let mut values = numbers(rows * width, 31);
            // Equal numbers, and zeros of both signs.
            values[..width.min(64)].fill(-0.0);
            values[width * (rows - 1)..].fill(0.0);
            let edges: Vec<(u32, u32)> = (0u32..)
                .zip(&lengths)
                .flat_map(|(target, length)| {
                    (0..*length).map(move |row| (row * 5 % rows as u32, target))
                })
                .collect();
            let lists = RowLists::of_edges(&edges, lengths.len());
            let medians: Vec<u32> = lengths.iter().map(|length| (length - 1) / 2).collect();
            let fewer: Vec<u32> = medians.iter().map(|trim| trim / 2).collect();
            for statistic in [
                Statistic::TrimmedMean(&medians),
                Statistic::TrimmedMean(&fewer),
                Statistic::Deviation,
            ] {
                let found = read(statistics(stacked(&gpu, &values, rows), &lists, statistic));
                let wanted = statistics_of(&lists, statistic, &values, width);
                assert_eq!(found.len(), wanted.len());
                for (found, wanted) in found.iter().zip(wanted) {
                    assert!(
                        (found - wanted).abs() < 2e-6,
                        "{statistic:?}: {found} {wanted}"
                    );
                }
            }
        }
        let none = RowLists::of_edges(&[], 0);
        let found = statistics(
            stacked(&gpu, &numbers(width, 1), 1),
            &none,
            Statistic::Deviation,
        );
        assert_eq!(found.dims(), [0, width]);
    }
}
