//! The verbs of robust averages: what they ask of the rows in the neighbourhood of each row.

use super::mixing::Mixing;
use super::row_lists::{RowLists, Statistic};
use crate::error::EngineError;
use crate::stack::Stack;

impl Stack {
    /// Sums of rows by weights of their own, `row_i = Σ_e weights[e] · row_e` over the edges of list `i`: a new stack with a row for each
    /// list. A row without edges is zero. It takes one kernel launch, which reads `E · P` floats.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row does not exist, [`EngineError::RowCount`] if there is not one weight for each edge.
    pub fn weighted_sums(&self, lists: &RowLists, weights: &[f32]) -> Result<Self, EngineError> {
        self.expect_rows("weighted_sums", lists.rows().iter().copied())?;
        if weights.len() != lists.rows().len() {
            return Err(EngineError::RowCount {
                verb: "weighted_sums",
                found: weights.len(),
                rows: lists.rows().len(),
            });
        }
        if lists.is_empty() {
            return Ok(Self::zeros(self.device(), self.layout(), 0));
        }
        let mixing = Mixing::of_lists(self.rows(), lists, &lists.in_order(weights));
        let sums = self.storage().mixed(mixing.matrix());
        Ok(self.beside(sums, lists.len()))
    }

    /// The trimmed mean of each parameter: a new stack with a row for each list, `[lists, P]`. Of the numbers that the rows of list `i`
    /// have, the `trims[i]` smallest and as many of the largest are left out, and the others are averaged. A median leaves out all but
    /// one number or two. Numbers are in the order of [`f32::total_cmp`]; NaN, which is the largest, is therefore left out first.
    ///
    /// On a GPU the rows go to the host and back if a list has more than 64 rows. So they do where ranks share the rows.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row does not exist, [`EngineError::RowCount`] if there is not one number for each list,
    /// [`EngineError::TooFewRows`] if nothing is left of a list.
    pub fn trimmed_means(&self, lists: &RowLists, trims: &[u32]) -> Result<Self, EngineError> {
        if trims.len() != lists.len() {
            return Err(EngineError::RowCount {
                verb: "trimmed_means",
                found: trims.len(),
                rows: lists.len(),
            });
        }
        self.statistic("trimmed_means", lists, Statistic::TrimmedMean(trims))
    }

    /// The median of each parameter, as [`trimmed_means`](Self::trimmed_means) has it: of an even number of rows, the mean of the two in the
    /// middle.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row does not exist, [`EngineError::TooFewRows`] if a list is empty.
    pub fn medians(&self, lists: &RowLists) -> Result<Self, EngineError> {
        let half = |target| (lists.list(target).len().saturating_sub(1) / 2) as u32;
        let trims: Vec<u32> = (0..lists.len()).map(half).collect();
        self.statistic("medians", lists, Statistic::TrimmedMean(&trims))
    }

    /// The standard deviation of each parameter among the rows of a list, that of a sample: a new stack with a row for each list,
    /// `[lists, P]`. It is zero for a list of one row.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row does not exist, [`EngineError::TooFewRows`] if a list is empty.
    pub fn deviations(&self, lists: &RowLists) -> Result<Self, EngineError> {
        self.statistic("deviations", lists, Statistic::Deviation)
    }

    /// `‖row_a − other_b‖²` of each pair `(a, b)`. `other` has rows of the same layout, and may be this stack. Waits for the device.
    ///
    /// On the processor most sums are in double precision, on a GPU in single precision; what rounding loses there is carried along.
    /// Where ranks share the rows, all ranks compute all distances.
    ///
    /// # Errors
    /// [`EngineError::RowIndex`] if a row does not exist, [`EngineError::StackShape`] if the layouts differ, [`EngineError::OtherDevice`] if
    /// the devices do.
    pub fn squared_pair_distances(
        &self,
        other: &Self,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<f64>, EngineError> {
        let verb = "squared_pair_distances";
        if self.layout().width() != other.layout().width() {
            return Err(self.mismatch(verb, other));
        }
        self.expect_rows(verb, pairs.iter().map(|(row, _)| *row))?;
        other.expect_rows(verb, pairs.iter().map(|(_, row)| *row))?;
        self.storage().pair_distances(other.storage(), pairs)
    }

    fn statistic(
        &self,
        verb: &'static str,
        lists: &RowLists,
        statistic: Statistic<'_>,
    ) -> Result<Self, EngineError> {
        self.expect_rows(verb, lists.rows().iter().copied())?;
        for target in 0..lists.len() {
            let left_out = match statistic {
                Statistic::TrimmedMean(trims) => trims[target] as usize,
                Statistic::Deviation => 0,
            };
            let rows = lists.list(target).len();
            if rows <= left_out.saturating_mul(2) {
                return Err(EngineError::TooFewRows {
                    verb,
                    target,
                    rows,
                    left_out,
                });
            }
        }
        let rows = self.storage().statistic(lists, statistic);
        Ok(self.beside(rows, lists.len()))
    }

    fn expect_rows(
        &self,
        verb: &'static str,
        mut rows: impl Iterator<Item = u32>,
    ) -> Result<(), EngineError> {
        match rows.find(|row| *row as usize >= self.rows()) {
            None => Ok(()),
            Some(row) => Err(EngineError::RowIndex {
                verb,
                row: row as usize,
                rows: self.rows(),
            }),
        }
    }
}
