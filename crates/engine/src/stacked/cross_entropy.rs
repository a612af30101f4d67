//! Softmax with cross-entropy, and its gradient by the logits.

use super::launch::line;
use super::part::{Part, Slot, examples_of, place_of};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit judges one example. With `backward` the logits become `(softmax − onehot) / count`.
#[cube(launch)]
fn cross_entropy_kernel(
    logits: &mut [f32],
    labels: &[u32],
    indices: &[u32],
    counts: &[u32],
    losses: &mut [f32],
    hits: &mut [u32],
    slot: Slot,
    classes: usize,
    #[comptime] backward: bool,
) {
    let row = ABSOLUTE_POS / slot.examples;
    let example = ABSOLUTE_POS % slot.examples;
    if row >= slot.rows {
        terminate!();
    }
    if example >= examples_of(&slot, counts, row) {
        terminate!();
    }
    let label = labels[indices[place_of(&slot, row, example)] as usize] as usize;
    let first = (row * slot.examples + example) * classes;
    let mut largest = f32::min_value();
    let mut chosen = classes;
    for class in 0..classes {
        let value = logits[first + class];
        if value > largest {
            largest = value;
            chosen = class;
        }
    }
    let mut sum = 0.0f32;
    for class in 0..classes {
        sum += (logits[first + class] - largest).exp();
    }
    // The loss of a batch stands in the table's order, so that a batch cut into pieces is summed as one.
    let place = row * slot.table + slot.first_example + example;
    losses[place] = sum.ln() + largest - logits[first + label];
    if comptime!(backward) {
        let scale = 1.0f32 / f32::cast_from(counts[slot.entry + row * slot.own]);
        let factor = scale / sum;
        for class in 0..classes {
            let mut slope = (logits[first + class] - largest).exp() * factor;
            if class == label {
                slope -= scale;
            }
            logits[first + class] = slope;
        }
    } else {
        hits[place] = select(chosen == label, 1u32, 0u32);
    }
}

/// What examples are judged by, and where the judgement goes.
pub(super) struct Judgement<'a> {
    pub(super) labels: &'a CubeTensor,
    pub(super) indices: &'a CubeTensor,
    pub(super) counts: &'a CubeTensor,
    /// `[rows, table]`.
    pub(super) losses: &'a CubeTensor,
    /// `[rows, table]`, written unless `backward`.
    pub(super) hits: &'a CubeTensor,
    pub(super) backward: bool,
}

impl Judgement<'_> {
    /// Judges `logits` `[rows, examples, classes]`.
    pub(super) fn launch(&self, logits: &CubeTensor, classes: usize, part: &Part) {
        let (count, dim) = line(&logits.client, part.rows * part.examples);
        cross_entropy_kernel::launch(
            &logits.client,
            count,
            dim,
            logits.clone().into_buffer_arg(),
            self.labels.clone().into_buffer_arg(),
            self.indices.clone().into_buffer_arg(),
            self.counts.clone().into_buffer_arg(),
            self.losses.clone().into_buffer_arg(),
            self.hits.clone().into_buffer_arg(),
            part.argument(),
            classes,
            self.backward,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cross_entropy;
    use crate::stacked::memory::download;
    use crate::stacked::scores::scores;
    use crate::stacked::test_device::{Batch, expect_close, gpu, numbers};

    /// Losses, hits, logits afterwards, and the rows' sums, on the device and on the host.
    fn judged(classes: usize, examples: usize, backward: bool) -> Option<()> {
        let gpu = gpu()?;
        let batch = Batch::uneven(examples, 0);
        let slots = batch.rows() * examples;
        let labels: Vec<u32> = (0..17).map(|at| at % classes as u32).collect();
        let indices: Vec<u32> = (0..slots as u32).map(|at| at * 5 % 17).collect();
        // Whole numbers, so that classes tie and the lowest must win.
        let logits: Vec<f32> = numbers(slots * classes, 11)
            .iter()
            .map(|value| (4.0 * value).round())
            .collect();
        let (mut host, mut losses, mut hits) = (logits.clone(), vec![0.0; slots], vec![0; slots]);
        for (row, count) in batch.counts.iter().enumerate() {
            for place in (0..*count as usize).map(|example| row * examples + example) {
                let label = labels[indices[place] as usize] as u16;
                let scale = backward.then(|| 1.0 / *count as f32);
                let mut own = host[place * classes..][..classes].to_vec();
                let outcome = cross_entropy(&mut own, &[label], classes, scale);
                (losses[place], hits[place]) = (outcome.loss as f32, outcome.correct);
                if backward {
                    host[place * classes..][..classes].copy_from_slice(&own);
                }
            }
        }
        let memory = gpu.memory();
        let device = memory.upload_floats(&logits);
        let [loss_buffer, loss_sums] =
            [slots, batch.rows()].map(|count| memory.upload_floats(&vec![0.0; count]));
        let [hit_buffer, hit_sums] =
            [slots, batch.rows()].map(|count| memory.upload_words(&vec![0; count]));
        let [labels, indices, counts] =
            [&labels, &indices, &batch.counts].map(|words| memory.upload_words(words));
        let judgement = Judgement {
            labels: &labels,
            indices: &indices,
            counts: &counts,
            losses: &loss_buffer,
            hits: &hit_buffer,
            backward,
        };
        judgement.launch(&device, classes, &batch.part());
        scores(
            (&loss_buffer, &hit_buffer, &counts),
            (&loss_sums, &hit_sums),
            &batch.part(),
            0,
        );
        expect_close(&download::<f32>(device), &host, 1e-5);
        expect_close(&download::<f32>(loss_buffer), &losses, 1e-5);
        let sums: Vec<f32> = losses
            .chunks(examples)
            .map(|losses| losses.iter().sum())
            .collect();
        expect_close(&download::<f32>(loss_sums), &sums, 1e-5);
        if !backward {
            assert_eq!(download::<u32>(hit_buffer), hits);
            let sums: Vec<u32> = hits
                .chunks(examples)
                .map(|hits| hits.iter().sum())
                .collect();
            assert_eq!(download::<u32>(hit_sums), sums);
        }
        Some(())
    }

    #[test]
    fn losses_hits_and_gradients_are_those_of_the_host() {
        for (classes, examples) in [(10, 20), (2, 1), (3, 13), (62, 5)] {
            for backward in [false, true] {
                judged(classes, examples, backward);
            }
        }
    }
}
