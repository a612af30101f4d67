//! The backward pass through the positions of a recurrent layer; for the forward pass see [`super::lstm`]. With primes
//! for the position after, `δh = δ + δ'(i, f, g, o) · Uᵀ` and `δc = δh · o · (1 − tanh² c) + δc' · f'`; both give the
//! gradient with respect to the gates.

use super::lstm::{LstmAt, Recurrence, StateAt, argument, tanh};
use super::lstm_delta_staged::{StagingBack, lstm_delta_staged_kernel};
use crate::network::layer::Lstm;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{cubes, units, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::layers::product::add_products;
use crate::stacked::layers::stack_arena::StackArena;
use crate::stacked::layers::transpose::Transpose;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Examples whose sums a unit keeps in registers. With one there are more cubes, which matters more than how often
/// weights are read.
const TILE: usize = 1;

/// Each cube takes `tile` examples of a row through the positions in reverse, each of its units some vectors of their
/// states.
#[cube(launch)]
fn lstm_delta_kernel<N: Size>(
    transposed: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    cells: &[Vector<f32, N>],
    counts: &[u32],
    gates: &mut [Vector<f32, N>],
    carried: &mut [Vector<f32, N>],
    slot: Slot,
    lstm: LstmAt,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let Tile { row, first, count } = tile_at(&slot, counts, CUBE_POS, 1, tile);
    if first >= count {
        terminate!();
    }
    for step in 0..lstm.positions {
        let position = lstm.positions - 1 - step;
        let mut column = UNIT_POS as usize;
        while column < lstm.columns {
            let at = StateAt {
                row,
                first,
                count,
                position,
                column,
            };
            gates_of(
                transposed, above, cells, gates, carried, &slot, &lstm, &at, tile,
            );
            column += units;
        }
        // The position before reads what all units wrote.
        sync_storage();
    }
}

/// For one vector of the state of `tile` examples: multiplies the gate gradients of the position after with the weight,
/// and computes the gate gradients from this.
#[cube]
#[allow(clippy::too_many_arguments)]
fn gates_of<N: Size>(
    transposed: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    cells: &[Vector<f32, N>],
    gates: &mut [Vector<f32, N>],
    carried: &mut [Vector<f32, N>],
    slot: &Slot,
    lstm: &LstmAt,
    at: &StateAt,
    #[comptime] tile: usize,
) {
    let (row, first, count) = (at.row, at.first, at.count);
    let (position, column) = (at.position, at.column);
    let last = lstm.positions - 1;
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut examples = Array::<usize>::new(tile);
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        examples[i] = row * slot.examples + select(first + i < count, first + i, count - 1);
        places[i] = 4 * (examples[i] * lstm.positions + position + 1) * lstm.columns;
        sums[i] = Vector::new(0.0f32);
    }
    if position < last {
        add_products(
            transposed,
            &*gates,
            &places,
            &mut sums,
            row * 4 * lstm.columns * N::value() * lstm.columns + column,
            lstm.columns,
            4 * lstm.columns,
            tile,
            1usize,
        );
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let place = (examples[i] * lstm.positions + position) * lstm.columns + column;
            let gate = 4 * (place - column) + column;
            let state = above[place] + sums[i];
            let one = Vector::new(1.0f32);
            let (input, forget) = (gates[gate], gates[gate + lstm.columns]);
            let candidate = gates[gate + 2 * lstm.columns];
            let output = gates[gate + 3 * lstm.columns];
            let squashed = tanh(cells[place]);
            let carry = examples[i] * lstm.columns + column;
            let mut cell = state * output * (one - squashed * squashed);
            if position < last {
                cell += carried[carry];
            }
            let mut before = Vector::new(0.0f32);
            if position > 0 {
                before = cells[place - lstm.columns];
            }
            gates[gate] = cell * candidate * input * (one - input);
            gates[gate + lstm.columns] = cell * before * forget * (one - forget);
            gates[gate + 2 * lstm.columns] = cell * input * (one - candidate * candidate);
            gates[gate + 3 * lstm.columns] = state * squashed * output * (one - output);
            carried[carry] = cell * forget;
        }
    }
}

