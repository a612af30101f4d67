//! Dropout of a layer's outputs, with the random bits of the host.

use crate::network::dropout::LeftOut;
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::line;
use crate::stacked::device::threefry::threefry;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit of the kernel scales or zeroes one unit of the layer for one example.
#[cube(launch)]
fn dropout_kernel(
    outputs: &mut [f32],
    keys: &[u32],
    counts: &[u32],
    slot: Slot,
    units: usize,
    layer: u32,
    threshold: u32,
    scale: f32,
) {
    let unit = ABSOLUTE_POS % units;
    let rest = ABSOLUTE_POS / units;
    let row = rest / slot.examples;
    let example = rest % slot.examples;
    if row >= slot.rows {
        terminate!();
    }
    if example >= examples_of(&slot, counts, row) {
        terminate!();
    }
    let key = 2 * (slot.entry + row * slot.own);
    let element = (slot.first_example + example) * units + unit;
    let bits = threefry(keys[key], keys[key + 1], element as u32, layer) >> 8u32;
    let value = outputs[ABSOLUTE_POS];
    outputs[ABSOLUTE_POS] = select(bits < threshold, 0.0f32, value * scale);
}

/// The dropout masks of the steps of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropoutMasks<'a> {
    /// The key of every entry of the table, two words each.
    pub(crate) keys: &'a CubeTensor,
}

impl DropoutMasks<'_> {
    /// Multiplies `outputs` `[rows, examples, units]` of the layer `of` by its dropout mask.
    pub(crate) fn apply(&self, of: LeftOut, outputs: &CubeTensor, units: usize, part: &Part<'_>) {
        let (count, dim) = line(&outputs.client, part.rows * part.examples * units);
        moves(part.places() * units, part.places() * units);
        dropout_kernel::launch(
            &outputs.client,
            count,
            dim,
            outputs.clone().into_buffer_arg(),
            self.keys.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            part.argument(),
            units,
            of.layer,
            of.threshold,
            of.scale(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::dropout::Dropout;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{UnevenBatch, gpu, numbers};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn outputs_are_those_of_the_host_to_the_bit() {
        let gpu = gpu();
        for (units, examples, first_example) in [(64, 20, 0), (7, 5, 3), (1, 1, 0), (33, 9, 9)] {
            let batch = UnevenBatch::uneven(examples, 0);
            // A piece that begins within the batch.
            let counts: Vec<u32> = batch
                .counts
                .iter()
                .map(|count| {
                    if *count == 0 {
                        0
                    } else {
                        count + first_example
                    }
                })
                .collect();
            let memory = gpu.memory();
            let counts = memory.upload_words(&counts);
            let part = Part {
                first_example: first_example as usize,
                ..batch.part(&counts)
            };
            let steps = [5, 6, 7].map(|step| Dropout::new(11, step, 40 + u64::from(step)));
            let layer = LeftOut::new(2, 0.3);
            let values = numbers(batch.rows() * examples * units, 30);
            let mut host = values.clone();
            for (row, dropout) in steps.iter().enumerate() {
                let own = batch.counts[row] as usize * units;
                let outputs = &mut host[row * examples * units..][..own];
                dropout.apply(layer, first_example as usize * units, outputs);
            }
            let device = memory.upload_floats(&values);
            let masks = DropoutMasks {
                keys: &memory.upload_words(&steps.map(|dropout| dropout.key).concat()),
            };
            masks.apply(layer, &device, units, &part);
            assert_eq!(download::<f32>(device), host);
        }
    }
}
