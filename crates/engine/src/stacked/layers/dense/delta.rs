//! The loss's gradient by a layer's input: `δx = δy · Wᵀ`.

use crate::network::layer::Dense;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use crate::stacked::layers::arena::StackArena;
use crate::stacked::layers::layer::{self, LayerAt};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Places whose sums a unit keeps in registers.
const TILE: usize = 4;

/// Each unit holds `tile` places of examples by one input. Lanes of the vectors over the outputs are added in order at the end.
#[cube(launch)]
fn delta_kernel<N: Size>(
    models: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    activations: &[f32],
    counts: &[u32],
    below: &mut [f32],
    slot: Slot,
    layer: LayerAt,
    slope: f32,
    #[comptime] tile: usize,
    #[comptime] write: GradientWrite,
) {
    let input = ABSOLUTE_POS % layer.inputs;
    let Tile { row, first, count } = tile_at(
        &slot,
        counts,
        ABSOLUTE_POS / layer.inputs,
        layer.places,
        tile,
    );
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * layer.places;
    let weights = (slot.first_row + row) * layer.width + layer.weight + input * layer.columns;
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        sums[i] = Vector::new(0.0f32);
        places[i] = row * slots + select(first + i < count, first + i, count - 1);
    }
    for j in 0..layer.columns {
        let w = models[weights + j];
        #[unroll]
        for i in 0..tile {
            sums[i] += above[places[i] * layer.columns + j] * w;
        }
    }
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let place = places[i] * layer.inputs + input;
            let mut sum = 0.0f32;
            #[unroll]
            for n in 0..N::value() {
                sum += sums[i].extract(n);
            }
            write_gradient(below, activations, place, sum, slope, write);
        }
    }
}

/// Sends `above` `[rows, examples, places, outputs]` through the layer to `below`, which is `[rows, examples, places, inputs]`.
pub(crate) fn delta(
    StackArena { models, width }: StackArena<'_>,
    layer: &Dense,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
) {
    let n = vector_size(layer.outputs);
    let slots = part.examples * layer.places;
    let tile = TILE.min(slots.next_power_of_two());
    let (count, dim) = line(
        &models.client,
        part.rows * slots.div_ceil(tile) * layer.inputs,
    );
    let sent = part.places() * layer.places * layer.inputs;
    moves(
        part.rows * layer.weight.len()
            + part.places() * layer.places * layer.outputs
            + below.reads(sent),
        sent,
    );
    delta_kernel::launch(
        &models.client,
        count,
        dim,
        n,
        models.clone().into_buffer_arg(),
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        layer::argument(layer, width, n),
        below.slope,
        tile,
        below.write,
    );
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
    fn the_gradient_by_the_input_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (inputs, outputs, examples, places) in [
            (200, 10, 20, 1),
            (12, 8, 5, 1),
            (7, 3, 13, 3),
            (1, 1, 1, 1),
            (5, 33, 2, 5),
        ] {
            let (mut layer, width) = layer_of(inputs, outputs);
            layer.places = places;
            let batch = UnevenBatch::uneven(examples, 1);
            let all = 1 + batch.rows();
            let models = numbers(all * width, 5);
            let above = numbers(batch.rows() * examples * places * outputs, 6);
            let activations = numbers(batch.rows() * examples * places * inputs, 7);
            let mut oracle = vec![0.0; activations.len()];
            for (row, count) in batch.counts.iter().enumerate() {
                let model = &models[(1 + row) * width..][..width];
                for place in (0..*count as usize * places).map(|at| row * examples * places + at) {
                    for input in
                        (0..inputs).filter(|input| activations[place * inputs + input] > 0.0)
                    {
                        let weights = &model[layer.weight.start + input * outputs..][..outputs];
                        let terms = weights
                            .iter()
                            .zip(&above[place * outputs..])
                            .map(|(w, d)| w * d);
                        oracle[place * inputs + input] = 1.25 * terms.sum::<f32>();
                    }
                }
            }
            let memory = gpu.memory();
            let below = memory.upload_floats(&vec![0.0; oracle.len()]);
            let [above, activations] =
                [above, activations].map(|values| memory.upload_floats(&values));
            let counts = memory.upload_words(&batch.counts);
            let arena = cube(stacked(&gpu, &models, all));
            delta(
                StackArena {
                    models: &arena,
                    width,
                },
                &layer,
                &above,
                &InputGradient::masked(&below, &activations, 1.25),
                &batch.part(&counts),
            );
            expect_close(&download::<f32>(below), &oracle, 1e-5);
        }
    }
}
