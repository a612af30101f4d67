//! Cliques with some edges removed.

use crate::TopologyError;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Checks that every clique has the edges that it is to lose.
///
/// # Errors
/// [`TopologyError::Setting`] if the smallest clique has fewer edges than are to be removed.
pub(super) fn check(removed: usize, smallest: usize) -> Result<(), TopologyError> {
    let edges = smallest.saturating_mul(smallest.saturating_sub(1)) / 2;
    if removed > edges {
        let needed = format!(
            "at most {edges}, the edges of the smallest clique, which has {smallest} nodes"
        );
        return Err(TopologyError::setting(
            "d_cliques.removed_edges",
            removed,
            needed,
        ));
    }
    Ok(())
}

/// The edges within the cliques, without `removed` of each, chosen uniformly.
///
/// # Source
/// D-Cliques (Bellet et al.), Section IV-F: 1 or 5 of the 45 edges of each clique, both ways.
pub(super) fn kept(cliques: &[Vec<u32>], removed: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    let mut kept = Vec::new();
    for clique in cliques {
        let mut edges = all_pairs(clique);
        if removed > 0 {
            let (_, rest) = edges.partial_shuffle(rng, removed);
            kept.extend_from_slice(rest);
        } else {
            kept.append(&mut edges);
        }
    }
    kept
}

fn all_pairs(clique: &[u32]) -> Vec<(u32, u32)> {
    let pairs = clique.iter().enumerate();
    pairs
        .flat_map(|(place, &a)| clique[place + 1..].iter().map(move |&b| (a, b)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn every_edge_is_removed_equally_often() {
        let clique = [(10..20).collect::<Vec<u32>>()];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (draws, removed) = (9000, 5);
        let mut lost = [0.0; 45];
        for _ in 0..draws {
            let kept = kept(&clique, removed, &mut rng);
            assert_eq!(kept.len(), 40);
            for (lost, edge) in lost.iter_mut().zip(all_pairs(&clique[0])) {
                *lost += f64::from(u8::from(!kept.contains(&edge)));
            }
        }
        let expected = f64::from(draws) / 9.0;
        // Draws without replacement vary by 8/9 of what independent ones do; 44 degrees of freedom stay below 78.7 in 999
        // of 1,000 cases.
        let deviation = |lost: f64| (lost - expected).powi(2) / (expected * 8.0 / 9.0);
        let chi_squared: f64 = lost.iter().map(|&lost| deviation(lost)).sum::<f64>() * 44.0 / 45.0;
        assert!(chi_squared < 78.7, "{chi_squared}");
    }

    #[test]
    fn a_clique_has_no_more_edges_to_lose() {
        assert_eq!(check(45, 10), Ok(()));
        assert_eq!(check(0, 1), Ok(()));
        assert_eq!(
            check(46, 10).unwrap_err().to_string(),
            "d_cliques.removed_edges: found 46, needed at most 45, the edges of the smallest clique, which has 10 nodes"
        );
    }
}
