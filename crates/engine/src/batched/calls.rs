//! Calls of the model: grouping rows, preparing the arguments, and reading the results.

use super::Batched;
use crate::blocked::evaluation::distinct::block;
use crate::blocked::pass::passes::labels_of;
use crate::error::EngineError;
use crate::network::Network;
use crate::network::host_model::{
    HostModel, LentExamples, LentRows, ReturnedGradient, RowGradients, TakeGradients,
};
use crate::network::layout::Layout;
use crate::processor::row_memory::RowMemory;
use meshfold_data::Examples;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The most examples of a row in one call; a larger batch is cut into pieces.
pub(crate) const PIECE: usize = 2048;
/// About how many examples of all rows go through a model at once.
pub(super) const PASSES: usize = 16384;
/// About how many floats the models of one call have: 256 MiB.
const FLOATS: usize = 1 << 26;

/// How many rows of `width` floats, each with `batch` examples, go in one call.
pub(crate) fn rows_of_a_call(batch: usize, width: usize) -> usize {
    let by_examples = PASSES / batch.clamp(1, PIECE);
    by_examples.min(FLOATS / width.max(1)).max(1)
}

/// Rows whose batches have the same size.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) size: usize,
    /// Their indices among all rows, ascending.
    pub(super) places: Vec<usize>,
}

/// Groups places by the sizes beside them, the smallest first.
pub(super) fn groups(sizes: impl Iterator<Item = (usize, usize)>) -> Vec<Group> {
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, size) in sizes {
        all.entry(size).or_default().push(place);
    }
    let groups = all.into_iter();
    groups
        .map(|(size, places)| Group { size, places })
        .collect()
}

impl Group {
    /// Splits the rows, of `width` floats, into blocks of nearly equal size, one per call.
    pub(super) fn blocks(&self, width: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = self.places.len();
        let calls = rows.div_ceil(rows_of_a_call(self.size, width)).max(1);
        let each = rows.div_ceil(calls).max(1);
        (0..rows)
            .step_by(each)
            .map(move |first| first..(first + each).min(rows))
    }
}

/// The result of a call: the losses and gradients of some rows.
#[derive(Debug)]
pub(super) enum Taken<'a> {
    /// As the model returned them.
    Whole(RowGradients<'a>, &'a Layout),
    /// Added up over the pieces of a batch: losses `[R]` and gradients `[R, P_pad]`.
    Sum(&'a [f32], &'a [f32], &'a Layout),
}

impl Taken<'_> {
    pub(super) fn losses(&self) -> &[f32] {
        match self {
            Self::Whole(rows, _) => rows.losses,
            Self::Sum(losses, ..) => losses,
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Self::Whole(_, layout) | Self::Sum(_, _, layout) => layout.width(),
        }
    }

    /// Copies the gradient of row `place` of these into `to` `[P_pad]`; `row` is its number in the stack.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] if it is not finite.
    pub(super) fn read(&self, place: usize, row: usize, to: &mut [f32]) -> Result<(), EngineError> {
        match self {
            Self::Whole(rows, _) => rows.read(place, row, to),
            Self::Sum(_, gradients, layout) => {
                let width = layout.width();
                to.copy_from_slice(&gradients[place * width..][..width]);
                Ok(())
            }
        }
    }
}

/// The rows of a call, and what their batches are cut into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) layout: &'a Layout,
    /// Ascending.
    pub(super) rows: &'a [usize],
    /// Examples of each row.
    pub(super) batch: usize,
    /// Whether gradients are means over the examples; else they are sums.
    pub(super) means: bool,
}

/// Has the model compute the gradients of the rows that it is lent on a part of their batches.
pub(super) type OfPiece<'a> = dyn FnMut(LentRows, Range<usize>, &mut TakeGradients<'_>) -> Result<(), EngineError>
    + Send
    + 'a;

