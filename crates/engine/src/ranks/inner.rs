//! What a device must do, besides [`Backend`], to be the device of a rank. The processor and GPUs do it.

use super::halo::Halo;
use super::machine::Machine;
use super::placement::Placement;
use super::world::World;
use crate::backend::Backend;
use crate::backend::rows::Rows;
use crate::error::EngineError;
use crate::processor::row_memory::RowMemory;
use crate::stack::mixing::Matrix;
use std::sync::Arc;

/// The device of a rank.
pub(crate) trait Inner: Backend {
    /// Whether other ranks of the machine can read its rows in place.
    fn lends(&self) -> bool;

    /// This device, with its rows in memory that the ranks of `machine` can read. Only for a device that
    /// [lends](Inner::lends) its rows.
    fn of_machine(&self, machine: &Machine) -> Arc<dyn Inner>;

    /// Rows of zeros, `[rows, width]`.
    fn own_zeros(&self, rows: usize, width: usize) -> Box<dyn OwnRows>;

    /// Copies of `rows`, each `[width]`, as rows of a rank.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel of the device could not see them at once.
    fn own_rows(&self, rows: &[&[f32]], width: usize) -> Result<Box<dyn OwnRows>, EngineError>;

    /// `Σ_i weights[i] · rows[i]`, `[width]`, with the bits of a mean over rows on this device.
    ///
    /// # Errors
    /// As [`Inner::own_rows`].
    fn mean_of(
        &self,
        rows: &[&[f32]],
        weights: &[f64],
        width: usize,
    ) -> Result<RowMemory, EngineError>;
}

/// The rows `[N, P_pad]` of a stack that a rank holds.
///
/// # Errors
/// [`EngineError::OtherDevice`] if another operand is of another kind of device, [`EngineError::Device`] if a kernel of the device
/// could not see rows of other ranks at once.
pub(crate) trait OwnRows: Rows {
    /// How many rows there are, `N`.
    fn count(&self) -> usize;

    /// Floats of a row, padding included.
    fn width(&self) -> usize;

    /// A copy with memory of its own.
    fn copy(&self) -> Box<dyn OwnRows>;

    /// The rows at `places`, for other ranks to read: in place if they lie in host memory. Waits for the device.
    fn readable(&self, places: &mut dyn Iterator<Item = u32>) -> Readable<'_>;

    /// New rows: row `i` is row `picks[i]` of these rows followed by the `foreign` ones.
    fn gather_among(
        &self,
        picks: &[u32],
        foreign: &[&[f32]],
    ) -> Result<Box<dyn OwnRows>, EngineError>;

    /// Overwrites row `targets[i]` with row `picks[i]` of `source` followed by `foreign`; targets are distinct.
    fn scatter_among(
        &mut self,
        targets: &[u32],
        picks: &[u32],
        source: &dyn OwnRows,
        foreign: &[&[f32]],
    ) -> Result<(), EngineError>;

    /// Carries out `mixing` together with all ranks. Afterwards these are this rank's mixed rows.
    fn mix_among_ranks(&mut self, mixing: &DealtMixing<'_>) -> Result<(), EngineError>;

    /// Replaces these rows by `rows` copies of `row`.
    fn become_all(&mut self, rows: usize, row: &[f32]);

    /// Replaces each row that `members` names by `row`; the others stay.
    fn replace(&mut self, members: &[bool], row: &[f32]);

    /// `‖row_i − mean‖²` of every row. Waits for the device.
    fn squared_distances_from(&self, mean: &[f32]) -> Vec<f64>;
}

/// A mixing over an overlay, as one of the ranks carries it out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DealtMixing<'a> {
    pub(crate) world: &'a World,
    pub(crate) matrix: &'a Matrix,
    /// The part of the mixing that this rank computes.
    pub(crate) halo: &'a Halo,
    /// The placement of the rows, and then that of the mixed rows.
    pub(crate) from: &'a Placement,
    pub(crate) to: &'a Placement,
}

/// Rows of a rank in host memory.
#[derive(Debug)]
pub(crate) enum Readable<'a> {
    /// All rows, in their own memory.
    InPlace(&'a RowMemory),
    /// Copies of the rows at `places`, ascending.
    #[cfg_attr(
        not(feature = "gpu"),
        allow(dead_code, reason = "without GPUs all rows lie in host memory")
    )]
    Copied { places: Vec<u32>, values: Vec<f32> },
}

impl<'a> Readable<'a> {
    /// The memory that all rows lie in, if they are read in place.
    pub(crate) fn memory(&self) -> Option<&'a RowMemory> {
        match self {
            Self::InPlace(memory) => Some(memory),
            Self::Copied { .. } => None,
        }
    }

    /// The row of `width` floats at `place`.
    ///
    /// # Panics
    /// If it is not among the rows that were copied.
    pub(crate) fn row(&self, place: usize, width: usize) -> &[f32] {
        match self {
            Self::InPlace(memory) => &memory[place * width..][..width],
            Self::Copied { places, values } => {
                let found = places.binary_search(&(place as u32));
                &values[found.expect("it was asked for") * width..][..width]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_place_whether_all_are_there_or_some() {
        let memory = RowMemory::from(vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        let all = Readable::InPlace(&memory);
        let some = Readable::Copied {
            places: vec![0, 2],
            values: vec![0.0, 0.5, 2.0, 2.5],
        };
        for place in [0, 2] {
            assert_eq!(all.row(place, 2), some.row(place, 2));
        }
        assert!(all.memory().is_some() && some.memory().is_none());
    }
}
