//! Verbs on stacks in host memory. Each is a loop over blocks that threads share; sums go in ascending row order.

use super::norm;
use crate::device::Cpu;
use crate::layout::Layout;
use crate::mixing::HostMixing;
use crate::quantiser::{NormScope, Quantiser, uniform};
use rayon::prelude::*;

/// Parameters per block: a block of all rows stays in the second-level cache for a thousand rows.
const BLOCK: usize = 256;
/// Parameters whose sums are kept in registers at once.
const LANES: usize = 64;

/// A pointer that threads may share: each writes floats that no other touches.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: the kernels below give every thread floats of its own.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The floats from `offset`, `count` of them.
    ///
    /// # Safety
    /// They are within the allocation and no other thread uses them meanwhile.
    unsafe fn slice<'a>(self, offset: usize, count: usize) -> &'a mut [f32] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(offset), count) }
    }
}

/// `to = W · from`; `from` is `[columns, width]`, `to` `[rows, width]`.
pub(crate) fn mix(cpu: &Cpu, mixing: &HostMixing, from: &[f32], width: usize, to: &mut [f32]) {
    match mixing {
        HostMixing::Identity => to.copy_from_slice(from),
        HostMixing::Sparse {
            row_ptr,
            columns,
            weights,
        } => mix_sparse(cpu, (row_ptr, columns, weights), from, width, to),
        HostMixing::Among { weights, members } => {
            let mut shared = vec![0.0; width];
            mean(cpu, from, weights, &mut shared);
            cpu.install(|| {
                let rows = to.par_chunks_exact_mut(width);
                let rows = rows.zip(from.par_chunks_exact(width)).zip(members);
                rows.for_each(|((to, own), member)| {
                    to.copy_from_slice(if *member { &shared } else { own });
                });
            });
        }
        HostMixing::Average { weights } => {
            let (first, rest) = to.split_at_mut(width);
            mean(cpu, from, weights, first);
            cpu.install(|| {
                rest.par_chunks_exact_mut(width)
                    .for_each(|row| row.copy_from_slice(first))
            });
        }
    }
}

fn mix_sparse(
    cpu: &Cpu,
    (row_ptr, columns, weights): (&[usize], &[u32], &[f32]),
    from: &[f32],
    width: usize,
    to: &mut [f32],
) {
    let rows = row_ptr.len() - 1;
    assert_eq!(
        to.len(),
        rows * width,
        "the target of a mixing has one row per row of the matrix"
    );
    assert!(
        columns
            .iter()
            .all(|column| (*column as usize + 1) * width <= from.len()),
        "a column is out of range"
    );
    assert_eq!(
        width % LANES,
        0,
        "rows are padded to the alignment of a layout"
    );
    let target = Shared(to.as_mut_ptr());
    let blocks = width.div_ceil(BLOCK);
    cpu.install(|| {
        (0..blocks).into_par_iter().for_each(|block| {
            let range = block * BLOCK..((block + 1) * BLOCK).min(width);
            cpu.instructions().vectorize(
                #[inline(always)]
                || {
                    for row in 0..rows {
                        let entries = row_ptr[row]..row_ptr[row + 1];
                        for start in range.clone().step_by(LANES) {
                            let mut sums = [0f32; LANES];
                            for (column, weight) in columns[entries.clone()]
                                .iter()
                                .zip(&weights[entries.clone()])
                            {
                                let at = *column as usize * width + start;
                                // SAFETY: every column was checked above, and `start + LANES <= width`.
                                let values = unsafe { from.get_unchecked(at..at + LANES) };
                                for (sum, value) in sums.iter_mut().zip(values) {
                                    *sum += weight * value;
                                }
                            }
                            // SAFETY: this thread alone writes this block of columns.
                            unsafe { target.slice(row * width + start, LANES) }
                                .copy_from_slice(&sums);
                        }
                    }
                },
            );
        });
    });
}

/// `to = Σ_i weights[i] · from_i` in double precision, rounded once; `to` is `[width]`.
pub(crate) fn mean(cpu: &Cpu, from: &[f32], weights: &[f64], to: &mut [f32]) {
    let width = to.len();
    assert_eq!(from.len(), weights.len() * width, "one weight per row");
    cpu.install(|| {
        to.par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, to)| {
                cpu.instructions().vectorize(
                    #[inline(always)]
                    || {
                        let mut sums = [0f64; BLOCK];
                        for (row, weight) in weights
                            .iter()
                            .enumerate()
                            .filter(|(_, weight)| **weight != 0.0)
                        {
                            let values = &from[row * width + block * BLOCK..][..to.len()];
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

/// `v <- momentum · v + g`, `w <- w − rates[i] · v`.
pub(crate) fn heavy_ball(
    cpu: &Cpu,
    w: &mut [f32],
    v: &mut [f32],
    g: &[f32],
    rates: &[f32],
    momentum: f32,
    width: usize,
) {
    cpu.install(|| {
        let rows = w
            .par_chunks_exact_mut(width)
            .zip(v.par_chunks_exact_mut(width))
            .zip(g.par_chunks_exact(width));
        rows.zip(rates).for_each(|(((w, v), g), rate)| {
            cpu.instructions().vectorize(|| {
                for ((w, v), g) in w.iter_mut().zip(v).zip(g) {
                    *v = momentum * *v + g;
                    *w -= rate * *v;
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
                // Padding is zero and adds nothing to the norm of a whole row.
                let scopes: Vec<std::ops::Range<usize>> = match quantiser.norm {
                    NormScope::Model => std::iter::once(0..layout.width()).collect(),
                    NormScope::Layer => layout.blocks().iter().map(|block| block.range()).collect(),
                };
                for scope in scopes {
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
