//! The way of a row that another process trains: where it stands is known without drawing anything.

use super::{Amount, Draw, RowKey, RowWork, Sgd, ShardPass, order_stream};
use rand::seq::SliceRandom;

impl ShardPass {
    /// Moves on as the batches of `work` on a shard of `shard` examples would. The order of the pass in progress is not drawn:
    /// see [`ShardPass::redraw`].
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
