//! How a model's layers are put together: the nodes of its network, and where their parameters lie in a row.

use super::dropout::LeftOut;
use super::layer::{
    Convolution, Dense, Embedding, Grid, GroupNorm, Layer, Lstm, MaxPool, MeanPool, Node, Source,
    Window,
};
use super::layout::Layout;
use meshfold_data::Input;

/// A network being drawn: every call appends a node that reads the one before, unless it says otherwise.
#[derive(Debug)]
pub(crate) struct Sketch {
    pub(crate) nodes: Vec<Node>,
    pub(crate) layout: Layout,
    input: Grid,
    /// Layers that have parameters.
    named: usize,
    dropping: u32,
}

impl Sketch {
    /// An empty network on examples of `input`.
    pub(crate) fn new(input: &Input) -> Self {
        let input = match input {
            Input::Numbers(shape) => Grid {
                height: shape.height,
                width: shape.width,
                channels: shape.channels,
            },
            Input::Tokens { window } => Grid {
                height: 1,
                width: *window,
                channels: 1,
            },
        };
        Self {
            nodes: Vec::new(),
            layout: Layout::default(),
            input,
            named: 0,
            dropping: 0,
        }
    }

    /// The grid of an example.
    pub(super) fn example(&self) -> Grid {
        self.input
    }

    /// What the last node gives.
    pub(super) fn grid(&self) -> Grid {
        self.nodes.last().map_or(self.input, |node| node.output)
    }

    /// The last node.
    pub(super) fn last(&self) -> Source {
        match self.nodes.len().checked_sub(1) {
            Some(node) => Source::Node(node),
            None => Source::Example,
        }
    }

    /// Appends a layer that reads the last node.
    pub(super) fn push(&mut self, layer: Layer, output: Grid) {
        let source = self.last();
        self.push_of(source, layer, output);
    }

    fn push_of(&mut self, source: Source, layer: Layer, output: Grid) {
        self.nodes.push(Node {
            layer,
            source,
            output,
            relu: false,
            dropout: None,
        });
    }

    /// Has ReLU follow the last node.
    ///
    /// # Panics
    /// If its layer takes none.
    pub(super) fn relu(&mut self) {
        if let Some(node) = self.nodes.last_mut() {
            assert!(node.layer.facts().takes_relu(), "{:?}", node.layer);
            node.relu = true;
        }
    }

    /// Has training steps leave out a `share` of what the last node gives.
    ///
    /// # Panics
    /// If ReLU does not come before: on the backward pass its zeros tell what was left out.
    pub(super) fn drop_out(&mut self, share: f32) {
        if let Some(node) = self.nodes.last_mut() {
            assert!(node.relu, "dropout follows ReLU");
            node.dropout = Some(LeftOut::new(self.dropping, share));
            self.dropping += 1;
        }
    }

    /// Appends a parameter block of the layer being drawn.
    fn block(
        &mut self,
        layer: &str,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> std::ops::Range<usize> {
        let name = format!("{layer}{}.{name}", self.named);
        let block = self.layout.push(name, rows, columns);
        self.layout.blocks()[block].range()
    }

    /// A dense layer over all that the last node gives.
    pub(super) fn dense(&mut self, outputs: usize, biased: bool) {
        self.dense_of(self.grid().size(), outputs, 1, biased);
    }

    /// The same dense layer at each place.
    pub(super) fn dense_at_each_place(&mut self, outputs: usize) {
        let grid = self.grid();
        self.dense_of(grid.channels, outputs, grid.places(), true);
    }

    fn dense_of(&mut self, inputs: usize, outputs: usize, places: usize, biased: bool) {
        let weight = self.block("dense", "weight", inputs, outputs);
        let bias = biased.then(|| self.block("dense", "bias", 1, outputs));
        self.named += 1;
        let dense = Dense {
            inputs,
            outputs,
            places,
            weight,
            bias,
        };
        let output = Grid {
            height: 1,
            width: places,
            channels: outputs,
        };
        self.push(Layer::Dense(dense), output);
    }

    /// A convolution.
    pub(super) fn convolution(&mut self, channels: usize, window: Window, biased: bool) {
        self.convolution_of(self.last(), channels, window, biased);
    }

    /// A convolution of what `source` gives.
    pub(super) fn convolution_of(
        &mut self,
        source: Source,
        channels: usize,
        window: Window,
        biased: bool,
    ) {
        let input = match source {
            Source::Example => self.input,
            Source::Node(node) => self.nodes[node].output,
        };
        let (height, width) = window.over(&input);
        let output = Grid {
            height,
            width,
            channels,
        };
        let inner = window.size.0 * window.size.1 * input.channels;
        let weight = self.block("conv", "weight", inner, channels);
        let bias = biased.then(|| self.block("conv", "bias", 1, channels));
        self.named += 1;
        let convolution = Convolution {
            input,
            output,
            window,
            weight,
            bias,
        };
        self.push_of(source, Layer::Convolution(convolution), output);
    }

    /// Normalises the channels in `groups`.
    pub(super) fn group_norm(&mut self, groups: usize) {
        let grid = self.grid();
        let weight = self.block("norm", "weight", 1, grid.channels);
        let bias = self.block("norm", "bias", 1, grid.channels);
        self.named += 1;
        let norm = GroupNorm {
            grid,
            groups,
            weight,
            bias,
        };
        self.push(Layer::GroupNorm(norm), grid);
    }

    /// The maximum of each window.
    pub(super) fn max_pool(&mut self, window: Window) {
        let input = self.grid();
        let (height, width) = window.over(&input);
        let output = Grid {
            height,
            width,
            channels: input.channels,
        };
        let pool = MaxPool {
            input,
            output,
            window,
        };
        self.push(Layer::MaxPool(pool), output);
    }

    /// The mean of each channel over all places.
    pub(super) fn mean_pool(&mut self) {
        let grid = self.grid();
        self.push(
            Layer::MeanPool(MeanPool { grid }),
            Grid::flat(grid.channels),
        );
    }

    /// A vector of `width` numbers for each token of a text with so many `symbols`.
    pub(super) fn embedding(&mut self, symbols: usize, width: usize) {
        let positions = self.input.width;
        let weight = self.block("embedding", "weight", symbols, width);
        self.named += 1;
        let embedding = Embedding {
            symbols,
            width,
            positions,
            weight,
        };
        let output = Grid {
            height: 1,
            width: positions,
            channels: width,
        };
        self.push(Layer::Embedding(embedding), output);
    }

    /// A layer of long short-term memory.
    pub(super) fn lstm(&mut self, hidden: usize) {
        let grid = self.grid();
        let input_weight = self.block("lstm", "input_weight", grid.channels, 4 * hidden);
        let hidden_weight = self.block("lstm", "hidden_weight", hidden, 4 * hidden);
        let bias = self.block("lstm", "bias", 1, 4 * hidden);
        self.named += 1;
        let lstm = Lstm {
            inputs: grid.channels,
            hidden,
            positions: grid.width,
            input_weight,
            hidden_weight,
            bias,
        };
        let output = Grid {
            channels: hidden,
            ..grid
        };
        self.push(Layer::Lstm(lstm), output);
    }
}
