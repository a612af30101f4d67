//! How far the labels in a clique are from those of all nodes.

use super::LabelDistributions;
use crate::{Nodes, Overlay, TopologyError};

/// The skew of every group of an overlay, in the order of [`Overlay::groups`]; `None` if it has no groups.
///
/// `skew(C) = sum_y |p_C(y) − p(y)|`, p_C being the mean of the label distributions of the nodes in C and p that of all
/// nodes, neither weighted by numbers of examples: from 0, the labels of all nodes, to 2. `label_counts` is `[N, C]`, as
/// in [`Nodes::label_counts`], and free of noise.
///
/// # Source
/// D-Cliques (Bellet et al.), (3).
///
/// # Errors
/// [`TopologyError::LabelsUnknown`], [`TopologyError::LabelCounts`], [`TopologyError::LabelClasses`] or
/// [`TopologyError::NoLabels`] if `label_counts` is not one distribution for each node.
pub fn clique_skew(
    overlay: &Overlay,
    label_counts: &[Vec<u64>],
) -> Result<Option<Vec<f64>>, TopologyError> {
    let Some(groups) = overlay.groups() else {
        return Ok(None);
    };
    let labels = LabelDistributions::new(Nodes {
        count: overlay.nodes(),
        label_counts,
    })?;
    let global = labels.global();
    let skew = |group: &Vec<u32>| skew(&labels.excess(group, &global), group.len());
    Ok(Some(groups.iter().map(skew).collect()))
}

/// (3) from what a clique of `size` nodes has in excess, `[C]`; 0 for an empty one.
pub(super) fn skew(excess: &[f64], size: usize) -> f64 {
    excess.iter().map(|excess| excess.abs()).sum::<f64>() / size.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_is_the_distance_from_the_labels_of_all_nodes() {
        let groups = vec![vec![0, 1], vec![2], vec![3]];
        let overlay = Overlay::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        let counts = [vec![10, 0], vec![0, 7], vec![4, 0], vec![1, 1]];
        assert_eq!(clique_skew(&overlay, &counts), Ok(None));
        let overlay = overlay.with_groups(groups).unwrap();
        // p = (5/8, 3/8), while the cliques have (1/2, 1/2), (1, 0) and (1/2, 1/2).
        assert_eq!(
            clique_skew(&overlay, &counts),
            Ok(Some(vec![0.25, 0.75, 0.25]))
        );
        assert_eq!(
            clique_skew(&overlay, &counts[1..]).unwrap_err(),
            TopologyError::LabelCounts { found: 3, nodes: 4 }
        );
    }
}
