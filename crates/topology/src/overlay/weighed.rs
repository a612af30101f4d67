//! Weights that an overlay brings.

use super::Overlay;
use crate::weights::fault;
use crate::{MixingMatrix, TopologyError};
use std::sync::Arc;

impl Overlay {
    /// The overlay with the mixing matrix that its definition prescribes, `[N, N]`: that of
    /// [`Weights::Prescribed`](crate::Weights::Prescribed).
    ///
    /// # Errors
    /// [`TopologyError::OverlayWeights`] unless the matrix is N x N, its rows sum to one, it has weights on the diagonal and on
    /// edges of the overlay alone, and is symmetric if the overlay is undirected.
    pub fn with_weights(mut self, weights: MixingMatrix) -> Result<Self, TopologyError> {
        let equal = vec![1.0 / self.nodes() as f64; self.nodes()];
        if let Some(reason) = fault(&weights, &equal, &self) {
            return Err(TopologyError::OverlayWeights { reason });
        }
        self.weights = Some(Arc::new(weights));
        Ok(self)
    }

    /// The weights that the overlay brings, if its definition prescribes any.
    #[must_use]
    pub fn weights(&self) -> Option<&MixingMatrix> {
        self.weights.as_deref()
    }

    /// The overlay without the weights that it brings, for whoever has made the matrix of them.
    #[must_use]
    pub fn without_weights(self) -> Self {
        Self {
            weights: None,
            ..self
        }
    }

    /// The overlay of weights `(i, j, w_ij)` off the diagonal, those of one place added up. It brings these weights, and on the
    /// diagonal what a row lacks to one. Each of them is an arc from j to i if it is `directed`; otherwise `w_ij = w_ji` must
    /// both be given.
    ///
    /// # Errors
    /// Those of [`Overlay::from_edges`] and [`Overlay::with_weights`].
    pub(crate) fn weighed(
        nodes: usize,
        directed: bool,
        weights: &[(u32, u32, f64)],
    ) -> Result<Self, TopologyError> {
        let overlay = match directed {
            true => Self::directed(nodes, weights.iter().map(|&(i, j, _)| (j, i)))?,
            false => Self::from_edges(nodes, weights.iter().map(|&(i, j, _)| (i, j)))?,
        };
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes];
        for &(i, j, weight) in weights {
            rows[i as usize].push((j, weight));
        }
        for (node, row) in rows.iter_mut().enumerate() {
            row.sort_by_key(|&(column, _)| column);
            row.dedup_by(|later, first| {
                let same = later.0 == first.0;
                first.1 += if same { later.1 } else { 0.0 };
                same
            });
            let given: f64 = row.iter().map(|&(_, weight)| weight).sum();
            row.push((node as u32, 1.0 - given));
        }
        overlay.with_weights(MixingMatrix::from_rows(nodes, rows)?)
    }
}

impl MixingMatrix {
    /// The weights among `nodes` nodes of which `members`, in this order, have this matrix, and the others keep their rows.
    pub(super) fn embedded(&self, nodes: usize, members: &[u32]) -> Result<Self, TopologyError> {
        let mut rows: Vec<Vec<(u32, f64)>> = (0..nodes as u32).map(|i| vec![(i, 1.0)]).collect();
        for (i, member) in members.iter().enumerate() {
            let row = self.row(i);
            rows[*member as usize] = row
                .map(|(j, weight)| (members[j as usize], weight))
                .collect();
        }
        Self::from_rows(nodes, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_one_place_are_added_up() {
        let overlay = Overlay::weighed(3, true, &[(0, 1, 0.25), (0, 1, 0.25), (2, 0, 0.5)]);
        let overlay = overlay.unwrap();
        assert_eq!(overlay.neighbours(0), [1]);
        let weights = overlay.weights().unwrap();
        let row = |i| (0..3).map(|j| weights.weight(i, j)).collect::<Vec<_>>();
        assert_eq!(
            [row(0), row(1), row(2)],
            [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
        );
    }

    #[test]
    fn weights_that_are_not_those_of_the_overlay_are_refused() {
        let path = || Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        for (rows, reason) in [
            (
                vec![vec![(0, 1.0)], vec![(1, 1.0)]],
                "its matrix has 2 rows and 3 columns, but there are 3 nodes",
            ),
            (
                vec![vec![(0, 0.5), (2, 0.5)], vec![(1, 1.0)], vec![(2, 1.0)]],
                "row 0 has a weight for node 2, to which the overlay does not link it",
            ),
            (
                vec![vec![(0, 0.9)], vec![(1, 1.0)], vec![(2, 1.0)]],
                "row 0 sums to 0.900000000, not to 1",
            ),
            (
                vec![vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![(2, 1.0)]],
                "the weights of 0 and 1 for each other, 0.5 and 0, do not balance",
            ),
        ] {
            let matrix = MixingMatrix::from_rows(3, rows).unwrap();
            let error = path().with_weights(matrix).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the weights that the overlay brings: {reason}")
            );
        }
    }

    #[test]
    fn members_keep_their_weights_among_more_nodes() {
        let overlay = Overlay::weighed(2, false, &[(0, 1, 0.3), (1, 0, 0.3)]).unwrap();
        let among = overlay.embedded(4, &[3, 1]).unwrap();
        let weights = among.weights().unwrap();
        assert_eq!((weights.weight(1, 3), weights.weight(3, 1)), (0.3, 0.3));
        assert!(weights.row(0).eq([(0, 1.0)]) && weights.row(2).eq([(2, 1.0)]));
        assert!(among.surviving(&[true; 4], &[]).weights().is_none());
        assert!(overlay.without_weights().weights().is_none());
    }
}
