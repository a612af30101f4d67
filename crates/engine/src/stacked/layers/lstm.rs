//! The positions of a recurrent layer of all rows: `(i, f, g, o) += h_{t−1} · U`, `c_t = σ(f) c_{t−1} + σ(i) tanh(g)`,
//! `h_t = σ(o) tanh(c_t)`.
//!
//! A cube goes through all positions of some examples, and its units wait for each other after each position. So a
//! layer needs one launch.

use super::lstm_staged::{Staging, lstm_staged_kernel};
use super::{Backward, Forward, Stackable, StackedLayer};
use crate::network::layer::{Dense, Lstm};
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{cubes, units, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// The most examples whose gates a unit keeps in registers. Each cube reads all weights at every position, so that
/// fewer cubes read less.
const TILE: usize = 5;

/// A recurrent layer in the arena, in vectors.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct LstmAt {
    /// Vectors per row of the arena.
    pub(crate) width: usize,
    /// First vector of the weight `U` `[hidden, 4 columns]`.
    pub(crate) hidden_weight: usize,
    /// Vectors of the state.
    pub(crate) columns: usize,
    pub(crate) positions: usize,
}

/// The argument of a launch over vectors of `vector` floats; `width` floats make a row of the arena.
pub(crate) fn argument(lstm: &Lstm, width: usize, vector: usize) -> LstmAtLaunch {
    LstmAtLaunch::new(
        width / vector,
        lstm.hidden_weight.start / vector,
        lstm.hidden / vector,
        lstm.positions,
    )
}

/// `1 / (1 + exp(−x))` of every lane, without a power that could be infinite.
#[cube]
pub(super) fn sigmoid<N: Size>(x: Vector<f32, N>) -> Vector<f32, N> {
    let mut values = x;
    #[unroll]
    for n in 0..N::value() {
        let x = x.extract(n);
        let power = (-x.abs()).exp();
        values.insert(n, select(x < 0.0f32, power, 1.0f32) / (1.0f32 + power));
    }
    values
}

/// `tanh(x)` of every lane, without a power that could be infinite.
#[cube]
pub(crate) fn tanh<N: Size>(x: Vector<f32, N>) -> Vector<f32, N> {
    let mut values = x;
    #[unroll]
    for n in 0..N::value() {
        let x = x.extract(n);
        let power = (-2.0f32 * x.abs()).exp();
        let value = (1.0f32 - power) / (1.0f32 + power);
        values.insert(n, select(x < 0.0f32, -value, value));
    }
    values
}

/// Each cube takes `tile` examples of a row through the positions, each of its units some vectors of their states.
#[cube(launch)]
fn lstm_kernel<N: Size>(
    models: &[Vector<f32, N>],
    counts: &[u32],
    gates: &mut [Vector<f32, N>],
    cells: &mut [Vector<f32, N>],
    states: &mut [Vector<f32, N>],
    slot: Slot,
    lstm: LstmAt,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let Tile { row, first, count } = tile_at(&slot, counts, CUBE_POS, 1, tile);
    if first >= count {
        terminate!();
    }
    for position in 0..lstm.positions {
        let mut column = UNIT_POS as usize;
        while column < lstm.columns {
            let at = StateAt {
                row,
                first,
                count,
                position,
                column,
            };
            state_of(models, gates, cells, states, &slot, &lstm, &at, tile);
            column += units;
        }
        // The next position reads what all units wrote.
        sync_storage();
    }
}

/// A vector of the state of some examples at one position.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct StateAt {
    pub(crate) row: usize,
    /// First of the examples.
    pub(crate) first: usize,
    /// Examples that the row has.
    pub(crate) count: usize,
    pub(crate) position: usize,
    pub(crate) column: usize,
}

