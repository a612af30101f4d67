//! Verbs on stacks in host memory. Each is a loop over blocks that threads share; sums go in ascending row order.

use super::norm;
use crate::backend::rows::MomentumRule;
use crate::cpu::Cpu;
use crate::network::layout::Layout;
use crate::stack::quantiser::{Quantiser, uniform};
use rayon::prelude::*;

/// Parameters per block.
const BLOCK: usize = 256;

/// `to = Σ_i weights[i] · from_i` in double precision, rounded once; `to` is `[width]`.
pub(crate) fn mean(cpu: &Cpu, from: &[f32], weights: &[f64], to: &mut [f32]) {
    assert_eq!(from.len(), weights.len() * to.len(), "one weight per row");
    let rows: Vec<&[f32]> = from.chunks_exact(to.len().max(1)).collect();
    mean_of(cpu, &rows, weights, to);
}

/// As [`mean`], for rows `[width]` that need not be consecutive.
pub(crate) fn mean_of(cpu: &Cpu, from: &[&[f32]], weights: &[f64], to: &mut [f32]) {
    let width = to.len();
    assert_eq!(from.len(), weights.len(), "one weight per row");
    assert!(
        from.iter().all(|row| row.len() == width),
        "rows of one width"
    );
    cpu.install(|| {
        to.par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, to)| {
                cpu.instructions().vectorize(
                    #[inline(always)]
                    || {
                        let mut sums = [0f64; BLOCK];
                        for (row, weight) in from
                            .iter()
                            .zip(weights)
                            .filter(|(_, weight)| **weight != 0.0)
                        {
                            let values = &row[block * BLOCK..][..to.len()];
                            for (sum, value) in sums.iter_mut().zip(values) {
                                *sum += weight * f64::from(*value);
                            }
                        }
                        for (to, sum) in to.iter_mut().zip(sums) {
                            *to = sum as f32;
                        }
                    },
                );
            });
    });
}

/// `‖row_i − mean‖²` of every row.
pub(crate) fn squared_distances(cpu: &Cpu, rows: &[f32], mean: &[f32], width: usize) -> Vec<f64> {
    cpu.install(|| {
        rows.par_chunks_exact(width)
            .map(|row| {
                cpu.instructions().vectorize(
                    #[inline(always)]
                    || {
                        let mut sums = [0f64; 16];
                        for (row, mean) in row.chunks_exact(16).zip(mean.chunks_exact(16)) {
                            for lane in 0..16 {
                                let difference = f64::from(row[lane]) - f64::from(mean[lane]);
                                sums[lane] += difference * difference;
                            }
                        }
                        sums.iter().sum()
                    },
                )
            })
            .collect()
    })
}

/// `‖row_i‖²` of every row.
pub(crate) fn squared_norms(cpu: &Cpu, rows: &[f32], width: usize) -> Vec<f64> {
    squared_distances(cpu, rows, &vec![0.0; width], width)
}

/// Whether all floats of a row are finite, row by row.
pub(crate) fn finite_rows(cpu: &Cpu, rows: &[f32], width: usize) -> Vec<bool> {
    cpu.install(|| {
        rows.par_chunks_exact(width)
            .map(|row| {
                cpu.instructions().vectorize(|| {
                    row.iter()
                        .fold(true, |finite, value| finite & value.is_finite())
                })
            })
            .collect()
    })
}

/// `to_i += scales[i] · from_i`.
pub(crate) fn add_scaled(cpu: &Cpu, to: &mut [f32], from: &[f32], scales: &[f32], width: usize) {
    cpu.install(|| {
        to.par_chunks_exact_mut(width)
            .zip(from.par_chunks_exact(width))
            .zip(scales)
            .for_each(|((to, from), scale)| {
                cpu.instructions().vectorize(|| {
                    to.iter_mut()
                        .zip(from)
                        .for_each(|(to, from)| *to += scale * from)
                });
            });
    });
}

/// `to_i *= scales[i]`.
pub(crate) fn scale_rows(cpu: &Cpu, to: &mut [f32], scales: &[f32], width: usize) {
    cpu.install(|| {
        to.par_chunks_exact_mut(width)
            .zip(scales)
            .for_each(|(to, scale)| {
                cpu.instructions()
                    .vectorize(|| to.iter_mut().for_each(|to| *to *= scale));
            });
    });
}

/// `row_i *= min(1, longest / ‖row_i‖)`; rows of at most this length keep their bits.
pub(crate) fn shorten(cpu: &Cpu, rows: &mut [f32], longest: f32, width: usize) {
    let scale = |square: f64| match square.sqrt() {
        norm if norm > f64::from(longest) => (f64::from(longest) / norm) as f32,
        _ => 1.0,
    };
    let squares = squared_norms(cpu, rows, width).into_iter();
    let scales: Vec<f32> = squares.map(scale).collect();
    scale_rows(cpu, rows, &scales, width);
}

/// The operands of a step with momentum, each `[R, width]`.
pub(crate) struct MomentumRows<'a> {
    pub(crate) models: &'a mut [f32],
    pub(crate) velocities: &'a mut [f32],
    pub(crate) gradients: &'a [f32],
}

/// `v <- momentum · v + g`, `w <- w − rates[i] · v`, or Nesterov's `w <- w − rates[i] · (g + momentum · v)`.
pub(crate) fn momentum_step(
    cpu: &Cpu,
    rows: MomentumRows<'_>,
    step: MomentumRule<'_>,
    width: usize,
) {
    let MomentumRule {
        rates,
        momentum,
        nesterov,
    } = step;
    cpu.install(|| {
        let models = rows.models.par_chunks_exact_mut(width);
        let rows = models
            .zip(rows.velocities.par_chunks_exact_mut(width))
            .zip(rows.gradients.par_chunks_exact(width));
        rows.zip(rates).for_each(|(((w, v), g), rate)| {
            cpu.instructions().vectorize(|| {
                let rows = w.iter_mut().zip(v).zip(g);
                if nesterov {
                    for ((w, v), g) in rows {
                        *v = momentum * *v + g;
                        *w -= rate * (g + momentum * *v);
                    }
                } else {
                    for ((w, v), g) in rows {
                        *v = momentum * *v + g;
                        *w -= rate * *v;
                    }
                }
            });
        });
    });
}

/// Replaces each row by its quantised form.
pub(crate) fn quantize(cpu: &Cpu, rows: &mut [f32], layout: &Layout, quantiser: &Quantiser) {
    cpu.install(|| {
        rows.par_chunks_exact_mut(layout.width())
            .zip(&quantiser.keys)
            .for_each(|(row, key)| {
                for scope in quantiser.scopes(layout) {
                    let first = scope.start;
                    cpu.instructions().vectorize(
                        #[inline(always)]
                        || quantize_scope(&mut row[scope], first, quantiser.levels(), *key),
                    );
                }
            });
    });
}

#[inline(always)]
fn quantize_scope(values: &mut [f32], first: usize, levels: f32, key: [u32; 2]) {
    let norm = norm(values);
    if norm == 0.0 || !norm.is_finite() {
        return;
    }
    for (index, value) in (first as u32..).zip(values) {
        let exact = value.abs() / norm * levels;
        let below = exact.floor();
        let up = uniform(key, index) < exact - below;
        let level = if up { below + 1.0 } else { below };
        *value = (norm * level / levels).copysign(*value);
    }
}
