//! The positions of a recurrent layer as in [`super::lstm`], with the state of the position before in memory that the units of a cube
//! share.

use super::lstm::{LstmAt, sigmoid, tanh};
use crate::stacked::batches::part::{Slot, Tile, tile_at};
use crate::stacked::device::launch::shared_floats;
use crate::stacked::device::tuning::tuned;
use crate::stacked::layers::product::share;
use cubecl::client::Client;
use cubecl::prelude::*;

/// The most examples of a cube. Each cube reads all weights at every position, so that fewer cubes read less.
pub(super) const TILE: usize = 10;

/// Most units of a cube: each keeps the sums of a vector for all examples of the cube in registers.
pub(super) const UNITS: usize = 512;

/// How a cube goes through the positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Staging {
    /// Examples of a cube.
    pub(super) tile: usize,
    /// Parts of a sum, which units of their own make. It depends on the size of the state alone.
    pub(super) parts: usize,
    /// Vectors of the state.
    pub(super) columns: usize,
    /// Examples whose sums the units hand over at once.
    pub(super) handed: usize,
}

impl Staging {
    /// The staging for `examples` examples whose state has `hidden` numbers; `None` if they do not fit.
    pub(super) fn forward(client: &Client, hidden: usize, examples: usize) -> Option<Self> {
        let most = (client.properties().hardware.max_units_per_cube as usize).min(UNITS);
        let parts = if 2 * hidden <= UNITS { 2 } else { 1 };
        if tuned("LSTM", 1) == 0 || !hidden.is_multiple_of(4) || parts * hidden > most {
            return None;
        }
        let most = tuned("LSTM_TILE", TILE);
        let tile = examples.div_ceil(examples.div_ceil(most));
        let room = shared_floats(client).checked_sub(tile * hidden)? / (4 * hidden);
        let handed = room.min(tile);
        (handed > 0).then_some(Self {
            tile,
            parts,
            columns: hidden / 4,
            handed,
        })
    }

    /// Units of a cube in the forward pass.
    pub(super) fn units(&self) -> usize {
        4 * self.columns * self.parts
    }
}

/// Each cube takes the examples of a tile of a row through the positions. A unit computes the sums, or a part of them,
/// of one vector of one gate for all its examples; then all units apply the gates.
#[cube(launch)]
pub(super) fn lstm_staged_kernel<N: Size>(
    models: &[Vector<f32, N>],
    counts: &[u32],
    gates: &mut [Vector<f32, N>],
    cells: &mut [Vector<f32, N>],
    states: &mut [Vector<f32, N>],
    slot: Slot,
    lstm: LstmAt,
    #[comptime] staging: Staging,
) {
    let (tile, parts) = comptime!((staging.tile, staging.parts));
    let (columns, handed) = comptime!((staging.columns, staging.handed));
    let width = comptime!(4 * columns);
    let Tile { row, first, count } = tile_at(&slot, counts, CUBE_POS, 1, tile);
    if first >= count {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let part = unit / width;
    let column = unit % width;
    let weights = (slot.first_row + row) * lstm.width + lstm.hidden_weight + column;
    // The state of the position before, `[tile, columns]`.
    let mut before = Shared::<[Vector<f32, N>]>::new_slice(comptime!(tile * columns));
    // Sums of some examples, `[handed, 4, columns]`.
    let mut sums = Shared::<[Vector<f32, N>]>::new_slice(comptime!(handed * width));
    for position in 0..lstm.positions {
        let mut own = Array::<Vector<f32, N>>::new(tile);
        #[unroll]
        for i in 0..tile {
            own[i] = Vector::new(0.0f32);
        }
        if position > 0 {
            let (begin, end) = share(columns, part, parts);
            add_products_of_state(
                models, &before, &mut own, weights, width, begin, end, columns, tile,
            );
        }
        #[unroll]
        for round in 0..comptime!(tile.div_ceil(handed)) {
            let from = comptime!(round * handed);
            let some = comptime!(handed.min(tile - from));
            if part == 0 {
                #[unroll]
                for i in 0..some {
                    sums[i * width + column] = own[comptime!(from + i)];
                }
            }
            sync_cube();
            if comptime!(parts == 2) {
                if part == 1 {
                    #[unroll]
                    for i in 0..some {
                        sums[i * width + column] += own[comptime!(from + i)];
                    }
                }
                sync_cube();
            }
            let mut item = unit;
            while item < comptime!(some * columns) {
                let i = from + item / columns;
                let at = item % columns;
                if first + i < count {
                    let place = (row * slot.examples + first + i) * lstm.positions + position;
                    let gate = 4 * place * columns + at;
                    let sum = item / columns * width + at;
                    let input = sigmoid(gates[gate] + sums[sum]);
                    let forget = sigmoid(gates[gate + columns] + sums[sum + columns]);
                    let candidate = tanh(gates[gate + 2 * columns] + sums[sum + 2 * columns]);
                    let output = sigmoid(gates[gate + 3 * columns] + sums[sum + 3 * columns]);
                    let mut cell = input * candidate;
                    // The same unit wrote it.
                    if position > 0 {
                        cell += forget * cells[(place - 1) * columns + at];
                    }
                    let state = output * tanh(cell);
                    gates[gate] = input;
                    gates[gate + columns] = forget;
                    gates[gate + 2 * columns] = candidate;
                    gates[gate + 3 * columns] = output;
                    cells[place * columns + at] = cell;
                    states[place * columns + at] = state;
                    before[i * columns + at] = state;
                } else {
                    before[i * columns + at] = Vector::new(0.0f32);
                }
                item += comptime!(staging.parts * 4 * staging.columns);
            }
            // The units read the state, and write other sums.
            sync_cube();
        }
    }
}

/// Adds to the sums of `tile` examples the products of the vectors `begin` to `end` of their shared inputs, which have
/// `columns` vectors each, with the weights, whose rows have `width` vectors and begin for this unit at `first`. Every
/// sum is one chain. The weights of the next vector are loaded while one is multiplied.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn add_products_of_state<N: Size>(
    weights: &[Vector<f32, N>],
    inputs: &Shared<[Vector<f32, N>]>,
    sums: &mut Array<Vector<f32, N>>,
    first: usize,
    width: usize,
    begin: usize,
    end: usize,
    columns: usize,
    #[comptime] tile: usize,
) {
    let mut next = Array::<Vector<f32, N>>::new(N::value());
    #[unroll]
    for n in 0..N::value() {
        next[n] = weights[first + (begin * N::value() + n) * width];
    }
    for k in begin..end {
        let mut w = Array::<Vector<f32, N>>::new(N::value());
        #[unroll]
        for n in 0..N::value() {
            w[n] = next[n];
        }
        let following = select(k + 1 < end, k + 1, k);
        #[unroll]
        for n in 0..N::value() {
            next[n] = weights[first + (following * N::value() + n) * width];
        }
        #[unroll]
        for i in 0..tile {
            let x = inputs[i * columns + k];
            #[unroll]
            for n in 0..N::value() {
                sums[i] += Vector::new(x.extract(n)) * w[n];
            }
        }
    }
}
