//! Layers of long short-term memory. All positions' products with the input are one; the products with the state go from
//! position to position.

use super::{BatchBackward, BatchContext, BatchForward, BatchLayer};
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::products::Products;
use crate::blocked::pass::scratch::{Buffers, reserve};
use crate::blocked::pass::sink::{Product, Sink};
use crate::kernels::{Affine, Packing, SumStart, pack, pack_transposed, sigmoid, tanh};
use crate::network::layer::Lstm;
use crate::network::precision::Precision;

impl BatchLayer for Lstm {
    /// Gates and cells of every position.
    fn kept(&self) -> usize {
        5 * self.hidden * self.positions
    }

    fn forward(&self, on: BatchContext<'_>, given: BatchForward<'_>) {
        let forward = Forward {
            products: on.products,
            layer: self,
        };
        forward.run(given);
    }

    fn backward(&self, on: BatchContext<'_>, returned: BatchBackward<'_, '_>) {
        let pass = Backward {
            products: on.products,
            layer: self,
            batch: returned.io.batch,
            pieces: on.pieces(),
        };
        pass.run(returned);
    }
}

/// The forward pass through one layer.
struct Forward<'a> {
    products: Products<'a>,
    layer: &'a Lstm,
}

impl Forward<'_> {
    /// Writes the states `outputs` `[T, B, hidden]`; keeps the gates `[T, B, 4 hidden]` and the cells `[T, B, hidden]`.
    fn run(&self, given: BatchForward<'_>) {
        let Self { products, layer } = *self;
        let BatchForward {
            weights,
            entry,
            outputs,
            kept,
            buffers,
            ..
        } = given;
        let (hidden, wide) = (layer.hidden, 4 * layer.hidden);
        let rows = outputs.len() / hidden;
        let batch = rows / layer.positions;
        let (gates, cells) = kept.split_at_mut(rows * wide);
        let [pairs, _] = &mut buffers.pairs;
        let x = Entry {
            stride: layer.inputs,
            ..entry
        };
        let x = products.along_columns(x, [rows, layer.inputs], pairs);
        let inner = products.places(layer.inputs);
        let weight = weights.operand(layer.input_weight.clone());
        products.multiply(Affine {
            x: x.begin(),
            x_stride: x.stride,
            subset: None,
            w: packed(weight, [inner, wide], &mut buffers.transposed),
            packing: Packing::Panels { backwards: false },
            start: SumStart::Bias(&weights.values[layer.bias.clone()]),
            y: gates,
            y_stride: wide,
            rows,
            inner,
            columns: wide,
            relu: false,
        });
        let inner = products.places(hidden);
        let weight = weights.operand(layer.hidden_weight.clone());
        let recurrent = packed(weight, [inner, wide], &mut buffers.transposed);
        for position in 0..layer.positions {
            let (states, state) = outputs.split_at_mut(position * batch * hidden);
            let (memories, memory) = cells.split_at_mut(position * batch * hidden);
            let gates = &mut gates[position * batch * wide..][..batch * wide];
            let before = states.len().saturating_sub(batch * hidden);
            if position > 0 {
                let last = Entry::of(&states[before..], hidden);
                let x = products.along_columns(last, [batch, hidden], pairs);
                products.multiply(Affine {
                    x: x.values,
                    x_stride: x.stride,
                    subset: None,
                    w: recurrent,
                    packing: alternating(position),
                    start: SumStart::Target,
                    y: gates,
                    y_stride: wide,
                    rows: batch,
                    inner,
                    columns: wide,
                    relu: false,
                });
            }
            let memories = &memories[before..];
            products.cpu.instructions().vectorize(
                #[inline(always)]
                || cells_forward(hidden, gates, memories, memory, state),
            );
        }
    }
}

/// From the sums of the gates `[B, 4 hidden]` and the cells before (none at the first position) to gates, cells and
/// states.
#[inline(always)]
fn cells_forward(
    hidden: usize,
    gates: &mut [f32],
    before: &[f32],
    cells: &mut [f32],
    states: &mut [f32],
) {
    for (index, gates) in gates.chunks_exact_mut(4 * hidden).enumerate() {
        let (input, rest) = gates.split_at_mut(hidden);
        let (forget, rest) = rest.split_at_mut(hidden);
        let (candidate, output) = rest.split_at_mut(hidden);
        let place = index * hidden..(index + 1) * hidden;
        let (cells, states) = (&mut cells[place.clone()], &mut states[place.clone()]);
        let before = before.get(place);
        for unit in 0..hidden {
            input[unit] = sigmoid(input[unit]);
            forget[unit] = sigmoid(forget[unit]);
            candidate[unit] = tanh(candidate[unit]);
            output[unit] = sigmoid(output[unit]);
            cells[unit] = input[unit] * candidate[unit];
        }
        if let Some(before) = before {
            for unit in 0..hidden {
                cells[unit] += forget[unit] * before[unit];
            }
        }
        for unit in 0..hidden {
            states[unit] = output[unit] * tanh(cells[unit]);
        }
    }
}

