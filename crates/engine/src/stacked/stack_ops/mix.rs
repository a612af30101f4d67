//! Mixing: `out = W · stack`, over the arena.

use super::average::{broadcast, broadcast_among, mean_into};
use super::mix_sparse::Sparse;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stacked::device::memory::{Memory, cube, cube_mut, tensor};
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use std::iter::once;
use std::sync::Arc;

/// A mixing matrix on the device.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are a few matrices to a run, each behind a reference"
)]
pub(crate) enum GpuMixing {
    /// Weights of neighbours on an overlay.
    Sparse(Sparse),
    /// The same weights in every row.
    Average { rows: usize, weights: CubeTensor },
    /// The same weights in the rows whose entry of `members` is 1; the others stay.
    Among {
        rows: usize,
        weights: CubeTensor,
        members: CubeTensor,
    },
    /// No exchange.
    Identity,
}

impl GpuMixing {
    /// Copies `mixing`, of `rows` rows, to the device.
    pub(crate) fn upload(mixing: &HostMixing, rows: usize, memory: &Memory) -> Self {
        match mixing {
            HostMixing::Sparse { .. } => Self::Sparse(Sparse::upload(once(mixing), memory)),
            HostMixing::Average { weights } => {
                let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
                Self::Average {
                    rows,
                    weights: memory.upload_floats(&weights),
                }
            }
            HostMixing::Among { weights, members } => {
                let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
                let members: Vec<u32> = members.iter().map(|member| u32::from(*member)).collect();
                Self::Among {
                    rows,
                    weights: memory.upload_floats(&weights),
                    members: memory.upload_words(&members),
                }
            }
            HostMixing::Identity => Self::Identity,
        }
    }

    /// The weights of neighbours on an overlay.
    ///
    /// # Panics
    /// If it is another exchange.
    pub(crate) fn sparse(&self) -> &Sparse {
        match self {
            Self::Sparse(sparse) => sparse,
            _ => panic!("a mean is no sparse matrix"),
        }
    }
}

/// `W · from` into the memory of `out`; `from` is `[columns, P_pad]`, `out` `[rows, P_pad]`.
pub(crate) fn mix(from: Tensor<2>, matrix: &Matrix, out: Tensor<2>) -> Tensor<2> {
    let from = cube(from);
    let mixing = on_device(matrix, &Memory::of(&from));
    tensor(mix_into(&from, &mixing, cube_mut(out)))
}

/// `matrix` on the device of `memory`.
pub(crate) fn on_device(matrix: &Matrix, memory: &Memory) -> Arc<GpuMixing> {
    matrix.uploaded(|matrix| GpuMixing::upload(&matrix.host, matrix.rows, memory))
}

/// `W · from` in memory of its own.
pub(crate) fn mixed(from: &CubeTensor, matrix: &Matrix) -> CubeTensor {
    let memory = Memory::of(from);
    let to = memory.floats(&[matrix.rows, from.meta.shape()[1]]);
    mix_into(from, &on_device(matrix, &memory), to)
}

