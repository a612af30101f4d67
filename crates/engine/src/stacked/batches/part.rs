//! The rows and examples that one launch works on.

use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// A block of rows of the stack, at one step, and a piece of each row's batch.
///
/// A step's batches are a table: the indices of row `i` of the block begin at `(entry + i · own) · table`, and their
/// number is `counts[entry + i · own]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// First row of the block in the stack.
    pub(crate) first_row: usize,
    /// Rows of the block.
    pub(crate) rows: usize,
    /// The block's first entry in the table.
    pub(crate) entry: usize,
    /// Whether every row has an entry of its own; if not, all share one batch.
    pub(crate) own: bool,
    /// Examples of every entry.
    pub(crate) counts: &'a CubeTensor,
    /// Indices per entry.
    pub(crate) table: usize,
    /// First example of the piece.
    pub(crate) first_example: usize,
    /// Most examples that the piece has of a row.
    pub(crate) examples: usize,
    /// Where losses go: those of row `i` begin at `(losses + i) · table`, with one place per index.
    pub(crate) losses: usize,
}

/// A [`Part`] as kernels see it.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) entry: usize,
    pub(crate) own: usize,
    pub(crate) table: usize,
    pub(crate) first_example: usize,
    pub(crate) examples: usize,
    pub(crate) losses: usize,
}

impl Part<'_> {
    /// The block's rows in the stack.
    pub(crate) fn stack_rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.rows
    }

    /// Places for examples of all rows.
    pub(crate) fn places(&self) -> usize {
        self.rows * self.examples
    }

    /// The argument of a launch.
    pub(crate) fn argument(&self) -> SlotLaunch {
        SlotLaunch::new(
            self.first_row,
            self.rows,
            self.entry,
            usize::from(self.own),
            self.table,
            self.first_example,
            self.examples,
            self.losses,
        )
    }
}

/// The number of examples of the piece that row `row` of the block actually has.
#[cube]
pub(crate) fn examples_of(slot: &Slot, counts: &[u32], row: usize) -> usize {
    let count = counts[slot.entry + row * slot.own] as usize;
    let mut left = 0usize;
    if count > slot.first_example {
        left = count - slot.first_example;
    }
    if left > slot.examples {
        left = slot.examples;
    }
    left
}

/// Some neighbouring places of a row of a block that one unit holds.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Tile {
    /// Row of the block.
    pub(crate) row: usize,
    /// First of the places, counted within the row.
    pub(crate) first: usize,
    /// Places that the row has; the tile is empty unless `first` is below it.
    pub(crate) count: usize,
}

/// Tile `at` of all rows; an example has `places` places, and a tile has `size` places.
#[cube]
pub(crate) fn tile_at(
    slot: &Slot,
    counts: &[u32],
    at: usize,
    places: usize,
    #[comptime] size: usize,
) -> Tile {
    let tiles = (slot.examples * places).div_ceil(size);
    let row = at / tiles;
    let mut count = 0usize;
    if row < slot.rows {
        count = examples_of(slot, counts, row) * places;
    }
    Tile {
        row,
        first: at % tiles * size,
        count,
    }
}

/// Whether place `at` of `[rows, examples]` holds an example of the piece.
#[cube]
pub(crate) fn has(slot: &Slot, counts: &[u32], at: usize) -> bool {
    let row = at / slot.examples;
    let mut has = false;
    if row < slot.rows {
        has = at % slot.examples < examples_of(slot, counts, row);
    }
    has
}

/// Where the table has the index of example `example` of the piece.
#[cube]
pub(crate) fn place_of(slot: &Slot, row: usize, example: usize) -> usize {
    (slot.entry + row * slot.own) * slot.table + slot.first_example + example
}

/// Where the loss of example `example` of the piece goes: in the order of the table, so that the sum does not depend on
/// how a batch is cut into pieces.
#[cube]
pub(crate) fn loss_of(slot: &Slot, row: usize, example: usize) -> usize {
    (slot.losses + row) * slot.table + slot.first_example + example
}
