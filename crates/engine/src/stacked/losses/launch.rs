//! Losses, hits and gradients of examples, for the loss that the network has.

use super::cross_entropy::cross_entropy;
use super::cross_entropy_of_many::{MANY, cross_entropy_of_many};
use super::loss_kernels::LossKernels;
use super::sigmoid::sigmoid_cross_entropy;
use super::squared_error::squared_error;
use crate::network::loss::Loss;
use crate::stacked::batches::part::Part;
use burn_cubecl::tensor::CubeTensor;

impl LossKernels<'_> {
    /// Judges `outputs` `[rows, examples, positions, width]` by `loss`; if `backward`, they become the gradient of each
    /// row's mean loss with respect to them.
    pub(crate) fn launch(&self, loss: Loss, outputs: &CubeTensor, width: usize, part: &Part<'_>) {
        match loss {
            Loss::CrossEntropy if width >= MANY => {
                cross_entropy_of_many(self, outputs, width, part);
            }
            Loss::CrossEntropy => cross_entropy(self, outputs, width, part),
            Loss::Sigmoid => sigmoid_cross_entropy(self, outputs, part),
            Loss::SquaredError(targets) => squared_error(self, outputs, width, targets, part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::model::Targets;
    use crate::stacked::batches::labels::{Labels, upload_halves};
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{UnevenBatch, expect_close, gpu, numbers};
    use crate::stacked::losses::scores::Scores;
    use meshfold_data::Variant;

    /// What is judged.
    struct Case {
        loss: Loss,
        classes: usize,
        examples: usize,
        positions: usize,
        backward: bool,
    }

    /// The label at `position` of example `index`: the examples are windows of a text if they have several positions.
    fn label(text: &[u16], index: u32, position: usize, case: &Case) -> u16 {
        match case.positions {
            1 => text[index as usize],
            _ => text[start(index) as usize + position + 1],
        }
    }

    fn start(index: u32) -> u32 {
        index * 7 % 17
    }

    /// Losses, hits and outputs afterwards of a plain loop.
    fn oracle(
        case: &Case,
        batch: &UnevenBatch,
        text: &[u16],
        indices: &[u32],
        outputs: &[f32],
    ) -> (Vec<f32>, Vec<u32>, Vec<f32>) {
        let (positions, width) = (case.positions, case.loss.outputs(case.classes));
        let slots = indices.len() * positions;
        let (mut host, mut losses, mut hits) = (outputs.to_vec(), vec![0.0; slots], vec![0; slots]);
        for (row, count) in batch.counts.iter().enumerate() {
            let first = row * case.examples * positions;
            for place in first..first + *count as usize * positions {
                let index = indices[place / positions];
                let label = label(text, index, place % positions, case);
                let scale = 1.0 / (*count as usize * positions) as f32;
                let own = &mut host[place * width..][..width];
                let mut judged = own.to_vec();
                let scale = case.backward.then_some(scale);
                let outcome = case.loss.judge(&mut judged, &[label], width, scale);
                (losses[place], hits[place]) = (outcome.loss as f32, outcome.correct);
                if case.backward {
                    own.copy_from_slice(&judged);
                }
            }
        }
        (losses, hits, host)
    }

    /// Compares losses, hits, outputs afterwards, and the rows' sums with those of the host.
    fn compare(case: &Case) {
        let gpu = gpu();
        let (memory, width) = (gpu.memory(), case.loss.outputs(case.classes));
        let batch = UnevenBatch::uneven(case.examples, 0);
        let text: Vec<u16> = (0..40).map(|at| at * 337 % case.classes as u16).collect();
        let indices: Vec<u32> = (0..(batch.rows() * case.examples) as u32)
            .map(|at| at * 5 % 17)
            .collect();
        let slots = indices.len() * case.positions;
        // Whole numbers, so that classes tie and the lowest must win.
        let outputs: Vec<f32> = numbers(slots * width, 11)
            .iter()
            .map(|value| (4.0 * value).round())
            .collect();
        let (losses, hits, host) = oracle(case, &batch, &text, &indices, &outputs);
        let device = memory.upload_floats(&outputs);
        let [found_losses, loss_sums] =
            [slots, batch.rows()].map(|count| memory.upload_floats(&vec![0.0; count]));
        let [found_hits, hit_sums] =
            [slots, batch.rows()].map(|count| memory.upload_words(&vec![0; count]));
        let starts: Vec<u32> = (0..17).map(start).collect();
        let labels = Labels {
            words: upload_halves(&gpu, "a text", &text).unwrap(),
            starts: memory.upload_words(&starts),
            examples: 17,
            windowed: case.positions > 1,
        };
        // A variant has the label of its example.
        let variant = |(at, index): (usize, &u32)| index + 17 * (at as u32 * 7 % Variant::COUNT);
        let indices: Vec<u32> = indices.iter().enumerate().map(variant).collect();
        let [indices, counts] = [&indices, &batch.counts].map(|words| memory.upload_words(words));
        let kernels = LossKernels {
            labels: &labels,
            indices: &indices,
            positions: case.positions,
            losses: &found_losses,
            hits: &found_hits,
            backward: case.backward,
        };
        kernels.launch(case.loss, &device, width, &batch.part(&counts));
        let scores = Scores {
            losses: &found_losses,
            hits: &found_hits,
            positions: case.positions,
            loss_sums: &loss_sums,
            hit_sums: &hit_sums,
        };
        scores.launch(&batch.part(&counts), 0);
        let per_row = case.examples * case.positions;
        expect_close(&download::<f32>(device), &host, 1e-5);
        expect_close(&download::<f32>(found_losses), &losses, 1e-5);
        let sums: Vec<f32> = losses.chunks(per_row).map(|own| own.iter().sum()).collect();
        expect_close(&download::<f32>(loss_sums), &sums, 1e-5);
        if !case.backward {
            assert_eq!(download::<u32>(found_hits), hits);
            let sums: Vec<u32> = hits.chunks(per_row).map(|own| own.iter().sum()).collect();
            assert_eq!(download::<u32>(hit_sums), sums);
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn losses_hits_and_gradients_are_those_of_the_host() {
        for backward in [false, true] {
            let case = |loss, classes, examples, positions| {
                compare(&Case {
                    loss,
                    classes,
                    examples,
                    positions,
                    backward,
                });
            };
            for (classes, examples) in [(10, 20), (2, 1), (3, 13), (62, 5)] {
                case(Loss::CrossEntropy, classes, examples, 1);
                case(Loss::SquaredError(Targets::OneHot), classes, examples, 1);
                case(Loss::SquaredError(Targets::Value), classes, examples, 1);
            }
            for examples in [20, 1, 13] {
                case(Loss::Sigmoid, 2, examples, 1);
            }
            for (classes, examples, positions) in [(30, 4, 7), (5, 1, 20), (600, 3, 1), (777, 2, 3)]
            {
                case(Loss::CrossEntropy, classes, examples, positions);
            }
        }
    }
}
