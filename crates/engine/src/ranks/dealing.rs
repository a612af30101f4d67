//! How the ranks of a machine come to their examples: one of them has read all, and hands each other one its own.

use super::world::World;
use meshfold_data::{Partition, Splits};

impl World {
    /// The examples that this rank keeps of those that `partition` deals: the training examples of its own clients, and all
    /// others. Of the ranks of a machine the first one must have `splits`; it sends those that have none what they keep.
    /// Every rank calls it.
    pub(crate) fn deal(&self, splits: Option<Splits>, partition: &Partition) -> Splits {
        let transport = self.ranks.transport();
        let has = self.ranks.gather([u64::from(splits.is_some())]);
        let readers = transport.readers();
        let Some(splits) = splits else {
            let reader = readers[self.rank()];
            if has[reader] == [0] {
                let reason = format!("rank {reader} has read no examples for its machine");
                transport.abort(&reason);
            }
            return Splits::from_pieces(|| transport.receive(reader));
        };
        let kept_by = |rank| {
            let examples = self.examples_of(rank, partition).1;
            splits.clone().keeping(&examples)
        };
        for (rank, reader) in readers.into_iter().enumerate() {
            if reader == self.rank() && has[rank] == [0] {
                kept_by(rank).to_pieces(|piece| transport.send(rank, piece));
            }
        }
        kept_by(self.rank())
    }
}
