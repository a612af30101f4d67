//! Losses, hits and gradients of examples, by whichever loss the network has.

use super::cross_entropy::cross_entropy;
use super::part::Part;
use super::sigmoid::sigmoid_cross_entropy;
use super::squared_error::squared_error;
use crate::loss::Loss;
use burn_cubecl::tensor::CubeTensor;

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
    /// Judges `outputs` `[rows, examples, width]` by `loss`; if `backward` they become the gradient of each row's mean
    /// loss by them.
    pub(super) fn launch(&self, loss: Loss, (outputs, width): (&CubeTensor, usize), part: &Part) {
        match loss {
            Loss::CrossEntropy => cross_entropy(self, outputs, width, part),
            Loss::Sigmoid => sigmoid_cross_entropy(self, outputs, part),
            Loss::SquaredError(targets) => squared_error(self, (outputs, width), targets, part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Targets;
    use crate::stacked::memory::download;
    use crate::stacked::scores::scores;
    use crate::stacked::test_device::{Batch, expect_close, gpu, numbers};

    /// Losses, hits, outputs afterwards, and the rows' sums, on the device and on the host.
    fn judged(loss: Loss, classes: usize, examples: usize, backward: bool) -> Option<()> {
        let gpu = gpu()?;
        let width = loss.outputs(classes);
        let batch = Batch::uneven(examples, 0);
        let slots = batch.rows() * examples;
        let labels: Vec<u32> = (0..17).map(|at| at % classes as u32).collect();
        let indices: Vec<u32> = (0..slots as u32).map(|at| at * 5 % 17).collect();
        // Whole numbers, so that classes tie and the lowest must win.
        let outputs: Vec<f32> = numbers(slots * width, 11)
            .iter()
            .map(|value| (4.0 * value).round())
            .collect();
        let (mut host, mut losses, mut hits) = (outputs.clone(), vec![0.0; slots], vec![0; slots]);
        for (row, count) in batch.counts.iter().enumerate() {
            for place in (0..*count as usize).map(|example| row * examples + example) {
                let label = labels[indices[place] as usize] as u16;
                let scale = backward.then(|| 1.0 / *count as f32);
                let mut own = host[place * width..][..width].to_vec();
                let outcome = loss.judge(&mut own, &[label], width, scale);
                (losses[place], hits[place]) = (outcome.loss as f32, outcome.correct);
                if backward {
                    host[place * width..][..width].copy_from_slice(&own);
                }
            }
        }
        let memory = gpu.memory();
        let device = memory.upload_floats(&outputs);
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
        judgement.launch(loss, (&device, width), &batch.part());
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
        for backward in [false, true] {
            for (classes, examples) in [(10, 20), (2, 1), (3, 13), (62, 5)] {
                judged(Loss::CrossEntropy, classes, examples, backward);
                judged(
                    Loss::SquaredError(Targets::OneHot),
                    classes,
                    examples,
                    backward,
                );
                judged(
                    Loss::SquaredError(Targets::Value),
                    classes,
                    examples,
                    backward,
                );
            }
            for examples in [20, 1, 13] {
                judged(Loss::Sigmoid, 2, examples, backward);
            }
        }
    }
}
