//! Models of a user's own: forward and backward pass of a block of rows by burn, with the rows as a dimension of every
//! product. Reading, judging and steps are the same as for all models.

use super::flow::Flow;
use super::workspace::Workspace;
use crate::error::EngineError;
use crate::network::Network;
use crate::network::own::FittedOwnModel;
use crate::network::own::tape::Tape;
use crate::stacked::batches::part::{Part, Slot, examples_of, has};
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{contiguous, cube, tensor};
use burn::tensor::{Int, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use meshfold_data::Input;
use std::any::Any;

/// The model of the user's own as burn knows it, if `network` is one.
pub(crate) fn own_of(network: &Network) -> Option<&FittedOwnModel> {
    let body: &dyn Any = network.own_model()?;
    body.downcast_ref()
}

/// Outputs of a block of rows, and the backward pass from them.
pub(crate) struct BlockPass {
    tape: Tape,
    /// `[rows, examples, C]`; once judged, the gradient of the losses with respect to them.
    pub(crate) outputs: CubeTensor,
}

impl Workspace {
    /// Runs the examples of `flow` through the user's own model; if `tracked`, it can be differentiated.
    ///
    /// # Errors
    /// Errors of the model.
    pub(crate) fn pass(
        &self,
        own: &FittedOwnModel,
        flow: &Flow<'_>,
        tracked: bool,
    ) -> Result<BlockPass, EngineError> {
        let part = flow.part;
        let arena = tensor::<2>(flow.models.clone()).narrow(0, part.first_row, part.rows);
        let blocks = flow.network.layout().blocks().iter();
        // Burn's products want parameters without the gaps between the rows of the arena.
        let views =
            blocks.map(|block| contiguous(arena.clone().narrow(1, block.offset, block.size())));
        let tape = own.tape(views.collect(), self.examples_of(flow), tracked)?;
        let outputs = cube(tape.outputs());
        // Outputs are judged in place, but the backward pass may need the original ones.
        let outputs = match outputs.can_mut() {
            true => outputs,
            false => outputs.copy(),
        };
        Ok(BlockPass { tape, outputs })
    }

    /// The examples of a block of rows, `[rows, examples, D]`; missing ones are those of an earlier batch or zeros.
    fn examples_of(&self, flow: &Flow<'_>) -> Tensor<3> {
        let (part, width) = (flow.part, flow.network.inputs());
        let rows = if self.shared { 1 } else { part.rows };
        let input = self.input.clone();
        let input = CubeTensor::new_contiguous(
            input.client,
            input.device,
            burn::tensor::Shape::from(vec![rows, part.examples, width]),
            input.handle,
            input.dtype,
        );
        let x = match flow.network.input() {
            Input::Numbers(_) => tensor(input),
            Input::Tokens { .. } => Tensor::<3, Int>::from_primitive::<CubeBackend>(input).float(),
        };
        match self.shared {
            true => x.repeat_dim(0, part.rows),
            false => x,
        }
    }
}

impl BlockPass {
    /// Backpropagates the gradient in `outputs` to `gradients` `[R, P_pad]`, added to what is there if `add`. Rows
    /// without examples stay as they are.
    pub(crate) fn back(self, flow: &Flow<'_>, gradients: &CubeTensor, add: bool) {
        let (part, width) = (flow.part, flow.network.outputs());
        silence(&self.outputs, width, part);
        let blocks = flow.network.layout().blocks().iter();
        for (block, gradient) in blocks.zip(self.tape.back(tensor(self.outputs))) {
            if let Some(gradient) = gradient {
                let place = ParameterGradient {
                    size: block.size(),
                    offset: block.offset,
                    width: flow.arena().width,
                    add,
                };
                place.launch(&cube(gradient), gradients, part);
            }
        }
    }
}

/// Each unit sets one number to zero if its row has no such example.
#[cube(launch)]
fn silence_kernel(outputs: &mut [f32], counts: &[u32], slot: Slot, width: usize) {
    let example = ABSOLUTE_POS / width;
    if example >= slot.rows * slot.examples {
        terminate!();
    }
    if !has(&slot, counts, example) {
        outputs[ABSOLUTE_POS] = 0.0f32;
    }
}

/// Sets `outputs` `[rows, examples, width]` to zero for examples that a row does not have.
fn silence(outputs: &CubeTensor, width: usize, part: &Part<'_>) {
    let (count, dim) = line(&outputs.client, part.rows * part.examples * width);
    silence_kernel::launch(
        &outputs.client,
        count,
        dim,
        outputs.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        part.argument(),
        width,
    );
}

/// Each unit moves one number of a row's block to its place in the arena.
#[cube(launch)]
fn write_gradient_kernel(
    from: &[f32],
    gradients: &mut [f32],
    counts: &[u32],
    slot: Slot,
    size: usize,
    width: usize,
    offset: usize,
    #[comptime] add: bool,
) {
    let row = ABSOLUTE_POS / size;
    if row >= slot.rows {
        terminate!();
    }
    if examples_of(&slot, counts, row) == 0 {
        terminate!();
    }
    let place = (slot.first_row + row) * width + offset + ABSOLUTE_POS % size;
    if comptime!(add) {
        gradients[place] += from[ABSOLUTE_POS];
    } else {
        gradients[place] = from[ABSOLUTE_POS];
    }
}

/// Where the gradient with respect to a parameter goes in the rows of an arena.
struct ParameterGradient {
    /// Numbers of the parameter, and where they begin in a row.
    size: usize,
    offset: usize,
    /// Floats of a row.
    width: usize,
    /// Whether it is added to what is there.
    add: bool,
}

impl ParameterGradient {
    /// Writes `from` `[rows, size]` to the block of the rows of `to` `[R, width]`.
    fn launch(&self, from: &CubeTensor, to: &CubeTensor, part: &Part<'_>) {
        let (count, dim) = line(&to.client, part.rows * self.size);
        write_gradient_kernel::launch(
            &to.client,
            count,
            dim,
            from.clone().into_buffer_arg(),
            to.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            part.argument(),
            self.size,
            self.width,
            self.offset,
            self.add,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{UnevenBatch, gpu, numbers};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn gradients_go_to_their_block_of_rows_that_have_examples() {
        let gpu = gpu();
        let (batch, size, width, offset) = (UnevenBatch::uneven(2, 1), 5, 24, 8);
        let from = numbers(batch.rows() * size, 3);
        let before = numbers((batch.rows() + 1) * width, 4);
        let counts = gpu.memory().upload_words(&batch.counts);
        for add in [false, true] {
            let to = gpu.memory().upload_floats(&before);
            let place = ParameterGradient {
                size,
                offset,
                width,
                add,
            };
            place.launch(
                &gpu.memory().upload_floats(&from),
                &to,
                &batch.part(&counts),
            );
            let mut needed = before.clone();
            for (row, _) in batch
                .counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
            {
                for at in 0..size {
                    let place = (1 + row) * width + offset + at;
                    let kept = if add { needed[place] } else { 0.0 };
                    needed[place] = kept + from[row * size + at];
                }
            }
            assert_eq!(download::<f32>(to), needed, "{add}");
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn examples_that_a_row_lacks_are_silent() {
        let gpu = gpu();
        let (batch, width) = (UnevenBatch::uneven(3, 0), 4);
        let values = numbers(batch.rows() * batch.examples * width, 5);
        let outputs = gpu.memory().upload_floats(&values);
        let counts = gpu.memory().upload_words(&batch.counts);
        silence(&outputs, width, &batch.part(&counts));
        let needed = values.iter().enumerate().map(|(at, value)| {
            let example = at / width;
            let row = example / batch.examples;
            match example % batch.examples < batch.counts[row] as usize {
                true => *value,
                false => 0.0,
            }
        });
        assert_eq!(download::<f32>(outputs), needed.collect::<Vec<_>>());
    }
}
