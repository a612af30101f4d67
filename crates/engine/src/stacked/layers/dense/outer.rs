//! A layer's gradient: `∂W = xᵀ · δ` and `∂b = Σ δ`, written directly to the sink.

use crate::network::layer::Dense;
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::sink::{
    GradientAction, GradientSink, StepAt, chain_start, store_or_step,
};
use crate::stacked::layers::bias_gradient::bias_gradient;
use crate::stacked::layers::dense::outer_staged::OuterBlocks;
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::product::add_outer_products;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Places that a unit loads at once.
const AHEAD: usize = 2;

/// Each unit holds one vector of inputs by one vector of outputs; if the layer has a bias (`biases` is one, not zero),
/// the last unit of a column holds it, with one as its input. The input of a place is multiplied with the delta `skip`
/// places later. If the sink adds, the chain over the examples continues from what is there.
#[cube(launch)]
fn outer_kernel<N: Size, M: Size>(
    inputs: &[Vector<f32, M>],
    deltas: &[Vector<f32, N>],
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    slot: Slot,
    step: StepAt,
    layer: DenseView,
    skip: usize,
    #[comptime] action: GradientAction,
    #[comptime] biases: usize,
) {
    let inner = layer.inputs / M::value();
    let units = inner + biases;
    let column = ABSOLUTE_POS % layer.columns;
    let rest = ABSOLUTE_POS / layer.columns;
    let row = rest / units;
    let input = rest % units;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row);
    let source = row * slot.examples * layer.places;
    if count == 0 {
        terminate!();
    }
    let entry = slot.entry + row;
    let model = (slot.first_row + row) * layer.width;
    if input == inner {
        bias_gradient(
            deltas,
            gradients,
            models,
            velocities,
            rates,
            &step,
            &layer,
            entry,
            model + layer.bias + column,
            column,
            source,
            source + count * layer.places,
            action,
        );
    } else {
        let first = model + layer.weight + input * M::value() * layer.columns + column;
        let mut sums = Array::<Vector<f32, N>>::new(M::value());
        #[unroll]
        for m in 0..M::value() {
            sums[m] = chain_start(gradients, first + m * layer.columns, action);
        }
        // Places of all examples follow each other, unless some are skipped.
        let examples = select(skip == 0, 1, count);
        let length = select(skip == 0, count, 1) * layer.places - skip;
        for example in 0..examples {
            let first_place = source + example * layer.places;
            add_outer_products(
                inputs,
                deltas,
                &mut sums,
                first_place * inner + input,
                inner,
                (first_place + skip) * layer.columns + column,
                layer.columns,
                length,
                AHEAD,
            );
        }
        #[unroll]
        for m in 0..M::value() {
            store_or_step(
                gradients,
                models,
                velocities,
                rates,
                &step,
                entry,
                first + m * layer.columns,
                sums[m],
                action,
            );
        }
    }
}

/// A layer's gradient to launch.
pub(crate) struct Outer<'a> {
    pub(crate) layer: &'a Dense,
    /// The layer's inputs, `[rows, examples, places, inputs]`.
    pub(crate) inputs: &'a CubeTensor,
    /// The gradient with respect to its outputs, `[rows, examples, places, outputs]`.
    pub(crate) deltas: &'a CubeTensor,
    /// How many places an output is after its input; 0 except for the product of a recurrent layer with its own state.
    pub(crate) skip: usize,
}

impl Outer<'_> {
    /// Writes the gradient of the layer to `sink`.
    pub(crate) fn launch(&self, sink: &GradientSink, part: &Part<'_>) {
        let layer = self.layer;
        let (read, written) = sink.moves(part.rows * layer.parameters());
        let numbers = part.places() * layer.places * (layer.inputs + layer.outputs);
        moves(numbers + read, written);
        match OuterBlocks::of(self, part) {
            Some(blocks) => self.launch_staged(sink, part, blocks),
            None => self.launch_plain(sink, part),
        }
    }

    fn launch_plain(&self, sink: &GradientSink, part: &Part<'_>) {
        let (layer, client) = (self.layer, &self.inputs.client);
        let (n, m) = (vector_size(layer.outputs), vector_size(layer.inputs));
        let biases = usize::from(layer.bias.is_some());
        let (count, dim) = line(
            client,
            part.rows * (layer.inputs / m + biases) * (layer.outputs / n),
        );
        outer_kernel::launch(
            client,
            count,
            dim,
            n,
            m,
            self.inputs.clone().into_buffer_arg(),
            self.deltas.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            sink.gradients.clone().into_buffer_arg(),
            sink.models.clone().into_buffer_arg(),
            sink.velocities.clone().into_buffer_arg(),
            sink.rates.clone().into_buffer_arg(),
            part.argument(),
            sink.step(),
            dense_view::argument(layer, sink.width, n),
            self.skip,
            sink.action,
            biases,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, expect_close, gpu, layer_of, numbers, stacked,
    };

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_gradient_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (inputs, outputs, examples, places, skip, add) in [
            (784, 10, 20, 1, 0, false),
            (12, 8, 5, 1, 0, true),
            (7, 3, 13, 3, 0, false),
            (1, 1, 1, 1, 0, true),
            (6, 5, 2, 4, 1, false),
            // In blocks: one chunk, several, those left over, and those of many places.
            (784, 200, 20, 1, 0, false),
            (36, 52, 50, 1, 0, true),
            (64, 128, 5, 40, 0, false),
            (100, 36, 7, 13, 0, true),
            (64, 32, 3, 30, 1, false),
            (32, 64, 5, 3, 1, true),
        ] {
            for biased in [true, false] {
                let (mut layer, width) = layer_of(inputs, outputs);
                layer.bias = layer.bias.filter(|_| biased);
                layer.places = places;
                let batch = UnevenBatch::uneven(examples, 1);
                let all = 1 + batch.rows();
                let before = numbers(all * width, 8);
                let x = numbers(batch.rows() * examples * places * inputs, 9);
                let deltas = numbers(batch.rows() * examples * places * outputs, 10);
                let mut oracle = before.clone();
                // Rows without examples, rows of other blocks and padding are left alone.
                for (row, count) in batch
                    .counts
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0)
                {
                    let model = &mut oracle[(1 + row) * width..][..width];
                    if !add {
                        model[layer.weight.clone()].fill(0.0);
                        model[layer.bias.clone().unwrap_or_default()].fill(0.0);
                    }
                    for at in 0..*count as usize * places {
                        let place = row * examples * places + at;
                        for output in 0..outputs {
                            let d = deltas[place * outputs + output];
                            for input in 0..inputs * usize::from(at % places >= skip) {
                                model[layer.weight.start + input * outputs + output] +=
                                    x[(place - skip) * inputs + input] * d;
                            }
                            if let Some(bias) = &layer.bias {
                                model[bias.start + output] += d;
                            }
                        }
                    }
                }
                let memory = gpu.memory();
                let [x, deltas] = [x, deltas].map(|values| memory.upload_floats(&values));
                let counts = memory.upload_words(&batch.counts);
                let gradients = cube(stacked(&gpu, &before, all));
                let outer = Outer {
                    layer: &layer,
                    inputs: &x,
                    deltas: &deltas,
                    skip,
                };
                let sink = GradientSink::writing(&gradients, width);
                outer.launch(&sink.piece(!add), &batch.part(&counts));
                expect_close(&download::<f32>(gradients), &oracle, 1e-5);
            }
        }
    }
}
