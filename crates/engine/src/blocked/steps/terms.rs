//! What is added to the gradients of local steps: the correction of a method, and a pull to an anchor.

use crate::backend::rows::{Rows, downcast};
use crate::backend::trainer::TrainedRows;
use crate::error::EngineError;
use crate::processor::host_rows::HostRows;

/// Terms added to a row's gradients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradientTerms<'a> {
    pub(crate) correction: Option<&'a [f32]>,
    pub(crate) anchor: Option<AnchorTerm<'a>>,
}

/// A pull `mu * (w - anchor)` added to a row's gradient.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnchorTerm<'a> {
    pub(crate) row: &'a [f32],
    pub(crate) mu: f32,
}

/// The terms of all rows, `[R, P_pad]` each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    correction: Option<&'a [f32]>,
    anchor: Option<(&'a [f32], f32)>,
}

impl<'a> Terms<'a> {
    /// Those of `rows`.
    ///
    /// # Errors
    /// If they lie on another device.
    pub(crate) fn of(rows: &TrainedRows<'a>) -> Result<Self, EngineError> {
        let values = |rows: &'a dyn Rows| downcast::<HostRows>("train", rows).map(HostRows::values);
        let anchor = rows
            .anchor
            .map(|anchor| Ok((values(anchor.rows)?, anchor.mu)));
        Ok(Self {
            correction: rows.correction.map(values).transpose()?,
            anchor: anchor.transpose()?,
        })
    }

    /// Those of row `row`, of `width` floats.
    pub(crate) fn of_row(self, row: usize, width: usize) -> GradientTerms<'a> {
        let own = |all: &'a [f32]| &all[row * width..][..width];
        GradientTerms {
            correction: self.correction.map(own),
            anchor: self
                .anchor
                .map(|(all, mu)| AnchorTerm { row: own(all), mu }),
        }
    }
}
