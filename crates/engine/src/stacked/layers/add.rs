//! The sum of two nodes' outputs, and the backward pass to each.

use super::relu::rectified_one;
use super::{Backward, Forward, StackedLayer};
use crate::network::layer::Add;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::gradient_write::{GradientWrite, InputGradient, write_gradient};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit holds one sum.
#[cube(launch)]
fn add_kernel(
    first: &[f32],
    second: &[f32],
    counts: &[u32],
    outputs: &mut [f32],
    slot: Slot,
    size: usize,
    #[comptime] relu: bool,
) {
    if !has(&slot, counts, ABSOLUTE_POS / size) {
        terminate!();
    }
    outputs[ABSOLUTE_POS] = rectified_one(first[ABSOLUTE_POS] + second[ABSOLUTE_POS], relu);
}

/// Each unit passes one number on.
#[cube(launch)]
fn pass_kernel(
    above: &[f32],
    activations: &[f32],
    counts: &[u32],
    below: &mut [f32],
    slot: Slot,
    size: usize,
    slope: f32,
    #[comptime] write: GradientWrite,
) {
    if !has(&slot, counts, ABSOLUTE_POS / size) {
        terminate!();
    }
    write_gradient(
        below,
        activations,
        ABSOLUTE_POS,
        above[ABSOLUTE_POS],
        slope,
        write,
    );
}

impl StackedLayer for Add {
    fn forward(&self, forward: &Forward<'_>) {
        let first = forward.own_inputs();
        let sum = Sum {
            first,
            second: forward.added.expect("a sum reads two nodes"),
            size: first.meta.shape()[2],
            relu: forward.relu,
        };
        sum.launch(forward.flow.part, forward.outputs);
    }

    /// Does nothing: the pass itself sends the gradient of a sum on.
    fn backward(&self, _: &Backward<'_>) {}
}

/// A sum to launch.
pub(crate) struct Sum<'a> {
    /// `[rows, examples, size]`.
    pub(crate) first: &'a CubeTensor,
    /// `[rows, examples, size]`.
    pub(crate) second: &'a CubeTensor,
    pub(crate) size: usize,
    /// Whether negative sums become zero.
    pub(crate) relu: bool,
}

impl Sum<'_> {
    /// Writes `[rows, examples, size]`.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor) {
        let size = self.size;
        let (count, dim) = line(&outputs.client, part.rows * part.examples * size);
        moves(2 * part.places() * size, part.places() * size);
        add_kernel::launch(
            &outputs.client,
            count,
            dim,
            self.first.clone().into_buffer_arg(),
            self.second.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            size,
            self.relu,
        );
    }
}

/// Sends `above` `[rows, examples, size]` to one of the nodes that were added.
pub(crate) fn pass(above: &CubeTensor, size: usize, below: &InputGradient<'_>, part: &Part<'_>) {
    let (count, dim) = line(&above.client, part.rows * part.examples * size);
    moves(
        part.places() * size + below.reads(part.places() * size),
        part.places() * size,
    );
    pass_kernel::launch(
        &above.client,
        count,
        dim,
        above.clone().into_buffer_arg(),
        below.activations.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        below.gradient.clone().into_buffer_arg(),
        part.argument(),
        size,
        below.slope,
        below.write,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{SentGradient, UnevenBatch, gpu, numbers};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn sums_and_the_way_back_are_those_of_a_plain_loop() {
        let gpu = gpu();
        for size in [1, 7, 64] {
            let batch = UnevenBatch::uneven(3, 0);
            let [first, second, above] = [1, 2, 3].map(|seed| numbers(9 * size, seed));
            let own = |at: usize| at / size % 3 < batch.counts[at / size / 3] as usize;
            let sum = |at: usize| match own(at) {
                true => f32::max(first[at] + second[at], 0.0),
                false => 0.0,
            };
            let oracle: Vec<f32> = (0..9 * size).map(sum).collect();
            let memory = gpu.memory();
            let counts = memory.upload_words(&batch.counts);
            let found = memory.upload_floats(&vec![0.0; 9 * size]);
            let given = [&first, &second, &above].map(|values| memory.upload_floats(values));
            let part = batch.part(&counts);
            let add = Sum {
                first: &given[0],
                second: &given[1],
                size,
                relu: true,
            };
            add.launch(&part, &found);
            assert_eq!(download::<f32>(found), oracle);
            SentGradient::new(9 * size).check(&gpu, &batch, &above, |below| {
                pass(&given[2], size, below, &part);
            });
        }
    }
}
