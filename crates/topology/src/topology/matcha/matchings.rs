//! The matchings of an overlay, how often they take part, and the weight of their edges.

use super::{edge_colouring, probabilities};
use crate::laplacian::{eigenvalues, laplacian};
use crate::{Overlay, TopologyError, largest_eigenvalue};
use faer::{Mat, Side};

/// Steps of the search for α, each of which halves the range: as many as a number has digits.
const STEPS: usize = 52;

/// The matchings of an overlay.
#[derive(Debug, PartialEq)]
pub(super) struct Matchings {
    /// Edges of each, `[M]`.
    matchings: Vec<Vec<(u32, u32)>>,
    /// With which each takes part in a round, `[M]`.
    pub(super) probabilities: Vec<f64>,
    /// The weight of an edge, α.
    alpha: f64,
}

/// The edges of all matchings, by the places of their nodes, and the matching of each.
pub(super) struct Edges {
    pub(super) nodes: usize,
    pub(super) edges: Vec<(usize, usize)>,
    pub(super) matching: Vec<usize>,
    /// How many matchings there are, M.
    pub(super) matchings: usize,
}

impl Edges {
    pub(super) fn of(nodes: usize, matchings: &[Vec<(u32, u32)>]) -> Self {
        let all = matchings.iter().enumerate();
        let all = all.flat_map(|(matching, edges)| edges.iter().map(move |edge| (matching, *edge)));
        let (matching, edges) = all
            .map(|(matching, (a, b))| (matching, (a as usize, b as usize)))
            .unzip();
        Self {
            nodes,
            edges,
            matching,
            matchings: matchings.len(),
        }
    }

    /// `Σ x_j L_j` for a number of each matching, `[N, N]`.
    pub(super) fn laplacian(&self, of_matchings: &[f64]) -> Mat<f64> {
        let weights = self.matching.iter().map(|j| of_matchings[*j]);
        laplacian(self.nodes, &self.edges, &weights.collect::<Vec<_>>())
    }
}

impl Matchings {
    /// The matchings of a connected `overlay` with the probabilities and the α of a `budget`.
    ///
    /// # Errors
    /// [`TopologyError::Eigenvalues`].
    pub(super) fn of(overlay: &Overlay, budget: f64) -> Result<Self, TopologyError> {
        let matchings = edge_colouring::matchings(overlay);
        let edges = Edges::of(overlay.nodes(), &matchings);
        let probabilities = match budget < 1.0 {
            true => probabilities::best(&edges, budget)?,
            false => vec![1.0; matchings.len()],
        };
        Ok(Self {
            alpha: best_alpha(&edges, &probabilities)?,
            matchings,
            probabilities,
        })
    }

    /// `√‖E[W²] − J‖`.
    ///
    /// # Errors
    /// [`TopologyError::Eigenvalues`].
    pub(super) fn lambda(&self, nodes: usize) -> Result<f64, TopologyError> {
        let edges = Edges::of(nodes, &self.matchings);
        let expected = ExpectedSquare::of(&edges, &self.probabilities).at(self.alpha);
        let squared = largest_eigenvalue(expected.as_ref());
        let squared = squared.ok_or(TopologyError::Eigenvalues { nodes })?;
        Ok(squared.max(0.0).sqrt())
    }

    /// The overlay of the matchings that take part, with its weights.
    pub(super) fn overlay(
        &self,
        nodes: usize,
        takes_part: &[bool],
    ) -> Result<Overlay, TopologyError> {
        let drawn = self.matchings.iter().zip(takes_part);
        let edges = drawn
            .filter(|(_, drawn)| **drawn)
            .flat_map(|(edges, _)| edges);
        let both = |&(a, b): &(u32, u32)| [(a, b, self.alpha), (b, a, self.alpha)];
        Overlay::weighed(nodes, false, &edges.flat_map(both).collect::<Vec<_>>())
    }
}

