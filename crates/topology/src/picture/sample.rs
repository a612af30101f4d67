//! Some edges in place of all.

use crate::Overlay;

/// All edges, or about `most` of them, spread over the overlay without a pattern and always the same ones.
pub fn sampled_edges(overlay: &Overlay, most: usize) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
    let total = overlay.edge_count();
    if overlay.listed_arcs() == 0 && total > most {
        // The edges are not there one by one to be chosen from.
        let scattered = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = |index| ((u128::from(scattered(index)) * total as u128) >> 64) as usize;
        return Box::new(overlay.edges_at((0..most).map(place).collect()).into_iter());
    }
    let share = (most as f64 / total.max(1) as f64).min(1.0);
    let limit = (share * f64::from(u32::MAX)) as u64;
    let chosen = move |index: usize| {
        total <= most || (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < limit
    };
    let edges = overlay.edges().enumerate();
    let sample = edges.filter(move |(index, _)| chosen(*index));
    Box::new(sample.map(|(_, edge)| edge))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(nodes: u32) -> Overlay {
        let edges = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
        Overlay::from_edges(nodes as usize, edges).unwrap()
    }

    #[test]
    fn dense_overlays_are_thinned_alike_every_time() {
        let overlay = complete(300);
        let edges: Vec<_> = sampled_edges(&overlay, 1500).collect();
        assert!((1350..=1650).contains(&edges.len()), "{}", edges.len());
        assert_eq!(edges, sampled_edges(&overlay, 1500).collect::<Vec<_>>());
        assert_eq!(sampled_edges(&complete(20), 1500).count(), 190);
    }
}
