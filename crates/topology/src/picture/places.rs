//! Where the nodes of an overlay are drawn.

use std::f64::consts::TAU;

use super::forces;
use crate::{Overlay, Topology};

/// Above this many nodes the placement by forces takes too long, and a circle must do.
const FORCE_NODES: usize = 1500;

/// A place in the square -1..1 for each node, x to the right and y downwards.
///
/// A tree is drawn in circles around its middle, a grid or torus as one, what is built on a ring or is alike at every
/// node as a circle (so that overlays can be compared side by side), anything else by forces. `topology` is how the
/// overlay was made, if that is known.
pub fn places(overlay: &Overlay, topology: Option<&Topology>) -> Vec<[f64; 2]> {
    let nodes = overlay.nodes();
    let places = match topology {
        Some(Topology::Grid(grid)) => lattice(nodes, grid.rows, 0.0),
        Some(Topology::Torus(torus)) => lattice(nodes, torus.rows, 0.09),
        Some(
            Topology::Path(_)
            | Topology::Ring(_)
            | Topology::RingPlusMatching(_)
            | Topology::RandomMatching(_)
            | Topology::OnePeer(_)
            | Topology::WattsStrogatz(_),
        ) => circle(nodes),
        Some(
            Topology::Exponential(_)
            | Topology::Regular(_)
            | Topology::VirtualRings(_)
            | Topology::BaseGraph(_)
            | Topology::EquiStatic(_)
            | Topology::EquiDyn(_),
        ) => circle(nodes),
        _ if nodes > FORCE_NODES || overlay.is_complete() => circle(nodes),
        _ if is_tree(overlay) => radial_tree(overlay),
        _ => forces::positions(overlay),
    };
    fitted(places)
}

fn circle(nodes: usize) -> Vec<[f64; 2]> {
    let place = |node| on_circle(1.0, node as f64 / nodes as f64);
    (0..nodes).map(place).collect()
}

/// A point at a share of the full turn, clockwise from the top.
fn on_circle(radius: f64, turn: f64) -> [f64; 2] {
    let (sine, cosine) = (TAU * turn).sin_cos();
    [radius * sine, -radius * cosine]
}

/// Rows and columns, as square as they can be unless `rows` is given. They bulge on a torus, so that the edges that
/// close it do not lie on the others.
fn lattice(nodes: usize, rows: Option<usize>, bulge: f64) -> Vec<[f64; 2]> {
    let rows = rows.or_else(|| {
        (1..=nodes.isqrt())
            .rev()
            .find(|&rows| nodes.is_multiple_of(rows))
    });
    let rows = rows.unwrap_or(1).max(1);
    let columns = nodes.div_ceil(rows);
    let share = |index: usize, count: usize| 2.0 * index as f64 / (count.max(2) - 1) as f64 - 1.0;
    let place = |node: usize| {
        let (u, v) = (share(node % columns, columns), share(node / columns, rows));
        [u + bulge * (1.0 - v * v), v + bulge * (1.0 - u * u)]
    };
    (0..nodes).map(place).collect()
}

fn is_tree(overlay: &Overlay) -> bool {
    overlay.edge_count() + 1 == overlay.nodes() && overlay.is_connected()
}

/// Every node on a circle by its depth, every subtree in a sector as wide as its number of leaves asks for.
fn radial_tree(overlay: &Overlay) -> Vec<[f64; 2]> {
    let nodes = overlay.nodes();
    let root = middle_of_tree(overlay);
    let mut parent = vec![root; nodes];
    let mut depth = vec![0; nodes];
    let mut order = vec![root];
    let mut next = 0;
    while next < order.len() {
        let node = order[next];
        let above = parent[node];
        for child in overlay
            .neighbours(node)
            .iter()
            .map(|&child| child as usize)
            .filter(|&child| child != above)
        {
            parent[child] = node;
            depth[child] = depth[node] + 1;
            order.push(child);
        }
        next += 1;
    }
    let mut leaves = vec![0; nodes];
    for &node in order.iter().rev() {
        leaves[node] = leaves[node].max(1);
        if node != root {
            leaves[parent[node]] += leaves[node];
        }
    }
    let deepest = depth.iter().copied().max().unwrap_or(0).max(1) as f64;
    let total = leaves[root] as f64;
    let mut first_leaf = vec![0; nodes];
    let mut taken = vec![0; nodes];
    let mut places = vec![[0.0; 2]; nodes];
    for &node in &order[1..] {
        let above = parent[node];
        first_leaf[node] = first_leaf[above] + taken[above];
        taken[above] += leaves[node];
        let turn = (first_leaf[node] as f64 + 0.5 * leaves[node] as f64) / total;
        places[node] = on_circle(depth[node] as f64 / deepest, turn);
    }
    places
}

