//! From a model's name to the nodes of its network.

use super::dropout::LeftOut;
use super::layer::{
    Add, Convolution, Dense, Embedding, Grid, GroupNorm, Last, Layer, Lstm, MaxPool, MeanPool,
    Node, Source, Window,
};
use super::layout::Layout;
use super::model::{CharLstm, GnLenet, Model, NormPlace, Resnet, WordLstm};
use meshfold_data::Input;

/// A network being drawn: every call appends a node that reads the one before.
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

    /// Draws `model` with `outputs` outputs for each judged position of examples in `classes` classes.
    pub(crate) fn draw(&mut self, model: &Model, classes: usize, outputs: usize) {
        match model {
            Model::Linear(linear) => self.dense(outputs, linear.bias),
            Model::Logistic | Model::BinaryLogistic => self.dense(outputs, true),
            Model::Mlp(_) | Model::Dnn8(_) => self.perceptron(model, outputs),
            Model::GnLenet(lenet) => self.gn_lenet(lenet, outputs),
            Model::CnnFemnist => self.two_convolutions(2048, outputs),
            Model::CnnCifar => self.two_convolutions(512, outputs),
            Model::CnnEmnist => self.cnn_emnist(outputs),
            Model::Lenet => self.lenet(outputs),
            Model::Resnet(resnet) => self.resnet(resnet, outputs),
            Model::CharLstm(CharLstm {
                embedding,
                hidden,
                layers,
                loss,
            })
            | Model::WordLstm(WordLstm {
                embedding,
                hidden,
                layers,
                loss,
            }) => {
                self.embedding(classes, *embedding);
                self.recurrent(*layers, *hidden, loss.judges_every_position());
                self.dense_at_each_place(classes);
            }
            Model::Own(_) => unreachable!("models of a user's own have no layers to draw"),
        }
    }

    fn perceptron(&mut self, model: &Model, outputs: usize) {
        for units in model.hidden() {
            self.dense(*units, true);
            self.relu();
            if model.dropout() > 0.0 {
                self.drop_out(model.dropout());
            }
        }
        self.dense(outputs, true);
    }

    /// Three convolutions of 5 × 5, each normalised in two groups and halved by a maximum of 3 × 3.
    fn gn_lenet(&mut self, lenet: &GnLenet, outputs: usize) {
        for (layer, channels) in [32, 32, 64].into_iter().enumerate() {
            self.convolution(channels, square(5, 1, 2), true);
            let pool = square(3, 2, lenet.pool_padding);
            match lenet.norm {
                NormPlace::AfterPool if layer == 0 => {
                    self.max_pool(pool);
                    self.group_norm(2);
                    self.relu();
                }
                NormPlace::AfterPool => {
                    self.group_norm(2);
                    self.max_pool(pool);
                    self.relu();
                }
                NormPlace::BeforeRelu => {
                    self.group_norm(2);
                    self.relu();
                    self.max_pool(pool);
                }
            }
        }
        self.dense(outputs, true);
    }

    fn two_convolutions(&mut self, hidden: usize, outputs: usize) {
        for channels in [32, 64] {
            self.convolution(channels, square(5, 1, 2), true);
            self.relu();
            self.max_pool(square(2, 2, 0));
        }
        self.dense(hidden, true);
        self.relu();
        self.dense(outputs, true);
    }

    /// ReLU follows the maximum, which comes to the same as a ReLU before it.
    fn cnn_emnist(&mut self, outputs: usize) {
        self.convolution(32, square(3, 1, 0), true);
        self.relu();
        self.convolution(64, square(3, 1, 0), true);
        self.max_pool(square(2, 2, 0));
        self.relu();
        self.drop_out(0.25);
        self.dense(128, true);
        self.relu();
        self.drop_out(0.5);
        self.dense(outputs, true);
    }

    fn lenet(&mut self, outputs: usize) {
        for channels in [6, 16] {
            self.convolution(channels, square(5, 1, 0), true);
            self.max_pool(square(2, 2, 0));
            self.relu();
        }
        for units in [120, 84] {
            self.dense(units, true);
            self.relu();
        }
        self.dense(outputs, true);
    }

    fn resnet(&mut self, resnet: &Resnet, outputs: usize) {
        self.convolution(resnet.width, self.residual_window(3, 1), false);
        self.group_norm(resnet.groups);
        self.relu();
        for stage in 0..4 {
            for block in 0..resnet.blocks_per_stage() {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                self.residual(resnet.width << stage, stride, resnet.groups);
            }
        }
        self.mean_pool();
        self.dense(outputs, true);
    }

    /// Two convolutions of 3 × 3 around which the input is carried; a convolution of 1 × 1 carries it where its shape
    /// changes.
    fn residual(&mut self, channels: usize, stride: usize, groups: usize) {
        let (input, grid) = (self.last(), self.grid());
        self.convolution(channels, self.residual_window(3, stride), false);
        self.group_norm(groups);
        self.relu();
        self.convolution(channels, self.residual_window(3, 1), false);
        self.group_norm(groups);
        let inner = self.last();
        if stride == 1 && grid.channels == channels {
            self.push(Layer::Add(Add { other: input }), self.grid());
        } else {
            self.convolution_of(input, channels, self.residual_window(1, stride), false);
            self.group_norm(groups);
            self.push(Layer::Add(Add { other: inner }), self.grid());
        }
        self.relu();
    }

    /// A window of `size` along both sides of an image, or along the one side of a signal.
    fn residual_window(&self, size: usize, stride: usize) -> Window {
        match self.input.height {
            1 => Window {
                size: (1, size),
                stride: (1, stride),
                padding: (0, size / 2),
            },
            _ => square(size, stride, size / 2),
        }
    }

    fn recurrent(&mut self, layers: usize, hidden: usize, every_position: bool) {
        for _ in 0..layers {
            self.lstm(hidden);
        }
        if !every_position {
            let grid = self.grid();
            self.push(Layer::Last(Last { grid }), Grid::flat(grid.channels));
        }
    }

    /// What the last node gives.
    fn grid(&self) -> Grid {
        self.nodes.last().map_or(self.input, |node| node.output)
    }

    /// The last node.
    fn last(&self) -> Source {
        match self.nodes.len().checked_sub(1) {
            Some(node) => Source::Node(node),
            None => Source::Example,
        }
    }

    fn push(&mut self, layer: Layer, output: Grid) {
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
    fn relu(&mut self) {
        if let Some(node) = self.nodes.last_mut() {
            assert!(node.layer.facts().takes_relu(), "{:?}", node.layer);
            node.relu = true;
        }
    }

    /// Has training steps leave out a `share` of what the last node gives.
    ///
    /// # Panics
    /// If ReLU does not come before: on the backward pass its zeros tell what was left out.
    fn drop_out(&mut self, share: f32) {
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

    fn dense(&mut self, outputs: usize, biased: bool) {
        self.dense_of(self.grid().size(), outputs, 1, biased);
    }

    fn dense_at_each_place(&mut self, outputs: usize) {
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

    fn convolution(&mut self, channels: usize, window: Window, biased: bool) {
        self.convolution_of(self.last(), channels, window, biased);
    }

    fn convolution_of(&mut self, source: Source, channels: usize, window: Window, biased: bool) {
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

    fn group_norm(&mut self, groups: usize) {
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

    fn max_pool(&mut self, window: Window) {
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

    fn mean_pool(&mut self) {
        let grid = self.grid();
        self.push(
            Layer::MeanPool(MeanPool { grid }),
            Grid::flat(grid.channels),
        );
    }

    fn embedding(&mut self, symbols: usize, width: usize) {
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

    fn lstm(&mut self, hidden: usize) {
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

/// A square window.
fn square(size: usize, stride: usize, padding: usize) -> Window {
    Window {
        size: (size, size),
        stride: (stride, stride),
        padding: (padding, padding),
    }
}
