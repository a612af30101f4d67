//! The effective number of neighbours against sums of powers of W, and against D-SGD on random quadratics, whose rates it decides.

use meshfold_topology::{
    Complete, Grid, Overlay, OverlaySummary, Ring, Spectrum, Star, Topology, Torus, Uniform,
    Weights, effective_neighbours,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const NODES: usize = 16;

type Matrix = Vec<Vec<f64>>;

fn overlay(topology: &Topology) -> Overlay {
    topology
        .build(NODES, &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap()
}

fn ring() -> Overlay {
    overlay(&Topology::Ring(Ring::default()))
}

fn complete() -> Overlay {
    overlay(&Topology::Complete(Complete::default()))
}

/// Two complete overlays of eight nodes each, without an edge between them.
fn two_cliques() -> Overlay {
    let pairs = (0..16_u32).flat_map(|i| (i + 1..16).map(move |j| (i, j)));
    Overlay::from_edges(NODES, pairs.filter(|(i, j)| i / 8 == j / 8)).unwrap()
}

fn eigenvalues(overlay: &Overlay) -> Vec<f64> {
    let weights = Weights::default();
    let matrix = weights.matrix(overlay).unwrap();
    let spectrum = Spectrum::of(overlay, &weights, &matrix).unwrap();
    spectrum.eigenvalues.unwrap()
}

fn weights(overlay: &Overlay) -> Matrix {
    let matrix = Weights::default().matrix(overlay).unwrap();
    let row = |i| (0..NODES).map(|j| matrix.weight(i, j)).collect();
    (0..NODES).map(row).collect()
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let entry = |i: usize, j: usize| (0..NODES).map(|k| left[i][k] * right[k][j]).sum();
    (0..NODES)
        .map(|i| (0..NODES).map(|j| entry(i, j)).collect())
        .collect()
}

#[test]
fn variance_is_divided_by_it() {
    for topology in [
        Topology::Ring(Ring::default()),
        Topology::Star(Star::default()),
        Topology::Grid(Grid::default()),
    ] {
        let overlay = overlay(&topology);
        let w = weights(&overlay);
        let decay: f64 = 0.9;
        // Noise of k exchanges ago has gone through W k + 1 times.
        let (mut power, mut mean) = (w.clone(), 0.0);
        for k in 0..500 {
            let squares: f64 = power.iter().flatten().map(|weight| weight * weight).sum();
            mean += decay.powi(k) * squares / NODES as f64;
            power = product(&w, &power);
        }
        let expected = 1.0 / (1.0 - decay) / mean;
        let found = effective_neighbours(&eigenvalues(&overlay), decay);
        assert!((found - expected).abs() < 1e-9, "{topology:?}: {found}");
    }
}

#[test]
fn it_is_the_number_of_nodes_that_average_whatever_the_decay() {
    for decay in [0.0, 0.5, 0.999] {
        let of = |overlay: &Overlay| effective_neighbours(&eigenvalues(overlay), decay);
        assert!((of(&complete()) - 16.0).abs() < 1e-9);
        assert!((of(&two_cliques()) - 8.0).abs() < 1e-9);
        assert_eq!(effective_neighbours(&[1.0; 5], decay), 1.0);
    }
}

#[test]
fn it_is_told_of_symmetric_weights_alone() {
    let star = overlay(&Topology::Star(Star::default()));
    let of = |weights: Weights| {
        let matrix = weights.matrix(&star).unwrap();
        let (summary, _) = OverlaySummary::new(&star, &weights, &matrix).unwrap();
        let figures = summary.effective_neighbours;
        figures
            .into_iter()
            .map(|figure| figure.neighbours)
            .collect()
    };
    let known: Vec<Option<f64>> = of(Weights::default());
    assert!(known.len() == 3 && known.iter().all(Option::is_some));
    assert_eq!(of(Weights::Uniform(Uniform::default())), [None; 3]);
}

/// By how much more than the square of its dimension the gradient of `½ ⟨d, x⟩²` varies, d standard normal in ten dimensions.
const VARIATION: f64 = 11.0;

/// By which factor D-SGD at `rate` shrinks the mean square of the models in a step in the long run, on `½ ⟨d, x⟩²` with a `d` of its
/// own for each node and step: the largest eigenvalue of `C → W ((1 - η)² C + VARIATION η² diag C) Wᵀ`, C the products of models.
fn shrinkage(w: &Matrix, rate: f64) -> f64 {
    let mut products = vec![vec![1.0; NODES]; NODES];
    let mut factor = 0.0;
    for _ in 0..400 {
        for (i, row) in products.iter_mut().enumerate() {
            let own = VARIATION * rate * rate * row[i];
            row.iter_mut()
                .for_each(|value| *value *= (1.0 - rate).powi(2));
            row[i] += own;
        }
        // W is symmetric.
        products = product(&product(w, &products), w);
        factor = (0..NODES).map(|i| products[i][i]).sum::<f64>() / NODES as f64;
        products
            .iter_mut()
            .flatten()
            .for_each(|value| *value /= factor);
    }
    factor
}

#[test]
fn rates_on_random_quadratics_follow_from_it() {
    let torus = overlay(&Topology::Torus(Torus::default()));
    for overlay in [ring(), torus, two_cliques()] {
        let (w, values) = (weights(&overlay), eigenvalues(&overlay));
        for rate in [0.05, 0.1, 0.2, 0.4] {
            let found = shrinkage(&w, rate);
            let kept = (1.0 - rate).powi(2);
            let neighbours = effective_neighbours(&values, kept / found);
            let expected = kept + VARIATION * rate * rate / neighbours;
            assert!(
                (found - expected).abs() < 1e-6,
                "{overlay:?} at {rate}: {found}, {expected}"
            );
        }
    }
}

#[test]
fn it_orders_the_best_learning_rates_and_lambda_does_not() {
    let best = |overlay: &Overlay| {
        let w = weights(overlay);
        let rates = (1..60).map(|step| f64::from(step) / 100.0);
        let tried = rates.map(|rate| (shrinkage(&w, rate), rate));
        tried
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .unwrap()
            .1
    };
    let overlays = [ring(), two_cliques(), complete()];
    let rates = overlays.each_ref().map(best);
    let neighbours = overlays
        .each_ref()
        .map(|overlay| effective_neighbours(&eigenvalues(overlay), 0.9));
    assert!(rates.is_sorted_by(|one, other| one < other), "{rates:?}");
    assert!(
        neighbours.is_sorted_by(|one, other| one < other),
        "{neighbours:?}"
    );
    // The gap of the ring is positive, that of two cliques is zero.
    let second = |overlay: &Overlay| eigenvalues(overlay)[1];
    assert!(second(&overlays[0]) < 1.0 && second(&overlays[1]) == 1.0);
}
