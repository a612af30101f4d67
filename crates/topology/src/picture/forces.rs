//! Places for the nodes of an overlay that has no shape of its own.

use crate::Overlay;

/// Iterations; more move the nodes hardly at all.
const STEPS: usize = 120;

/// Positions in the plane at which linked nodes are near and others apart, one per node.
///
/// Every two nodes push each other away with force `k² / d` and linked ones pull with `d² / k`, while steps grow
/// shorter. The start is a spiral in breadth-first order, so the same overlay is always drawn the same way.
///
/// # Source
/// Fruchterman and Reingold, Graph drawing by force-directed placement (1991).
///
/// # Complexity
/// O(n² + m) for each of 120 steps.
pub(crate) fn positions(overlay: &Overlay) -> Vec<[f64; 2]> {
    let nodes = overlay.nodes();
    let ideal = (1.0 / nodes as f64).sqrt();
    let mut places = spiral(overlay);
    let mut forces = vec![[0.0; 2]; nodes];
    for step in 0..STEPS {
        push_apart(&places, ideal * ideal, &mut forces);
        pull_together(overlay, &places, ideal, &mut forces);
        let longest = 0.1 * (1.0 - step as f64 / STEPS as f64).powi(2) + 1e-4;
        for (place, force) in places.iter_mut().zip(&forces) {
            let length = force[0].hypot(force[1]).max(1e-12);
            let scale = length.min(longest) / length;
            place[0] += scale * force[0];
            place[1] += scale * force[1];
        }
    }
    places
}

fn push_apart(places: &[[f64; 2]], strength: f64, forces: &mut [[f64; 2]]) {
    for (i, force) in forces.iter_mut().enumerate() {
        let [x, y] = places[i];
        let mut sum = [0.0; 2];
        for other in places {
            let (dx, dy) = (x - other[0], y - other[1]);
            let scale = strength / (dx * dx + dy * dy).max(1e-6);
            sum[0] += scale * dx;
            sum[1] += scale * dy;
        }
        // A weak pull to the middle keeps components that are not linked on the page.
        *force = [
            sum[0] - 0.2 * strength.sqrt() * x,
            sum[1] - 0.2 * strength.sqrt() * y,
        ];
    }
}

fn pull_together(overlay: &Overlay, places: &[[f64; 2]], ideal: f64, forces: &mut [[f64; 2]]) {
    for (i, force) in forces.iter_mut().enumerate() {
        for &j in overlay.neighbours(i) {
            let (dx, dy) = (
                places[j as usize][0] - places[i][0],
                places[j as usize][1] - places[i][1],
            );
            let scale = dx.hypot(dy) / ideal;
            force[0] += scale * dx;
            force[1] += scale * dy;
        }
    }
}

fn spiral(overlay: &Overlay) -> Vec<[f64; 2]> {
    let golden_angle = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let nodes = overlay.nodes();
    let mut places = vec![[0.0; 2]; nodes];
    for (index, node) in breadth_first(overlay).into_iter().enumerate() {
        let radius = 0.5 * ((index as f64 + 0.5) / nodes as f64).sqrt();
        let (sine, cosine) = (index as f64 * golden_angle).sin_cos();
        places[node] = [radius * cosine, radius * sine];
    }
    places
}

fn breadth_first(overlay: &Overlay) -> Vec<usize> {
    let mut order = Vec::with_capacity(overlay.nodes());
    let mut seen = vec![false; overlay.nodes()];
    for start in 0..overlay.nodes() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        order.push(start);
        let mut next = order.len() - 1;
        while next < order.len() {
            for &neighbour in overlay.neighbours(order[next]) {
                let neighbour = neighbour as usize;
                if !std::mem::replace(&mut seen[neighbour], true) {
                    order.push(neighbour);
                }
            }
            next += 1;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_nodes_are_nearer_than_others() {
        let clique = |first: u32| {
            (first..first + 5).flat_map(move |a| (a + 1..first + 5).map(move |b| (a, b)))
        };
        let overlay = Overlay::from_edges(10, clique(0).chain(clique(5)).chain([(0, 5)])).unwrap();
        let places = positions(&overlay);
        let distance =
            |a: usize, b: usize| (places[a][0] - places[b][0]).hypot(places[a][1] - places[b][1]);
        assert!(distance(1, 2) < 0.5 * distance(1, 6), "{places:?}");
        assert_eq!(places, positions(&overlay));
    }

    #[test]
    fn separate_components_stay_finite() {
        let places = positions(&Overlay::from_edges(40, [(0, 1), (2, 3)]).unwrap());
        assert!(
            places
                .iter()
                .flatten()
                .all(|coordinate| coordinate.abs() < 10.0)
        );
    }
}
