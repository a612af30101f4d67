//! The unbiased quantiser, with the rounding bits of the host.

use super::finite::is_finite;
use super::norms::norms;
use crate::network::layout::Layout;
use crate::stack::quantiser::Quantiser;
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{Memory, cube_mut, tensor};
use crate::stacked::device::threefry::threefry;
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use cubecl::prelude::*;

#[cube(launch)]
fn quantize_kernel(
    models: &mut [f32],
    norms: &[f32],
    keys: &[u32],
    rows: usize,
    width: usize,
    first: usize,
    count: usize,
    levels: f32,
) {
    let row = ABSOLUTE_POS / count;
    let index = first + ABSOLUTE_POS % count;
    if row >= rows {
        terminate!();
    }
    let norm = norms[row];
    if norm == 0.0f32 || !is_finite(norm) {
        terminate!();
    }
    let value = models[row * width + index];
    let exact = value.abs() / norm * levels;
    let below = exact.floor();
    let bits = threefry(keys[2 * row], keys[2 * row + 1], index as u32, 0u32) >> 8u32;
    let uniform = f32::cast_from(bits) * (1.0f32 / 16_777_216.0f32);
    let level = below + select(uniform < exact - below, 1.0f32, 0.0f32);
    let size = norm * level / levels;
    models[row * width + index] = select(value < 0.0f32, -size, size);
}

/// Replaces each row of `models` `[R, P_pad]` by its quantised form.
pub(crate) fn quantize(models: Tensor<2>, layout: &Layout, quantiser: &Quantiser) -> Tensor<2> {
    let [rows, width] = models.dims();
    let models = cube_mut(models);
    let keys = Memory::of(&models).upload_words(&quantiser.keys.concat());
    for scope in quantiser.scopes(layout) {
        let norms = norms(&models, 0..rows, width, scope.clone());
        let (count, dim) = line(&models.client, rows * scope.len());
        moves(rows * scope.len(), rows * scope.len());
        quantize_kernel::launch(
            &models.client,
            count,
            dim,
            models.clone().into_buffer_arg(),
            norms.into_buffer_arg(),
            keys.clone().into_buffer_arg(),
            rows,
            width,
            scope.start,
            scope.len(),
            quantiser.levels(),
        );
    }
    tensor(models)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::quantiser::NormScope;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn quantised_rows_are_those_of_the_host() {
        let gpu = gpu();
        let mut layout = Layout::default();
        layout.push("weight", 37, 21);
        layout.push("bias", 1, 21);
        let (rows, width) = (3, layout.width());
        let mut values = vec![0.0; rows * width];
        for (row, target) in values.chunks_exact_mut(width).enumerate() {
            for block in layout.blocks() {
                target[block.range()].copy_from_slice(&numbers(block.size(), 20 + row as u32));
            }
        }
        values[width..2 * width].fill(0.0);
        let keys = vec![[1, 2], [3, 4], [5, 6]];
        for norm in [NormScope::Model, NormScope::Layer] {
            for bits in [2, 8, 16] {
                let quantiser = Quantiser {
                    bits,
                    norm,
                    keys: keys.clone(),
                };
                let mut host = values.clone();
                let cpu = crate::cpu::Cpu::new(Some(1), None).unwrap();
                crate::kernels::host::quantize(&cpu, &mut host, &layout, &quantiser);
                let found = read(quantize(stacked(&gpu, &values, rows), &layout, &quantiser));
                // Norms and quotients may differ in the last bit, and then a value near a boundary rounds the other way.
                let apart = found
                    .iter()
                    .zip(&host)
                    .filter(|(a, b)| (**a - **b).abs() > 1e-5)
                    .count();
                assert!(
                    apart <= 2,
                    "{apart} of {} values differ at {bits} bits",
                    host.len()
                );
            }
        }
    }
}