/// The α that minimises `‖I − 2 α L̄ + α² (L̄² + 2 L̃) − J‖`, a convex function of α: where its slope changes sign. The norm
/// itself would tell α to half of all digits only, and the others would differ from processor to processor.
fn best_alpha(edges: &Edges, probabilities: &[f64]) -> Result<f64, TopologyError> {
    if edges.edges.is_empty() {
        return Ok(0.0);
    }
    let values = eigenvalues(&edges.laplacian(probabilities))?;
    let largest = values.last().copied().unwrap_or(0.0);
    if probabilities.iter().all(|p| *p == 1.0) {
        return Ok(2.0 / (values[1] + largest)); // L̃ = 0: the norm is that of (I − α L̄)² − J
    }
    let expected = ExpectedSquare::of(edges, probabilities);
    let (mut low, mut high) = (0.0, 2.0 / largest);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        match expected.slope(middle)? > 0.0 {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(0.5 * (low + high))
}

/// What `E[W²] − J` is made of.
struct ExpectedSquare {
    /// `L̄`, `[N, N]`.
    mean: Mat<f64>,
    /// `L̄² + 2 L̃`, `[N, N]`.
    square: Mat<f64>,
}

impl ExpectedSquare {
    fn of(edges: &Edges, probabilities: &[f64]) -> Self {
        let mean = edges.laplacian(probabilities);
        let spread = probabilities.iter().map(|p| 2.0 * p * (1.0 - p));
        let spread = edges.laplacian(&spread.collect::<Vec<_>>());
        Self {
            square: &mean * &mean + spread,
            mean,
        }
    }

    /// `E[W²] − J` with this α, `[N, N]`.
    fn at(&self, alpha: f64) -> Mat<f64> {
        let nodes = self.mean.nrows();
        let mean = 1.0 / nodes as f64;
        Mat::from_fn(nodes, nodes, |i, j| {
            let entry = alpha * alpha * self.square[(i, j)] - 2.0 * alpha * self.mean[(i, j)];
            f64::from(i == j) - mean + entry
        })
    }

    /// The derivative of `‖E[W²] − J‖` with respect to α: that of its largest eigenvalue, as none is negative,
    /// `2 α vᵀ (L̄² + 2 L̃) v − 2 vᵀ L̄ v` for the eigenvector v.
    fn slope(&self, alpha: f64) -> Result<f64, TopologyError> {
        let nodes = self.mean.nrows();
        let decomposition = self.at(alpha).self_adjoint_eigen(Side::Lower);
        let decomposition = decomposition.map_err(|_| TopologyError::Eigenvalues { nodes })?;
        let vector = decomposition.U().col(nodes - 1);
        let of = |matrix: &Mat<f64>| vector.transpose() * matrix * vector;
        Ok(2.0 * alpha * of(&self.square) - 2.0 * of(&self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn overlay(text: &str, nodes: usize) -> Overlay {
        let topology: Topology = serde_json::from_str(text).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        topology.build(nodes, &mut rng).unwrap()
    }

    fn norm_of(expected: &ExpectedSquare, alpha: f64) -> f64 {
        largest_eigenvalue(expected.at(alpha).as_ref()).unwrap()
    }

    /// `E[W²] − J` by all draws of the matchings, `[N][N]`.
    fn by_all_draws(matchings: &Matchings, nodes: usize) -> Vec<Vec<f64>> {
        let mut mean = vec![vec![-1.0 / nodes as f64; nodes]; nodes];
        for draw in 0..1_u32 << matchings.matchings.len() {
            let takes_part = |j: usize| draw >> j & 1 == 1;
            let all = matchings.probabilities.iter().enumerate();
            let chance: f64 = all
                .map(|(j, p)| if takes_part(j) { *p } else { 1.0 - p })
                .product();
            let drawn = (0..matchings.matchings.len()).map(takes_part);
            let overlay = matchings
                .overlay(nodes, &drawn.collect::<Vec<_>>())
                .unwrap();
            let weights = overlay.weights().unwrap();
            for (j, row) in mean.iter_mut().enumerate() {
                let unit = (0..nodes).map(|i| f64::from(u8::from(i == j)));
                let squared = weights.apply(&weights.apply(&unit.collect::<Vec<_>>()));
                let entries = row.iter_mut().zip(squared);
                entries.for_each(|(entry, square)| *entry += chance * square);
            }
        }
        mean
    }

    #[test]
    fn the_expected_square_is_that_of_all_draws_and_alpha_minimises_it() {
        for (text, nodes) in [
            (r#"{"ring": {}}"#, 7),
            (r#"{"star": {}}"#, 5),
            (r#"{"barbell": {"m1": 4, "m2": 1}}"#, 9),
            (r#"{"erdos_renyi": {"p": 0.5}}"#, 8),
        ] {
            let overlay = overlay(text, nodes);
            for budget in [0.2, 0.5, 0.9] {
                let matchings = Matchings::of(&overlay, budget).unwrap();
                let edges = Edges::of(nodes, &matchings.matchings);
                let expected = ExpectedSquare::of(&edges, &matchings.probabilities);
                let found = by_all_draws(&matchings, nodes);
                let found = Mat::from_fn(nodes, nodes, |i, j| found[i][j]);
                let norm = largest_eigenvalue(found.as_ref()).unwrap();
                let best = norm_of(&expected, matchings.alpha);
                assert!((norm - best).abs() < 1e-12, "{text} {budget}");
                let lambda = matchings.lambda(nodes).unwrap();
                assert!((lambda * lambda - norm).abs() < 1e-12, "{text} {budget}");
                for alpha in (1..200).map(|step| f64::from(step) * 0.01) {
                    assert!(norm_of(&expected, alpha) > best - 1e-12, "{text} {alpha}");
                }
            }
        }
    }

    #[test]
    fn with_the_whole_budget_all_edges_take_part_as_in_the_best_laplacian() {
        for (text, nodes) in [(r#"{"ring": {}}"#, 8), (r#"{"grid": {}}"#, 12)] {
            let overlay = overlay(text, nodes);
            let matchings = Matchings::of(&overlay, 1.0).unwrap();
            let edges = Edges::of(nodes, &matchings.matchings);
            let ones = vec![1.0; matchings.matchings.len()];
            assert_eq!(matchings.probabilities, ones);
            let expected = ExpectedSquare::of(&edges, &ones);
            let best = norm_of(&expected, matchings.alpha);
            for other in [0.999, 1.001] {
                assert!(norm_of(&expected, other * matchings.alpha) > best + 1e-5);
            }
        }
    }

    #[test]
    fn a_single_node_has_no_matchings() {
        let alone = Overlay::from_edges(1, []).unwrap();
        for budget in [0.5, 1.0] {
            let matchings = Matchings::of(&alone, budget).unwrap();
            assert_eq!(matchings.overlay(1, &[]).unwrap().edge_count(), 0);
        }
    }
}