/// The backward pass through one layer.
struct Backward<'a> {
    products: Products<'a>,
    layer: &'a Lstm,
    batch: usize,
    /// Parts of a weight's gradient that threads share.
    pieces: usize,
}

impl Backward<'_> {
    /// Turns the gates that were kept into the gradient by their sums, and hands on what follows from it.
    fn run(&self, returned: BatchBackward<'_, '_>) {
        let BatchBackward {
            memory,
            io,
            buffers,
            sink,
        } = returned;
        let (hidden, wide) = (self.layer.hidden, 4 * self.layer.hidden);
        let rows = self.batch * self.layer.positions;
        let (gates, cells) = memory.kept.split_at_mut(rows * wide);
        let weight = &sink.weights()[self.layer.hidden_weight.clone()];
        let Buffers {
            transposed,
            pairs: [pairs, gate_pairs],
            ..
        } = &mut *buffers;
        let recurrent = self.turned(weight, [hidden, wide], pairs, transposed);
        let deltas = &mut memory.deltas[..rows * hidden];
        self.through_time(gates, cells, deltas, recurrent, gate_pairs);
        let (entry, precision) = (io.entry, self.products.precision);
        if let Some(below) = io.below {
            let inputs = self.layer.inputs;
            let weight = &sink.weights()[self.layer.input_weight.clone()];
            self.products.multiply(Affine {
                x: match precision {
                    Precision::F32 => gates,
                    Precision::Bf16 => gate_pairs,
                },
                x_stride: self.products.places(wide),
                subset: None,
                w: self.turned(weight, [inputs, wide], pairs, transposed),
                packing: Packing::Panels { backwards: false },
                start: SumStart::Zero,
                y: &mut below[entry.offset..],
                y_stride: inputs,
                rows,
                inner: self.products.places(wide),
                columns: inputs,
                relu: false,
            });
        }
        self.parameters(entry, gates, &memory.outputs, buffers, sink);
    }

    /// From the last position to the first: `deltas` `[T, B, hidden]` become the gradient by the states, `gates` that by
    /// the sums of the gates. Where operands come in pairs, the latter also becomes `pairs` along the gates.
    fn through_time(
        &self,
        gates: &mut [f32],
        cells: &[f32],
        deltas: &mut [f32],
        turned: &[f32],
        pairs: &mut Vec<f32>,
    ) {
        let (hidden, wide) = (self.layer.hidden, 4 * self.layer.hidden);
        let (products, inner) = (self.products, self.products.places(wide));
        let size = self.batch * hidden;
        let mut carried = vec![0.0; size];
        if products.precision == Precision::Bf16 {
            reserve(pairs, self.layer.positions * self.batch * inner);
        }
        for position in (0..self.layer.positions).rev() {
            let first = position * self.batch;
            let gates = &mut gates[first * wide..][..self.batch * wide];
            let (earlier, delta) = deltas.split_at_mut(position * size);
            let (memories, memory) = cells.split_at(position * size);
            let cells = CellsBackward {
                hidden,
                cells: &memory[..size],
                before: &memories[memories.len().saturating_sub(size)..],
                deltas: &delta[..size],
            };
            products.cpu.instructions().vectorize(
                #[inline(always)]
                || cells.run(gates, &mut carried),
            );
            let x = match products.precision {
                Precision::F32 => &*gates,
                Precision::Bf16 => {
                    let to = &mut pairs[first * inner..][..self.batch * inner];
                    products.pair_columns(gates, wide, to);
                    to
                }
            };
            if position > 0 {
                let first = earlier.len() - size;
                products.multiply(Affine {
                    x,
                    x_stride: inner,
                    subset: None,
                    w: turned,
                    packing: alternating(position),
                    start: SumStart::Target,
                    y: &mut earlier[first..],
                    y_stride: hidden,
                    rows: self.batch,
                    inner,
                    columns: hidden,
                    relu: false,
                });
            }
        }
    }

    /// The gradients of both weights and of the bias.
    fn parameters(
        &self,
        entry: Entry<'_>,
        gates: &[f32],
        states: &[f32],
        buffers: &mut Buffers,
        sink: &mut Sink<'_>,
    ) {
        let (hidden, wide) = (self.layer.hidden, 4 * self.layer.hidden);
        let (products, cpu) = (self.products, self.products.cpu);
        let rows = self.batch * self.layer.positions;
        let (inputs, states) = (entry.begin(), states);
        // The state before the first position is zero.
        for (x, width, first, weight) in [
            (inputs, self.layer.inputs, 0, &self.layer.input_weight),
            (states, hidden, self.batch, &self.layer.hidden_weight),
        ] {
            let [x_pairs, d_pairs] = &mut buffers.pairs;
            let d = Entry::of(&gates[first * wide..rows * wide], wide);
            let x = products.along_rows(Entry::of(x, width), [rows - first, width], x_pairs);
            let product = Product {
                precision: products.precision,
                x: x.values,
                x_stride: width,
                subset: None,
                inner: width,
                d: products.along_rows(d, [rows - first, wide], d_pairs).values,
                columns: wide,
                rows: products.places(rows - first),
            };
            sink.accept(cpu, &product, weight.clone(), self.pieces);
        }
        let sum = Product::sum_of_rows(&gates[..rows * wide], wide, &buffers.ones);
        sink.accept(cpu, &sum, self.layer.bias.clone(), 1);
    }

    /// `weight` `[rows, columns]` transposed, in panels, as an operand of sums over the columns.
    fn turned<'b>(
        &self,
        weight: &[f32],
        [rows, columns]: [usize; 2],
        pairs: &mut Vec<f32>,
        transposed: &'b mut Vec<f32>,
    ) -> &'b [f32] {
        let weight = Entry::of(weight, columns);
        let weight = self.products.along_columns(weight, [rows, columns], pairs);
        let columns = self.products.places(columns);
        reserve(transposed, rows * columns);
        let to = &mut transposed[..rows * columns];
        pack_transposed(weight.values, columns, rows, to);
        to
    }
}

