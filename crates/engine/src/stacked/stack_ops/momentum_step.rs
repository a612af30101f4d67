//! One step with momentum along gradients that were given.

use crate::backend::rows::MomentumRule;
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::{Memory, cube, cube_mut, tensor};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use cubecl::prelude::*;

#[cube(launch)]
fn momentum_kernel<N: Size>(
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    gradients: &[Vector<f32, N>],
    rates: &[f32],
    rows: usize,
    width: usize,
    momentum: f32,
    #[comptime] nesterov: bool,
) {
    let row = ABSOLUTE_POS / width;
    if row >= rows {
        terminate!();
    }
    let gradient = gradients[ABSOLUTE_POS];
    let velocity = Vector::new(momentum) * velocities[ABSOLUTE_POS] + gradient;
    velocities[ABSOLUTE_POS] = velocity;
    if comptime!(nesterov) {
        let along = gradient + Vector::new(momentum) * velocity;
        models[ABSOLUTE_POS] -= Vector::new(rates[row]) * along;
    } else {
        models[ABSOLUTE_POS] -= Vector::new(rates[row]) * velocity;
    }
}

/// `v_i <- momentum · v_i + g_i`, `w_i <- w_i − rates[i] · v_i`, or Nesterov's `w_i <- w_i − rates[i] · (g_i + momentum · v_i)`; returns
/// models and velocities.
pub(crate) fn momentum_step(
    models: Tensor<2>,
    velocities: Tensor<2>,
    gradients: Tensor<2>,
    step: MomentumRule<'_>,
) -> (Tensor<2>, Tensor<2>) {
    let [rows, width] = models.dims();
    let (models, velocities) = (cube_mut(models), cube_mut(velocities));
    let (count, dim) = line(&models.client, rows * width / 4);
    moves(3 * rows * width, 2 * rows * width);
    momentum_kernel::launch(
        &models.client,
        count,
        dim,
        4,
        models.clone().into_buffer_arg(),
        velocities.clone().into_buffer_arg(),
        cube(gradients).into_buffer_arg(),
        Memory::of(&models)
            .upload_floats(step.rates)
            .into_buffer_arg(),
        rows,
        width / 4,
        step.momentum,
        step.nesterov,
    );
    (tensor(models), tensor(velocities))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{expect_close, gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_step_is_that_of_the_formula() {
        let gpu = gpu();
        for (rows, width, nesterov) in [
            (1, 64, false),
            (3, 320, false),
            (1, 64, true),
            (3, 320, true),
        ] {
            let [w, v, g] = [11, 12, 13].map(|seed| numbers(rows * width, seed));
            let rates: Vec<f32> = (0..rows).map(|row| 0.1 * row as f32).collect();
            let velocities: Vec<f32> = v.iter().zip(&g).map(|(v, g)| 0.9 * v + g).collect();
            let along = |at: usize| match nesterov {
                true => g[at] + 0.9 * velocities[at],
                false => velocities[at],
            };
            let models: Vec<f32> = (0..rows * width)
                .map(|at| w[at] - rates[at / width] * along(at))
                .collect();
            let [w, v, g] = [w, v, g].map(|values| stacked(&gpu, &values, rows));
            let step = MomentumRule {
                rates: &rates,
                momentum: 0.9,
                nesterov,
            };
            let (w, v) = momentum_step(w, v, g, step);
            expect_close(&read(w), &models, 1e-6);
            expect_close(&read(v), &velocities, 1e-6);
        }
    }
}
