//! How the labels of each node are distributed.

use crate::{Nodes, TopologyError};

/// The label distribution of every node, `[N, C]`: p_i(y), the share of label y among the examples of node i.
#[derive(Clone, Debug)]
pub(super) struct LabelDistributions {
    classes: usize,
    shares: Vec<f64>,
    examples: Vec<f64>,
}

impl LabelDistributions {
    /// Divides the counts of each node by their sum.
    ///
    /// # Errors
    /// [`TopologyError::LabelsUnknown`] without counts, [`TopologyError::LabelCounts`] or [`TopologyError::LabelClasses`]
    /// unless they are `[N, C]`, [`TopologyError::NoLabels`] for a node whose counts are all 0.
    pub(super) fn new(nodes: Nodes<'_>) -> Result<Self, TopologyError> {
        let found = nodes.label_counts.len();
        if found == 0 {
            return Err(TopologyError::LabelsUnknown);
        }
        if found != nodes.count {
            return Err(TopologyError::LabelCounts {
                found,
                nodes: nodes.count,
            });
        }
        let classes = nodes.label_counts[0].len();
        let mut shares = Vec::with_capacity(found * classes);
        let mut examples_of = Vec::with_capacity(found);
        for (node, counts) in nodes.label_counts.iter().enumerate() {
            if counts.len() != classes {
                return Err(TopologyError::LabelClasses {
                    node,
                    found: counts.len(),
                    classes,
                });
            }
            let examples: f64 = counts.iter().map(|&count| count as f64).sum();
            if examples == 0.0 {
                return Err(TopologyError::NoLabels { node });
            }
            shares.extend(counts.iter().map(|&count| count as f64 / examples));
            examples_of.push(examples);
        }
        Ok(Self {
            classes,
            shares,
            examples: examples_of,
        })
    }

    /// p_i of one node, `[C]`.
    pub(super) fn of(&self, node: u32) -> &[f64] {
        let start = node as usize * self.classes;
        &self.shares[start..start + self.classes]
    }

    /// m_i, the number of examples, and p_i, to be changed, of every node in order.
    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = (f64, &mut [f64])> {
        let shares = self.shares.chunks_exact_mut(self.classes);
        self.examples.iter().copied().zip(shares)
    }

    /// p: the unweighted mean over all nodes, `[C]`.
    pub(super) fn global(&self) -> Vec<f64> {
        let nodes = self.examples.len() as u32;
        let mut mean = self.sum(0..nodes);
        mean.iter_mut().for_each(|share| *share /= f64::from(nodes));
        mean
    }

    /// The sum of p_i over some nodes less `p` for each of them, `[C]`: |C| (p_C − p).
    pub(super) fn excess(&self, clique: &[u32], global: &[f64]) -> Vec<f64> {
        let mut excess = self.sum(clique.iter().copied());
        for (excess, share) in excess.iter_mut().zip(global) {
            *excess -= clique.len() as f64 * share;
        }
        excess
    }

    fn sum(&self, nodes: impl Iterator<Item = u32>) -> Vec<f64> {
        let mut sum = vec![0.0; self.classes];
        for node in nodes {
            for (sum, share) in sum.iter_mut().zip(self.of(node)) {
                *sum += share;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_do_not_weigh_nodes_by_their_examples() {
        let label_counts = [vec![300, 100], vec![0, 2]];
        let labels = LabelDistributions::new(Nodes {
            count: 2,
            label_counts: &label_counts,
        })
        .unwrap();
        assert_eq!(labels.of(0), [0.75, 0.25]);
        assert_eq!(labels.global(), [0.375, 0.625]);
        assert_eq!(labels.excess(&[1], &labels.global()), [-0.375, 0.375]);
    }

    #[test]
    fn labels_that_do_not_fit_are_refused() {
        let message = |count, label_counts: &[Vec<u64>]| {
            LabelDistributions::new(Nodes {
                count,
                label_counts,
            })
            .unwrap_err()
            .to_string()
        };
        assert_eq!(
            message(2, &[]),
            "d_cliques: the labels of the nodes are not known; cliques are formed by them, so it needs nodes that hold labelled data"
        );
        assert_eq!(
            message(3, &[vec![1], vec![1]]),
            "label counts: 2 rows are given for 3 nodes"
        );
        assert_eq!(
            message(2, &[vec![1, 2], vec![1]]),
            "label counts: node 1 has 1 labels, the nodes before it have 2"
        );
        let no_examples =
            "label counts: node 1 holds no examples, so its labels have no distribution";
        assert_eq!(message(2, &[vec![1, 2], vec![0, 0]]), no_examples);
        assert!(message(1, &[vec![]]).contains("node 0 holds no examples"));
    }
}
