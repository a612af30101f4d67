//! A mixing matrix made ready for a device.

#[cfg(feature = "gpu")]
use crate::stacked::{GpuMixing, Memory};
use meshfold_topology::{Form, MixingMatrix};
use std::sync::Arc;
#[cfg(feature = "gpu")]
use std::sync::OnceLock;

/// A mixing matrix in the engine's precision, uploaded to a device when it is first used there.
#[derive(Debug)]
pub struct Mixing {
    columns: usize,
    matrix: Arc<Matrix>,
}

/// The weights, which a stack that is yet to be mixed shares.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) host: HostMixing,
    #[cfg(feature = "gpu")]
    gpu: OnceLock<GpuMixing>,
}

/// The matrix in host memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostMixing {
    /// Compressed sparse rows, columns ascending.
    Sparse {
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        weights: Vec<f32>,
    },
    /// Every row holds the same weights: a mean over all rows.
    Average { weights: Vec<f64> },
    /// The rows of the members hold the same weights, a mean over them; the others stay.
    Among {
        weights: Vec<f64>,
        members: Vec<bool>,
    },
    /// No exchange.
    Identity,
}

impl Mixing {
    /// Prepares `matrix`; weights become f32.
    pub fn new(matrix: &MixingMatrix) -> Self {
        let host = match matrix.form() {
            Form::Average(weights) => HostMixing::Average {
                weights: weights.to_vec(),
            },
            Form::Among { weights, members } => HostMixing::Among {
                weights: weights.to_vec(),
                members: members.to_vec(),
            },
            Form::Sparse {
                row_ptr,
                columns,
                weights,
            } => HostMixing::Sparse {
                row_ptr: row_ptr.to_vec(),
                columns: columns.to_vec(),
                weights: weights.iter().map(|weight| *weight as f32).collect(),
            },
        };
        Self::of(matrix.rows(), matrix.columns(), host)
    }

    /// No exchange between `rows` rows.
    pub fn identity(rows: usize) -> Self {
        Self::of(rows, rows, HostMixing::Identity)
    }

    fn of(rows: usize, columns: usize, host: HostMixing) -> Self {
        let matrix = Matrix {
            rows,
            host,
            #[cfg(feature = "gpu")]
            gpu: OnceLock::new(),
        };
        Self {
            columns,
            matrix: Arc::new(matrix),
        }
    }

    /// Rows of the stack after mixing.
    pub fn rows(&self) -> usize {
        self.matrix.rows
    }

    /// Rows of the stack before mixing.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether mixing changes nothing.
    pub fn is_identity(&self) -> bool {
        self.matrix.host == HostMixing::Identity
    }

    pub(crate) fn matrix(&self) -> &Arc<Matrix> {
        &self.matrix
    }
}

#[cfg(feature = "gpu")]
impl Matrix {
    /// The matrix on the device of `memory`.
    pub(crate) fn on(&self, memory: &Memory) -> &GpuMixing {
        let upload = || GpuMixing::upload(&self.host, self.rows, memory);
        self.gpu.get_or_init(upload)
    }
}
