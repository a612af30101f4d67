//! Local work of all rows of a stack, as a method asks for it.

use super::trained_layers::TrainedLayers;
use super::work::{RowWork, Sgd, Tasks};
use crate::backend::trainer::{AnchorRows, TrainedRows};
use crate::stack::Stack;

/// A pull `mu * (w - anchor)` added to every gradient (FedProx).
#[derive(Debug, Clone, Copy)]
pub struct Anchor<'a> {
    /// Where the rows are pulled to, `[R, P]`.
    pub models: &'a Stack,
    /// Strength of the pull.
    pub mu: f32,
}

/// Local work of all rows of a stack.
#[derive(Debug, Clone, Copy)]
pub struct LocalWork<'a> {
    /// Communication round, 1-based; it keys the draws and the schedule.
    pub round: usize,
    /// One entry per row.
    pub rows: &'a [RowWork],
    /// How a step is made.
    pub sgd: &'a Sgd,
    /// Added to every gradient, `[R, P]` (SCAFFOLD, quasi-global momentum).
    pub correction: Option<&'a Stack>,
    /// A pull towards given models (FedProx).
    pub anchor: Option<Anchor<'a>>,
    /// What each row's learning rate is multiplied by, `[R]`; 1 if absent (P-FedAvg, the weighted losses of (2)).
    pub rate_scales: Option<&'a [f32]>,
    /// The layers that move; all if absent (DFedAlt). Of gradients alone it changes nothing.
    pub layers: Option<&'a TrainedLayers>,
}

impl<'a> LocalWork<'a> {
    /// Work without correction, anchor or scales.
    pub fn new(round: usize, rows: &'a [RowWork], sgd: &'a Sgd) -> Self {
        Self {
            round,
            rows,
            sgd,
            correction: None,
            anchor: None,
            rate_scales: None,
            layers: None,
        }
    }

    /// What each row is to do.
    pub(crate) fn tasks(&self) -> Tasks<'a> {
        Tasks {
            round: self.round,
            rows: self.rows,
            sgd: self.sgd,
            rate_scales: self.rate_scales,
            layers: self.layers,
        }
    }

    /// The rows that the work is done on: `models`, their `velocity`, and what is added to their gradients.
    pub(crate) fn rows_of<'b>(
        &self,
        models: &'b mut Stack,
        velocity: Velocity<'b>,
    ) -> TrainedRows<'b>
    where
        'a: 'b,
    {
        TrainedRows {
            models: models.storage_mut(),
            velocity: match velocity {
                Velocity::Fresh => None,
                Velocity::Kept(kept) => Some(kept.storage_mut()),
            },
            correction: self.correction.map(Stack::storage),
            anchor: self.anchor.map(|anchor| AnchorRows {
                rows: anchor.models.storage(),
                mu: anchor.mu,
            }),
        }
    }
}

/// Where the momentum of local steps lives.
#[derive(Debug)]
pub enum Velocity<'a> {
    /// Zero at the start of this work and forgotten after it.
    Fresh,
    /// Kept by the method from one call to the next, `[R, P]`.
    Kept(&'a mut Stack),
}
