//! The rows of a stack on a device.

use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::processor::row_memory::RowMemory;
use crate::stack::mixing::Matrix;
use crate::stack::quantiser::Quantiser;
use crate::stack::row_lists::{RowLists, Statistic};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The rows `[R, P_pad]` of a stack: [`Stack`](crate::Stack) checks shapes and says of each verb what it does.
///
/// # Errors
/// Verbs with another operand fail with [`EngineError::OtherDevice`] if that is of another kind of device.
pub(crate) trait Rows: Any + Debug + Send + Sync {
    /// Reads all rows back, row-major. Waits for the device.
    fn to_host(&self) -> Vec<f32>;

    /// The rows, if they lie in host memory.
    fn host(&self) -> Option<&[f32]>;

    /// The rows, to be changed, if they lie in host memory.
    fn host_mut(&mut self) -> Option<&mut [f32]>;

    /// The rows as they are now, if they lie in host memory. They do not change while the caller holds them.
    fn shared(&self) -> Option<Arc<RowMemory>> {
        None
    }

    /// The rows as a burn tensor.
    #[cfg(feature = "own-models")]
    fn tensor(&self) -> burn::tensor::Tensor<2>;

    /// A copy with memory of its own.
    fn duplicate(&self) -> Box<dyn Rows>;

    /// Sets every parameter to zero.
    fn clear(&mut self);

    /// `rows <- W · rows`, where `matrix` has a column for each row and is not the identity.
    fn mix(&mut self, matrix: &Arc<Matrix>);

    /// `W · rows` as new rows, where `matrix` has a column for each row and is not the identity.
    fn mixed(&self, matrix: &Arc<Matrix>) -> Box<dyn Rows> {
        let mut mixed = self.duplicate();
        mixed.mix(matrix);
        mixed
    }

    /// New rows: row `i` has the `statistic` of the rows on list `i`, parameter by parameter. No list is empty or too short.
    fn statistic(&self, lists: &RowLists, statistic: Statistic<'_>) -> Box<dyn Rows>;

    /// `‖row_a − other_b‖²` of each pair `(a, b)`. Waits for the device.
    fn pair_distances(
        &self,
        other: &dyn Rows,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<f64>, EngineError>;

    /// New rows: row `i` is row `rows[i]` of these.
    fn gather(&self, rows: &[u32]) -> Box<dyn Rows>;

    /// Overwrites row `rows[i]` with row `i` of `source`; the targets are distinct.
    fn scatter(&mut self, rows: &[u32], source: &dyn Rows) -> Result<(), EngineError>;

    /// `row_i <- row_i + scales[i] · other_i`.
    fn add_scaled(&mut self, other: &dyn Rows, scales: &[f32]) -> Result<(), EngineError>;

    /// `row_i <- scales[i] · row_i`.
    fn scale(&mut self, scales: &[f32]);

    /// `row_i <- min(1, longest / ‖row_i‖) · row_i`; rows that are not longer keep their bits.
    fn shorten(&mut self, longest: f32);

    /// `v_i <- momentum · v_i + g_i`, `row_i <- row_i − rates[i] · v_i`, or Nesterov's
    /// `row_i <- row_i − rates[i] · (g_i + momentum · v_i)`.
    fn momentum_step(
        &mut self,
        velocity: &mut dyn Rows,
        gradients: &dyn Rows,
        step: MomentumRule<'_>,
    ) -> Result<(), EngineError>;

    /// Replaces each row by its quantised form.
    fn quantize(&mut self, layout: &Layout, quantiser: &Quantiser);

    /// Sets all but the `count` parameters of largest magnitude of each row to zero.
    fn keep_largest(&mut self, count: usize);

    /// `Σ_i weights[i] · row_i`: a single row.
    fn mean(&self, weights: &[f64]) -> Box<dyn Rows>;

    /// `‖row_i − Σ_j weights[j] · row_j‖²` of every row. Waits for the device.
    fn squared_distances(&self, weights: &[f64]) -> Vec<f64>;

    /// `‖row_i‖²` of every row. Waits for the device.
    fn squared_norms(&self) -> Vec<f64>;

    /// Whether every parameter of a row is a finite number, row by row. Waits for the device.
    fn are_finite(&self) -> Vec<bool>;
}

/// The constants of a step with momentum.
#[derive(Debug, Clone, Copy)]
pub struct MomentumRule<'a> {
    /// Learning rate of each row.
    pub rates: &'a [f32],
    /// What of the velocity is kept.
    pub momentum: f32,
    /// Whether the step is Nesterov's.
    pub nesterov: bool,
}

/// `rows` as rows of the device kind `R`. `verb` names the operation in the error.
///
/// # Errors
/// [`EngineError::OtherDevice`] if they are of another kind.
pub(crate) fn downcast<'a, R: Rows>(
    verb: &'static str,
    rows: &'a dyn Rows,
) -> Result<&'a R, EngineError> {
    let rows: &dyn Any = rows;
    rows.downcast_ref().ok_or(EngineError::OtherDevice { verb })
}

/// As [`downcast`], for rows that are changed.
///
/// # Errors
/// As [`downcast`].
pub(crate) fn downcast_mut<'a, R: Rows>(
    verb: &'static str,
    rows: &'a mut dyn Rows,
) -> Result<&'a mut R, EngineError> {
    let rows: &mut dyn Any = rows;
    rows.downcast_mut().ok_or(EngineError::OtherDevice { verb })
}
