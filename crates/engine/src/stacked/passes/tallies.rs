//! Training losses, kept on the device until they are collected.

use crate::stacked::batches::batch_schedule::BatchSchedule;
use crate::stacked::batches::device_batch_schedule::DeviceBatchSchedule;
use crate::stacked::device::launch::{arrays, line};
use crate::stacked::device::memory::{Memory, download};
use crate::stacked::device::trace::moves;
use crate::stacked::stack_ops::finite::is_finite;
use crate::training::tally::{DeviceLosses, RowTally};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// Each unit adds the mean losses of one row's batches, step by step, to the row's sum, and notes the first round in
/// which one was not finite. `words` `[2, R]` of each run hold the bits of the sums and these rounds; `rooms` are the
/// runs' numbers of rows. `ends` says where the trained rows of each run end, counted from `first_row` on. `rounds` has
/// the rounds of all runs, and `first_run` is the first run of this launch. Rounds come as an array, since numbers that
/// change from launch to launch cost a buffer each time.
#[cube(launch)]
fn tally_kernel(
    losses: &[f32],
    counts: &[u32],
    rounds: &[u32],
    words: &mut Sequence<Box<[u32]>>,
    rooms: &Sequence<usize>,
    ends: &Sequence<usize>,
    first_run: usize,
    steps: usize,
    first_row: usize,
    rows: usize,
    table: usize,
    positions: usize,
) {
    let at = ABSOLUTE_POS;
    let mut begin = 0usize;
    #[unroll]
    for run in 0..ends.len().comptime() {
        if at >= begin && at < ends[run] {
            let broken_at = rooms[run] + at - begin;
            let row = at - begin;
            let mut total = f32::reinterpret(words[run][row]);
            let mut finite = true;
            for step in 0..steps {
                let entry = step * rows + first_row + at;
                let count = counts[entry] as usize;
                if count > 0 {
                    let mean = mean_loss(losses, entry * table, count, positions);
                    total += mean;
                    if !is_finite(mean) {
                        finite = false;
                    }
                }
            }
            let broken = words[run][broken_at];
            let state = words.index_mut(run);
            state[row] = u32::reinterpret(total);
            let round = rounds[first_run + run];
            if !finite && round < broken {
                state[broken_at] = round;
            }
        }
        begin = ends[run];
    }
}

/// The mean loss of `count` examples from `first` on.
#[cube]
fn mean_loss(losses: &[f32], first: usize, count: usize, positions: usize) -> f32 {
    let mut sum = 0.0f32;
    for example in 0..count {
        let at = (first + example) * positions;
        let mut own = 0.0f32;
        for position in 0..positions {
            own += losses[at + position];
        }
        sum += own;
    }
    sum / f32::cast_from((count * positions) as u32)
}

/// Sums of losses since they were last collected.
#[derive(Debug)]
pub(crate) struct Tallies {
    /// `[2, R]`: the bits of the sums, and the first rounds with a loss that was not finite.
    words: CubeTensor,
    /// Steps and examples of each row, known to the host.
    seen: Vec<(u64, u64)>,
    /// The last round that was trained in.
    round: usize,
}

impl Tallies {
    /// Tallies of `rows` rows without losses.
    pub(crate) fn new(memory: &Memory, rows: usize) -> Self {
        Self::of_saved(memory, &DeviceLosses::none(rows))
    }

    /// Whether there are two words for each row of `saved`.
    pub(crate) fn are_whole(saved: &DeviceLosses) -> bool {
        saved.words.len() == 2 * saved.seen.len()
    }

    /// The losses that were [saved](Self::saved).
    pub(crate) fn of_saved(memory: &Memory, saved: &DeviceLosses) -> Self {
        Self {
            words: memory.upload_words(&saved.words),
            seen: saved.seen.clone(),
            round: saved.round,
        }
    }

    /// A copy of the losses, for a checkpoint. Waits for the device.
    pub(crate) fn saved(&self) -> DeviceLosses {
        let mut words = download::<u32>(self.words.clone());
        words.truncate(2 * self.seen.len());
        DeviceLosses {
            words,
            seen: self.seen.clone(),
            round: self.round,
        }
    }

    /// The number of rows that it has room for.
    pub(crate) fn rows(&self) -> usize {
        self.seen.len()
    }

    /// Counts the steps of `schedule`.
    pub(crate) fn count(&mut self, schedule: &BatchSchedule, round: usize) {
        self.round = round;
        for step in 0..schedule.steps {
            for (seen, count) in self
                .seen
                .iter_mut()
                .zip(schedule.counts_of(step))
                .filter(|(_, count)| **count > 0)
            {
                *seen = (seen.0 + 1, seen.1 + u64::from(*count));
            }
        }
    }

    /// Moves everything to `tallies`. Waits for the device.
    pub(crate) fn collect(self, tallies: &mut [RowTally]) {
        if self.seen.iter().any(|seen| seen.0 > 0) {
            self.saved().add_to(tallies);
        }
    }
}

