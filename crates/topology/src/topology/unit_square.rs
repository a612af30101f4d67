//! Nodes at places in the unit square, linked to those that are near.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A place in the unit square.
pub(super) type Place = [f64; 2];

/// A uniformly random place.
pub(super) fn place(rng: &mut ChaCha8Rng) -> Place {
    [rng.random(), rng.random()]
}

/// The distance between two places.
pub(super) fn distance([a, b]: Place, [x, y]: Place) -> f64 {
    (a - x).hypot(b - y)
}

/// The pairs of `places` at most `radius` apart. O(nodes + pairs), as only those in cells beside each other are compared.
pub(super) fn near(places: &[Place], radius: f64) -> Vec<(u32, u32)> {
    let most = (places.len() as f64).sqrt().ceil().max(1.0);
    let side = (1.0 / radius).floor().clamp(1.0, most) as usize;
    let cell = |place: &Place| place.map(|x| ((x * side as f64) as usize).min(side - 1));
    let mut cells = vec![Vec::new(); side * side];
    for (node, place) in places.iter().enumerate() {
        let [row, column] = cell(place);
        cells[row * side + column].push(node);
    }
    let mut edges = Vec::new();
    for (node, place) in places.iter().enumerate() {
        let [row, column] = cell(place).map(|at| at.saturating_sub(1)..=(at + 1).min(side - 1));
        for at in row.flat_map(|row| column.clone().map(move |column| row * side + column)) {
            let others = cells[at].iter().copied().filter(|other| *other > node);
            let close = others.filter(|other| distance(*place, places[*other]) <= radius);
            edges.extend(close.map(|other| (node as u32, other as u32)));
        }
    }
    edges
}

/// The mean number of pairs among `nodes` uniformly random places that are at most `radius` apart.
pub(super) fn mean_pairs(nodes: usize, radius: f64) -> f64 {
    let r = radius.clamp(0.0, 1.0);
    // The distance of two places in a square, up to its side; beyond it nearly all pairs are counted.
    let share = std::f64::consts::PI * r * r - 8.0 / 3.0 * r.powi(3) + r.powi(4) / 2.0;
    super::size::pairs(nodes) * share.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn near_pairs_are_those_of_all_comparisons() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (nodes, radius) in [(1, 0.3), (60, 0.01), (300, 0.07), (300, 0.5), (40, 2.0)] {
            let places: Vec<Place> = (0..nodes).map(|_| place(&mut rng)).collect();
            let mut found = near(&places, radius);
            found.sort_unstable();
            let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            let expected: Vec<(u32, u32)> = pairs
                .filter(|(a, b)| distance(places[*a], places[*b]) <= radius)
                .map(|(a, b)| (a as u32, b as u32))
                .collect();
            assert_eq!(found, expected, "{nodes} {radius}");
        }
    }

    #[test]
    fn the_mean_number_of_pairs_is_that_of_many_places() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for radius in [0.1, 0.4, 0.9] {
            let places: Vec<Place> = (0..2000).map(|_| place(&mut rng)).collect();
            let share = near(&places, radius).len() as f64 / mean_pairs(2000, radius);
            assert!((share - 1.0).abs() < 0.05, "{radius}: {share}");
        }
    }
}