/// Computes one vector of the state of `tile` examples, with all four gates of each; every gate is one chain over the
/// state before. The gates are stored after their nonlinearities.
#[cube]
#[allow(clippy::too_many_arguments)]
fn state_of<N: Size>(
    models: &[Vector<f32, N>],
    gates: &mut [Vector<f32, N>],
    cells: &mut [Vector<f32, N>],
    states: &mut [Vector<f32, N>],
    slot: &Slot,
    lstm: &LstmAt,
    at: &StateAt,
    #[comptime] tile: usize,
) {
    let (row, first, count) = (at.row, at.first, at.count);
    let (position, column) = (at.position, at.column);
    let model = (slot.first_row + row) * lstm.width + lstm.hidden_weight + column;
    // First input gate, forget gate, candidate and output gate of each example, then the next example's.
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(4 * tile));
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        // Beyond the batch the last example is computed again, and not written.
        let example = row * slot.examples + select(first + i < count, first + i, count - 1);
        places[i] = example * lstm.positions + position;
        #[unroll]
        for gate in 0..4 {
            sums[4 * i + gate] = gates[(4 * places[i] + gate) * lstm.columns + column];
        }
    }
    if position > 0 {
        for k in 0..lstm.columns {
            let mut h = Array::<Vector<f32, N>>::new(tile);
            #[unroll]
            for i in 0..tile {
                h[i] = states[(places[i] - 1) * lstm.columns + k];
            }
            #[unroll]
            for n in 0..N::value() {
                let weights = model + 4 * (k * N::value() + n) * lstm.columns;
                #[unroll]
                for gate in 0..4 {
                    let w = models[weights + gate * lstm.columns];
                    #[unroll]
                    for i in 0..tile {
                        sums[4 * i + gate] += Vector::new(h[i].extract(n)) * w;
                    }
                }
            }
        }
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let input = sigmoid(sums[4 * i]);
            let forget = sigmoid(sums[4 * i + 1]);
            let candidate = tanh(sums[4 * i + 2]);
            let output = sigmoid(sums[4 * i + 3]);
            let place = places[i] * lstm.columns + column;
            let mut cell = input * candidate;
            if position > 0 {
                cell += forget * cells[place - lstm.columns];
            }
            let gate = 4 * places[i] * lstm.columns + column;
            gates[gate] = input;
            gates[gate + lstm.columns] = forget;
            gates[gate + 2 * lstm.columns] = candidate;
            gates[gate + 3 * lstm.columns] = output;
            cells[place] = cell;
            states[place] = output * tanh(cell);
        }
    }
}

impl Stackable for Lstm {
    fn kept(&self) -> Vec<usize> {
        let size = self.positions * self.hidden;
        vec![4 * size, size, self.hidden]
    }

    fn stack(&self, memory: &Memory, shape: BlockShape) -> Box<dyn StackedLayer> {
        Box::new(StackedLstm {
            lstm: self.clone(),
            recurrence: Recurrence::new(memory, self, shape),
        })
    }
}

/// A recurrent layer and what it keeps.
#[derive(Debug)]
struct StackedLstm {
    lstm: Lstm,
    recurrence: Recurrence,
}

impl StackedLayer for StackedLstm {
    /// Computes the product with the inputs at all positions, then goes position by position.
    fn forward(&self, forward: &Forward<'_>) {
        let [product, _] = products(&self.lstm);
        forward.multiply(&product, false, &self.recurrence.gates);
        let (arena, part) = (forward.flow.arena(), forward.flow.part);
        self.recurrence
            .forward(arena, &self.lstm, forward.outputs, part);
    }

    fn backward(&self, backward: &Backward<'_>) {
        let (arena, part) = (backward.flow.arena(), backward.flow.part);
        self.recurrence
            .backward(arena, &self.lstm, backward.above, part);
        let (gates, [input, hidden]) = (&self.recurrence.gates, products(&self.lstm));
        backward.send(&input, gates);
        backward.keep(&input, backward.inputs, gates, 0);
        backward.keep(&hidden, backward.outputs, gates, 1);
    }
}

/// What a recurrent layer keeps of a pass for the backward pass.
#[derive(Debug)]
pub(crate) struct Recurrence {
    /// `[rows, examples, positions, 4, hidden]`: the gates after their nonlinearities; after the backward pass, the
    /// gradient with respect to the gates before their nonlinearities.
    pub(crate) gates: CubeTensor,
    /// `[rows, examples, positions, hidden]`.
    pub(crate) cells: CubeTensor,
    /// What the backward pass carries from a position to the one before, `[rows, examples, hidden]`.
    pub(crate) carried: CubeTensor,
}

/// The product of a layer with its input, and that with its own state.
pub(crate) fn products(lstm: &Lstm) -> [Dense; 2] {
    let product = |inputs, weight, bias| Dense {
        inputs,
        outputs: 4 * lstm.hidden,
        places: lstm.positions,
        weight,
        bias,
    };
    let (input_weight, hidden_weight) = (lstm.input_weight.clone(), lstm.hidden_weight.clone());
    [
        product(lstm.inputs, input_weight, Some(lstm.bias.clone())),
        product(lstm.hidden, hidden_weight, None),
    ]
}

impl Recurrence {
    /// Memory for a block of `shape`.
    pub(crate) fn new(memory: &Memory, lstm: &Lstm, shape: BlockShape) -> Self {
        let BlockShape { rows, examples } = shape;
        let floats = |places, size| memory.floats(&[rows, examples, places, size]);
        Self {
            gates: floats(lstm.positions, 4 * lstm.hidden),
            cells: floats(lstm.positions, lstm.hidden),
            carried: floats(1, lstm.hidden),
        }
    }

