//! The forward product of a layer: `y = x · W + b`, with ReLU if asked for.

use super::affine_narrow::Narrow;
use crate::network::layer::Dense;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{cubes, line, vector_size};
use crate::stacked::device::trace::moves;
use crate::stacked::device::tuning::tuned;
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::product::{Tiling, add_products};
use crate::stacked::layers::relu::rectified;
use crate::stacked::layers::staged::blocks::{Blocks, ProductShape, VECTOR};
use crate::stacked::layers::staged::{Factor, add_parts, add_staged_products, total_at, unit_at};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit holds `tile` places of examples by one vector of outputs; every output is one chain over the inputs.
#[cube(launch)]
fn affine_kernel<N: Size, M: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    input_rows: usize,
    #[comptime] tile: usize,
    #[comptime] ahead: usize,
    #[comptime] relu: bool,
    #[comptime] biased: bool,
) {
    let column = ABSOLUTE_POS % layer.columns;
    let Tile { row, first, count } = tile_at(
        &slot,
        counts,
        ABSOLUTE_POS / layer.columns,
        layer.places,
        tile,
    );
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * layer.places;
    let model = (slot.first_row + row) * layer.width;
    let inner = layer.inputs / M::value();
    let source = row * input_rows * slots;
    let mut bias = Vector::new(0.0f32);
    if comptime!(biased) {
        bias = models[model + layer.bias + column];
    }
    let mut sums = Array::<Vector<f32, N>>::new(tile);
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        sums[i] = bias;
        // Beyond the batch the last example is computed again, and not written.
        places[i] = (source + select(first + i < count, first + i, count - 1)) * inner;
    }
    add_products(
        models,
        inputs,
        &places,
        &mut sums,
        model + layer.weight + column,
        layer.columns,
        inner,
        tile,
        ahead,
    );
    #[unroll]
    for i in 0..tile {
        if first + i < count {
            let y = rectified(sums[i], relu);
            outputs[(row * slots + first + i) * layer.columns + column] = y;
        }
    }
}

/// As [`affine_kernel`], but each cube computes a block of places by outputs. The chain of the first part begins with
/// the bias.
#[cube(launch)]
#[allow(
    clippy::collapsible_if,
    reason = "what is known at compilation stands by itself"
)]
fn affine_staged_kernel<N: Size>(
    models: &[Vector<f32, N>],
    inputs: &[Vector<f32, N>],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    input_rows: usize,
    #[comptime] blocks: Blocks,
    #[comptime] relu: bool,
    #[comptime] biased: bool,
) {
    let blocks_across = layer.columns.div_ceil(comptime!(blocks.columns()));
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
    let model = (slot.first_row + row) * layer.width;
    let inner = layer.inputs / N::value();
    let first_column = block * comptime!(blocks.columns());
    let at = unit_at(
        comptime!(blocks.lanes()),
        comptime!(blocks.across),
        comptime!(blocks.parts),
    );
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(blocks.sums()));
    #[unroll]
    for v in 0..comptime!(blocks.vectors) {
        let column = first_column + at.beside + comptime!(v * blocks.across);
        let mut bias = Vector::new(0.0f32);
        if comptime!(biased) {
            if column < layer.columns && at.part == 0 {
                bias = models[model + layer.bias + column];
            }
        }
        #[unroll]
        for i in 0..comptime!(blocks.places) {
            sums[comptime!(i * blocks.vectors + v)] = bias;
        }
    }
    let left = Factor {
        first: row * input_rows * slots * inner,
        pitch: inner,
        lines: count,
        vectors: inner,
        line: first,
        vector: 0usize,
    };
    let right = Factor {
        first: model + layer.weight,
        pitch: layer.columns,
        lines: layer.inputs,
        vectors: layer.columns,
        line: 0usize,
        vector: first_column,
    };
    let mut tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!(blocks.shared()));
    add_staged_products(
        inputs, models, &mut sums, &mut tile, &left, &right, &at, inner, blocks,
    );
    let mut totals = Array::<Vector<f32, N>>::new(comptime!(blocks.totals()));
    add_parts(&sums, &mut totals, &mut tile, &at, blocks);
    #[unroll]
    for round in 0..comptime!(blocks.totals()) {
        let total = total_at(&at, round, blocks);
        let place = first + total.place;
        let column = first_column + total.column;
        if total.there && place < count && column < layer.columns {
            outputs[(row * slots + place) * layer.columns + column] =
                rectified(totals[round], relu);
        }
    }
}

