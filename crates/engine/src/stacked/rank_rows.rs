//! A GPU as the device of a rank. Rows of other ranks are exchanged through host memory. This GPU computes with them in
//! the order of a single GPU, so that the bits are the same.

use crate::backend::rows::downcast;
use crate::error::EngineError;
use crate::processor::row_memory::RowMemory;
use crate::ranks::inner::{DealtMixing, Inner, OwnRows, Readable};
use crate::ranks::machine::Machine;
use crate::stacked::coalescing::shared_gpu::SharedGpu;
use crate::stacked::device::memory::{copy, cube, cube_mut, read, tensor};
use crate::stacked::gpu_rows::GpuRows;
use crate::stacked::stack_ops::among::{Among, mix_among, pick_among};
use crate::stacked::stack_ops::average::{broadcast, mean};
use crate::stacked::stack_ops::distances::squared_distances;
use crate::stacked::stack_ops::mix::on_device;
use crate::stacked::stack_ops::rows::{gather_rows, scatter_rows};
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use std::sync::Arc;

impl SharedGpu {
    /// Copies `rows`, each `[width]`, to the GPU: `[N, width]`.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel could not see them at once.
    fn upload_rows(
        &self,
        what: &str,
        rows: &[&[f32]],
        width: usize,
    ) -> Result<CubeTensor, EngineError> {
        self.expect_fit(what, rows.len(), width)?;
        let memory = self.memory();
        Ok(match rows {
            [] => memory.floats(&[0, width]),
            [row] => memory.upload_stack(row, width),
            rows => memory.upload_stack(&rows.concat(), width),
        })
    }
}

impl Inner for SharedGpu {
    /// No: other ranks cannot read the memory of a GPU.
    fn lends(&self) -> bool {
        false
    }

    fn of_machine(&self, _: &Machine) -> Arc<dyn Inner> {
        Arc::new(self.clone())
    }

    fn own_zeros(&self, rows: usize, width: usize) -> Box<dyn OwnRows> {
        let zeros = match rows {
            0 => self.memory().floats(&[0, width]),
            rows => self.memory().zeros(rows, width),
        };
        Box::new(GpuRows::new(self, tensor(zeros)))
    }

    fn own_rows(&self, rows: &[&[f32]], width: usize) -> Result<Box<dyn OwnRows>, EngineError> {
        let rows = self.upload_rows("a stack", rows, width)?;
        Ok(Box::new(GpuRows::new(self, tensor(rows))))
    }

    fn mean_of(
        &self,
        rows: &[&[f32]],
        weights: &[f64],
        width: usize,
    ) -> Result<RowMemory, EngineError> {
        if rows.is_empty() || width == 0 {
            return Ok(vec![0.0; width].into());
        }
        let rows = self.upload_rows("a part of the parameters of all rows", rows, width)?;
        Ok(read(mean(tensor(rows), weights)).into())
    }
}

impl GpuRows {
    /// One row on this GPU, `[1, P_pad]`.
    fn single(&self, row: &[f32]) -> CubeTensor {
        self.gpu().memory().upload_stack(row, row.len())
    }

    /// The rows, followed by the `foreign` ones.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel could not see those at once.
    fn followed_by(&self, foreign: &[&[f32]]) -> Result<Among, EngineError> {
        let own = cube(self.tensor());
        let (count, width) = (OwnRows::count(self), self.width());
        let what = "a stack of the rows of other ranks that this one reads";
        Ok(Among {
            foreign: self.gpu().upload_rows(what, foreign, width)?,
            count,
            own,
        })
    }
}

impl OwnRows for GpuRows {
    fn count(&self) -> usize {
        self.tensor().dims()[0]
    }

    fn width(&self) -> usize {
        self.tensor().dims()[1]
    }

    fn copy(&self) -> Box<dyn OwnRows> {
        Box::new(Self::new(self.gpu(), copy(self.tensor())))
    }

    fn readable(&self, places: &mut dyn Iterator<Item = u32>) -> Readable<'_> {
        let mut places: Vec<u32> = places.collect();
        places.sort_unstable();
        places.dedup();
        let values = match places.len() {
            0 => Vec::new(),
            all if all == OwnRows::count(self) => read(self.tensor()),
            _ => read(gather_rows(self.tensor(), &places)),
        };
        Readable::Copied { places, values }
    }

    fn gather_among(
        &self,
        picks: &[u32],
        foreign: &[&[f32]],
    ) -> Result<Box<dyn OwnRows>, EngineError> {
        let picked = pick_among(&self.followed_by(foreign)?, picks);
        Ok(Box::new(Self::new(self.gpu(), picked)))
    }

    fn scatter_among(
        &mut self,
        targets: &[u32],
        picks: &[u32],
        source: &dyn OwnRows,
        foreign: &[&[f32]],
    ) -> Result<(), EngineError> {
        let source: &Self = downcast("scatter", source)?;
        let picked = pick_among(&source.followed_by(foreign)?, picks);
        self.rows()
            .change(|rows| scatter_rows(rows, targets, picked));
        Ok(())
    }

    fn mix_among_ranks(&mut self, mixing: &DealtMixing<'_>) -> Result<(), EngineError> {
        let halo = mixing.halo;
        let arrived = halo.transfer.carry_out(mixing.world, self, &mut |_| false);
        let among = self.followed_by(&arrived.rows())?;
        drop(arrived);
        let matrix = on_device(&halo.matrix, self.gpu().memory());
        let mut mixed = self.room_to_mix(halo.rows());
        if halo.rows() > 0 {
            let to = cube_mut(mixed);
            mix_among(&among, matrix.sparse(), &to);
            mixed = tensor(to);
        }
        drop(among);
        self.become_mixed(mixed);
        Ok(())
    }

    fn become_all(&mut self, rows: usize, row: &[f32]) {
        let width = row.len();
        let all = self.gpu().memory().floats(&[rows, width]);
        if rows > 0 {
            broadcast(&self.single(row), &all, rows, width);
        }
        *self = Self::new(self.gpu(), tensor(all));
    }

    fn replace(&mut self, members: &[bool], row: &[f32]) {
        let members = (0u32..).zip(members).filter(|(_, member)| **member);
        let members: Vec<u32> = members.map(|(place, _)| place).collect();
        let one: Tensor<2> = tensor(self.single(row));
        let copies = gather_rows(one, &vec![0; members.len()]);
        self.rows()
            .change(|rows| scatter_rows(rows, &members, copies));
    }

    fn squared_distances_from(&self, mean: &[f32]) -> Vec<f64> {
        squared_distances(self.tensor(), tensor(self.single(mean)))
    }
}
