//! The least loss of a linear model.

use super::basis::Basis;
use super::lanes::dot;

/// Weighted examples of a linear model: `Σ w ½ ‖W x + b − target‖²`.
#[derive(Debug, Default)]
pub(super) struct LeastSquares {
    /// `√w x`, with a one for the bias, `[n][d]`.
    inputs: Vec<Vec<f64>>,
    /// `√w target`, `[n][outputs]`.
    targets: Vec<Vec<f64>>,
}

impl LeastSquares {
    /// Adds an example with these inputs and targets and this `weight`.
    pub(super) fn add(&mut self, inputs: Vec<f64>, targets: Vec<f64>, weight: f64) {
        let root = weight.sqrt();
        let scaled = |values: Vec<f64>| values.into_iter().map(|value| root * value).collect();
        self.inputs.push(scaled(inputs));
        self.targets.push(scaled(targets));
    }

    /// The least loss, from the part of the targets that is orthogonal to every column of the inputs.
    pub(super) fn least(&self) -> f64 {
        let mut basis = Basis::default();
        for column in columns(&self.inputs) {
            if basis.dimension() == self.inputs.len() {
                break;
            }
            basis.add(column);
        }
        let rest = |mut target: Vec<f64>| {
            basis.take_out(&mut target);
            0.5 * dot(&target, &target)
        };
        columns(&self.targets).into_iter().map(rest).sum()
    }
}

/// The columns of a matrix given by its rows.
fn columns(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width)
        .map(|column| rows.iter().map(|row| row[column]).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(inputs: &[&[f64]], targets: &[f64]) -> f64 {
        let squares = LeastSquares {
            inputs: inputs.iter().map(|row| row.to_vec()).collect(),
            targets: targets.iter().map(|target| vec![*target]).collect(),
        };
        squares.least()
    }

    #[test]
    fn the_least_loss_is_that_of_the_best_line() {
        // y = 0, 1, 1 at x = 0, 1, 2: the best line is 1/6 + x/2, which misses by 1/6, 1/3, 1/6.
        let line: [&[f64]; 3] = [&[0.0, 1.0], &[1.0, 1.0], &[2.0, 1.0]];
        assert!((least(&line, &[0.0, 1.0, 1.0]) - 0.5 / 6.0).abs() < 1e-15);
        // A column twice, and one of zeros, change nothing.
        let twice: [&[f64]; 3] = [
            &[0.0, 1.0, 0.0, 0.0],
            &[1.0, 1.0, 1.0, 0.0],
            &[2.0, 1.0, 2.0, 0.0],
        ];
        assert!((least(&twice, &[0.0, 1.0, 1.0]) - 0.5 / 6.0).abs() < 1e-15);
        // Fewer examples than features are met exactly.
        assert!(least(&[&[1.0, 2.0, 3.0], &[3.0, -1.0, 1.0]], &[5.0, 8.0]) < 1e-25);
    }
}
