//! How a backend comes to its examples.

use meshfold_data::{Examples, ExamplesBuilder, Partition, Splits};
use std::sync::Arc;

/// Reads examples: hands those for training to its argument in pieces, in their order, and returns all others, with no training
/// example left. `None` if it cannot.
pub type Reading<'a> = dyn FnMut(&mut dyn FnMut(&Examples)) -> Option<Splits> + 'a;

/// All examples, where there is but one process.
pub(crate) fn all_of(partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
    let mut all = ExamplesBuilder::of(partition.sizes().iter().sum());
    let rest = read(&mut |piece| all.push(piece))?;
    let whole = Splits {
        train: Arc::new(all.finish(&rest.train)),
        ..rest
    };
    Some(whole.apply_partition(partition))
}