/// `to = W · from`; returns the tensor with the result.
fn mix_into(from: &CubeTensor, mixing: &GpuMixing, to: CubeTensor) -> CubeTensor {
    let width = from.meta.shape()[1];
    match mixing {
        GpuMixing::Identity => return from.copy(),
        GpuMixing::Average { rows, weights } => {
            let mean = Memory::of(from).floats(&[1, width]);
            mean_into(from, weights, &mean, width);
            broadcast(&mean, &to, *rows, width);
        }
        GpuMixing::Among {
            rows,
            weights,
            members,
        } => {
            let mean = Memory::of(from).floats(&[1, width]);
            mean_into(from, weights, &mean, width);
            broadcast_among(&mean, from, members, &to, *rows);
        }
        GpuMixing::Sparse(sparse) => sparse.mix(&[from], &to, 0),
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::gpu::Gpu;
    use crate::stacked::device::memory::read;
    use crate::stacked::device::test_device::{expect_close, gpu, numbers, stacked};

    /// The plain loop: `out[i] = Σ_j w_ij · from[j]`.
    fn oracle(rows: &[Vec<(u32, f32)>], from: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() * width];
        for (row, entries) in rows.iter().enumerate() {
            for (column, weight) in entries {
                for place in 0..width {
                    out[row * width + place] += weight * from[*column as usize * width + place];
                }
            }
        }
        out
    }

    /// `mixing · from` into the memory of `out`.
    fn mix(from: Tensor<2>, mixing: &GpuMixing, out: Tensor<2>) -> Tensor<2> {
        tensor(mix_into(&cube(from), mixing, cube_mut(out)))
    }

    fn mixed(gpu: &Gpu, rows: &[Vec<(u32, f32)>], from: &[f32], sources: usize) -> Vec<f32> {
        let mut row_ptr = vec![0];
        row_ptr.extend(rows.iter().scan(0, |total, row| {
            *total += row.len();
            Some(*total)
        }));
        let host = HostMixing::Sparse {
            row_ptr,
            columns: rows.iter().flatten().map(|entry| entry.0).collect(),
            weights: rows.iter().flatten().map(|entry| entry.1).collect(),
        };
        let width = from.len() / sources;
        let matrix = GpuMixing::upload(&host, rows.len(), gpu.memory());
        let out = stacked(gpu, &vec![7.0; rows.len() * width], rows.len());
        read(mix(stacked(gpu, from, sources), &matrix, out))
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn mixing_is_the_weighted_sum_over_neighbours() {
        let gpu = gpu();
        // Widths beside the block of 256 floats, a node without neighbours, and a row without entries.
        for (nodes, width) in [(1, 64), (3, 320), (7, 1_088), (13, 256)] {
            let rows: Vec<Vec<(u32, f32)>> = (0..nodes)
                .map(|node| match node {
                    1 => vec![(1, 1.0)],
                    2 => vec![],
                    _ => (0..nodes)
                        .step_by(2)
                        .map(|other| (other, 0.1 + other as f32 * 0.07))
                        .collect(),
                })
                .collect();
            let from = numbers(nodes as usize * width, nodes);
            expect_close(
                &mixed(&gpu, &rows, &from, nodes as usize),
                &oracle(&rows, &from, width),
                1e-6,
            );
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_rectangular_matrix_changes_the_number_of_rows() {
        let gpu = gpu();
        let rows = vec![vec![(0, 0.25), (4, 0.75)], vec![(2, 1.0)]];
        let from = numbers(5 * 192, 3);
        expect_close(
            &mixed(&gpu, &rows, &from, 5),
            &oracle(&rows, &from, 192),
            1e-6,
        );
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn an_average_gives_every_row_the_mean() {
        let gpu = gpu();
        let (rows, width) = (11, 192);
        let weights: Vec<f64> = (0..rows).map(|row| (row + 1) as f64 / 66.0).collect();
        let entries: Vec<(u32, f32)> = (0..)
            .zip(&weights)
            .map(|(row, weight)| (row, *weight as f32))
            .collect();
        let from = numbers(rows * width, 5);
        let matrix = GpuMixing::upload(&HostMixing::Average { weights }, rows, gpu.memory());
        let out = read(mix(
            stacked(&gpu, &from, rows),
            &matrix,
            stacked(&gpu, &vec![0.0; rows * width], rows),
        ));
        expect_close(&out, &oracle(&vec![entries; rows], &from, width), 1e-6);
        assert!(out.chunks_exact(width).all(|row| row == &out[..width]));
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_target_that_others_share_is_left_alone() {
        let gpu = gpu();
        let from = numbers(128, 2);
        let host = HostMixing::Average {
            weights: vec![0.5, 0.5],
        };
        let target = stacked(&gpu, &[9.0; 128], 2);
        mix(
            stacked(&gpu, &from, 2),
            &GpuMixing::upload(&host, 2, gpu.memory()),
            target.clone(),
        );
        assert_eq!(read(target), [9.0; 128]);
    }
}
