//! The weights of an overlay from which nodes or edges have failed, on which messages are lost, or on which some nodes only listen.

use super::Weights;
use super::weights_spec::AfterFailures;
use crate::{MixingMatrix, Overlay, TopologyError};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

impl Weights {
    /// The mixing matrix of what failures left of an overlay, `matrix` being that of the `whole`.
    ///
    /// Weights that go by degrees are made anew from the degrees left. `laplacian` keeps the weight of an edge, that is
    /// θ and λ_N of the whole overlay. In `random`, `fastest`, `edges`, `prescribed` and weights that a user's program adds, the
    /// weight of a lost neighbour goes to the diagonal. Nodes without an edge, such as the dead, keep their row as it
    /// is. If all others are still linked with each other, they share one row, see [`MixingMatrix::average_among`].
    ///
    /// # Interpretation
    /// An undirected overlay may survive as a directed one, on which some nodes hear others without being heard
    /// (DFedRW's dropped stragglers, which receive the average). A node's degree then counts the nodes that it hears.
    /// `metropolis_hastings` weighs an arc by the larger degree of its two ends, `max_degree` by the largest of all,
    /// `uniform` and `by_examples` by the nodes that the receiving node hears, itself among them. Every row sums to
    /// one. A node that is heard by all that it hears has the same row as without the listeners, except under
    /// `max_degree`, whose largest degree may be a listener's.
    ///
    /// # Errors
    /// Those of [`Weights::matrix`]; [`TopologyError::NewEdge`] as [`MixingMatrix::surviving`].
    pub fn surviving(
        &self,
        whole: &Overlay,
        matrix: &MixingMatrix,
        surviving: &Overlay,
    ) -> Result<MixingMatrix, TopologyError> {
        if let Some(shares) = self.shares_among_linked(surviving) {
            return MixingMatrix::average_among(shares);
        }
        match self.spec().after_failures() {
            AfterFailures::FromDegrees | AfterFailures::FromExamples => {
                let mut no_draws = ChaCha8Rng::seed_from_u64(0);
                self.spec().matrix(surviving, &mut no_draws)
            }
            AfterFailures::OneWeight => Ok(one_weight(whole, matrix, surviving)),
            AfterFailures::ToDiagonal => matrix.surviving(whole, surviving),
        }
    }

    /// The one row, `[N]`, that the nodes left of a complete overlay share under weights that go by degrees or examples;
    /// `None` for other overlays and weights, and where a node that is left holds no examples.
    fn shares_among_linked(&self, surviving: &Overlay) -> Option<Vec<f64>> {
        let linked = surviving.linked_with_all_others()?;
        let after_failures = self.spec().after_failures();
        let share = |node: usize| match after_failures {
            AfterFailures::FromDegrees => Some(1.0),
            AfterFailures::FromExamples => Some(surviving.examples()?[node] as f64),
            AfterFailures::OneWeight | AfterFailures::ToDiagonal => None,
        };
        let shares = linked
            .iter()
            .enumerate()
            .map(|(node, linked)| match linked {
                true => share(node).filter(|share| *share > 0.0),
                false => Some(0.0),
            });
        let mut shares = shares.collect::<Option<Vec<f64>>>()?;
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        Some(shares)
    }
}

/// The weights in which every edge has the one weight that all edges had in the whole overlay.
fn one_weight(whole: &Overlay, matrix: &MixingMatrix, surviving: &Overlay) -> MixingMatrix {
    let weight = whole
        .edges()
        .next()
        .map_or(0.0, |(a, b)| matrix.weight(a as usize, b as usize));
    let own = |node, _| 1.0 - surviving.degree(node) as f64 * weight;
    MixingMatrix::over_neighbours(surviving, |_, _| weight, own)
}

