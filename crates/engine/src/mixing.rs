//! A mixing matrix made ready for a device.

#[cfg(feature = "gpu")]
use crate::{device::Device, error::EngineError};
use meshfold_topology::{Form, MixingMatrix};
#[cfg(feature = "gpu")]
use std::sync::OnceLock;

/// A mixing matrix in the engine's precision, uploaded to a device when it is first used there.
#[derive(Debug)]
pub struct Mixing {
    rows: usize,
    columns: usize,
    host: HostMixing,
    #[cfg(feature = "gpu")]
    gpu: OnceLock<crate::stacked::GpuMixing>,
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
        Self {
            rows,
            columns,
            host,
            #[cfg(feature = "gpu")]
            gpu: OnceLock::new(),
        }
    }

    /// Rows of the stack after mixing.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of the stack before mixing.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether mixing changes nothing.
    pub fn is_identity(&self) -> bool {
        self.host == HostMixing::Identity
    }

    pub(crate) fn host(&self) -> &HostMixing {
        &self.host
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn gpu(&self, device: &Device) -> Result<&crate::stacked::GpuMixing, EngineError> {
        let Device::Gpu(gpu) = device else {
            unreachable!("only stacks of a GPU ask for its matrix")
        };
        Ok(self
            .gpu
            .get_or_init(|| crate::stacked::GpuMixing::upload(&self.host, self.rows, gpu)))
    }
}