/// A forward product to launch.
pub(crate) struct Affine<'a> {
    /// The arena, `[R, width]`.
    pub(crate) models: &'a CubeTensor,
    pub(crate) width: usize,
    pub(crate) layer: &'a Dense,
    /// `[rows, examples, places, inputs]`, or `[examples, places, inputs]` if `shared`.
    pub(crate) inputs: &'a CubeTensor,
    pub(crate) shared: bool,
    pub(crate) relu: bool,
}

impl Affine<'_> {
    /// Writes `[rows, examples, places, outputs]`; examples that a row does not have are left alone.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor) {
        let slots = part.examples * self.layer.places;
        let inputs = if self.shared {
            part.examples
        } else {
            part.places()
        };
        moves(
            part.rows * self.layer.parameters() + inputs * self.layer.places * self.layer.inputs,
            part.places() * self.layer.places * self.layer.outputs,
        );
        let client = &self.models.client;
        if tuned("NARROW", 1) == 1
            && let Some(narrow) = Narrow::of(client, self.layer.inputs, self.layer.outputs, slots)
        {
            return self.launch_narrow(part, outputs, narrow);
        }
        let shape = ProductShape {
            of_example: self.layer.places,
            places: slots,
            inner: self.layer.inputs,
            outputs: self.layer.outputs,
            along: false,
        };
        match Blocks::of(&self.models.client, shape) {
            Some(blocks) => self.launch_staged(part, outputs, blocks),
            None => self.launch_plain(part, outputs),
        }
    }

    fn launch_staged(&self, part: &Part<'_>, outputs: &CubeTensor, blocks: Blocks) {
        let client = &self.models.client;
        let down = (part.examples * self.layer.places).div_ceil(blocks.lines());
        let beside = (self.layer.outputs / VECTOR).div_ceil(blocks.columns());
        let (count, dim) = cubes(client, part.rows * down * beside, blocks.units() as u32);
        affine_staged_kernel::launch(
            client,
            count,
            dim,
            VECTOR,
            self.models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            dense_view::argument(self.layer, self.width, VECTOR),
            usize::from(!self.shared),
            blocks,
            self.relu,
            self.layer.bias.is_some(),
        );
    }

    fn launch_plain(&self, part: &Part<'_>, outputs: &CubeTensor) {
        let m = vector_size(self.layer.inputs);
        let slots = part.examples * self.layer.places;
        let tiling = Tiling::of(part.rows, slots, self.layer.outputs, self.layer.inputs / m);
        let units = tiling.units(part.rows, slots, self.layer.outputs);
        let (count, dim) = line(&self.models.client, units);
        affine_kernel::launch(
            &self.models.client,
            count,
            dim,
            tiling.vector,
            m,
            self.models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            dense_view::argument(self.layer, self.width, tiling.vector),
            usize::from(!self.shared),
            tiling.tile,
            tiling.ahead,
            self.relu,
            self.layer.bias.is_some(),
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

    /// The plain loop over the examples that each row has.
    fn oracle(
        batch: &UnevenBatch,
        layer: &Dense,
        models: &[f32],
        x: &[f32],
        relu: bool,
    ) -> Vec<f32> {
        let slots = batch.examples * layer.places;
        let mut out = vec![0.0; batch.rows() * slots * layer.outputs];
        let width = models.len() / (batch.first_row + batch.rows());
        for (row, count) in batch.counts.iter().enumerate() {
            let model = &models[(batch.first_row + row) * width..][..width];
            for place in 0..*count as usize * layer.places {
                let x = &x[(row * slots + place) * layer.inputs..][..layer.inputs];
                for output in 0..layer.outputs {
                    let mut sum = layer.bias_of(model).map_or(0.0, |bias| bias[output]);
                    for (input, x) in x.iter().enumerate() {
                        sum += x * model[layer.weight.start + input * layer.outputs + output];
                    }
                    out[(row * slots + place) * layer.outputs + output] =
                        if relu { sum.max(0.0) } else { sum };
                }
            }
        }
        out
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_product_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (inputs, outputs, examples, places, relu) in [
            (784, 10, 20, 1, false),
            (12, 8, 5, 1, true),
            (7, 3, 13, 1, true),
            (2, 2, 1, 1, false),
            (1, 1, 9, 1, true),
            (33, 5, 3, 2, false),
            // In blocks: whole ones in parts, others that outputs, places and chunks leave over, and those of many places.
            (784, 200, 20, 1, true),
            (100, 36, 13, 1, false),
            (64, 64, 70, 1, false),
            (24, 52, 4, 3, true),
            (64, 40, 1, 1, true),
            (8, 128, 5, 16, false),
            (72, 48, 3, 30, true),
            (256, 256, 4, 20, false),
        ] {
            for (first_row, biased) in [(0, true), (2, true), (2, false)] {
                let (mut layer, width) = layer_of(inputs, outputs);
                layer.bias = layer.bias.filter(|_| biased);
                layer.places = places;
                let batch = UnevenBatch::uneven(examples, first_row);
                let all = first_row + batch.rows();
                let models = numbers(all * width, 1);
                let x = numbers(batch.rows() * examples * places * inputs, 2);
                let (arena, given) = (
                    cube(stacked(&gpu, &models, all)),
                    gpu.memory().upload_floats(&x),
                );
                let counts = gpu.memory().upload_words(&batch.counts);
                let out =
                    gpu.memory()
                        .upload_floats(&vec![0.0; batch.rows() * examples * places * outputs]);
                let product = Affine {
                    models: &arena,
                    width,
                    layer: &layer,
                    inputs: &given,
                    shared: false,
                    relu,
                };
                product.launch(&batch.part(&counts), &out);
                let oracle = oracle(&batch, &layer, &models, &x, relu);
                expect_close(&download::<f32>(out), &oracle, 3e-5);
            }
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn rows_may_share_their_examples() {
        for (inputs, outputs) in [(20, 6), (20, 40)] {
            compare_shared(inputs, outputs);
        }
    }

    fn compare_shared(inputs: usize, outputs: usize) {
        let gpu = gpu();
        let (layer, width) = layer_of(inputs, outputs);
        let batch = UnevenBatch {
            counts: vec![5; 3],
            examples: 5,
            first_row: 0,
        };
        let (models, x) = (numbers(3 * width, 3), numbers(5 * inputs, 4));
        let (arena, given) = (
            cube(stacked(&gpu, &models, 3)),
            gpu.memory().upload_floats(&x),
        );
        let counts = gpu.memory().upload_words(&[5]);
        let out = gpu.memory().upload_floats(&vec![0.0; 3 * 5 * outputs]);
        let product = Affine {
            models: &arena,
            width,
            layer: &layer,
            inputs: &given,
            shared: true,
            relu: true,
        };
        product.launch(
            &Part {
                own: false,
                ..batch.part(&counts)
            },
            &out,
        );
        let oracle = oracle(&batch, &layer, &models, &x.repeat(3), true);
        expect_close(&download::<f32>(out), &oracle, 1e-5);
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn bits_do_not_depend_on_how_many_rows_there_are() {
        // One unit by one, and in blocks.
        for (inputs, examples) in [(6, 64), (68, 20), (16, 64)] {
            compare_rows(inputs, examples);
        }
    }

    fn compare_rows(inputs: usize, examples: usize) {
        let gpu = gpu();
        let (outputs, rows) = (256, 128);
        let (layer, width) = layer_of(inputs, outputs);
        let (models, x) = (
            numbers(rows * width, 1),
            numbers(rows * examples * inputs, 2),
        );
        let arena = cube(stacked(&gpu, &models, rows));
        let of_rows = |first: usize, count: usize| {
            let slots = first * examples..(first + count) * examples;
            let x = &x[slots.start * inputs..slots.end * inputs];
            let given = gpu.memory().upload_floats(x);
            let out = gpu
                .memory()
                .upload_floats(&vec![0.0; count * examples * outputs]);
            let batch = UnevenBatch {
                counts: vec![examples as u32; count],
                examples,
                first_row: first,
            };
            let counts = gpu.memory().upload_words(&batch.counts);
            let product = Affine {
                models: &arena,
                width,
                layer: &layer,
                inputs: &given,
                shared: false,
                relu: false,
            };
            product.launch(&batch.part(&counts), &out);
            download::<f32>(out)
        };
        let all = of_rows(0, rows);
        for (first, count) in [(0, 1), (5, 40), (127, 1)] {
            assert!(
                inputs > 6
                    || Tiling::of(rows, examples, outputs, inputs / 2)
                        != Tiling::of(count, examples, outputs, inputs / 2)
            );
            let own = &all[first * examples * outputs..][..count * examples * outputs];
            assert_eq!(of_rows(first, count), own);
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn what_is_no_number_passes_the_relu() {
        let gpu = gpu();
        let (layer, width) = layer_of(4, 4);
        let (arena, counts) = (
            cube(stacked(&gpu, &vec![f32::NAN; width], 1)),
            gpu.memory().upload_words(&[1]),
        );
        let (given, out) = (
            gpu.memory().upload_floats(&[1.0; 4]),
            gpu.memory().upload_floats(&[0.0; 4]),
        );
        let product = Affine {
            models: &arena,
            width,
            layer: &layer,
            inputs: &given,
            shared: false,
            relu: true,
        };
        product.launch(
            &UnevenBatch {
                counts: vec![1],
                examples: 1,
                first_row: 0,
            }
            .part(&counts),
            &out,
        );
        assert!(download::<f32>(out).iter().all(|value| value.is_nan()));
    }
}
