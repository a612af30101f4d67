//! The way of a row that another process trains: where it stands is known without drawing anything.

use super::{Amount, Draw, Pass, RowKey, RowWork, Sgd, order_stream};
use rand::seq::SliceRandom;

impl Pass {
    /// Moves on as the batches of `work` on a shard of `shard` examples would. The order of the pass in progress is not drawn:
    /// see [`Pass::redraw`].
    pub(crate) fn skip(&mut self, work: &RowWork, sgd: &Sgd, shard: usize) {
        if work.amount == Amount::Idle {
            return;
        }
        self.order.clear();
        let position = &mut self.position;
        if position.client != work.client || matches!(work.amount, Amount::Epochs(_)) {
            position.client = work.client;
            position.taken = 0;
        }
        let size = sgd.batch_on(shard);
        for _ in 0..sgd.steps_on(work.amount, shard) {
            let ends_epoch = if sgd.draw == Draw::WithReplacement {
                (position.steps + 1).is_multiple_of(shard.div_ceil(size) as u64)
            } else if size == shard {
                true
            } else {
                position.passes += u32::from(position.taken == 0);
                let last = (position.taken as usize + size).min(shard);
                position.taken = if last == shard { 0 } else { last as u32 };
                last == shard
            };
            position.steps += 1;
            position.epochs += u64::from(ends_epoch);
        }
    }

    /// Draws the order of the pass in progress again if it is missing.
    pub(crate) fn redraw(&mut self, key: RowKey, shard: impl FnOnce(u32) -> Vec<u32>) {
        let is_missing = self.position.taken > 0 && self.order.is_empty();
        if is_missing {
            self.order = shard(self.position.client);
            self.order
                .shuffle(&mut order_stream(key, self.position.passes - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Batches, RowCall};
    use super::*;
    use crate::training::schedule::LearningRate;
    use crate::training::work::BatchSize;

    const KEY: RowKey = RowKey { seed: 3, row: 1 };

    fn draw(pass: &mut Pass, work: RowWork, shard: &[u32], sgd: &Sgd) -> Vec<Vec<u32>> {
        let call = RowCall {
            work,
            shard,
            rounds: 0,
        };
        let mut batches = Batches::new(pass, call, sgd, KEY);
        let (mut all, mut indices) = (Vec::new(), Vec::new());
        while batches.next(&mut indices).is_some() {
            all.push(indices.clone());
        }
        all
    }

    #[test]
    fn a_row_that_was_skipped_draws_what_it_would_have_drawn() {
        let shards: [Vec<u32>; 2] = [(0..10).collect(), (20..27).collect()];
        let sizes = [BatchSize::Full, BatchSize::Size(4), BatchSize::Size(7)];
        let draws = [Draw::Shuffled, Draw::WithReplacement];
        let tasks = [(0, 1), (0, 2), (1, 3), (1, 1), (0, 5), (0, 9), (1, 1)];
        let steps = tasks.map(|(client, steps)| (client, Amount::Steps(steps)));
        let epochs = [(0, Amount::Epochs(2)), (1, Amount::Epochs(1))];
        let idle = [(1, Amount::Idle)];
        for (batch_size, rule) in sizes
            .iter()
            .flat_map(|size| draws.map(|draw| (*size, draw)))
        {
            let sgd = Sgd {
                learning_rate: LearningRate::Constant(0.1),
                momentum: 0.0,
                weight_decay: 0.0,
                clip_norm: None,
                batch_size,
                draw: rule,
            };
            let (mut drawn, mut skipped) = (Pass::default(), Pass::default());
            let all = steps.iter().chain(&epochs).chain(&idle).chain(&steps);
            for (index, (client, amount)) in all.enumerate() {
                let work = RowWork {
                    client: *client,
                    amount: *amount,
                };
                let shard = &shards[*client as usize];
                let expected = draw(&mut drawn, work, shard, &sgd);
                if index % 3 == 2 {
                    skipped.redraw(KEY, |client| shards[client as usize].clone());
                    assert_eq!(draw(&mut skipped, work, shard, &sgd), expected);
                } else {
                    skipped.skip(&work, &sgd, shard.len());
                }
                assert_eq!(skipped.position(), drawn.position(), "{work:?} {sgd:?}");
            }
        }
    }
}