    /// Goes through the positions and writes `states` `[rows, examples, positions, hidden]`. The gates must hold the
    /// product with the input.
    pub(crate) fn forward(
        &self,
        StackArena { models, width }: StackArena<'_>,
        lstm: &Lstm,
        states: &CubeTensor,
        part: &Part<'_>,
    ) {
        let state = part.places() * lstm.positions * lstm.hidden;
        moves(part.rows * lstm.hidden_weight.len() + 4 * state, 6 * state);
        let n = vector_size(lstm.hidden);
        if let Some(staging) = Staging::forward(&models.client, lstm.hidden, part.examples) {
            let all = part.rows * part.examples.div_ceil(staging.tile);
            let (count, dim) = cubes(&models.client, all, staging.units() as u32);
            lstm_staged_kernel::launch(
                &models.client,
                count,
                dim,
                n,
                models.clone().into_buffer_arg(),
                part.counts.clone().into_buffer_arg(),
                self.gates.clone().into_buffer_arg(),
                self.cells.clone().into_buffer_arg(),
                states.clone().into_buffer_arg(),
                part.argument(),
                argument(lstm, width, n),
                staging,
            );
            return;
        }
        let tile = part.examples.div_ceil(part.examples.div_ceil(TILE));
        let units = units(&models.client, lstm.hidden / n);
        let (count, dim) = cubes(
            &models.client,
            part.rows * part.examples.div_ceil(tile),
            units,
        );
        lstm_kernel::launch(
            &models.client,
            count,
            dim,
            n,
            models.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            self.gates.clone().into_buffer_arg(),
            self.cells.clone().into_buffer_arg(),
            states.clone().into_buffer_arg(),
            part.argument(),
            argument(lstm, width, n),
            tile,
            units as usize,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        LSTM_EXAMPLES, UnevenBatch, expect_close, gpu, lstms, numbers, stacked,
    };

    /// Gates, cells and states of one example whose gates hold the product with the input.
    fn oracle(lstm: &Lstm, model: &[f32], gates: &mut [f32]) -> (Vec<f32>, Vec<f32>) {
        let hidden = lstm.hidden;
        let (mut cell, mut state) = (vec![0.0; hidden], vec![0.0; hidden]);
        let (mut cells, mut states) = (Vec::new(), Vec::new());
        let weights = &model[lstm.hidden_weight.clone()];
        for gates in gates.chunks_exact_mut(4 * hidden) {
            for (at, gate) in gates.iter_mut().enumerate() {
                let column = weights[at..].iter().step_by(4 * hidden);
                *gate += state.iter().zip(column).map(|(h, w)| h * w).sum::<f32>();
                *gate = match at / hidden {
                    2 => gate.tanh(),
                    _ => 1.0 / (1.0 + (-*gate).exp()),
                };
            }
            for j in 0..hidden {
                let [i, f, g, o] = [0, 1, 2, 3].map(|gate| gates[gate * hidden + j]);
                cell[j] = f * cell[j] + i * g;
                state[j] = o * f32::tanh(cell[j]);
            }
            cells.extend(&cell);
            states.extend(&state);
        }
        (cells, states)
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn positions_follow_each_other_as_in_a_plain_loop() {
        let gpu = gpu();
        for ((lstm, width), examples) in lstms().into_iter().zip(LSTM_EXAMPLES) {
            let batch = UnevenBatch::uneven(examples, 1);
            let slots = batch.rows() * examples;
            let all = 1 + batch.rows();
            let size = lstm.positions * lstm.hidden;
            let models = numbers(all * width, 1);
            // Gates far from zero as well, where powers would be infinite.
            let before: Vec<f32> = numbers(slots * 4 * size, 2)
                .iter()
                .map(|value| {
                    if *value > 0.95 {
                        200.0 * value
                    } else {
                        3.0 * value
                    }
                })
                .collect();
            let (mut gates, mut cells, mut states) = (
                before.clone(),
                vec![0.0; slots * size],
                vec![0.0; slots * size],
            );
            for (row, count) in batch.counts.iter().enumerate() {
                let model = &models[(1 + row) * width..][..width];
                for example in (0..*count as usize).map(|example| row * examples + example) {
                    let gates = &mut gates[4 * example * size..][..4 * size];
                    let own = oracle(&lstm, model, gates);
                    cells[example * size..][..size].copy_from_slice(&own.0);
                    states[example * size..][..size].copy_from_slice(&own.1);
                }
            }
            let memory = gpu.memory();
            let [found_gates, found_cells, found_states] =
                [before, vec![0.0; slots * size], vec![0.0; slots * size]]
                    .map(|values| memory.upload_floats(&values));
            let counts = memory.upload_words(&batch.counts);
            let arena = cube(stacked(&gpu, &models, all));
            let recurrence = Recurrence {
                gates: found_gates,
                cells: found_cells,
                carried: memory.floats(&[1]),
            };
            recurrence.forward(
                StackArena {
                    models: &arena,
                    width,
                },
                &lstm,
                &found_states,
                &batch.part(&counts),
            );
            expect_close(&download::<f32>(recurrence.gates), &gates, 1e-5);
            expect_close(&download::<f32>(recurrence.cells), &cells, 1e-5);
            expect_close(&download::<f32>(found_states), &states, 1e-5);
        }
    }
}
