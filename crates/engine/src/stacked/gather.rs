//! Reading a batch: bytes to normalised floats.

use super::examples::DeviceExamples;
use super::launch::{line, vector_size};
use super::part::{Part, Slot, examples_of, place_of};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit turns one vector of bytes of one example into floats, `byte · multiply + add`.
#[cube(launch)]
fn gather_kernel<N: Size>(
    words: &[u32],
    indices: &[u32],
    counts: &[u32],
    batch: &mut [Vector<f32, N>],
    slot: Slot,
    words_per_example: usize,
    columns: usize,
    multiply: f32,
    add: f32,
) {
    let column = ABSOLUTE_POS % columns;
    let rest = ABSOLUTE_POS / columns;
    let row = rest / slot.examples;
    let example = rest % slot.examples;
    if row >= slot.rows {
        terminate!();
    }
    if example >= examples_of(&slot, counts, row) {
        terminate!();
    }
    let first = indices[place_of(&slot, row, example)] as usize * words_per_example;
    let mut values = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for n in 0..N::value() {
        let at = column * N::value() + n;
        let byte = (words[first + at / 4] >> (8 * (at % 4) as u32)) & 255u32;
        values.insert(n, f32::cast_from(byte) * multiply + add);
    }
    batch[rest * columns + column] = values;
}

/// Writes `batch` `[rows, examples, D]`.
pub(super) fn gather(
    examples: &DeviceExamples,
    (indices, counts): (&CubeTensor, &CubeTensor),
    batch: &CubeTensor,
    part: &Part,
) {
    let n = vector_size(examples.width);
    let (count, dim) = line(
        &batch.client,
        part.rows * part.examples * (examples.width / n),
    );
    gather_kernel::launch(
        &batch.client,
        count,
        dim,
        n,
        examples.words.clone().into_buffer_arg(),
        indices.clone().into_buffer_arg(),
        counts.clone().into_buffer_arg(),
        batch.clone().into_buffer_arg(),
        part.argument(),
        examples.words_per_example,
        examples.width / n,
        examples.scale.multiply,
        examples.scale.add,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::memory::download;
    use crate::stacked::test_device::{Batch, gpu};
    use meshfold_data::{Examples, Scale, Shape};

    #[test]
    fn bytes_become_the_floats_of_the_host() {
        let Some(gpu) = gpu() else { return };
        for width in [1, 6, 7, 784] {
            let shape = Shape {
                channels: 1,
                height: 1,
                width,
            };
            let features: Vec<u8> = (0..11 * width).map(|at| (at * 37 % 256) as u8).collect();
            let scale = Scale::standardising(0.13, 0.31);
            let examples = Examples::new(features, vec![0; 11], shape, 2, scale).unwrap();
            let batch = Batch::uneven(5, 0);
            let indices: Vec<u32> = (0..batch.rows() * 5)
                .map(|at| (at * 3 % 11) as u32)
                .collect();
            let mut oracle = vec![0.0; indices.len() * width];
            for (row, count) in batch.counts.iter().enumerate() {
                for place in (0..*count as usize).map(|example| row * 5 + example) {
                    for (to, byte) in oracle[place * width..]
                        .iter_mut()
                        .zip(examples.row(indices[place] as usize))
                    {
                        *to = scale.apply(*byte);
                    }
                }
            }
            let memory = gpu.memory();
            let out = memory.upload_floats(&vec![0.0; oracle.len()]);
            let (indices, counts) = (
                memory.upload_words(&indices),
                memory.upload_words(&batch.counts),
            );
            let examples = DeviceExamples::upload(&gpu, &examples).unwrap();
            gather(&examples, (&indices, &counts), &out, &batch.part());
            for (found, oracle) in download::<f32>(out).iter().zip(&oracle) {
                // The product and the sum may be one operation on the device.
                assert!(
                    (found - oracle).abs() < 1e-6,
                    "{found} but the host has {oracle}"
                );
            }
        }
    }
}
