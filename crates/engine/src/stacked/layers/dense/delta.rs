//! The gradient with respect to a layer's input: `δx = δy · Wᵀ`.

use crate::network::layer::Dense;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{cubes, line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradients};
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::product::{Tiling, add_products};
use crate::stacked::layers::stack_arena::StackArena;
use crate::stacked::layers::staged::blocks::{Blocks, ProductShape, VECTOR};
use crate::stacked::layers::staged::{Factor, add_parts, add_staged_products, total_at, unit_at};
use crate::stacked::layers::transpose::Transpose;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit holds `tile` places of examples by one vector of inputs; every sum is one chain over the outputs.
#[cube(launch)]
fn delta_kernel<N: Size, M: Size>(
    transposed: &[Vector<f32, N>],
    above: &[Vector<f32, M>],
    activations: &[Vector<f32, N>],
    counts: &[u32],
    below: &mut [Vector<f32, N>],
    slot: Slot,
    outputs: usize,
    columns: usize,
    of_example: usize,
    slope: f32,
    #[comptime] tile: usize,
    #[comptime] ahead: usize,
    #[comptime] write: GradientWrite,
) {
    let column = ABSOLUTE_POS % columns;
    let Tile { row, first, count } =
        tile_at(&slot, counts, ABSOLUTE_POS / columns, of_example, tile);
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * of_example;
    let inner = outputs / M::value();
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        sums[i] = Vector::new(0.0f32);
        // Beyond the batch the last example is computed again, and not written.
        places[i] = (row * slots + select(first + i < count, first + i, count - 1)) * inner;
    }
    add_products(
        transposed,
        above,
        &places,
        &mut sums,
        row * outputs * columns + column,
        columns,
        inner,
        tile,
        ahead,
    );
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let place = (row * slots + first + i) * columns + column;
            write_gradients(below, activations, place, sums[i], slope, write);
        }
    }
}

/// As [`delta_kernel`], but each cube computes a block of places by inputs, and transposes the weights in shared
/// memory.
#[cube(launch)]
fn delta_staged_kernel<N: Size>(
    models: &[Vector<f32, N>],
    above: &[Vector<f32, N>],
    activations: &[Vector<f32, N>],
    counts: &[u32],
    below: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    slope: f32,
    #[comptime] blocks: Blocks,
    #[comptime] write: GradientWrite,
) {
    let columns = layer.inputs / N::value();
    let blocks_across = columns.div_ceil(comptime!(blocks.columns()));
    let block = CUBE_POS % blocks_across;
    let Tile { row, first, count } = tile_at(
        &slot,
        counts,
        CUBE_POS / blocks_across,
        layer.places,
        comptime!(blocks.lines()),
    );
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * layer.places;
    let inner = layer.columns;
    let first_column = block * comptime!(blocks.columns());
    let at = unit_at(
        comptime!(blocks.lanes()),
        comptime!(blocks.across),
        comptime!(blocks.parts),
    );
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(blocks.sums()));
    #[unroll]
    for i in 0..comptime!(blocks.sums()) {
        sums[i] = Vector::new(0.0f32);
    }
    let left = Factor {
        first: row * slots * inner,
        pitch: inner,
        lines: count,
        vectors: inner,
        line: first,
        vector: 0usize,
    };
    let right = Factor {
        first: (slot.first_row + row) * layer.width + layer.weight,
        pitch: inner,
        lines: layer.inputs,
        vectors: inner,
        line: first_column * N::value(),
        vector: 0usize,
    };
    let mut tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!(blocks.shared()));
    add_staged_products(
        above, models, &mut sums, &mut tile, &left, &right, &at, inner, blocks,
    );
    let mut totals = Array::<Vector<f32, N>>::new(comptime!(blocks.totals()));
    add_parts(&sums, &mut totals, &mut tile, &at, blocks);
    #[unroll]
    for round in 0..comptime!(blocks.totals()) {
        let total = total_at(&at, round, blocks);
        let place = first + total.place;
        let column = first_column + total.column;
        if total.there && place < count && column < columns {
            let to = (row * slots + place) * columns + column;
            write_gradients(below, activations, to, totals[round], slope, write);
        }
    }
}

/// Sends `above` `[rows, examples, places, outputs]` through the layer to `below`, which is `[rows, examples, places, inputs]`.
pub(crate) fn delta(
    arena: StackArena<'_>,
    layer: &Dense,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
) {
    let shape = ProductShape {
        of_example: layer.places,
        places: part.examples * layer.places,
        inner: layer.outputs,
        outputs: layer.inputs,
        along: true,
    };
    match Blocks::of(&above.client, shape) {
        Some(blocks) => delta_staged(arena, layer, above, below, part, blocks),
        None => delta_plain(arena, layer, above, below, part),
    }
}

fn delta_staged(
    arena: StackArena<'_>,
    layer: &Dense,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
    blocks: Blocks,
) {
    let client = &above.client;
    let down = (part.examples * layer.places).div_ceil(blocks.lines());
    let beside = (layer.inputs / VECTOR).div_ceil(blocks.columns());
    let (count, dim) = cubes(client, part.rows * down * beside, blocks.units() as u32);
    let sent = part.places() * layer.places * layer.inputs;
    moves(
        part.rows * layer.weight.len()
            + part.places() * layer.places * layer.outputs
            + below.reads(sent),
        sent,
    );
    delta_staged_kernel::launch(
        client,
        count,
        dim,
        VECTOR,
        arena.models.clone().into_buffer_arg(),
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        dense_view::argument(layer, arena.width, VECTOR),
        below.slope,
        blocks,
        below.write,
    );
}

fn delta_plain(
    arena: StackArena<'_>,
    layer: &Dense,
    above: &CubeTensor,
    below: &InputGradient<'_>,
    part: &Part<'_>,
) {
    let client = &above.client;
    let transpose = Transpose {
        first: layer.weight.start,
        count: 1,
        height: layer.inputs,
        width: layer.outputs,
    };
    let transposed = transpose.launch(arena, part);
    let m = vector_size(layer.outputs);
    let slots = part.examples * layer.places;
    let tiling = Tiling::of(part.rows, slots, layer.inputs, layer.outputs / m);
    let (count, dim) = line(client, tiling.units(part.rows, slots, layer.inputs));
    let sent = part.places() * layer.places * layer.inputs;
    moves(
        part.rows * layer.weight.len()
            + part.places() * layer.places * layer.outputs
            + below.reads(sent),
        sent,
    );
    delta_kernel::launch(
        client,
        count,
        dim,
        tiling.vector,
        m,
        transposed.into_buffer_arg(),
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        layer.outputs,
        layer.inputs / tiling.vector,
        layer.places,
        below.slope,
        tiling.tile,
        tiling.ahead,
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
            // In blocks, as for the product.
            (200, 64, 20, 1),
            (36, 100, 13, 1),
            (64, 64, 70, 1),
            (52, 24, 4, 3),
            (128, 8, 5, 16),
            (48, 72, 3, 30),
            (256, 256, 4, 20),
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