impl Recurrence {
    /// Goes through the positions in reverse, given `above` `[rows, examples, positions, hidden]`, the gradient with
    /// respect to the states. Replaces the gates by the gradient with respect to the gates before their nonlinearities.
    pub(crate) fn backward(
        &self,
        arena: StackArena<'_>,
        lstm: &Lstm,
        above: &CubeTensor,
        part: &Part<'_>,
    ) {
        let client = &above.client;
        let transpose = Transpose {
            first: lstm.hidden_weight.start,
            count: 1,
            height: lstm.hidden,
            width: 4 * lstm.hidden,
        };
        let transposed = transpose.launch(arena, part);
        let n = vector_size(lstm.hidden);
        let state = part.places() * lstm.positions * lstm.hidden;
        moves(part.rows * lstm.hidden_weight.len() + 6 * state, 4 * state);
        if let Some(staging) = StagingBack::of(client, lstm.hidden, part.examples) {
            let all = part.rows * part.examples.div_ceil(staging.tile);
            let (count, dim) = cubes(client, all, staging.units() as u32);
            lstm_delta_staged_kernel::launch(
                client,
                count,
                dim,
                n,
                transposed.into_buffer_arg(),
                above.clone().into_buffer_arg(),
                self.cells.clone().into_buffer_arg(),
                part.counts.clone().into_buffer_arg(),
                self.gates.clone().into_buffer_arg(),
                self.carried.clone().into_buffer_arg(),
                part.argument(),
                argument(lstm, arena.width, n),
                staging,
            );
            return;
        }
        let units = units(client, lstm.hidden / n);
        let (count, dim) = cubes(client, part.rows * part.examples.div_ceil(TILE), units);
        lstm_delta_kernel::launch(
            client,
            count,
            dim,
            n,
            transposed.into_buffer_arg(),
            above.clone().into_buffer_arg(),
            self.cells.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            self.gates.clone().into_buffer_arg(),
            self.carried.clone().into_buffer_arg(),
            part.argument(),
            argument(lstm, arena.width, n),
            TILE,
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

    /// Replaces the gates of one example by the gradient with respect to the gates before their nonlinearities.
    fn oracle(lstm: &Lstm, model: &[f32], cells: &[f32], above: &[f32], gates: &mut [f32]) {
        let hidden = lstm.hidden;
        let weights = &model[lstm.hidden_weight.clone()];
        let mut carried = vec![0.0; hidden];
        let mut after = vec![0.0; 4 * hidden];
        for (position, gates) in gates.chunks_exact_mut(4 * hidden).enumerate().rev() {
            for j in 0..hidden {
                let at = position * hidden + j;
                let terms = weights[4 * j * hidden..].iter().zip(&after);
                let state = above[at] + terms.map(|(w, d)| w * d).sum::<f32>();
                let squashed = cells[at].tanh();
                let [i, f, g, o] = [0, 1, 2, 3].map(|gate| gates[gate * hidden + j]);
                let cell = state * o * (1.0 - squashed * squashed) + carried[j];
                let before = if position > 0 {
                    cells[at - hidden]
                } else {
                    0.0
                };
                gates[j] = cell * g * i * (1.0 - i);
                gates[hidden + j] = cell * before * f * (1.0 - f);
                gates[2 * hidden + j] = cell * i * (1.0 - g * g);
                gates[3 * hidden + j] = state * squashed * o * (1.0 - o);
                carried[j] = cell * f;
            }
            after.copy_from_slice(gates);
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn positions_go_back_as_in_a_plain_loop() {
        let gpu = gpu();
        for ((lstm, width), examples) in lstms().into_iter().zip(LSTM_EXAMPLES) {
            let batch = UnevenBatch::uneven(examples, 1);
            let slots = batch.rows() * examples;
            let all = 1 + batch.rows();
            let size = lstm.positions * lstm.hidden;
            let models = numbers(all * width, 1);
            let before: Vec<f32> = numbers(slots * 4 * size, 2)
                .iter()
                .map(|value| value.abs())
                .collect();
            let [cells, above] = [3, 4].map(|seed| numbers(slots * size, seed));
            let mut gates = before.clone();
            for (row, count) in batch.counts.iter().enumerate() {
                let model = &models[(1 + row) * width..][..width];
                for example in (0..*count as usize).map(|example| row * examples + example) {
                    let own = example * size..(example + 1) * size;
                    let gates = &mut gates[4 * own.start..4 * own.end];
                    oracle(&lstm, model, &cells[own.clone()], &above[own], gates);
                }
            }
            let memory = gpu.memory();
            let [found, cells, above] =
                [before, cells, above].map(|values| memory.upload_floats(&values));
            let counts = memory.upload_words(&batch.counts);
            let arena = cube(stacked(&gpu, &models, all));
            let recurrence = Recurrence {
                gates: found,
                cells,
                carried: memory.floats(&[slots, lstm.hidden]),
            };
            recurrence.backward(
                StackArena {
                    models: &arena,
                    width,
                },
                &lstm,
                &above,
                &batch.part(&counts),
            );
            expect_close(&download::<f32>(recurrence.gates), &gates, 1e-5);
        }
    }
}
