//! Rows in host memory, on which the processor's kernels work.

use super::recycled::Recycled;
use super::row_memory::RowMemory;
use crate::backend::rows::{MomentumRule, Rows, downcast, downcast_mut};
use crate::cpu::Cpu;
use crate::error::EngineError;
use crate::kernels::largest::keep_largest;
use crate::kernels::pair_distances::pair_distances;
use crate::kernels::statistics::statistics;
use crate::kernels::{host, mix, mix_some};
use crate::network::layout::Layout;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stack::quantiser::Quantiser;
use crate::stack::row_lists::{RowLists, Statistic};
use rayon::prelude::*;
use std::mem::{replace, take};
use std::sync::Arc;

/// Rows `[R, P_pad]` in host memory, row-major. When they are dropped, later rows reuse their memory.
///
/// Whoever holds [`HostRows::shared`] sees them as they are now: they are copied before they change.
#[derive(Debug)]
pub(crate) struct HostRows {
    cpu: Cpu,
    recycled: Arc<Recycled>,
    values: Arc<RowMemory>,
    width: usize,
    /// The other half of the double buffer that mixing writes into.
    spare: Option<RowMemory>,
}

impl HostRows {
    /// `values` as rows of `width` floats, which are not copied.
    pub(super) fn new(
        cpu: &Cpu,
        recycled: &Arc<Recycled>,
        values: RowMemory,
        width: usize,
    ) -> Self {
        Self {
            cpu: cpu.clone(),
            recycled: recycled.clone(),
            values: Arc::new(values),
            width,
            spare: None,
        }
    }

    /// Rows of zeros, in memory that was used before if there is any.
    pub(super) fn zeros(cpu: &Cpu, recycled: &Arc<Recycled>, rows: usize, width: usize) -> Self {
        let values = recycled.zeros(rows * width);
        Self::new(cpu, recycled, values, width)
    }

    /// The rows, row-major.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The memory of the rows.
    pub(crate) fn memory(&self) -> &RowMemory {
        &self.values
    }

    /// The rows, to be changed.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        Arc::<RowMemory>::make_mut(&mut self.values)
    }

    /// Leaves memory to rows to come, unless somebody else holds it.
    fn leave(&self, memory: Arc<RowMemory>) {
        if let Some(memory) = Arc::into_inner(memory) {
            self.recycled.put(memory);
        }
    }

    /// Floats of a row, padding included.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A copy with memory of its own.
    pub(crate) fn copy(&self) -> Self {
        self.of(self.recycled.copy_of(&self.values))
    }

    /// Memory for these rows mixed, `[rows, P_pad]`, for [`HostRows::mix_some`] and then [`HostRows::become_mixed`].
    pub(crate) fn room_to_mix(&mut self, rows: usize) -> RowMemory {
        let size = rows * self.width;
        let spare = self.spare.take().filter(|spare| spare.len() == size);
        spare.unwrap_or_else(|| self.unwritten(rows))
    }

    /// Writes the rows `chosen` of `sources` mixed by a sparse `matrix` to `mixed`.
    pub(crate) fn mix_some(
        &self,
        matrix: &HostMixing,
        chosen: &[u32],
        sources: &[&[f32]],
        mixed: &mut [f32],
    ) {
        mix_some(&self.cpu, matrix, chosen, sources, self.width, mixed);
    }

    /// The rows become `mixed`; their memory is kept for the next mixing.
    pub(crate) fn become_mixed(&mut self, mixed: RowMemory) {
        let size = mixed.len();
        let old = replace(&mut self.values, Arc::new(mixed));
        match old.len() == size {
            true => self.spare = Arc::into_inner(old),
            false => self.leave(old),
        }
    }

    /// `‖row_i − mean‖²` of every row.
    pub(crate) fn squared_distances_from(&self, mean: &[f32]) -> Vec<f64> {
        host::squared_distances(&self.cpu, &self.values, mean, self.width)
    }

    /// Rows of zeros, `[rows, P_pad]`, with memory that was used before if there is any.
    pub(super) fn zeros_beside(&self, rows: usize) -> Self {
        Self::zeros(&self.cpu, &self.recycled, rows, self.width)
    }

    /// The threads that work on the rows.
    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// Memory for `rows` rows that holds any values, all of which are about to be written.
    pub(super) fn unwritten(&self, rows: usize) -> RowMemory {
        self.recycled.unwritten(rows * self.width)
    }

    /// Other rows of the same width.
    pub(super) fn of(&self, values: RowMemory) -> Self {
        Self::new(&self.cpu, &self.recycled, values, self.width)
    }

    fn weighted_mean(&self, weights: &[f64]) -> RowMemory {
        let mut mean = self.unwritten(1);
        host::mean(&self.cpu, &self.values, weights, &mut mean);
        mean
    }
}

impl Drop for HostRows {
    fn drop(&mut self) {
        let own = take(&mut self.values);
        self.leave(own);
        if let Some(memory) = self.spare.take() {
            self.recycled.put(memory);
        }
    }
}

impl Rows for HostRows {
    fn to_host(&self) -> Vec<f32> {
        self.values.to_vec()
    }

    fn host(&self) -> Option<&[f32]> {
        Some(&self.values)
    }

