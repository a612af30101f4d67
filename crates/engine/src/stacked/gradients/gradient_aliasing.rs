//! Which nodes share the gradient buffer of a sum: each summand has the same gradient as the sum, so that a copy may
//! not be needed.

use crate::network::layer::{Node, Source};

impl Node {
    /// Whether it reads what `source` gives.
    pub(crate) fn reads(&self, source: Source) -> bool {
        self.source == source || self.layer.added() == Some(source)
    }
}

/// Whether the gradient of `source` lies in the gradient buffer of the sum, node `sum`. It does if no other reader has
/// written one before, ReLU does not mask it, and the other summand, if in the same buffer, has been processed before
/// the buffer changes.
pub(crate) fn is_handed(nodes: &[Node], sum: usize, source: Source) -> bool {
    let Some(added) = nodes[sum].layer.added() else {
        return false;
    };
    let first = nodes[sum].source;
    if source != first && source != added {
        return false;
    }
    let other = if source == first { added } else { first };
    let last = sum + 1 == nodes.len();
    if last || source == other || !may_share(nodes, sum, source) {
        return false;
    }
    let Source::Node(other_index) = other else {
        return true;
    };
    if !may_share(nodes, sum, other) {
        return true;
    }
    match (
        changed_at(nodes, sum, source),
        changed_at(nodes, sum, other),
    ) {
        (None, _) => true,
        (Some(at), None) => at < other_index,
        (Some(_), Some(_)) => false,
    }
}

/// Whether the sum is the first to send `source` a gradient, and sends it unchanged.
fn may_share(nodes: &[Node], sum: usize, source: Source) -> bool {
    let Source::Node(index) = source else {
        return false;
    };
    let read = |nodes: &[Node]| nodes.iter().any(|node| node.reads(source));
    let masked = nodes[index].relu && !read(&nodes[..sum]);
    !masked && !read(&nodes[sum + 1..])
}

/// The first node in the backward pass that changes the gradient of `source` in the shared buffer: the last other one
/// that reads `source`, or `source` itself if it is a sum, which may hand the buffer on.
fn changed_at(nodes: &[Node], sum: usize, source: Source) -> Option<usize> {
    let other = nodes[..sum].iter().rposition(|node| node.reads(source));
    let adds = |index: usize| nodes[index].layer.added().map(|_| index);
    match source {
        Source::Node(index) => other.or_else(|| adds(index)),
        Source::Example => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::network::layer::{Add, Grid, Last, Layer};
    use crate::network::model::{Model, Resnet};
    use meshfold_data::{Input, Shape};

    fn node(layer: Layer, source: Source, relu: bool) -> Node {
        Node {
            layer,
            source,
            output: Grid::flat(1),
            relu,
            dropout: None,
        }
    }

    fn last() -> Layer {
        Layer::Last(Last {
            grid: Grid::flat(1),
        })
    }

    /// A layer that reads `source`.
    fn plain(source: usize, relu: bool) -> Node {
        node(last(), Source::Node(source), relu)
    }

    fn sum(first: usize, second: usize) -> Node {
        let other = Source::Node(second);
        node(Layer::Add(Add { other }), Source::Node(first), true)
    }

    /// Whether node `sum` shares its gradient buffer with its first and its second summand.
    fn handed(nodes: &[Node], sum: usize) -> [bool; 2] {
        let second = nodes[sum].layer.added().expect("a sum");
        [nodes[sum].source, second].map(|source| is_handed(nodes, sum, source))
    }

    #[test]
    fn a_residual_network_copies_no_gradient() {
        let shape = Shape {
            channels: 3,
            height: 16,
            width: 16,
        };
        let model = Model::Resnet(Resnet {
            depth: 18,
            width: 8,
            groups: 2,
        });
        let network = Network::new(&model, Input::Numbers(shape), 10).unwrap();
        let nodes = network.nodes();
        for (at, node) in nodes.iter().enumerate() {
            let read = |index: &usize| node.reads(Source::Node(*index));
            let handed = |index: &usize| is_handed(nodes, at, Source::Node(*index));
            let sum = node.layer.added().is_some();
            let expected: Vec<usize> = (0..at).filter(|index| sum && read(index)).collect();
            assert_eq!(
                (0..at).filter(handed).collect::<Vec<usize>>(),
                expected,
                "node {at}"
            );
        }
        let sums = nodes.iter().filter(|node| node.layer.added().is_some());
        assert_eq!(sums.count(), 8);
    }

    #[test]
    fn a_gradient_that_others_still_need_is_copied() {
        let first = node(last(), Source::Example, true);
        // Node 1 sends its own gradient to node 0, to which that of the sum would be added while it is read.
        let shared = [first.clone(), plain(0, false), sum(1, 0), plain(2, false)];
        assert_eq!(handed(&shared, 2), [true, false]);
        // ReLU masks what node 1 has.
        let masked = [first.clone(), plain(0, true), sum(1, 0), plain(2, false)];
        assert_eq!(handed(&masked, 2), [false, true]);
        // Node 3 has sent something to node 0 before the sum does.
        let later = [
            first.clone(),
            plain(0, false),
            sum(1, 0),
            plain(0, false),
            sum(2, 3),
            plain(4, false),
        ];
        assert_eq!(handed(&later, 2), [true, false]);
        // The gradient of the last node lies in its output.
        assert_eq!(
            handed(&[first, plain(0, false), sum(1, 0)], 2),
            [false, false]
        );
    }
}