impl MixingMatrix {
    /// These weights of the `whole` overlay of which only the `surviving` one is left: a lost neighbour's weight goes to the diagonal.
    ///
    /// Rows keep their sums. Symmetric weights stay symmetric if edges are lost in both directions. After failures this suits weights that
    /// are not made from degrees, and for messages that are lost it suits all.
    ///
    /// # Errors
    /// [`TopologyError::NewEdge`] if the surviving overlay has an edge that the whole one has not.
    pub fn surviving(&self, whole: &Overlay, surviving: &Overlay) -> Result<Self, TopologyError> {
        let new = surviving.edges().find(|&(a, b)| {
            let heard = whole.neighbours(b as usize);
            !heard.contains(&a)
        });
        if let Some((a, b)) = new {
            return Err(TopologyError::NewEdge { a, b });
        }
        let lost = |node: usize| {
            let left = surviving.neighbours(node);
            let entries = self.row(node);
            entries
                .filter(|(j, _)| *j as usize != node && !left.contains(j))
                .map(|(_, weight)| weight)
                .sum::<f64>()
        };
        Ok(Self::over_neighbours(
            surviving,
            |i, j| self.weight(i, j),
            |node, _| self.weight(node, node) + lost(node),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ByExamples, Complete, ErdosRenyi, Form, Laplacian, MaxDegree, Probability, Topology,
        Uniform,
    };
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn all_weights() -> [Weights; 4] {
        [
            Weights::default(),
            Weights::MaxDegree(MaxDegree {}),
            Weights::Laplacian(Laplacian::default()),
            Weights::Uniform(Uniform {}),
        ]
    }

    /// 20 nodes of which 3, 7 and 11 are dead; edges of node 0 to its first neighbours are lost.
    fn before_and_after() -> (Overlay, Overlay) {
        let p = Probability::Fixed(0.4);
        let whole = Topology::ErdosRenyi(ErdosRenyi { p })
            .build(20, &mut ChaCha8Rng::seed_from_u64(3))
            .unwrap();
        let alive: Vec<bool> = (0..20).map(|node| ![3, 7, 11].contains(&node)).collect();
        let lost: Vec<_> = whole
            .neighbours(0)
            .iter()
            .take(2)
            .map(|&j| (0, j))
            .collect();
        let left = whole.surviving(&alive, &lost);
        (whole, left)
    }

    #[test]
    fn rows_sum_to_one_and_the_dead_keep_theirs() {
        let (whole, left) = before_and_after();
        for weights in all_weights() {
            let matrix = weights.matrix(&whole).unwrap();
            let after = weights.surviving(&whole, &matrix, &left).unwrap();
            let label = weights.label();
            assert!(after.is_row_stochastic(1e-12), "{label}");
            let uniform = matches!(weights, Weights::Uniform(_));
            assert_eq!(after.is_doubly_stochastic(1e-12), !uniform, "{label}");
            for dead in [3, 7, 11] {
                assert!(after.row(dead).eq([(dead as u32, 1.0)]), "{label}");
            }
            for (a, b) in left.edges() {
                assert!(after.weight(a as usize, b as usize) > 0.0, "{label}");
            }
            assert_eq!(after.nnz(), 2 * left.edge_count() + 20, "{label}");
        }
    }

    #[test]
    fn degrees_left_decide() {
        let path = Overlay::from_edges(4, [(0, 1), (1, 2), (1, 3)]).unwrap();
        let left = path.surviving(&[true, true, true, false], &[]);
        let weights = Weights::default();
        let matrix = weights.matrix(&path).unwrap();
        assert_eq!(matrix.weight(0, 1), 0.25);
        let after = weights.surviving(&path, &matrix, &left).unwrap();
        assert_eq!(after.weight(0, 1), 1.0 / 3.0);
    }

    #[test]
    fn a_laplacian_keeps_its_weight_as_if_it_went_to_the_diagonal() {
        let (whole, left) = before_and_after();
        let weights = Weights::Laplacian(Laplacian { theta: Some(0.3) });
        let matrix = weights.matrix(&whole).unwrap();
        let after = weights.surviving(&whole, &matrix, &left).unwrap();
        let moved = matrix.surviving(&whole, &left).unwrap();
        for i in 0..20 {
            for j in 0..20 {
                assert!((after.weight(i, j) - moved.weight(i, j)).abs() < 1e-14);
            }
        }
        let (a, b) = left.edges().next().unwrap();
        let (a, b) = (a as usize, b as usize);
        assert_eq!(after.weight(a, b), matrix.weight(a, b));
    }

    #[test]
    fn a_complete_overlay_is_averaged_among_the_alive() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let whole = Topology::Complete(Complete {}).build(6, &mut rng).unwrap();
        let left = whole.surviving(&[true, false, true, true, true, false], &[]);
        for weights in [Weights::default(), Weights::MaxDegree(MaxDegree {})] {
            let matrix = weights.matrix(&whole).unwrap();
            let after = weights.surviving(&whole, &matrix, &left).unwrap();
            for (i, j) in [(0, 2), (4, 3), (2, 2)] {
                assert!((after.weight(i, j) - 0.25).abs() < 1e-15);
            }
        }
        // θ* = 1 of the whole: every edge still weighs 1/6.
        let weights = Weights::Laplacian(Laplacian::default());
        let matrix = weights.matrix(&whole).unwrap();
        let after = weights.surviving(&whole, &matrix, &left).unwrap();
        assert!((after.weight(0, 2) - 1.0 / 6.0).abs() < 1e-15);
        assert!((after.weight(0, 0) - 0.5).abs() < 1e-15);
    }

    /// A path of four with a chord 1-3; node 3 listens without being heard.
    fn with_a_listener() -> (Overlay, Overlay) {
        let edges = [(0, 1), (1, 2), (1, 3), (2, 3)];
        let examples = vec![10, 30, 20, 40];
        let whole = Overlay::from_edges(4, edges).unwrap();
        let both = edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
        let heard = Overlay::directed(4, both.filter(|(from, _)| *from != 3)).unwrap();
        (
            whole.with_examples(examples.clone()).unwrap(),
            heard.with_examples(examples).unwrap(),
        )
    }

    #[test]
    fn a_listener_averages_those_that_it_hears() {
        let (whole, heard) = with_a_listener();
        let rows = |weights: Weights| {
            let matrix = weights.matrix(&whole).unwrap();
            let after = weights.surviving(&whole, &matrix, &heard).unwrap();
            assert!(after.is_row_stochastic(1e-12), "{}", weights.label());
            let row = |i| (0..4).map(|j| after.weight(i, j)).collect::<Vec<_>>();
            [row(1), row(3)]
        };
        let close = |found: [Vec<f64>; 2], expected: [[f64; 4]; 2]| {
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                assert!((found - expected).abs() < 1e-15, "{found} {expected}");
            }
        };
        let third = 1.0 / 3.0;
        // Nodes 1 and 3 hear two others, nodes 0 and 2 one.
        let thirds = [[third, third, third, 0.0], [0.0, third, third, third]];
        close(rows(Weights::default()), thirds);
        close(rows(Weights::MaxDegree(MaxDegree {})), thirds);
        close(rows(Weights::Uniform(Uniform {})), thirds);
        let by_examples = [
            [1.0 / 6.0, 0.5, third, 0.0],
            [0.0, third, 2.0 / 9.0, 4.0 / 9.0],
        ];
        close(rows(Weights::ByExamples(ByExamples {})), by_examples);
        // θ = 1 with λ_N = 4: every edge weighs 1/4, and what is not heard is one's own.
        let laplacian = Weights::Laplacian(Laplacian { theta: Some(1.0) });
        let quarters = [[0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.25, 0.5]];
        close(rows(laplacian), quarters);
    }

