//! Standardised columns: mean 0 and deviation 1.

/// Mean and deviation of every column; the deviation is that of the population. Of a column that is constant they are the constant
/// and 1.
pub(crate) struct Standard {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Standard {
    /// Mean and deviation of the columns of `values`, `[M, D]`.
    pub(crate) fn of<T: Copy + Into<f64>>(values: &[T], width: usize) -> Self {
        let mut means = Means::of(width);
        means.add(values);
        let mut deviations = means.finish();
        deviations.add(values);
        deviations.finish()
    }

    /// `(value - mean) / deviation` in every column, converted by `of`.
    pub(crate) fn apply<T: Copy + Into<f64>>(&self, values: &mut [T], of: impl Fn(f64) -> T) {
        for row in values.chunks_exact_mut(self.mean.len()) {
            let columns = self.mean.iter().zip(&self.deviation);
            for (value, (mean, deviation)) in row.iter_mut().zip(columns) {
                *value = of(((*value).into() - mean) / deviation);
            }
        }
    }

    /// `(value - mean) / deviation` in every column, in single precision.
    pub(crate) fn of_doubles(&self, mut values: Vec<f64>) -> Vec<f32> {
        self.apply(&mut values, |value| value);
        values.into_iter().map(|value| value as f32).collect()
    }
}

/// The means of columns whose rows come in pieces. The result has the same bits wherever the rows are cut.
pub(crate) struct Means {
    sums: Vec<f64>,
    ranges: Vec<ValueRange>,
    rows: usize,
}

/// The least and the largest of some values.
#[derive(Clone, Copy)]
pub(crate) struct ValueRange {
    least: f64,
    most: f64,
}

impl ValueRange {
    /// The range of no value.
    pub(crate) const EMPTY: Self = Self {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    /// Adds a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// The `mean` of the values, which lies between them: rounding may have moved it out by a few units in the last place. Then a
    /// constant column would seem to vary, by nothing but this error.
    pub(crate) fn hold(self, mean: f64) -> f64 {
        mean.max(self.least).min(self.most)
    }
}

impl Means {
    /// The means of `width` columns, before the first row.
    pub(crate) fn of(width: usize) -> Self {
        Self {
            sums: vec![0.0; width],
            ranges: vec![ValueRange::EMPTY; width],
            rows: 0,
        }
    }

    /// Adds rows, `[M, D]`.
    pub(crate) fn add<T: Copy + Into<f64>>(&mut self, values: &[T]) {
        for row in values.chunks_exact(self.sums.len()) {
            let columns = self.sums.iter_mut().zip(&mut self.ranges);
            for ((sum, range), value) in columns.zip(row) {
                let value = (*value).into();
                *sum += value;
                range.add(value);
            }
            self.rows += 1;
        }
    }

    /// The deviations from these means; all rows have yet to be added again.
    pub(crate) fn finish(self) -> Deviations {
        let count = self.rows as f64;
        let columns = self.sums.iter().zip(&self.ranges);
        Deviations {
            sums: vec![0.0; self.sums.len()],
            mean: columns
                .map(|(sum, range)| range.hold(sum / count))
                .collect(),
            rows: 0,
        }
    }
}

/// The deviations of columns, whose rows come in pieces once more.
pub(crate) struct Deviations {
    mean: Vec<f64>,
    sums: Vec<f64>,
    rows: usize,
}

impl Deviations {
    /// Adds rows, `[M, D]`.
    pub(crate) fn add<T: Copy + Into<f64>>(&mut self, values: &[T]) {
        for row in values.chunks_exact(self.sums.len()) {
            for ((sum, value), mean) in self.sums.iter_mut().zip(row).zip(&self.mean) {
                *sum += ((*value).into() - mean).powi(2);
            }
            self.rows += 1;
        }
    }

    /// Mean and deviation of every column.
    pub(crate) fn finish(self) -> Standard {
        let count = self.rows as f64;
        let deviation = |sum: f64| match (sum / count).sqrt() {
            0.0 => 1.0,
            deviation => deviation,
        };
        Standard {
            mean: self.mean,
            deviation: self.sums.into_iter().map(deviation).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_standardised_by_the_rows_that_count() {
        let mut values = vec![1.0, 5.0, 3.0, 5.0, 100.0, 5.0];
        Standard::of(&values[..4], 2).apply(&mut values, |value| value as f32);
        assert_eq!(values, [-1.0, 0.0, 1.0, 0.0, 98.0, 0.0]);
    }

    #[test]
    fn a_constant_column_becomes_zero_and_keeps_its_scale() {
        for constant in [3.3, 0.1, -1e-3, 1.7e9 + 0.3] {
            for rows in [1, 3, 12, 50, 1000] {
                let mut values = vec![constant; rows];
                let standard = Standard::of(&values, 1);
                standard.apply(&mut values, |value| value);
                assert_eq!(values, vec![0.0; rows], "{rows} rows of {constant}");
                assert_eq!(standard.of_doubles(vec![constant + 2.0]), [2.0]);
            }
        }
    }
}
