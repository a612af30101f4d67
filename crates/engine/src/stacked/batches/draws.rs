//! The batches of local steps, drawn on the host as for the processor.

use super::batch_schedule::BatchSchedule;
use crate::network::Network;
use crate::training::batches::{Batches, ShardPass};
use crate::training::context::Context;
use crate::training::work::{Amount, RowWork, Tasks};

/// Most indices of a schedule, unless a single step has more.
pub(crate) const SCHEDULE: usize = 1 << 22;

/// Draws the batches of one call.
pub(crate) struct Draws<'a> {
    network: &'a Network,
    rows: Vec<Option<Batches<'a>>>,
    /// Steps that are left to the row with most of them.
    left: usize,
    /// Examples of the largest batch.
    width: usize,
    /// Steps per schedule.
    steps: usize,
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
        let rows: Vec<Option<Batches<'a>>> = passes
            .iter_mut()
            .zip(tasks.rows)
            .enumerate()
            .map(|(row, (pass, task))| {
                (task.amount != Amount::Idle).then(|| context.batches(pass, task, tasks, row))
            })
            .collect();
        // Their losses are kept as well, of every position.
        let entry = rows.len() * width * context.network.positions();
        let steps = (schedule / entry.max(1)).max(1);
        Self {
            network: context.network,
            rows,
            left,
            width,
            steps,
        }
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
        let mut schedule = BatchSchedule::idle(steps, self.rows.len(), self.width);
        let mut batch = Vec::new();
        for (row, batches) in self.rows.iter_mut().enumerate() {
            let Some(batches) = batches else { continue };
            for step in 0..steps {
                let Some(plan) = batches.next(&mut batch) else {
                    break;
                };
                schedule.put(step, row, &batch, plan.rate, plan.dropout(self.network));
            }
        }
        Some(schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