    #[test]
    fn those_that_are_heard_mix_as_if_the_listeners_were_dead() {
        let (whole, heard) = with_a_listener();
        let alone = whole.surviving(&[true, true, true, false], &[]);
        for weights in [Weights::default(), Weights::Uniform(Uniform {})] {
            let matrix = weights.matrix(&whole).unwrap();
            let after = weights.surviving(&whole, &matrix, &heard).unwrap();
            let without = weights.surviving(&whole, &matrix, &alone).unwrap();
            for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
                assert_eq!(after.weight(i, j), without.weight(i, j));
            }
        }
    }

    #[test]
    fn the_alive_of_a_complete_overlay_share_one_row() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let whole = Topology::Complete(Complete {}).build(5, &mut rng).unwrap();
        let whole = whole.with_examples(vec![4, 8, 1, 3, 9]).unwrap();
        let left = whole.surviving(&[true, false, true, true, false], &[]);
        let after = |weights: Weights| {
            let matrix = weights.matrix(&whole).unwrap();
            weights.surviving(&whole, &matrix, &left).unwrap()
        };
        let members = [true, false, true, true, false];
        let third = 1.0 / 3.0;
        for weights in [
            Weights::default(),
            Weights::MaxDegree(MaxDegree {}),
            Weights::Uniform(Uniform {}),
        ] {
            let after = after(weights);
            let weights = &[third, 0.0, third, third, 0.0];
            let members = &members;
            assert_eq!(after.form(), Form::Among { weights, members });
            assert!(after.is_doubly_stochastic(1e-12) && after.is_symmetric(0.0));
            assert_eq!(after.nnz(), 11);
            let mixed = after.apply(&[1.0, 50.0, 4.0, 7.0, 90.0]);
            let expected = [4.0, 50.0, 4.0, 4.0, 90.0];
            let close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-14;
            assert!(mixed.iter().zip(&expected).all(close), "{mixed:?}");
        }
        let by_examples = after(Weights::ByExamples(ByExamples {}));
        let weights = &[0.5, 0.0, 0.125, 0.375, 0.0];
        let members = &members;
        assert_eq!(by_examples.form(), Form::Among { weights, members });
        assert!(!by_examples.is_symmetric(1e-3) && by_examples.is_row_stochastic(1e-12));
        assert_eq!(by_examples.column_sums(), [1.5, 1.0, 0.375, 1.125, 1.0]);
        assert_eq!(by_examples.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
        assert_eq!(by_examples.weight(3, 0), 0.5);
    }

    #[test]
    fn an_edge_without_a_weight_is_named() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let matrix = Weights::default().matrix(&path).unwrap();
        let repaired = Overlay::from_edges(3, [(0, 2)]).unwrap();
        assert_eq!(
            matrix.surviving(&path, &repaired),
            Err(TopologyError::NewEdge { a: 0, b: 2 })
        );
    }
}
