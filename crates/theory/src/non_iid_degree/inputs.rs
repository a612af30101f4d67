//! Features of examples, one row at a time.

use super::Features;
use super::basis::Basis;

/// Examples as a model sees them.
pub(super) trait Inputs: Sync {
    /// Number of examples, `n`.
    fn count(&self) -> usize;

    /// Features of an example, `d`.
    fn width(&self) -> usize;

    /// Writes the features of example `index` into `to`, `[d]`.
    fn read(&self, index: usize, to: &mut [f64]);
}

/// Some of the examples of a dataset, each with a one for the biases.
#[derive(Debug)]
pub(super) struct Chosen<'a, F> {
    all: &'a F,
    /// Which, `[n]`.
    chosen: Vec<u32>,
}

impl<'a, F> Chosen<'a, F> {
    /// The examples of `all` at the places `chosen`.
    pub(super) fn new(all: &'a F, chosen: Vec<u32>) -> Self {
        Self { all, chosen }
    }
}

impl<F: Features> Inputs for Chosen<'_, F> {
    fn count(&self) -> usize {
        self.chosen.len()
    }

    fn width(&self) -> usize {
        self.all.width() + 1
    }

    fn read(&self, index: usize, to: &mut [f64]) {
        let (features, bias) = to.split_at_mut(self.all.width());
        self.all.read(self.chosen[index] as usize, features);
        bias.fill(1.0);
    }
}

/// Examples by their coordinates in a basis of all of them.
///
/// A smooth loss with weight decay has its minimum in the span of the examples. There a rotation changes neither the
/// models' products with examples nor their norms, and so no loss.
#[derive(Debug)]
pub(super) struct Coordinates {
    /// `[n][c]`, with at most as many coordinates `c` as examples.
    rows: Vec<Vec<f64>>,
}

impl Coordinates {
    /// The coordinates of `inputs`.
    ///
    /// # Complexity
    /// O(n² d) and a copy of the inputs.
    pub(super) fn of(inputs: &impl Inputs) -> Self {
        let rows: Vec<Vec<f64>> = (0..inputs.count())
            .map(|index| {
                let mut row = vec![0.0; inputs.width()];
                inputs.read(index, &mut row);
                row
            })
            .collect();
        let mut basis = Basis::default();
        for row in &rows {
            basis.add(row.clone());
        }
        let coordinates = rows.iter().map(|row| basis.coordinates(row));
        Self {
            rows: coordinates.collect(),
        }
    }
}

impl Inputs for Coordinates {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    fn read(&self, index: usize, to: &mut [f64]) {
        to.copy_from_slice(&self.rows[index]);
    }
}
