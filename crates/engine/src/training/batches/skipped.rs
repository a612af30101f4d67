//! Moves the position of a row that another process trains, without drawing its batches.

use super::{Amount, RowKey, RowWork, Sgd, ShardPass};

impl ShardPass {
    /// Moves on as the batches of `work` on a shard of `shard` examples would. The order of the pass in progress is not drawn:
    /// see [`ShardPass::redraw`].
    pub(crate) fn skip(&mut self, work: &RowWork, sgd: &Sgd, shard: usize) {
        if work.amount == Amount::Idle {
            return;
        }
        self.order.clear();
        self.position.begin(work);
        for _ in 0..sgd.steps_on(work.amount, shard) {
            self.position.advance(sgd, shard);
        }
    }

    /// Draws the order of the pass in progress again if it is missing.
    pub(crate) fn redraw(&mut self, key: RowKey, shard: impl FnOnce(u32) -> Vec<u32>) {
        let is_missing = self.position.taken > 0 && self.order.is_empty();
        if is_missing {
            let shard = shard(self.position.client);
            self.draw_order(&shard, key);
        }
    }
}
