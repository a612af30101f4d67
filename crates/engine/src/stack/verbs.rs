//! The verbs on stacks: what the methods' update equations are written in.

use super::mixing::Mixing;
use super::quantiser::Quantiser;
use crate::backend::rows::MomentumRule;
use crate::error::EngineError;
use crate::stack::Stack;

impl Stack {
    /// Averages each row over its neighbours: `row_i <- sum_j w_ij row_j`, the product `W · stack`.
    ///
    /// `mixing` is `R' x R`; afterwards the stack holds `R'` rows. It takes one kernel launch, which reads `nnz · P`
    /// floats; a mean over all rows reads `R · P`. Sums go in ascending column order. Where runs share a GPU, mixing
    /// over an overlay is deferred until the rows are read, or until they take local steps together with the rows of
    /// other runs.
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
        self.storage.mix(mixing.matrix());
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
        Ok(self.beside(self.storage.gather(rows), rows.len()))
    }

    /// Overwrites row `rows[i]` with row `i` of `source`; the targets are distinct.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a target is out of range, [`EngineError::RowRepeated`] if it is named twice, [`EngineError::RowCount`] if there are
    /// not as many targets as source rows, [`EngineError::StackShape`] if the rows of one are longer than those of the other,
    /// [`EngineError::OtherDevice`] if one is on a GPU and the other is not.
    pub fn scatter(&mut self, rows: &[u32], source: &Self) -> Result<(), EngineError> {
        if rows.len() != source.rows {
            return Err(EngineError::RowCount {
                verb: "scatter",
                found: rows.len(),
                rows: source.rows,
            });
        }
        if source.layout.width() != self.layout.width() {
            return Err(self.mismatch("scatter", source));
        }
        let mut seen = vec![false; self.rows];
        for row in rows.iter().map(|row| *row as usize) {
            let verb = "scatter";
            let Some(seen) = seen.get_mut(row) else {
                let rows = self.rows;
                return Err(EngineError::RowIndex { verb, row, rows });
            };
            if std::mem::replace(seen, true) {
                return Err(EngineError::RowRepeated { verb, row });
            }
        }
        self.storage.scatter(rows, source.storage())
    }

    /// Adds another stack, row by row: `row_i <- row_i + scales[i] · other_i`.
    ///
    /// # Errors
    /// [`EngineError::StackShape`] or [`EngineError::RowCount`] if the shapes differ, [`EngineError::OtherDevice`] if the
    /// devices do.
    pub fn add_scaled(&mut self, other: &Self, scales: &[f32]) -> Result<(), EngineError> {
        self.expect_same("add_scaled", other)?;
        self.expect_per_row("add_scaled", scales.len())?;
        self.storage.add_scaled(other.storage(), scales)
    }

    /// Multiplies each row: `row_i <- scales[i] · row_i`.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if there is not one scale per row.
    pub fn scale_rows(&mut self, scales: &[f32]) -> Result<(), EngineError> {
        self.expect_per_row("scale_rows", scales.len())?;
        self.storage.scale(scales);
        Ok(())
    }

    /// Projects each row onto the ball of `radius` around zero: `row_i <- min(1, radius / ‖row_i‖) · row_i`. A row within the ball
    /// keeps its bits.
    ///
    /// # Panics
    /// If `radius` is not positive.
    pub fn project(&mut self, radius: f32) {
        assert!(radius > 0.0, "a ball has a positive radius");
        self.storage.shorten(radius);
    }

    /// One step of every row with momentum: `v <- momentum · v + g`, `w <- w − rates[i] · v`, or Nesterov's,
    /// `w <- w − rates[i] · (g + momentum · v)`.
    ///
    /// # Source
    /// Of Nesterov's: as [`Sgd`](crate::Sgd).
    ///
    /// # Errors
    /// [`EngineError::StackShape`] or [`EngineError::RowCount`] if the shapes differ, [`EngineError::OtherDevice`] if the
    /// devices do.
    pub fn momentum_step(
        &mut self,
        velocity: &mut Self,
        gradients: &Self,
        rule: MomentumRule<'_>,
    ) -> Result<(), EngineError> {
        let verb = "momentum_step";
        self.expect_same(verb, velocity)?;
        self.expect_same(verb, gradients)?;
        self.expect_per_row(verb, rule.rates.len())?;
        self.storage
            .momentum_step(velocity.storage_mut(), gradients.storage(), rule)
    }

    /// Replaces each row by its quantised form: `b` bits per parameter and a norm per message.
    ///
    /// # Source
    /// DFedRW, section V, equation (12); unbiased, with the variance bound of Lemma 3.
    ///
    /// # Panics
    /// If there is not one key per row.
    pub fn quantize(&mut self, quantiser: &Quantiser) {
        assert_eq!(quantiser.keys.len(), self.rows, "one key per row");
        self.storage.quantize(&self.layout, quantiser);
    }

    /// Keeps the `count` parameters of largest magnitude of each row, and sets the others to zero. Of equal ones those are kept
    /// that come first. On a GPU the rows go to the host and back.
    ///
    /// # Source
    /// The operator `top_k` of Stich et al., Sparsified SGD with memory (2018), Definition 2.1.
    pub fn keep_largest(&mut self, count: usize) {
        self.storage.keep_largest(count);
    }

    /// The mean over the rows that `alive` names: a stack of one row.
    ///
    /// # Panics
    /// If `alive` does not say it of every row.
    pub fn mean_row(&self, alive: &[bool]) -> Self {
        assert_eq!(alive.len(), self.rows, "every row is alive or not");
        self.beside(self.storage.mean(&shares(alive)), 1)
    }

    /// Consensus distance of the rows that `alive` names: `sqrt(1/R Σ ‖w_i − w̄‖²)`. Waits for the device.
    ///
    /// # Panics
    /// If `alive` does not say it of every row.
    pub fn consensus_distance(&self, alive: &[bool]) -> f64 {
        assert_eq!(alive.len(), self.rows, "every row is alive or not");
        let squares = self.storage.squared_distances(&shares(alive));
        let living = squares
            .iter()
            .zip(alive)
            .filter(|(_, alive)| **alive)
            .map(|(square, _)| *square);
        (living.sum::<f64>() / count(alive)).sqrt()
    }

    /// Squared Euclidean norm of each row, `‖row_i‖²`. Waits for the device. On the processor it is summed in double precision; on a GPU in
    /// single precision, what rounding loses being carried along.
    pub fn squared_row_norms(&self) -> Vec<f64> {
        self.storage.squared_norms()
    }

    /// Whether every parameter of a row is a finite number, row by row. Waits for the device.
    pub fn finite_rows(&self) -> Vec<bool> {
        self.storage.are_finite()
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

    pub(crate) fn mismatch(&self, verb: &'static str, other: &Self) -> EngineError {
        EngineError::StackShape {
            verb,
            left_rows: self.rows,
            left_width: self.layout.parameters(),
            right_rows: other.rows,
            right_width: other.layout.parameters(),
        }
    }
}

/// How many rows are alive, at least one.
fn count(alive: &[bool]) -> f64 {
    alive.iter().filter(|alive| **alive).count().max(1) as f64
}

/// The weight of each row in the mean over those that are alive.
fn shares(alive: &[bool]) -> Vec<f64> {
    let share = 1.0 / count(alive);
    let share = |alive: &bool| if *alive { share } else { 0.0 };
    alive.iter().map(share).collect()
}