    fn host_mut(&mut self) -> Option<&mut [f32]> {
        Some(self.values_mut())
    }

    fn shared(&self) -> Option<Arc<RowMemory>> {
        Some(self.values.clone())
    }

    #[cfg(feature = "own-models")]
    fn tensor(&self) -> burn::tensor::Tensor<2> {
        let shape = [self.values.len() / self.width.max(1), self.width];
        let data = burn::tensor::TensorData::new(self.values.to_vec(), shape);
        burn::tensor::Tensor::from_data(data, &burn::tensor::Device::flex())
    }

    fn duplicate(&self) -> Box<dyn Rows> {
        Box::new(self.copy())
    }

    fn clear(&mut self) {
        self.values_mut().fill(0.0);
    }

    fn mix(&mut self, matrix: &Arc<Matrix>) {
        let mut mixed = self.room_to_mix(matrix.rows);
        mix(
            &self.cpu,
            &matrix.host,
            &self.values,
            self.width,
            &mut mixed,
        );
        self.become_mixed(mixed);
    }

    fn mixed(&self, matrix: &Arc<Matrix>) -> Box<dyn Rows> {
        let mut mixed = self.unwritten(matrix.rows);
        mix(
            &self.cpu,
            &matrix.host,
            &self.values,
            self.width,
            &mut mixed,
        );
        Box::new(self.of(mixed))
    }

    fn statistic(&self, lists: &RowLists, statistic: Statistic<'_>) -> Box<dyn Rows> {
        let mut rows = self.unwritten(lists.len());
        let (from, width) = (&self.values, self.width);
        statistics(&self.cpu, lists, statistic, from, width, &mut rows);
        Box::new(self.of(rows))
    }

    fn pair_distances(
        &self,
        other: &dyn Rows,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<f64>, EngineError> {
        let other: &Self = downcast("squared_pair_distances", other)?;
        let rows = (&**self.values, &**other.values);
        Ok(pair_distances(&self.cpu, rows, self.width, pairs))
    }

    fn gather(&self, rows: &[u32]) -> Box<dyn Rows> {
        let mut values = self.unwritten(rows.len());
        let width = self.width.max(1);
        self.cpu.install(|| {
            let targets = values.par_chunks_exact_mut(width).zip(rows);
            targets.for_each(|(target, row)| {
                target.copy_from_slice(&self.values[*row as usize * width..][..width]);
            });
        });
        Box::new(self.of(values))
    }

    fn scatter(&mut self, rows: &[u32], source: &dyn Rows) -> Result<(), EngineError> {
        let source: &Self = downcast("scatter", source)?;
        let width = self.width;
        let own = self.values_mut();
        for (values, row) in source.values.chunks_exact(width).zip(rows) {
            own[*row as usize * width..][..width].copy_from_slice(values);
        }
        Ok(())
    }

    fn add_scaled(&mut self, other: &dyn Rows, scales: &[f32]) -> Result<(), EngineError> {
        let other: &Self = downcast("add_scaled", other)?;
        let (to, from) = (Arc::make_mut(&mut self.values), &other.values);
        host::add_scaled(&self.cpu, to, from, scales, self.width);
        Ok(())
    }

    fn scale(&mut self, scales: &[f32]) {
        let values = Arc::make_mut(&mut self.values);
        host::scale_rows(&self.cpu, values, scales, self.width);
    }

    fn shorten(&mut self, longest: f32) {
        let values = Arc::make_mut(&mut self.values);
        host::shorten(&self.cpu, values, longest, self.width);
    }

    fn momentum_step(
        &mut self,
        velocity: &mut dyn Rows,
        gradients: &dyn Rows,
        step: MomentumRule<'_>,
    ) -> Result<(), EngineError> {
        let velocity: &mut Self = downcast_mut("momentum_step", velocity)?;
        let gradients: &Self = downcast("momentum_step", gradients)?;
        let rows = host::MomentumRows {
            models: Arc::<RowMemory>::make_mut(&mut self.values),
            velocities: velocity.values_mut(),
            gradients: &gradients.values,
        };
        host::momentum_step(&self.cpu, rows, step, self.width);
        Ok(())
    }

    fn quantize(&mut self, layout: &Layout, quantiser: &Quantiser) {
        let values = Arc::make_mut(&mut self.values);
        host::quantize(&self.cpu, values, layout, quantiser);
    }

    fn keep_largest(&mut self, count: usize) {
        let values = Arc::make_mut(&mut self.values);
        keep_largest(&self.cpu, values, self.width, count);
    }

    fn mean(&self, weights: &[f64]) -> Box<dyn Rows> {
        Box::new(self.of(self.weighted_mean(weights)))
    }

    fn squared_distances(&self, weights: &[f64]) -> Vec<f64> {
        let mean = self.weighted_mean(weights);
        let squares = self.squared_distances_from(&mean);
        self.recycled.put(mean);
        squares
    }

    fn squared_norms(&self) -> Vec<f64> {
        host::squared_norms(&self.cpu, &self.values, self.width)
    }

    fn are_finite(&self) -> Vec<bool> {
        host::finite_rows(&self.cpu, &self.values, self.width)
    }
}