impl Called<'_> {
    /// Calls `take` with the losses and gradients of the rows of `models` `[_, P_pad]`, which `of_piece` computes piece by piece.
    ///
    /// # Errors
    /// Errors of the model and of `take`.
    pub(super) fn gradients(
        &self,
        models: Arc<RowMemory>,
        of_piece: &mut OfPiece<'_>,
        take: &mut (dyn FnMut(&Taken<'_>) -> Result<(), EngineError> + Send),
    ) -> Result<(), EngineError> {
        let Self {
            layout,
            rows,
            batch,
            means,
        } = *self;
        let lent = lend(models, layout.width(), rows);
        if batch <= PIECE {
            return of_piece(lent, 0..batch, &mut |losses, gradients| {
                let rows = RowGradients::new(layout, rows.len(), losses, gradients)?;
                take(&Taken::Whole(rows, layout))
            });
        }
        let mut losses = vec![0.0; rows.len()];
        let mut sums = vec![0.0; rows.len() * layout.width()];
        let mut one = vec![0.0; layout.width()];
        for first in (0..batch).step_by(PIECE) {
            let part = first..(first + PIECE).min(batch);
            let share = match means {
                true => part.len() as f32 / batch as f32,
                false => 1.0,
            };
            let mut add = |of_piece: &[f32], gradients: &[ReturnedGradient<'_>]| {
                let taken = RowGradients::new(layout, rows.len(), of_piece, gradients)?;
                for (place, sum) in sums.chunks_exact_mut(layout.width()).enumerate() {
                    taken.read(place, rows[place], &mut one)?;
                    sum.iter_mut().zip(&one).for_each(|(s, g)| *s += share * g);
                    losses[place] += share * of_piece[place];
                }
                Ok(())
            };
            of_piece(lent.clone(), part, &mut add)?;
        }
        drop(lent);
        take(&Taken::Sum(&losses, &sums, layout))
    }
}

impl Batched {
    /// Calls `take` with the losses and gradients of the rows `rows` of `models` `[_, P_pad]`, each on its examples
    /// `indices` of `examples`; all have the same number.
    ///
    /// # Errors
    /// Errors of the model and of `take`.
    pub(super) fn call(
        &self,
        (network, examples): (&Network, &Examples),
        models: Arc<RowMemory>,
        rows: &[usize],
        indices: &[&[u32]],
        take: &mut (dyn FnMut(&Taken<'_>) -> Result<(), EngineError> + Send),
    ) -> Result<(), EngineError> {
        let called = Called {
            layout: network.layout(),
            rows,
            batch: indices.first().map_or(0, |indices| indices.len()),
            means: true,
        };
        let mut of_piece = |lent: LentRows, part: Range<usize>, take: &mut TakeGradients<'_>| {
            let pieces: Vec<&[u32]> = indices.iter().map(|all| &all[part.clone()]).collect();
            let labels: Vec<u16> = labels_of(examples, pieces.iter().copied().flatten()).collect();
            let seen = self.examples(examples, &pieces);
            model(network).gradients(lent, seen, &labels, take)
        };
        called.gradients(models, &mut of_piece, take)
    }

    /// The examples `indices` of each row, the same number for all; a single list is for all rows.
    pub(super) fn examples(&self, examples: &Examples, indices: &[&[u32]]) -> LentExamples {
        let (batch, width) = (indices.first().map_or(0, |all| all.len()), examples.width());
        let mut values = vec![0.0; indices.len() * batch * width];
        self.cpu.install(|| {
            let rows = values.par_chunks_exact_mut((batch * width).max(1));
            rows.zip(indices).for_each(|(values, indices)| {
                for (to, index) in values.chunks_exact_mut(width).zip(*indices) {
                    examples.read(*index as usize, to);
                }
            });
        });
        LentExamples {
            values: Arc::new(values),
            same: false,
            batch,
            width,
        }
    }
}

/// The model of a network that this trainer trains.
pub(super) fn model(network: &Network) -> &dyn HostModel {
    let body = network.host_model();
    &*body.expect("this trainer has such a model").model
}

/// The rows `rows`, ascending, of `models` `[_, width]`; copied only if they are not consecutive.
pub(super) fn lend(models: Arc<RowMemory>, width: usize, rows: &[usize]) -> LentRows {
    let copied = match block(&models, width, rows) {
        Cow::Borrowed(_) => None,
        Cow::Owned(copied) => Some(copied),
    };
    let (values, first) = match copied {
        None => (models, rows.first().copied().unwrap_or(0)),
        Some(copied) => (Arc::new(copied.into()), 0),
    };
    LentRows {
        values,
        width,
        first,
        rows: rows.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_together_whose_batches_have_the_same_size() {
        let groups = groups([(0, 20), (1, 7), (2, 20), (4, 7)].into_iter());
        let found: Vec<_> = groups
            .iter()
            .map(|group| (group.size, &group.places[..]))
            .collect();
        assert_eq!(found, [(7, &[1, 4][..]), (20, &[0, 2])]);
    }

    #[test]
    fn blocks_are_of_about_one_size_and_hold_every_row_once() {
        for (rows, size, width) in [
            (1000, 13, 64),
            (3, 4000, 64),
            (7, 1, FLOATS),
            (1, 1, 2 * FLOATS),
        ] {
            let group = Group {
                size,
                places: (0..rows).collect(),
            };
            let blocks: Vec<_> = group.blocks(width).collect();
            let most = rows_of_a_call(size, width);
            assert!(
                blocks
                    .iter()
                    .all(|block| block.len() <= most && !block.is_empty())
            );
            assert_eq!(
                blocks.into_iter().flatten().collect::<Vec<_>>(),
                group.places
            );
        }
    }

    #[test]
    fn rows_that_follow_each_other_are_lent_without_a_copy() {
        let models: Vec<f32> = (0..8).map(|value| value as f32).collect();
        let models: Arc<RowMemory> = Arc::new(models.into());
        let lent = lend(models.clone(), 2, &[1, 2]);
        assert!(Arc::ptr_eq(&lent.values, &models) && (lent.first, lent.rows) == (1, 2));
        let lent = lend(models.clone(), 2, &[0, 3]);
        assert_eq!(**lent.values, [0.0, 1.0, 6.0, 7.0]);
    }
}
