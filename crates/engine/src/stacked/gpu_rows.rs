//! The rows of a stack on a GPU.

use crate::backend::rows::{MomentumRule, Rows, downcast, downcast_mut};
use crate::error::EngineError;
use crate::kernels::largest::keep_largest_of;
use crate::network::layout::Layout;
use crate::stack::mixing::Matrix;
use crate::stack::quantiser::Quantiser;
use crate::stack::row_lists::{RowLists, Statistic};
use crate::stacked::coalescing::shared_gpu::SharedGpu;
use crate::stacked::device::memory::{copy, read, tensor};
use crate::stacked::stack_ops::average::mean;
use crate::stacked::stack_ops::distances::squared_distances;
use crate::stacked::stack_ops::finite::finite_rows;
use crate::stacked::stack_ops::mix::mix;
use crate::stacked::stack_ops::momentum_step::momentum_step;
use crate::stacked::stack_ops::norms::squared_norms;
use crate::stacked::stack_ops::pair_distances::pair_distances;
use crate::stacked::stack_ops::quantize::quantize;
use crate::stacked::stack_ops::rows::{gather_rows, scatter_rows};
use crate::stacked::stack_ops::scaled::{add_scaled, scale_rows};
use crate::stacked::stack_ops::shortened::shorten;
use crate::stacked::stack_ops::stack_rows::StackRows;
use crate::stacked::stack_ops::statistics::statistics;
use burn::tensor::{Tensor, TensorData};
use std::mem::replace;
use std::sync::Arc;

/// Rows `[R, P_pad]` on a GPU, with the double buffer that mixing writes into.
#[derive(Debug)]
pub(crate) struct GpuRows {
    gpu: SharedGpu,
    rows: StackRows,
    spare: Option<Tensor<2>>,
}

impl GpuRows {
    /// Rows of `gpu`.
    pub(crate) fn new(gpu: &SharedGpu, rows: Tensor<2>) -> Self {
        Self {
            gpu: gpu.clone(),
            rows: StackRows::new(rows),
            spare: None,
        }
    }

    /// Where they are.
    pub(crate) fn gpu(&self) -> &SharedGpu {
        &self.gpu
    }

    /// Memory for these rows mixed, `[rows, P_pad]`, for [`GpuRows::become_mixed`].
    pub(crate) fn room_to_mix(&mut self, rows: usize) -> Tensor<2> {
        let shape = [rows, self.tensor().dims()[1]];
        let spare = self.spare.take().filter(|spare| spare.dims() == shape);
        spare.unwrap_or_else(|| tensor(self.gpu.memory().floats(&shape)))
    }

    /// Replaces the rows by `mixed`; the old memory is kept for the next mixing if its shape is the same.
    pub(crate) fn become_mixed(&mut self, mixed: Tensor<2>) {
        let shape = mixed.dims();
        let mut old = replace(&mut self.rows, StackRows::new(mixed));
        self.spare = Some(old.take()).filter(|old| old.dims() == shape);
    }

    /// The rows, mixed.
    pub(crate) fn tensor(&self) -> Tensor<2> {
        self.rows.tensor()
    }

    /// The rows, to be taken out; they must be put back.
    pub(crate) fn rows(&mut self) -> &mut StackRows {
        &mut self.rows
    }

    /// Other rows of the same GPU.
    fn of(&self, rows: Tensor<2>) -> Box<dyn Rows> {
        Box::new(Self::new(&self.gpu, rows))
    }
}

impl Rows for GpuRows {
    fn to_host(&self) -> Vec<f32> {
        read(self.tensor())
    }

    fn host(&self) -> Option<&[f32]> {
        None
    }

    fn host_mut(&mut self) -> Option<&mut [f32]> {
        None
    }

    fn tensor(&self) -> Tensor<2> {
        self.rows.tensor()
    }

    fn duplicate(&self) -> Box<dyn Rows> {
        self.of(copy(self.tensor()))
    }

    fn clear(&mut self) {
        self.rows.change(|rows| rows.zeros_like());
    }

    fn mix(&mut self, matrix: &Arc<Matrix>) {
        let rows = self.tensor();
        let before = rows.dims()[0];
        if self.gpu.mixes_later(matrix, before) {
            // No other tensor must share the rows when they are stepped.
            drop(rows);
            return self.rows.mix_later(matrix);
        }
        let target = self.room_to_mix(matrix.rows);
        let mixed = mix(rows, matrix, target);
        self.become_mixed(mixed);
    }

    fn statistic(&self, lists: &RowLists, statistic: Statistic<'_>) -> Box<dyn Rows> {
        self.of(statistics(self.tensor(), lists, statistic))
    }

    fn pair_distances(
        &self,
        other: &dyn Rows,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<f64>, EngineError> {
        let other = downcast::<Self>("squared_pair_distances", other)?.tensor();
        Ok(pair_distances(self.tensor(), other, pairs))
    }

    fn gather(&self, rows: &[u32]) -> Box<dyn Rows> {
        self.of(gather_rows(self.tensor(), rows))
    }

    fn scatter(&mut self, rows: &[u32], source: &dyn Rows) -> Result<(), EngineError> {
        let source = downcast::<Self>("scatter", source)?.tensor();
        self.rows
            .change(|target| scatter_rows(target, rows, source));
        Ok(())
    }

    fn add_scaled(&mut self, other: &dyn Rows, scales: &[f32]) -> Result<(), EngineError> {
        let other = downcast::<Self>("add_scaled", other)?.tensor();
        self.rows.change(|target| add_scaled(target, other, scales));
        Ok(())
    }

    fn scale(&mut self, scales: &[f32]) {
        self.rows.change(|target| scale_rows(target, scales));
    }

    fn shorten(&mut self, longest: f32) {
        self.rows.change(|target| shorten(target, longest));
    }

    fn momentum_step(
        &mut self,
        velocity: &mut dyn Rows,
        gradients: &dyn Rows,
        step: MomentumRule<'_>,
    ) -> Result<(), EngineError> {
        let velocity: &mut Self = downcast_mut("momentum_step", velocity)?;
        let gradients = downcast::<Self>("momentum_step", gradients)?.tensor();
        let (models, velocities) = (self.rows.take(), velocity.rows.take());
        let (models, velocities) = momentum_step(models, velocities, gradients, step);
        self.rows = StackRows::new(models);
        velocity.rows = StackRows::new(velocities);
        Ok(())
    }

    fn quantize(&mut self, layout: &Layout, quantiser: &Quantiser) {
        self.rows
            .change(|target| quantize(target, layout, quantiser));
    }

    fn keep_largest(&mut self, count: usize) {
        let rows = self.tensor();
        let [rows_held, width] = rows.dims();
        let mut values = read(rows);
        keep_largest_of(&mut values, width, count);
        let data = TensorData::new(values, [rows_held, width]);
        self.rows = StackRows::new(Tensor::from_data(data, self.gpu.device()));
    }

    fn mean(&self, weights: &[f64]) -> Box<dyn Rows> {
        self.of(mean(self.tensor(), weights))
    }

    fn squared_distances(&self, weights: &[f64]) -> Vec<f64> {
        let rows = self.tensor();
        let mean = mean(rows.clone(), weights);
        squared_distances(rows, mean)
    }

    fn squared_norms(&self) -> Vec<f64> {
        squared_norms(self.tensor())
    }

    fn are_finite(&self) -> Vec<bool> {
        finite_rows(self.tensor())
    }
}
