//! The batches of local steps, drawn on the host as for the processor.

use super::batch_schedule::BatchSchedule;
use super::drawing_threads::in_parts;
use crate::training::batches::{Batches, ShardPass};
use crate::training::context::Context;
use crate::training::schedule::{LearningRate, Schedule};
use crate::training::work::{Amount, RowWork, Tasks};
use std::mem::replace;

/// Most indices of a schedule, unless a single step has more.
pub(crate) const SCHEDULE: usize = 1 << 22;

/// The indices that one thread draws before others would have woken, in about 25 µs.
const ALONE: usize = 1 << 11;

/// Draws the batches of one call.
pub(crate) struct Draws<'a> {
    calls: Calls<'a>,
    rows: Vec<Row<'a>>,
    /// The steps left of the row with the most.
    left: usize,
    /// Steps per schedule.
    steps: usize,
}

/// The inputs that the draws of all rows share.
#[derive(Clone, Copy)]
struct Calls<'a> {
    context: Context<'a>,
    tasks: Tasks<'a>,
    /// Examples of the largest batch.
    width: usize,
}

/// The progress of the draws of a row.
enum Row<'a> {
    /// There is nothing to draw.
    Idle,
    /// Nothing has been drawn.
    Waiting { row: usize, pass: &'a mut ShardPass },
    /// Batches of earlier schedules have been drawn.
    Begun(Box<Batches<'a>>),
}

impl<'a> Draws<'a> {
    /// Prepares to draw what `tasks` ask for. A schedule has up to `schedule` indices, or a single step.
    pub(crate) fn new(
        context: Context<'a>,
        passes: &'a mut [ShardPass],
        tasks: &Tasks<'a>,
        schedule: usize,
    ) -> Self {
        let shard = |task: &RowWork| context.partition.shard(task.client as usize).len();
        let busy = tasks.rows.iter().filter(|task| task.amount != Amount::Idle);
        let width = tasks.largest_batch(context.partition);
        let width = width.max(context.largest_batch).max(1);
        let left = busy
            .map(|task| tasks.sgd.steps_on(task.amount, shard(task)))
            .max()
            .unwrap_or(0) as usize;
        let rows = passes.iter_mut().zip(tasks.rows).enumerate();
        let rows: Vec<Row<'a>> = rows
            .map(|(row, (pass, task))| match task.amount {
                Amount::Idle => Row::Idle,
                Amount::Steps(_) | Amount::Epochs(_) => Row::Waiting { row, pass },
            })
            .collect();
        // The losses of every position are kept as well.
        let entry = rows.len() * width * context.network.positions();
        let steps = (schedule / entry.max(1)).max(1);
        let calls = Calls {
            context,
            tasks: *tasks,
            width,
        };
        let mut draws = Self {
            calls,
            rows,
            left,
            steps,
        };
        if left == 0 {
            // Even a row without steps must abandon its pass in progress if that was another client's.
            draws.rows.iter_mut().for_each(|row| drop(row.begin(calls)));
        }
        draws
    }

    /// Schedules that are left to draw.
    pub(crate) fn schedules(&self) -> usize {
        self.left.div_ceil(self.steps)
    }

    /// Draws the next steps, or says that all rows are finished.
    pub(crate) fn next(&mut self) -> Option<BatchSchedule> {
        let steps = self.left.min(self.steps);
        if steps == 0 {
            return None;
        }
        self.left -= steps;
        let (calls, goes_on) = (self.calls, self.left > 0);
        let indices = steps * self.rows.len() * calls.width;
        let least = match calls.has_own_rate() {
            true => self.rows.len(),
            false => (self.rows.len() * ALONE).div_ceil(indices.max(1)),
        };
        let parts = in_parts(&mut self.rows, least, |rows| {
            calls.drawn(rows, steps, goes_on)
        });
        Some(match parts.as_slice() {
            [_] => parts.into_iter().next()?,
            _ => BatchSchedule::side_by_side(&parts.iter().collect::<Vec<_>>()),
        })
    }
}

impl<'a> Row<'a> {
    /// Takes out the batches that are left to draw, if any.
    fn begin(&mut self, calls: Calls<'a>) -> Option<Batches<'a>> {
        match replace(self, Self::Idle) {
            Self::Idle => None,
            Self::Waiting { row, pass } => {
                let Calls { context, tasks, .. } = calls;
                Some(context.batches(pass, &tasks.rows[row], &tasks, row))
            }
            Self::Begun(batches) => Some(*batches),
        }
    }
}

impl<'a> Calls<'a> {
    /// Whether a user's function gives the learning rate: perhaps only this thread can call it.
    fn has_own_rate(&self) -> bool {
        matches!(
            self.tasks.sgd.learning_rate,
            LearningRate::Schedule(Schedule::Own(_))
        )
    }

    /// Draws `steps` steps of `rows`; if `goes_on`, further steps are drawn later.
    fn drawn(self, rows: &mut [Row<'a>], steps: usize, goes_on: bool) -> BatchSchedule {
        let mut schedule = BatchSchedule::idle(steps, rows.len(), self.width);
        schedule.augmented = self.context.augment.is_some();
        let mut batch = Vec::new();
        for (place, row) in rows.iter_mut().enumerate() {
            let Some(mut batches) = row.begin(self) else {
                continue;
            };
            for step in 0..steps {
                let Some(plan) = batches.next(&mut batch) else {
                    break;
                };
                let dropout = plan.dropout(self.context.network);
                schedule.put(step, place, &batch, plan.rate, dropout);
            }
            if goes_on {
                *row = Row::Begun(Box::new(batches));
            }
        }
        schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::network::model::Model;
    use crate::training::local_work::LocalWork;
    use crate::training::schedule::LearningRate;
    use crate::training::work::{BatchSize, Draw, Sgd};
    use meshfold_data::{Examples, Partition, Scale, Shape};

    #[test]
    fn a_rank_has_room_for_the_largest_batch_of_all_rows() {
        let shape = Shape {
            channels: 1,
            height: 1,
            width: 2,
        };
        let examples = Examples::new(vec![0; 26], vec![0; 13], shape, 2, Scale::UNIT).unwrap();
        let network = Network::new(&Model::Logistic, examples.input(), 2).unwrap();
        let partition = Partition::new(vec![(0..3).collect(), (3..13).collect()], 13).unwrap();
        let sgd = Sgd {
            learning_rate: LearningRate::Constant(0.1),
            momentum: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            clip_norm: None,
            batch_size: BatchSize::Full,
            draw: Draw::Shuffled,
        };
        let rows = [RowWork {
            client: 0,
            amount: Amount::Steps(1),
        }];
        let work = LocalWork::new(1, &rows, &sgd);
        let context = |largest_batch| Context {
            network: &network,
            train: &examples,
            test: &examples,
            validation: None,
            partition: &partition,
            seed: 1,
            augment: None,
            rows: Some(&[7]),
            largest_batch,
        };
        for (largest_batch, width) in [(0, 3), (10, 10)] {
            let (mut passes, tasks) = ([ShardPass::default()], work.tasks());
            let mut draws = Draws::new(context(largest_batch), &mut passes, &tasks, SCHEDULE);
            let schedule = draws.next().unwrap();
            assert_eq!((schedule.width, schedule.counts_of(0)), (width, &[3][..]));
        }
    }
}