/// The node left when leaves are taken off layer by layer; the smaller of two.
fn middle_of_tree(overlay: &Overlay) -> usize {
    let mut degrees: Vec<usize> = (0..overlay.nodes())
        .map(|node| overlay.degree(node))
        .collect();
    let mut layer: Vec<usize> = (0..overlay.nodes())
        .filter(|&node| degrees[node] <= 1)
        .collect();
    let mut left = overlay.nodes();
    while left > 2 {
        left -= layer.len();
        let mut inner = Vec::new();
        for &leaf in &layer {
            for &neighbour in overlay.neighbours(leaf) {
                let degree = &mut degrees[neighbour as usize];
                *degree = degree.saturating_sub(1);
                if *degree == 1 {
                    inner.push(neighbour as usize);
                }
            }
        }
        layer = inner;
    }
    layer.into_iter().min().unwrap_or(0)
}

fn fitted(mut places: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for place in &places {
        for axis in 0..2 {
            low[axis] = low[axis].min(place[axis]);
            high[axis] = high[axis].max(place[axis]);
        }
    }
    let half = (0.5 * (high[0] - low[0])).max(0.5 * (high[1] - low[1]));
    let scale = if half > 0.0 { 1.0 / half } else { 0.0 };
    for place in &mut places {
        for axis in 0..2 {
            place[axis] = scale * (place[axis] - 0.5 * (low[axis] + high[axis]));
        }
    }
    places
}

/// Angle of a place, for tests: share of the full turn, clockwise from the top.
#[cfg(test)]
fn turn_of(place: [f64; 2]) -> f64 {
    (place[0].atan2(-place[1]) / TAU).rem_euclid(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Ring, Star};

    fn overlay(nodes: usize, edges: &[(u32, u32)]) -> Overlay {
        Overlay::from_edges(nodes, edges.iter().copied()).unwrap()
    }

    #[test]
    fn a_ring_goes_round_from_the_top() {
        let ring = overlay(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        let turns: Vec<f64> = places(&ring, Some(&Topology::Ring(Ring::default())))
            .into_iter()
            .map(turn_of)
            .collect();
        let expected = [0.0, 0.25, 0.5, 0.75];
        assert!(
            turns
                .iter()
                .zip(expected)
                .all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{turns:?}"
        );
    }

    #[test]
    fn a_star_has_its_hub_in_the_middle() {
        let star = overlay(5, &[(0, 3), (1, 3), (2, 3), (4, 3)]);
        let placed = places(&star, Some(&Topology::Star(Star {})));
        assert!(placed[3][0].hypot(placed[3][1]) < 1e-9, "{placed:?}");
        let radii: Vec<f64> = placed.iter().map(|[x, y]| x.hypot(*y)).collect();
        assert!(
            [0, 1, 2, 4]
                .iter()
                .all(|&leaf| (radii[leaf] - radii[0]).abs() < 1e-9 && radii[leaf] > 0.9),
            "{radii:?}"
        );
    }

    #[test]
    fn a_tree_keeps_its_subtrees_together() {
        let tree = overlay(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
        let placed = places(&tree, None);
        assert_eq!(middle_of_tree(&tree), 0);
        let turns: Vec<f64> = placed.iter().map(|&place| turn_of(place)).collect();
        assert!(
            turns[3] < turns[4] && turns[4] < turns[5] && turns[5] < turns[6],
            "{turns:?}"
        );
    }

    #[test]
    fn a_grid_is_drawn_as_one() {
        let grid = overlay(6, &[(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]);
        let placed = places(&grid, Some(&Topology::Grid(Grid { rows: None })));
        assert!(
            (placed[0][1] - placed[2][1]).abs() < 1e-9
                && (placed[0][0] - placed[3][0]).abs() < 1e-9
        );
    }

    #[test]
    fn every_place_is_in_the_square() {
        let edges: Vec<(u32, u32)> = (0..29)
            .map(|node| (node, node + 1))
            .chain([(3, 20), (7, 28)])
            .collect();
        let placed = places(&overlay(30, &edges), None);
        assert!(
            placed
                .iter()
                .flatten()
                .all(|coordinate| coordinate.abs() <= 1.0 + 1e-9)
        );
        assert_eq!(places(&overlay(1, &[]), None), [[0.0, 0.0]]);
        assert!((on_circle(1.0, 0.5)[1] - 1.0).abs() < 1e-9);
    }
}
