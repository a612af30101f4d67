//! ReLU and its backward pass.

use crate::cpu::Cpu;

/// `max(0, y)`.
pub(crate) fn rectify(cpu: &Cpu, y: &mut [f32]) {
    cpu.instructions().vectorize(
        #[inline(always)]
        || y.iter_mut().for_each(|y| *y = y.max(0.0)),
    );
}

/// `d ⊙ [y > 0] · slope`. A unit that was left out has an output of zero, and so no gradient.
pub(crate) fn mask(cpu: &Cpu, d: &mut [f32], y: &[f32], slope: f32) {
    cpu.instructions().vectorize(
        #[inline(always)]
        move || {
            for (delta, activation) in d.iter_mut().zip(y) {
                let through = *delta * slope;
                *delta = if *activation > 0.0 { through } else { 0.0 };
            }
        },
    );
}
