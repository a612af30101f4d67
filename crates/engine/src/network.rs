//! The network built from a model and the shape of its examples.

mod checks;
pub(crate) mod dropout;
pub(crate) mod host_model;
pub(crate) mod initial;
pub(crate) mod layer;
pub(crate) mod layout;
pub(crate) mod loss;
pub(crate) mod model;
#[cfg(feature = "own-models")]
pub(crate) mod own;
pub(crate) mod own_body;
pub(crate) mod own_models;
pub(crate) mod parameter;
pub(crate) mod precision;
pub(crate) mod sketch;
mod trial;

use crate::error::EngineError;
use crate::stream::{Key, Purpose, stream};
use checks::{check_input, check_nodes};
use dropout::Dropout;
use host_model::HostBody;
use layer::{Layer, Node, Source};
use layout::Layout;
use loss::Loss;
use meshfold_data::{Input, Shape};
use model::Model;
use own_body::OwnBody;
use precision::Precision;
use sketch::Sketch;
use std::sync::Arc;

/// A model fitted to a dataset: what computes the outputs of an example, and the loss.
#[derive(Debug, Clone)]
pub struct Network {
    body: Body,
    layout: Arc<Layout>,
    input: Input,
    classes: usize,
    positions: usize,
    loss: Loss,
    /// Whether training steps use dropout.
    pub(crate) drops_out: bool,
    precision: Precision,
}

/// What computes the outputs of an example.
#[derive(Debug, Clone)]
enum Body {
    /// Layers, each of which reads the example or what an earlier one gives.
    Layers(Arc<[Node]>),
    /// A model of the user's own.
    #[cfg_attr(
        not(feature = "own-models"),
        allow(dead_code, reason = "without burn there is none")
    )]
    Own(Arc<dyn OwnBody>),
    /// A model of the user's own that computes many rows at once in host memory.
    Host(Arc<HostBody>),
}

impl Network {
    /// Builds `model` for examples of `input` in `classes` classes.
    ///
    /// # Errors
    /// [`EngineError::ModelSetting`] if the model does not fit the examples: a layer would have no units or more than 2^24, a recurrent
    /// model more than 256 layers, a window does not fit its grid or may lie beyond it, groups do not divide the channels, the share of
    /// units left out is not in `[0, 1)`, or tokens are given to a model that reads numbers, or other than two classes to a sigmoid.
    /// [`EngineError::OwnModel`] for [`Model::Own`], which [`OwnModels::network`](crate::OwnModels::network) builds.
    pub fn new(model: &Model, input: Input, classes: usize) -> Result<Self, EngineError> {
        let architecture = model.architecture()?;
        check_input(architecture, &input)?;
        architecture.check()?;
        let loss = architecture.loss(classes)?;
        let mut sketch = Sketch::new(&input);
        architecture.draw(&mut sketch, loss.outputs(classes));
        let Sketch { nodes, layout, .. } = sketch;
        check_nodes(&nodes, &input)?;
        let drops_out = nodes.iter().any(|node| node.dropout.is_some());
        let positions = match architecture.judges_every_position() {
            true => input.features(),
            false => 1,
        };
        Ok(Self {
            body: Body::Layers(nodes.into()),
            layout: Arc::new(layout),
            input,
            classes,
            positions,
            loss,
            drops_out,
            precision: Precision::default(),
        })
    }

    /// A model of a user's own, judged by the cross-entropy of one output per class, at one position.
    fn of_body(body: Body, layout: Arc<Layout>, input: Input, classes: usize) -> Self {
        Self {
            body,
            layout,
            input,
            classes,
            positions: 1,
            loss: Loss::CrossEntropy,
            drops_out: false,
            precision: Precision::default(),
        }
    }

    /// This network, with products of operands of `precision`.
    ///
    /// # Errors
    /// [`EngineError::Precision`] for a model of the user's own, whose products are not the engine's.
    pub fn with_precision(self, precision: Precision) -> Result<Self, EngineError> {
        match self.body {
            Body::Own(_) | Body::Host(_) if !precision.is_usual() => Err(EngineError::Precision {
                precision,
                reason: "a model of the user's own computes its products itself",
                remedy: "leave `precision` out, or have the model round what it multiplies",
            }),
            _ => Ok(Self { precision, ..self }),
        }
    }

