//! The rows of a call that trains, moved to the ranks that have their examples.

use crate::backend::rows::{Rows, downcast, downcast_mut};
use crate::backend::trainer::{AnchorRows, TrainedRows};
use crate::error::EngineError;
use crate::ranks::placement::Placement;
use crate::ranks::rows::{PlacedRows, RankedRows};
use std::sync::Arc;

/// The rows of a call that trains, where their examples are.
pub(super) struct MovedRows<'a> {
    models: &'a mut RankedRows,
    velocity: Option<&'a mut RankedRows>,
    correction: Option<PlacedRows<'a>>,
    anchor: Option<(PlacedRows<'a>, f32)>,
}

impl<'a> MovedRows<'a> {
    /// Moves the rows of a call to `placement`.
    ///
    /// # Errors
    /// [`EngineError::OtherDevice`] if they are of another kind of device.
    pub(super) fn to(
        placement: &Arc<Placement>,
        models: &'a mut RankedRows,
        velocity: Option<&'a mut dyn Rows>,
        correction: Option<&'a dyn Rows>,
        anchor: Option<AnchorRows<'a>>,
    ) -> Result<Self, EngineError> {
        models.move_to(placement);
        let velocity = match velocity {
            Some(kept) => {
                let kept: &mut RankedRows = downcast_mut("train", kept)?;
                kept.move_to(placement);
                Some(kept)
            }
            None => None,
        };
        let of_ranks = |rows| downcast::<RankedRows>("train", rows).map(|rows| rows.at(placement));
        let anchor = anchor.map(|anchor| Ok((of_ranks(anchor.rows)?, anchor.mu)));
        Ok(Self {
            models,
            velocity,
            correction: correction.map(of_ranks).transpose()?,
            anchor: anchor.transpose()?,
        })
    }

    /// Those of this rank.
    pub(super) fn own(&mut self) -> TrainedRows<'_> {
        TrainedRows {
            models: self.models.own_mut() as &mut dyn Rows,
            velocity: self
                .velocity
                .as_mut()
                .map(|kept| kept.own_mut() as &mut dyn Rows),
            correction: self.correction.as_ref().map(|rows| rows.own() as &dyn Rows),
            anchor: self.anchor.as_ref().map(|(rows, mu)| AnchorRows {
                rows: rows.own(),
                mu: *mu,
            }),
        }
    }
}