/// The weight's panels in one order at even positions and in the other at odd ones: it is about as large as the cache.
fn alternating(position: usize) -> Packing {
    Packing::Panels {
        backwards: position % 2 == 1,
    }
}

/// `weight` `[inner, columns]` in panels.
fn packed<'b>(
    weight: &[f32],
    [inner, columns]: [usize; 2],
    transposed: &'b mut Vec<f32>,
) -> &'b [f32] {
    let size = inner * columns;
    reserve(transposed, size);
    let to = &mut transposed[..size];
    pack(&weight[..size], inner, columns, to);
    to
}

/// The backward pass through one position.
struct CellsBackward<'a> {
    hidden: usize,
    /// `[B, hidden]`.
    cells: &'a [f32],
    /// Those of the position before, if there is one.
    before: &'a [f32],
    /// The gradient by the states, `[B, hidden]`.
    deltas: &'a [f32],
}

impl CellsBackward<'_> {
    /// From `gates` to the gradient by their sums, in place of them; `carried` `[B, hidden]` is the gradient by the cells that
    /// the next position handed back, and becomes that for the one before.
    #[inline(always)]
    fn run(&self, gates: &mut [f32], carried: &mut [f32]) {
        let hidden = self.hidden;
        for (index, gates) in gates.chunks_exact_mut(4 * hidden).enumerate() {
            let (input, rest) = gates.split_at_mut(hidden);
            let (forget, rest) = rest.split_at_mut(hidden);
            let (candidate, output) = rest.split_at_mut(hidden);
            let place = index * hidden..(index + 1) * hidden;
            let (cells, deltas) = (&self.cells[place.clone()], &self.deltas[place.clone()]);
            let carried = &mut carried[place.clone()];
            let before = self.before.get(place);
            for unit in 0..hidden {
                let squashed = tanh(cells[unit]);
                let (delta, gate) = (deltas[unit], output[unit]);
                output[unit] = delta * squashed * gate * (1.0 - gate);
                let by_cell = carried[unit] + delta * gate * (1.0 - squashed * squashed);
                let (i, f, g) = (input[unit], forget[unit], candidate[unit]);
                input[unit] = by_cell * g * i * (1.0 - i);
                candidate[unit] = by_cell * i * (1.0 - g * g);
                // What the cell before is multiplied by below.
                forget[unit] = by_cell * f * (1.0 - f);
                carried[unit] = by_cell * f;
            }
            match before {
                Some(before) => {
                    for unit in 0..hidden {
                        forget[unit] *= before[unit];
                    }
                }
                None => forget.fill(0.0),
            }
        }
    }
}
