//! The backward pass through the positions of a recurrent layer as in [`super::lstm_delta`], with the gate gradients of
//! the position after in memory that the units of a cube share.

use super::lstm::{LstmAt, tanh};
use super::lstm_staged::{TILE, UNITS, add_products_of_state};
use crate::stacked::batches::part::{Slot, Tile, tile_at};
use crate::stacked::device::launch::shared_floats;
use crate::stacked::device::tuning::tuned;
use crate::stacked::layers::product::share;
use cubecl::client::Client;
use cubecl::prelude::*;

/// How a cube goes through the positions in reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StagingBack {
    /// Examples of a cube.
    pub(super) tile: usize,
    /// Parts of a sum, which units of their own make. It depends on the size of the state alone.
    pub(super) parts: usize,
    /// Vectors of the state.
    pub(super) columns: usize,
    /// Examples whose parts the units hand over at once.
    pub(super) handed: usize,
}

impl StagingBack {
    /// The staging for `examples` examples whose state has `hidden` numbers; `None` if they do not fit.
    pub(super) fn of(client: &Client, hidden: usize, examples: usize) -> Option<Self> {
        let most = (client.properties().hardware.max_units_per_cube as usize).min(UNITS);
        let parts = if 2 * hidden <= UNITS { 8 } else { 4 };
        if tuned("LSTM", 1) == 0 || !hidden.is_multiple_of(4) || parts * hidden / 4 > most {
            return None;
        }
        // The gradients of one example take four times its state.
        let room = shared_floats(client) / (4 * hidden);
        let most = tuned("LSTM_BACK_TILE", TILE).min(room);
        if most * 4 < parts {
            return None;
        }
        let tile = examples.div_ceil(examples.div_ceil(most));
        Some(Self {
            tile,
            parts,
            columns: hidden / 4,
            handed: (tile * 4 / parts).max(1),
        })
    }

    /// Units of a cube.
    pub(super) fn units(&self) -> usize {
        self.columns * self.parts
    }

    /// Vectors that the units share: all gate gradients, or all parts of the sums that are handed over.
    fn shared(&self) -> usize {
        (self.tile * 4).max(self.parts * self.handed) * self.columns
    }
}

/// Each cube takes the examples of a tile of a row through the positions in reverse. A unit computes a part of the sums
/// of one vector of the state of all its examples; then all units compute the gate gradients.
#[cube(launch)]
pub(super) fn lstm_delta_staged_kernel<N: Size>(
    transposed: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    cells: &[Vector<f32, N>],
    counts: &[u32],
    gates: &mut [Vector<f32, N>],
    carried: &mut [Vector<f32, N>],
    slot: Slot,
    lstm: LstmAt,
    #[comptime] staging: StagingBack,
) {
    let (tile, parts) = comptime!((staging.tile, staging.parts));
    let (columns, handed) = comptime!((staging.columns, staging.handed));
    let width = comptime!(4 * columns);
    let Tile { row, first, count } = tile_at(&slot, counts, CUBE_POS, 1, tile);
    if first >= count {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let part = unit / columns;
    let column = unit % columns;
    let weights = row * width * N::value() * columns + column;
    let last = lstm.positions - 1;
    // The gate gradients of the position after, `[tile, 4, columns]`; in between, parts of sums, `[parts, handed,
    // columns]`.
    let mut shared = Shared::<[Vector<f32, N>]>::new_slice(comptime!(staging.shared()));
    for step in 0..lstm.positions {
        let position = last - step;
        let mut own = Array::<Vector<f32, N>>::new(tile);
        #[unroll]
        for i in 0..tile {
            own[i] = Vector::new(0.0f32);
        }
        if step > 0 {
            let (begin, end) = share(width, part, parts);
            add_products_of_state(
                transposed, &shared, &mut own, weights, columns, begin, end, width, tile,
            );
        }
        // All units have read the gradients.
        sync_cube();
        #[unroll]
        for round in 0..comptime!(tile.div_ceil(handed)) {
            let from = comptime!(round * handed);
            let some = comptime!(handed.min(tile - from));
            #[unroll]
            for i in 0..some {
                shared[(part * handed + i) * columns + column] = own[comptime!(from + i)];
            }
            sync_cube();
            let mut item = unit;
            while item < comptime!(some * columns) {
                let i = from + item / columns;
                let at = item % columns;
                if first + i < count {
                    let example = row * slot.examples + first + i;
                    let place = (example * lstm.positions + position) * columns + at;
                    let gate = 4 * (place - at) + at;
                    let mut state = above[place];
                    #[unroll]
                    for other in 0..parts {
                        state += shared[(other * handed + item / columns) * columns + at];
                    }
                    let one = Vector::new(1.0f32);
                    let (input, forget) = (gates[gate], gates[gate + columns]);
                    let candidate = gates[gate + 2 * columns];
                    let output = gates[gate + 3 * columns];
                    let squashed = tanh(cells[place]);
                    let mut cell = state * output * (one - squashed * squashed);
                    // The same unit wrote it.
                    if step > 0 {
                        cell += carried[example * columns + at];
                    }
                    let mut before = Vector::new(0.0f32);
                    if position > 0 {
                        before = cells[place - columns];
                    }
                    gates[gate] = cell * candidate * input * (one - input);
                    gates[gate + columns] = cell * before * forget * (one - forget);
                    gates[gate + 2 * columns] = cell * input * (one - candidate * candidate);
                    gates[gate + 3 * columns] = state * squashed * output * (one - output);
                    carried[example * columns + at] = cell * forget;
                }
                item += comptime!(staging.parts * staging.columns);
            }
            sync_cube();
        }
        // Each unit brings what it wrote to the memory of all.
        #[unroll]
        for round in 0..comptime!(tile.div_ceil(handed)) {
            let from = comptime!(round * handed);
            let some = comptime!(handed.min(tile - from));
            let mut item = unit;
            while item < comptime!(some * columns) {
                let i = from + item / columns;
                let at = item % columns;
                let place = (row * slot.examples + first + i) * lstm.positions + position;
                #[unroll]
                for gate in 0..4 {
                    let mut value = Vector::new(0.0f32);
                    if first + i < count {
                        value = gates[4 * place * columns + gate * columns + at];
                    }
                    shared[(4 * i + gate) * columns + at] = value;
                }
                item += comptime!(staging.parts * staging.columns);
            }
        }
        sync_cube();
    }
}
