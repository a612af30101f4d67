//! How a backend gets its examples.

use meshfold_data::{Examples, ExamplesBuilder, Partition, Splits};
use std::sync::Arc;

/// Reads a dataset. Passes the training examples to its argument in pieces, in their order, and returns the splits
/// without them; `None` if reading fails.
pub type Reading<'a> = dyn FnMut(&mut dyn FnMut(&Examples)) -> Option<Splits> + 'a;

/// All examples, for a run of a single process.
pub(crate) fn all_of(partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
    let mut all = ExamplesBuilder::of(partition.sizes().iter().sum());
    let rest = read(&mut |piece| all.push(piece))?;
    let whole = Splits {
        train: Arc::new(all.finish(&rest.train)),
        ..rest
    };
    Some(whole.apply_partition(partition))
}
