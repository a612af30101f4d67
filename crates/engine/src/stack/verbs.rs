//! The verbs on stacks: what the methods' update equations are written in.

use super::mixing::Mixing;
use super::quantiser::Quantiser;
use crate::device::Device;
use crate::error::EngineError;
use crate::kernels::{host, mix};
use crate::stack::{Stack, Storage};
#[cfg(feature = "gpu")]
use crate::stacked;

impl Stack {
    /// Averages each row over its neighbours: `row_i <- sum_j w_ij row_j`, the product `W · stack`.
    ///
    /// `mixing` is `R' x R`; afterwards the stack holds `R'` rows. One kernel launch, reading `nnz · P` floats; a
    /// mean over all rows reads `R · P`. Sums go in ascending column order. On a GPU beside other runs an exchange over an
    /// overlay waits until somebody looks at the rows, or they step with those of the others.
    ///
    /// # Errors
    /// [`EngineError::MixShape`] if `mixing` has other than `R` columns.
    pub fn mix(&mut self, mixing: &Mixing) -> Result<(), EngineError> {
        if mixing.columns() != self.rows {
            return Err(EngineError::MixShape {
                matrix_rows: mixing.rows(),
                matrix_columns: mixing.columns(),
                rows: self.rows,
            });
        }
        if mixing.is_identity() {
            return Ok(());
        }
        #[cfg(feature = "gpu")]
        if let (Device::Gpu(gpu), Storage::Gpu(rows)) = (&self.device, &mut self.storage)
            && gpu.mixes_later(mixing)
        {
            rows.mix_later(mixing.matrix());
            return Ok(());
        }
        let mut out = match self.spare.take() {
            Some(storage) if mixing.rows() == self.rows => storage,
            _ => {
                let mut fresh = Self::to_overwrite(&self.device, &self.layout, mixing.rows());
                fresh.take_storage()
            }
        };
        let width = self.layout.width();
        match (&self.device, &self.storage, &mut out) {
            (Device::Cpu(cpu), Storage::Host(tensor), Storage::Host(target)) => {
                mix(
                    cpu,
                    &mixing.matrix().host,
                    tensor.storage::<f32>(),
                    width,
                    target.storage_mut::<f32>(),
                );
            }
            #[cfg(feature = "gpu")]
            (Device::Gpu(gpu), Storage::Gpu(rows), Storage::Gpu(target)) => {
                let matrix = mixing.matrix().on(gpu.memory());
                target.change(|target| stacked::mix(rows.tensor(), matrix, target));
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("a stack and its double buffer live on the same device"),
        }
        let old = std::mem::replace(&mut self.storage, out);
        match mixing.rows() == self.rows {
            true => self.spare = Some(old),
            false => self.leave(old),
        }
        self.rows = mixing.rows();
        Ok(())
    }

    /// A new stack whose row `i` is row `rows[i]` of this one; rows may repeat.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row is out of range.
    pub fn gather(&self, rows: &[u32]) -> Result<Self, EngineError> {
        if let Some(row) = rows.iter().find(|row| **row as usize >= self.rows) {
            return Err(EngineError::RowIndex {
                verb: "gather",
                row: *row as usize,
                rows: self.rows,
            });
        }
        let mut out = Self::to_overwrite(&self.device, &self.layout, rows.len());
        let width = self.layout.width();
        match (&self.storage, &mut out.storage) {
            (Storage::Host(from), Storage::Host(to)) => {
                let from = from.storage::<f32>();
                for (target, row) in to.storage_mut::<f32>().chunks_exact_mut(width).zip(rows) {
                    target.copy_from_slice(&from[*row as usize * width..][..width]);
                }
            }
            #[cfg(feature = "gpu")]
            (Storage::Gpu(from), Storage::Gpu(to)) => {
                to.change(|_| stacked::gather_rows(from.tensor(), rows));
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("both stacks were made for the same device"),
        }
        Ok(out)
    }

    /// Overwrites row `rows[i]` with row `i` of `source`; the targets are distinct.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a target is out of range or repeated, [`EngineError::RowCount`] if there are
    /// not as many targets as source rows.
    pub fn scatter(&mut self, rows: &[u32], source: &Self) -> Result<(), EngineError> {
        if rows.len() != source.rows {
            return Err(EngineError::RowCount {
                verb: "scatter",
                found: rows.len(),
                rows: source.rows,
            });
        }
        let mut seen = vec![false; self.rows];
        for row in rows.iter().map(|row| *row as usize) {
            if row >= self.rows || std::mem::replace(&mut seen[row], true) {
                return Err(EngineError::RowIndex {
                    verb: "scatter",
                    row,
                    rows: self.rows,
                });
            }
        }
        let width = self.layout.width();
        match (&mut self.storage, &source.storage) {
            (Storage::Host(to), Storage::Host(from)) => {
                let to = to.storage_mut::<f32>();
                for (values, row) in from.storage::<f32>().chunks_exact(width).zip(rows) {
                    to[*row as usize * width..][..width].copy_from_slice(values);
                }
            }
            #[cfg(feature = "gpu")]
            (Storage::Gpu(to), Storage::Gpu(from)) => {
                to.change(|target| stacked::scatter_rows(target, rows, from.tensor()));
            }
            #[cfg(feature = "gpu")]
            _ => return Err(self.mismatch("scatter", source)),
        }
        Ok(())
    }

    /// Adds another stack, row by row: `row_i <- row_i + scales[i] · other_i`.
    ///
    /// # Errors
    /// [`EngineError::StackShape`] or [`EngineError::RowCount`] if the shapes differ.
    pub fn add_scaled(&mut self, other: &Self, scales: &[f32]) -> Result<(), EngineError> {
        self.expect_same("add_scaled", other)?;
        self.expect_per_row("add_scaled", scales.len())?;
        let width = self.layout.width();
        match (&self.device, &mut self.storage, &other.storage) {
            (Device::Cpu(cpu), Storage::Host(to), Storage::Host(from)) => {
                host::add_scaled(
                    cpu,
                    to.storage_mut::<f32>(),
                    from.storage::<f32>(),
                    scales,
                    width,
                );
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(to), Storage::Gpu(from)) => {
                to.change(|target| stacked::add_scaled(target, from.tensor(), scales));
            }
            #[cfg(feature = "gpu")]
            _ => return Err(self.mismatch("add_scaled", other)),
        }
        Ok(())
    }

    /// Multiplies each row: `row_i <- scales[i] · row_i`.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if there is not one scale per row.
    pub fn scale_rows(&mut self, scales: &[f32]) -> Result<(), EngineError> {
        self.expect_per_row("scale_rows", scales.len())?;
        let width = self.layout.width();
        match (&self.device, &mut self.storage) {
            (Device::Cpu(cpu), Storage::Host(to)) => {
                host::scale_rows(cpu, to.storage_mut::<f32>(), scales, width)
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(to)) => {
                to.change(|target| stacked::scale_rows(target, scales));
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("a stack's storage is of its device"),
        }
        Ok(())
    }

    /// One heavy-ball step of every row: `v <- momentum · v + g`, `w <- w − rates[i] · v`.
    ///
    /// # Errors
    /// [`EngineError::StackShape`] or [`EngineError::RowCount`] if the shapes differ.
    pub fn heavy_ball_step(
        &mut self,
        velocity: &mut Self,
        gradients: &Self,
        rates: &[f32],
        momentum: f32,
    ) -> Result<(), EngineError> {
        self.expect_same("heavy_ball_step", velocity)?;
        self.expect_same("heavy_ball_step", gradients)?;
        self.expect_per_row("heavy_ball_step", rates.len())?;
        let width = self.layout.width();
        match (
            &self.device,
            &mut self.storage,
            &mut velocity.storage,
            &gradients.storage,
        ) {
            (Device::Cpu(cpu), Storage::Host(w), Storage::Host(v), Storage::Host(g)) => {
                let (w, v) = (w.storage_mut::<f32>(), v.storage_mut::<f32>());
                host::heavy_ball(cpu, w, v, g.storage::<f32>(), rates, momentum, width);
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(w), Storage::Gpu(v), Storage::Gpu(g)) => {
                w.change(|models| {
                    let velocities = v.take();
                    let (models, velocities) =
                        stacked::heavy_ball(models, velocities, g.tensor(), rates, momentum);
                    *v = stacked::StackRows::new(velocities);
                    models
                });
            }
            #[cfg(feature = "gpu")]
            _ => return Err(self.mismatch("heavy_ball_step", gradients)),
        }
        Ok(())
    }

    /// Replaces each row by its quantised form: `b` bits per parameter and a norm per message.
    ///
    /// # Source
    /// DFedRW, section V, equation (12); unbiased, with the variance bound of Lemma 3.
    pub fn quantize(&mut self, quantiser: &Quantiser) {
        let layout = self.layout.clone();
        match (&self.device, &mut self.storage) {
            (Device::Cpu(cpu), Storage::Host(to)) => {
                host::quantize(cpu, to.storage_mut::<f32>(), &layout, quantiser)
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(to)) => {
                to.change(|target| stacked::quantize(target, &layout, quantiser));
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("a stack's storage is of its device"),
        }
    }

    /// The mean over the rows that `alive` names: a stack of one row.
    pub fn mean_row(&self, alive: &[bool]) -> Self {
        let count = alive.iter().filter(|alive| **alive).count().max(1) as f64;
        let weights: Vec<f64> = alive
            .iter()
            .map(|alive| if *alive { 1.0 / count } else { 0.0 })
            .collect();
        let mut out = Self::to_overwrite(&self.device, &self.layout, 1);
        match (&self.device, &self.storage, &mut out.storage) {
            (Device::Cpu(cpu), Storage::Host(from), Storage::Host(to)) => {
                host::mean(
                    cpu,
                    from.storage::<f32>(),
                    &weights,
                    to.storage_mut::<f32>(),
                );
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(from), Storage::Gpu(to)) => {
                to.change(|_| stacked::mean(from.tensor(), &weights));
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("both stacks were made for the same device"),
        }
        out
    }

    /// Consensus distance of the rows that `alive` names: `sqrt(1/R Σ ‖w_i − w̄‖²)`. Waits for the device.
    pub fn consensus_distance(&self, alive: &[bool]) -> f64 {
        let mean = self.mean_row(alive);
        let width = self.layout.width();
        let squares = match (&self.device, &self.storage, &mean.storage) {
            (Device::Cpu(cpu), Storage::Host(rows), Storage::Host(mean)) => {
                host::squared_distances(cpu, rows.storage::<f32>(), mean.storage::<f32>(), width)
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(rows), Storage::Gpu(mean)) => {
                stacked::squared_distances(rows.tensor(), mean.tensor())
            }
            #[cfg(feature = "gpu")]
            _ => unreachable!("both stacks were made for the same device"),
        };
        let living = squares
            .iter()
            .zip(alive)
            .filter(|(_, alive)| **alive)
            .map(|(square, _)| *square);
        let count = alive.iter().filter(|alive| **alive).count().max(1) as f64;
        (living.sum::<f64>() / count).sqrt()
    }

    /// Squared Euclidean norm of each row, `‖row_i‖²`, summed in double precision. Waits for the device.
    pub fn row_norms(&self) -> Vec<f64> {
        let width = self.layout.width();
        match (&self.device, &self.storage) {
            (Device::Cpu(cpu), Storage::Host(rows)) => {
                host::squared_norms(cpu, rows.storage::<f32>(), width)
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(rows)) => stacked::squared_norms(rows.tensor()),
            #[cfg(feature = "gpu")]
            _ => unreachable!("a stack's storage is of its device"),
        }
    }

    /// Whether every parameter of a row is a finite number, row by row. Waits for the device.
    pub(crate) fn finite_rows(&self) -> Vec<bool> {
        let width = self.layout.width();
        match (&self.device, &self.storage) {
            (Device::Cpu(cpu), Storage::Host(rows)) => {
                host::finite_rows(cpu, rows.storage::<f32>(), width)
            }
            #[cfg(feature = "gpu")]
            (_, Storage::Gpu(rows)) => stacked::finite_rows(rows.tensor()),
            #[cfg(feature = "gpu")]
            _ => unreachable!("a stack's storage is of its device"),
        }
    }

    pub(crate) fn expect_same(&self, verb: &'static str, other: &Self) -> Result<(), EngineError> {
        let same = self.rows == other.rows && self.layout.width() == other.layout.width();
        if same {
            Ok(())
        } else {
            Err(self.mismatch(verb, other))
        }
    }

    pub(crate) fn expect_per_row(
        &self,
        verb: &'static str,
        found: usize,
    ) -> Result<(), EngineError> {
        if found == self.rows {
            Ok(())
        } else {
            Err(EngineError::RowCount {
                verb,
                found,
                rows: self.rows,
            })
        }
    }

    fn mismatch(&self, verb: &'static str, other: &Self) -> EngineError {
        EngineError::StackShape {
            verb,
            left_rows: self.rows,
            left_width: self.layout.width(),
            right_rows: other.rows,
            right_width: other.layout.width(),
        }
    }
}
