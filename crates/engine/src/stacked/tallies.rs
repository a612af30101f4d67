//! Losses of training, kept on the device until they are asked for.

use super::finite::is_finite;
use super::launch::line;
use super::memory::{Memory, download};
use super::sheet::Sheet;
use super::table::Table;
use super::trace::moves;
use crate::tally::{LossSum, RowTally};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// Stands for no round.
const NEVER: u32 = u32::MAX;

/// Each unit adds the mean losses of one row's batches, step after step, to the row's sum, and notes the first round in
/// which one was not finite.
#[cube(launch)]
fn tally_kernel(
    losses: &[f32],
    counts: &[u32],
    sums: &mut [f32],
    broken: &mut [u32],
    steps: usize,
    own: usize,
    first_row: usize,
    rows: usize,
    table: usize,
    positions: usize,
    round: u32,
) {
    let row = ABSOLUTE_POS;
    if row >= own {
        terminate!();
    }
    let mut total = sums[row];
    let mut finite = true;
    for step in 0..steps {
        let entry = step * rows + first_row + row;
        let count = counts[entry] as usize;
        if count > 0 {
            let mut sum = 0.0f32;
            for example in 0..count {
                let first = (entry * table + example) * positions;
                let mut own = 0.0f32;
                for position in 0..positions {
                    own += losses[first + position];
                }
                sum += own;
            }
            let mean = sum / f32::cast_from((count * positions) as u32);
            total += mean;
            if !is_finite(mean) {
                finite = false;
            }
        }
    }
    sums[row] = total;
    if !finite && round < broken[row] {
        broken[row] = round;
    }
}

/// Sums of losses since they were last collected.
#[derive(Debug)]
pub(super) struct Tallies {
    sums: CubeTensor,
    broken: CubeTensor,
    /// Steps and examples of each row, known to the host.
    seen: Vec<(u64, u64)>,
    /// The last round that was trained in.
    round: usize,
}

impl Tallies {
    /// No losses, of `rows` rows.
    pub(super) fn new(memory: &Memory, rows: usize) -> Self {
        Self {
            sums: memory.upload_floats(&vec![0.0; rows]),
            broken: memory.upload_words(&vec![NEVER; rows]),
            seen: vec![(0, 0); rows],
            round: 0,
        }
    }

    /// Rows that there is room for.
    pub(super) fn rows(&self) -> usize {
        self.seen.len()
    }

    /// Counts the steps of `sheet`.
    pub(super) fn count(&mut self, sheet: &Sheet, round: usize) {
        self.round = round;
        for step in 0..sheet.steps {
            for (seen, count) in self
                .seen
                .iter_mut()
                .zip(sheet.counts_of(step))
                .filter(|(_, count)| **count > 0)
            {
                *seen = (seen.0 + 1, seen.1 + u64::from(*count));
            }
        }
    }

    /// Adds the losses `[steps, R, width, positions]` of the batches of `table` in its rows `rows`, which are those counted
    /// here.
    pub(super) fn add(
        &self,
        (losses, positions): (&CubeTensor, usize),
        table: &Table,
        rows: Range<usize>,
    ) {
        let own = rows.len();
        let (count, dim) = line(&losses.client, own);
        moves(table.steps * own * table.width * positions + own, own);
        tally_kernel::launch(
            &losses.client,
            count,
            dim,
            losses.clone().into_buffer_arg(),
            table.counts.clone().into_buffer_arg(),
            self.sums.clone().into_buffer_arg(),
            self.broken.clone().into_buffer_arg(),
            table.steps,
            own,
            rows.start,
            table.rows,
            table.width,
            positions,
            u32::try_from(self.round).unwrap_or(NEVER - 1),
        );
    }

    /// Moves everything to `tallies`. Waits for the device.
    pub(super) fn collect(self, tallies: &mut [RowTally]) {
        if self.seen.iter().all(|seen| seen.0 == 0) {
            return;
        }
        let (sums, broken) = (download::<f32>(self.sums), download::<u32>(self.broken));
        for (row, tally) in tallies.iter_mut().enumerate().take(self.seen.len()) {
            let (steps, examples) = self.seen[row];
            if steps > 0 {
                let round = if broken[row] == NEVER {
                    self.round
                } else {
                    broken[row] as usize
                };
                tally.add(
                    LossSum {
                        sum: f64::from(sums[row]),
                        steps,
                        examples,
                    },
                    round,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::test_device::gpu;

    #[test]
    fn losses_are_summed_and_the_first_bad_round_is_kept() {
        let Some(gpu) = gpu() else { return };
        let memory = gpu.memory();
        let mut tallies = Tallies::new(memory, 4);
        // Two steps of four rows behind one of another run, batches of up to two examples with two positions each; one row
        // has a step only.
        let mut sheet = Sheet::idle(2, 4, 2);
        for (at, batch) in [((0, 1), &[0, 0][..]), ((0, 3), &[0]), ((1, 3), &[0])] {
            sheet.put(at, batch, 0.1, None);
        }
        let mut other = Sheet::idle(1, 1, 1);
        other.put((0, 0), &[0], 0.1, None);
        let table = Table::upload(memory, &Sheet::side_by_side(&[&other, &sheet]));
        for (round, last) in [(3, 4.0), (4, f32::NAN), (5, f32::INFINITY)] {
            tallies.count(&sheet, round);
            let mut losses = vec![9.0; 10 * 4];
            losses[8..12].copy_from_slice(&[1.0, 2.0, 2.0, 1.0]);
            losses[16..18].copy_from_slice(&[2.0, 4.0]);
            losses[36..38].copy_from_slice(&[last, 4.0]);
            losses[38] = f32::NAN;
            let losses = memory.upload_floats(&losses);
            tallies.add((&losses, 2), &table, 1..5);
        }
        let mut found = vec![RowTally::default(); 4];
        tallies.collect(&mut found);
        let mut oracle = [RowTally::default(); 4];
        oracle[1].add(
            LossSum {
                sum: 4.5,
                steps: 3,
                examples: 6,
            },
            5,
        );
        assert_eq!(found[..3], oracle[..3]);
        let broken = format!("{:?}", found[3]);
        assert!(broken.contains("broken: Some(4)"), "{broken}");
    }
}
