//! The parameters of each row that are largest in magnitude.

use crate::cpu::Cpu;
use rayon::prelude::*;

/// Keeps the `count` parameters of largest magnitude in each row of `width` floats, and sets the others to zero. Of
/// equal ones the first are kept.
pub(crate) fn keep_largest(cpu: &Cpu, rows: &mut [f32], width: usize, count: usize) {
    if count >= width {
        return;
    }
    cpu.install(|| {
        rows.par_chunks_exact_mut(width.max(1))
            .for_each_init(Vec::new, |magnitudes, row| keep(row, count, magnitudes));
    });
}

/// [`keep_largest`] on one thread.
#[cfg(feature = "gpu")]
pub(crate) fn keep_largest_of(rows: &mut [f32], width: usize, count: usize) {
    if count < width {
        let mut magnitudes = Vec::new();
        rows.chunks_exact_mut(width)
            .for_each(|row| keep(row, count, &mut magnitudes));
    }
}

/// [`keep_largest`] of one row that has more than `count` parameters.
fn keep(row: &mut [f32], count: usize, magnitudes: &mut Vec<u32>) {
    if count == 0 {
        row.fill(0.0);
        return;
    }
    // The bits of nonnegative floats have the order of the floats.
    let magnitude = |value: &f32| value.abs().to_bits();
    magnitudes.clear();
    magnitudes.extend(row.iter().map(magnitude));
    let (above, least, _) = magnitudes.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
    let least = *least;
    let larger = above.iter().filter(|value| **value > least).count();
    let mut equal_left = count - larger;
    for value in row {
        let magnitude = magnitude(value);
        let is_kept = magnitude > least || (magnitude == least && equal_left > 0);
        equal_left -= usize::from(magnitude == least && is_kept);
        if !is_kept {
            *value = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_as_sorting_has_them() {
        let values = |seed: u32| {
            let next = move |index: u32| (index * 7919 + seed * 104_729) % 101;
            (0..100).map(move |index| (next(index) as f32 - 50.0) / 4.0)
        };
        for count in [0, 1, 2, 17, 50, 99, 100, 200] {
            let before: Vec<f32> = values(count as u32).collect();
            let mut order: Vec<usize> = (0..100).collect();
            order.sort_by(|a, b| before[*b].abs().total_cmp(&before[*a].abs()));
            let mut expected = vec![0.0; 100];
            for index in order.into_iter().take(count) {
                expected[index] = before[index];
            }
            let mut found = before.clone();
            if count < 100 {
                keep(&mut found, count, &mut Vec::new());
            }
            assert_eq!(found, expected, "{count}");
        }
    }

    #[test]
    fn equal_magnitudes_are_kept_from_the_left() {
        let mut row = [1.0, -2.0, 2.0, -1.0, 2.0];
        keep(&mut row, 2, &mut Vec::new());
        assert_eq!(row, [0.0, -2.0, 2.0, 0.0, 0.0]);
    }
}