    /// How precise the operands of its products are.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Builds `model` for examples of `features` numbers in a row.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn of_features(
        model: &Model,
        features: usize,
        classes: usize,
    ) -> Result<Self, EngineError> {
        Self::new(model, Input::Numbers(Shape::flat(features)), classes)
    }

    /// How a row of the stack is laid out.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// What an example is: numbers of some shape, or tokens.
    pub fn input(&self) -> Input {
        self.input
    }

    /// Numbers or tokens of an example.
    pub fn inputs(&self) -> usize {
        self.input.features()
    }

    /// Outputs of the last layer at each judged position.
    pub fn outputs(&self) -> usize {
        self.loss.outputs(self.classes)
    }

    /// Numbers that the last layer reads at each judged position, which represent the example. `None` of a model with one layer, and of one
    /// of the user's own, whose layers are not known.
    pub fn representation(&self) -> Option<usize> {
        match self.nodes().last()? {
            Node {
                layer: Layer::Dense(layer),
                source: Source::Node(_),
                ..
            } => Some(layer.inputs),
            _ => None,
        }
    }

    /// Positions of an example that are judged: 1, or all of a window.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Which units row `row` leaves out in its local step `step`, counted from 0 over the whole run; `None` if the
    /// model leaves none out.
    pub fn dropout(&self, seed: u64, row: u32, step: u64) -> Option<Dropout> {
        self.drops_out.then(|| Dropout::new(seed, row, step))
    }

    /// Floating-point operations of one local step on `batch` examples: two per multiply-accumulate of the forward
    /// product, the weight gradient and, in all layers but those that read the example, the input gradient. A model of the
    /// user's own is counted as if every parameter were used once.
    pub fn flop_per_step(&self, batch: usize) -> f64 {
        let per_example: f64 = match &self.body {
            Body::Layers(nodes) => nodes.iter().map(|node| node.operations() as f64).sum(),
            Body::Own(_) | Body::Host(_) => 6.0 * self.layout.parameters() as f64,
        };
        batch as f64 * per_example
    }

    /// Floating-point operations of judging a model on `examples` examples: those of the forward products alone.
    pub fn flop_of_judging(&self, examples: usize) -> f64 {
        let per_example: f64 = match &self.body {
            Body::Layers(nodes) => nodes
                .iter()
                .map(|node| node.forward_operations() as f64)
                .sum(),
            Body::Own(_) | Body::Host(_) => 2.0 * self.layout.parameters() as f64,
        };
        examples as f64 * per_example
    }

    /// How many numbers all layers together output for one example; for a model of the user's own, its outputs.
    pub fn activations(&self) -> usize {
        match &self.body {
            Body::Layers(nodes) => nodes.iter().map(|node| node.output.size()).sum(),
            Body::Own(_) | Body::Host(_) => self.outputs(),
        }
    }

    /// Whether a step needs the gradient of all parameters at once, before any of them moves: it is clipped to `clip_norm`, a correction
    /// or a pull is added to it if `adds`, or a model of the user's own gives it.
    pub(crate) fn needs_whole_gradient(&self, clip_norm: Option<f32>, adds: bool) -> bool {
        clip_norm.is_some() || adds || self.own_model().is_some()
    }

    /// The layers, each after those that it reads; a model of the user's own has none.
    pub(crate) fn nodes(&self) -> &[Node] {
        match &self.body {
            Body::Layers(nodes) => nodes,
            Body::Own(_) | Body::Host(_) => &[],
        }
    }

    /// The model of the user's own, if it is one.
    pub(crate) fn own_model(&self) -> Option<&dyn OwnBody> {
        match &self.body {
            Body::Layers(_) | Body::Host(_) => None,
            Body::Own(own) => Some(own.as_ref()),
        }
    }

    /// The model that computes many rows at once in host memory, if it is one.
    pub(crate) fn host_model(&self) -> Option<&HostBody> {
        match &self.body {
            Body::Layers(_) | Body::Own(_) => None,
            Body::Host(host) => Some(host.as_ref()),
        }
    }

    /// Whether an example is read with the channels of each place innermost, as convolutions do. Examples are stored
    /// with their channels outermost, as dense layers read them.
    pub(crate) fn reads_channels_last(&self) -> bool {
        let reads = |node: &Node| {
            node.source == Source::Example && matches!(node.layer, Layer::Convolution(_))
        };
        self.nodes().iter().any(reads)
    }

    /// Whether the first layer is a dense one that multiplies pairs of numbers in bfloat16.
    pub(crate) fn begins_with_pairs(&self) -> bool {
        let first = self.nodes().first().map(|node| &node.layer);
        let dense = matches!(first, Some(Layer::Dense(layer)) if layer.places == 1);
        dense && self.precision == Precision::Bf16
    }

    /// Whether its outputs are logits, whose softmax are the probabilities of the classes.
    pub fn is_classifier(&self) -> bool {
        matches!(self.loss, Loss::CrossEntropy | Loss::Sigmoid)
    }

    /// Whether it can read examples of `input`. As many numbers in another shape will do, unless a convolution reads
    /// them.
    pub(crate) fn reads(&self, input: Input) -> bool {
        match (self.input, input) {
            (Input::Numbers(own), Input::Numbers(shape))
                if matches!(self.body, Body::Layers(_)) =>
            {
                own == shape || (own.features() == shape.features() && !self.reads_channels_last())
            }
            (own, input) => own == input,
        }
    }

    pub(crate) fn loss(&self) -> Loss {
        self.loss
    }

    /// Draws one initial model, `[P_pad]`, as PyTorch does: weights and biases of dense layers and convolutions uniform
    /// in ±1/√inputs, those of recurrent layers in ±1/√hidden; normal embeddings; factors of one and offsets of zero. A
    /// model of the user's own says so itself.
    ///
    /// # Errors
    /// Those of a model that computes rows in host memory.
    pub(crate) fn initialise(&self, seed: u64, row: u32) -> Result<Vec<f32>, EngineError> {
        let nodes = match &self.body {
            Body::Layers(nodes) => nodes,
            Body::Own(own) => return Ok(own.initialise(seed, row)),
            Body::Host(host) => return host.initialise(&self.layout, seed, row),
        };
        let mut values = vec![0.0; self.layout.width()];
        let mut named = 0;
        for node in nodes.iter() {
            let key = Key {
                row,
                layer: named,
                ..Key::default()
            };
            let mut rng = stream(seed, Purpose::Initialisation, key);
            let blocks = node.layer.facts().initial();
            named += u32::from(!blocks.is_empty());
            for (initial, block) in blocks {
                initial.draw(&mut values[block], &mut rng);
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests;
