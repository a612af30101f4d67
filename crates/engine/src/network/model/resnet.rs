//! `resnet`: a residual network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, Sketch, Window};
use crate::error::EngineError;
use crate::network::checks::{expect_units, refuse};
use crate::network::layer::{Add, Layer};

/// Parameters of [`Model::Resnet`](super::Model::Resnet).
///
/// A convolution of 3 × 3 with normalisation and ReLU, then four stages of residual blocks, each stage after the first with twice the
/// channels on half the grid, then the mean over the grid and one dense layer. A block is a convolution of 3 × 3, normalisation, ReLU, a
/// second convolution of 3 × 3 and normalisation; then its input is added, and ReLU follows the sum. The shortcut adds the input as it is; in
/// the first block of the later stages, where sizes change, it is a convolution of 1 × 1 with stride 2 and normalisation, and the first
/// convolution of the block has stride 2, too. Normalisation is by groups. Convolutions have no bias, and a border that keeps the
/// grid. Signals (of height 1) have windows of 1 × 3 in place of 3 × 3, and strides along their length alone.
///
/// # Source
/// He et al., Deep residual learning for image recognition (2016), in the form for small images: no maximum and no stride
/// before the first stage. Wu and He, Group normalization (2018).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resnet {
    /// Layers: 10 has one block per stage, 18 has two.
    pub depth: usize,
    /// Channels of the first stage.
    pub width: usize,
    /// Groups that channels are normalised in.
    pub groups: usize,
}

impl Default for Resnet {
    fn default() -> Self {
        Self {
            depth: 18,
            width: 64,
            groups: 32,
        }
    }
}

impl Resnet {
    /// Blocks of each of the four stages, which have two layers each: the first convolution and the dense layer are the
    /// other two.
    fn blocks_per_stage(&self) -> usize {
        self.depth.saturating_sub(2) / 8
    }
}

impl Architecture for Resnet {
    fn check(&self) -> Result<(), EngineError> {
        if ![10, 18].contains(&self.depth) {
            return refuse("resnet depth", "depth", self.depth.to_string(), "10 or 18");
        }
        expect_units(self.width, "width")
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        let first = window(sketch, 3, 1);
        sketch.convolution(self.width, first, false);
        sketch.group_norm(self.groups);
        sketch.relu();
        for stage in 0..4 {
            for block in 0..self.blocks_per_stage() {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                draw_block(sketch, self.width << stage, stride, self.groups);
            }
        }
        sketch.mean_pool();
        sketch.dense(outputs, true);
    }
}

/// Draws two convolutions of 3 × 3 around which the input is carried; a convolution of 1 × 1 carries it where its shape
/// changes.
fn draw_block(sketch: &mut Sketch, channels: usize, stride: usize, groups: usize) {
    let [first, second, carried] =
        [(3, stride), (3, 1), (1, stride)].map(|(size, stride)| window(sketch, size, stride));
    let (input, grid) = (sketch.last(), sketch.grid());
    sketch.convolution(channels, first, false);
    sketch.group_norm(groups);
    sketch.relu();
    sketch.convolution(channels, second, false);
    sketch.group_norm(groups);
    let inner = sketch.last();
    if stride == 1 && grid.channels == channels {
        sketch.push(Layer::Add(Add { other: input }), sketch.grid());
    } else {
        sketch.convolution_of(input, channels, carried, false);
        sketch.group_norm(groups);
        sketch.push(Layer::Add(Add { other: inner }), sketch.grid());
    }
    sketch.relu();
}

/// A window of `size` along both sides of an image, or along the one side of a signal.
fn window(sketch: &Sketch, size: usize, stride: usize) -> Window {
    match sketch.example().height {
        1 => Window {
            size: (1, size),
            stride: (1, stride),
            padding: (0, size / 2),
        },
        _ => Window::square(size, stride, size / 2),
    }
}