/// Where the losses of some rows go.
#[derive(Debug, Clone)]
pub(crate) struct RowTallies<'a> {
    pub(crate) tallies: &'a Tallies,
    /// The rows of the table that belong to this run.
    pub(crate) rows: Range<usize>,
}

impl RowTallies<'_> {
    /// The last round that was trained in.
    pub(crate) fn round(&self) -> u32 {
        u32::try_from(self.tallies.round).unwrap_or(DeviceLosses::NEVER - 1)
    }
}

/// Adds the losses `[steps, R, width, positions]` of the batches of `table` to the tallies of `runs`, whose rows are
/// consecutive. `table` must have been uploaded for the rounds of `runs`.
pub(crate) fn tally(
    losses: &CubeTensor,
    positions: usize,
    table: &DeviceBatchSchedule,
    runs: &[RowTallies<'_>],
) {
    let most = arrays(&losses.client, 3);
    for (chunk, runs) in runs.chunks(most).enumerate() {
        let first_row = runs[0].rows.start;
        let ends = runs.iter().map(|run| run.rows.end - first_row);
        let own = ends.clone().next_back().unwrap_or(0);
        let words = runs.iter().map(|run| run.tallies.words.clone());
        let (count, dim) = line(&losses.client, own);
        moves(table.steps * own * table.width * positions + own, own);
        tally_kernel::launch(
            &losses.client,
            count,
            dim,
            losses.clone().into_buffer_arg(),
            table.counts.clone().into_buffer_arg(),
            table.rounds.clone().into_buffer_arg(),
            words.map(CubeTensor::into_buffer_arg).collect(),
            runs.iter().map(|run| run.tallies.rows()).collect(),
            ends.collect(),
            chunk * most,
            table.steps,
            first_row,
            table.rows,
            table.width,
            positions,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::gpu;
    use crate::training::tally::LossSum;

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn losses_are_summed_and_the_first_bad_round_is_kept() {
        let gpu = gpu();
        let memory = gpu.memory();
        let (mut tallies, mut of_other) = (Tallies::new(memory, 4), Tallies::new(memory, 1));
        // Two steps of four rows, after one row of another run; batches of up to two examples with two positions each;
        // one row has one step only.
        let mut schedule = BatchSchedule::idle(2, 4, 2);
        for (step, row, batch) in [(0, 1, &[0, 0][..]), (0, 3, &[0]), (1, 3, &[0])] {
            schedule.put(step, row, batch, 0.1, None);
        }
        let mut other = BatchSchedule::idle(1, 1, 1);
        other.put(0, 0, &[0], 0.1, None);
        let both = BatchSchedule::side_by_side(&[&other, &schedule]);
        for (round, last) in [(3, 4.0), (4, f32::NAN), (5, f32::INFINITY)] {
            tallies.count(&schedule, round);
            let mut losses = vec![9.0; 10 * 4];
            losses[8..12].copy_from_slice(&[1.0, 2.0, 2.0, 1.0]);
            losses[16..18].copy_from_slice(&[2.0, 4.0]);
            losses[36..38].copy_from_slice(&[last, 4.0]);
            losses[38] = f32::NAN;
            let losses = memory.upload_floats(&losses);
            of_other.count(&other, round + 10);
            let runs = [(&of_other, 0..1), (&tallies, 1..5)]
                .map(|(tallies, rows)| RowTallies { tallies, rows });
            let rounds = [&runs[0], &runs[1]].map(RowTallies::round);
            let table = DeviceBatchSchedule::upload(memory, &both, &rounds);
            tally(&losses, 2, &table, &runs);
        }
        let saved = tallies.saved();
        assert!(Tallies::are_whole(&saved));
        let tallies = Tallies::of_saved(memory, &saved);
        assert_eq!(tallies.saved(), saved);
        let mut of_others = [RowTally::default()];
        of_other.collect(&mut of_others);
        let nines = LossSum {
            sum: 27.0,
            steps: 3,
            examples: 3,
        };
        assert_eq!((of_others[0].recent, of_others[0].broken), (nines, None));
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

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn rows_that_do_not_train_keep_their_losses_where_others_break() {
        let gpu = gpu();
        let memory = gpu.memory();
        let mut tallies = Tallies::new(memory, 4);
        for (round, rows, loss) in [(1, 4, 2.0), (2, 2, f32::NAN)] {
            let mut schedule = BatchSchedule::idle(1, rows, 1);
            (0..rows).for_each(|row| schedule.put(0, row, &[0], 0.1, None));
            tallies.count(&schedule, round);
            let table = DeviceBatchSchedule::upload(memory, &schedule, &[round as u32]);
            let losses = memory.upload_floats(&vec![loss; rows]);
            let run = RowTallies {
                tallies: &tallies,
                rows: 0..rows,
            };
            tally(&losses, 1, &table, &[run]);
        }
        let mut found = [RowTally::default(); 4];
        tallies.collect(&mut found);
        assert_eq!(
            found.map(|tally| tally.broken),
            [Some(2), Some(2), None, None]
        );
        assert_eq!(found[3].recent.sum, 2.0);
    }
}
