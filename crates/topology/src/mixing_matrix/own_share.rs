//! What mixing leaves of a node's own model.

use super::{Form, MixingMatrix};

impl MixingMatrix {
    /// For each node the weight that its own first model has in its model after `steps` mixings: the diagonal of `W^steps`, `[N]`.
    ///
    /// On an overlay that mixes fast it is soon near `1 / N`; where a neighbourhood is cut off from the rest it stays high. It takes
    /// `N · steps` products with the matrix.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[must_use]
    pub fn own_share(&self, steps: usize) -> Vec<f64> {
        assert_eq!(
            self.rows(),
            self.columns(),
            "only square matrices mix twice"
        );
        if let (Form::Average(weights), 1..) = (self.form(), steps) {
            // All rows are alike, so that one mixing does what all do.
            return weights.to_vec();
        }
        let share = |node: usize| {
            let mut column = vec![0.0; self.rows()];
            column[node] = 1.0;
            for _ in 0..steps {
                column = self.apply(&column);
            }
            column[node]
        };
        (0..self.rows()).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overlay, Weights};

    /// The product of two square matrices.
    fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let n = a.len();
        let entry = |i: usize, j: usize| (0..n).map(|k| a[i][k] * b[k][j]).sum();
        (0..n)
            .map(|i| (0..n).map(|j| entry(i, j)).collect())
            .collect()
    }

    #[test]
    fn it_is_the_diagonal_of_the_power() {
        let path = Overlay::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)]).unwrap();
        let star = Overlay::from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4)]).unwrap();
        for overlay in [path, star, Overlay::complete(5).unwrap()] {
            let matrix = Weights::default().matrix(&overlay).unwrap();
            let row = |i: usize| (0..5).map(|j| matrix.weight(i, j)).collect();
            let dense: Vec<Vec<f64>> = (0..5).map(row).collect();
            let mut power: Vec<Vec<f64>> = (0..5)
                .map(|i| (0..5).map(|j| f64::from(u8::from(i == j))).collect())
                .collect();
            for steps in 0..12 {
                let shares = matrix.own_share(steps);
                for (node, share) in shares.into_iter().enumerate() {
                    assert!((share - power[node][node]).abs() < 1e-12);
                }
                power = product(&power, &dense);
            }
        }
    }
}
