//! How a network is cut for the processor: runs of layers that go example by example, and layers that take a batch whole.

use crate::blocked::layers::Blocked;
use crate::network::Network;
use crate::network::layer::{Node, Source};
use std::ops::Range;

/// Floats of an activation begin at multiples of this many.
const ALIGNMENT: usize = 16;
/// Floats that the activations of a piece of a batch may take, 64 MiB.
const PIECE_FLOATS: usize = 1 << 24;
/// Examples of a piece where it is not known what activations take: those of a model of the user's own.
const PIECE_OF_OWN: usize = 128;
/// Larger batches are cut into pieces of at most so many examples, their gradients added in order.
const LARGEST_PIECE: usize = 512;

/// Consecutive nodes that are computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) nodes: Range<usize>,
    /// Layers over grids go example by example, so that an example's activations stay in cache from one to the next. The
    /// other stages are one layer over the whole batch.
    pub(crate) by_example: bool,
    /// Floats that the outputs of one example take.
    pub(crate) width: usize,
    /// Where the output of each node begins within them.
    places: Vec<usize>,
    /// Floats that the nodes keep of one example for the backward pass, and where those of each begin.
    pub(crate) kept: usize,
    kept_places: Vec<usize>,
}

/// All stages of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stages {
    pub(crate) stages: Vec<Stage>,
    /// Examples of a piece of a batch.
    pub(crate) piece: usize,
}

impl Stages {
    pub(crate) fn of(network: &Network) -> Self {
        let mut stages: Vec<Stage> = Vec::new();
        for (index, node) in network.nodes().iter().enumerate() {
            let by_example = Blocked::of(&node.layer).by_example().is_some();
            match stages.last_mut() {
                Some(stage) if stage.by_example && by_example => stage.push(index, node),
                _ => {
                    let mut stage = Stage::new(index, by_example);
                    stage.push(index, node);
                    stages.push(stage);
                }
            }
        }
        let later = stages.iter().skip(1).any(|stage| stage.by_example);
        assert!(!later, "layers over grids come first");
        let floats: usize = stages.iter().map(|stage| stage.width + stage.kept).sum();
        let piece = match network.own_model() {
            None => (PIECE_FLOATS / floats.max(1)).clamp(1, LARGEST_PIECE),
            Some(_) => PIECE_OF_OWN,
        };
        Self { stages, piece }
    }

    /// The pieces that a batch of `count` examples is cut into.
    pub(crate) fn pieces(&self, count: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let most = self.piece;
        let firsts = (0..count).step_by(most);
        firsts.map(move |first| first..(first + most).min(count))
    }
}

impl Stage {
    fn new(first: usize, by_example: bool) -> Self {
        Self {
            nodes: first..first,
            by_example,
            width: 0,
            places: Vec::new(),
            kept: 0,
            kept_places: Vec::new(),
        }
    }

    fn push(&mut self, index: usize, node: &Node) {
        self.nodes.end = index + 1;
        self.places.push(self.width);
        self.kept_places.push(self.kept);
        self.kept += Blocked::of(&node.layer).kept();
        // One layer over a whole batch is laid out without gaps.
        self.width += match self.by_example {
            true => node.output.size().next_multiple_of(ALIGNMENT),
            false => node.output.size(),
        };
    }

    /// Where the output of `node` begins within those of one example.
    pub(crate) fn place(&self, node: usize) -> usize {
        self.places[node - self.nodes.start]
    }

    /// Where what `node` keeps begins within what the stage keeps of one example.
    pub(crate) fn kept_place(&self, node: usize) -> usize {
        self.kept_places[node - self.nodes.start]
    }

    /// Where the output that the next stage reads begins.
    pub(crate) fn exit(&self) -> usize {
        self.place(self.nodes.end - 1)
    }

    /// Nodes of the stage that read `node`.
    pub(crate) fn readers(&self, nodes: &[Node], node: usize) -> usize {
        let target = Source::Node(node);
        let reads = |reader: &Node| {
            usize::from(reader.source == target) + usize::from(reader.layer.added() == Some(target))
        };
        nodes[self.nodes.clone()].iter().map(reads).sum()
    }
}
