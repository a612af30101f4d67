//! The GPU of tests.

use super::gpu::Gpu;
use super::memory::download;
use crate::device::request::DeviceRequest;
use crate::network::layer::{Convolution, Dense, Embedding, Grid, GroupNorm, Lstm, Window};
use crate::network::layout::Layout;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::Part;
use crate::stacked::gradients::gradient_write::InputGradient;
use burn::tensor::{Tensor, TensorData};
use burn_cubecl::tensor::CubeTensor;

/// The first adapter. Tests that open it are ignored by default, and fail if there is none.
pub(crate) fn gpu() -> Gpu {
    Gpu::open(DeviceRequest::Wgpu(0)).expect("an adapter")
}

/// Numbers in ±1 that are the same for the same `seed`.
pub(crate) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|index| crate::stack::quantiser::uniform([seed, 17], index) * 2.0 - 1.0)
        .collect()
}

/// Host values as a stack of `rows` rows.
pub(crate) fn stacked(gpu: &Gpu, values: &[f32], rows: usize) -> Tensor<2> {
    Tensor::from_data(
        TensorData::new(values.to_vec(), [rows, values.len() / rows]),
        gpu.device(),
    )
}

/// Fails unless every value is within `tolerance` of its oracle, relative to one or to the oracle if that is larger.
pub(crate) fn expect_close(found: &[f32], oracle: &[f32], tolerance: f32) {
    assert_eq!(found.len(), oracle.len());
    for (index, (found, oracle)) in found.iter().zip(oracle).enumerate() {
        let bound = tolerance * oracle.abs().max(1.0);
        assert!(
            (found - oracle).abs() <= bound,
            "value {index}: {found} but the host has {oracle}"
        );
    }
}

/// A layer that does not begin its row, and the width of the row.
pub(crate) fn layer_of(inputs: usize, outputs: usize) -> (Dense, usize) {
    let mut layout = Layout::default();
    layout.push("before", 3, 5);
    let weight = layout.push("weight", inputs, outputs);
    let bias = layout.push("bias", 1, outputs);
    let range = |block: usize| layout.blocks()[block].range();
    (
        Dense {
            places: 1,
            inputs,
            outputs,
            weight: range(weight),
            bias: Some(range(bias)),
        },
        layout.width(),
    )
}

/// A batch of rows that have different numbers of examples.
pub(crate) struct UnevenBatch {
    pub(crate) counts: Vec<u32>,
    pub(crate) examples: usize,
    pub(crate) first_row: usize,
}

impl UnevenBatch {
    /// Three rows: a full batch, none, and one example.
    pub(crate) fn uneven(examples: usize, first_row: usize) -> Self {
        Self {
            counts: vec![examples as u32, 0, 1],
            examples,
            first_row,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.counts.len()
    }

    pub(crate) fn shape(&self) -> BlockShape {
        BlockShape {
            rows: self.rows(),
            examples: self.examples,
        }
    }

    /// The whole batch, its counts on the device being `counts`.
    pub(crate) fn part<'a>(&self, counts: &'a CubeTensor) -> Part<'a> {
        Part {
            counts,
            first_row: self.first_row,
            rows: self.rows(),
            entry: 0,
            own: true,
            table: self.examples,
            first_example: 0,
            losses: 0,
            examples: self.examples,
        }
    }
}

/// Convolutions on grids and of channels that no vector fits, and widths of rows of the arena: with padding and without,
/// strides that leave places over, windows that are not square, and signals.
pub(crate) fn convolutions() -> Vec<(Convolution, usize)> {
    let grid = |height, width, channels| Grid {
        height,
        width,
        channels,
    };
    let window = |size, stride, padding| Window {
        size,
        stride,
        padding,
    };
    [
        (grid(5, 6, 3), window((3, 3), (1, 1), (1, 1)), 5, true),
        (grid(7, 5, 4), window((3, 3), (2, 2), (1, 1)), 8, false),
        (grid(1, 11, 2), window((1, 3), (1, 2), (0, 1)), 6, true),
        (grid(6, 7, 1), window((5, 5), (1, 1), (2, 2)), 4, true),
        (grid(4, 5, 4), window((1, 1), (2, 2), (0, 0)), 3, false),
        (grid(5, 4, 2), window((2, 3), (3, 2), (0, 2)), 1, true),
        (grid(3, 8, 8), window((5, 5), (1, 1), (2, 2)), 40, true),
        (grid(2, 11, 4), window((1, 9), (1, 1), (0, 4)), 4, false),
        (grid(2, 16, 3), window((2, 5), (1, 2), (1, 1)), 8, true),
        (grid(3, 4, 16), window((1, 1), (1, 1), (0, 0)), 40, true),
    ]
    .into_iter()
    .map(|(input, window, outputs, biased)| convolution_of(input, window, outputs, biased))
    .collect()
}

fn convolution_of(
    input: Grid,
    window: Window,
    outputs: usize,
    biased: bool,
) -> (Convolution, usize) {
    let (height, width) = window.over(&input);
    let (dense, row) = layer_of(window.size.0 * window.size.1 * input.channels, outputs);
    let output = Grid {
        height,
        width,
        channels: outputs,
    };
    let convolution = Convolution {
        input,
        output,
        window,
        weight: dense.weight,
        bias: dense.bias.filter(|_| biased),
    };
    (convolution, row)
}

/// A node to which kernels send a gradient: its output, and its gradient before.
pub(crate) struct SentGradient {
    activations: Vec<f32>,
    before: Vec<f32>,
}

impl SentGradient {
    /// A node that gives `len` numbers.
    pub(crate) fn new(len: usize) -> Self {
        Self::of(numbers(len, 7))
    }

    /// A node that gives `activations`.
    pub(crate) fn of(activations: Vec<f32>) -> Self {
        Self {
            before: numbers(activations.len(), 12),
            activations,
        }
    }

    /// Numbers of the node.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
    }

    /// Compares what `send` leaves with `values`, both when it is added to an earlier gradient and when the node has
    /// ReLU. Examples that a row of `batch` does not have must be left alone.
    pub(crate) fn check(
        &self,
        gpu: &Gpu,
        batch: &UnevenBatch,
        values: &[f32],
        send: impl Fn(&InputGradient<'_>),
    ) {
        let size = self.len() / (batch.rows() * batch.examples);
        let has = |at: usize| {
            let example = at / size;
            example % batch.examples < batch.counts[example / batch.examples] as usize
        };
        let memory = gpu.memory();
        let activations = memory.upload_floats(&self.activations);
        for masked in [true, false] {
            let sum = |(at, value): (usize, &f32)| match (has(at), masked) {
                (false, _) => self.before[at],
                (true, true) if self.activations[at] > 0.0 => 1.25 * value,
                (true, true) => 0.0,
                (true, false) => self.before[at] + value,
            };
            let oracle: Vec<f32> = values.iter().enumerate().map(sum).collect();
            let gradient = memory.upload_floats(&self.before);
            send(&match masked {
                true => InputGradient::masked(&gradient, &activations, 1.25),
                false => InputGradient::added(&gradient, &activations),
            });
            expect_close(&download::<f32>(gradient), &oracle, 3e-5);
        }
    }
}

/// Group normalisations of one place and of many, of one channel a group, of several and of more than a cube has units,
/// and widths of rows.
pub(crate) fn norms() -> [(GroupNorm, usize); 4] {
    [(3, 5, 6, 2), (1, 7, 3, 3), (1, 1, 8, 1), (2, 3, 520, 2)].map(
        |(height, width, channels, groups)| {
            let (dense, row) = layer_of(1, channels);
            let grid = Grid {
                height,
                width,
                channels,
            };
            let norm = GroupNorm {
                grid,
                groups,
                weight: dense.weight,
                bias: dense.bias.unwrap_or_default(),
            };
            (norm, row)
        },
    )
}

/// Embeddings of more symbols than a batch has tokens and of fewer, in vectors of every size, and widths of rows.
pub(crate) fn embeddings() -> [(Embedding, usize); 3] {
    [(5, 8, 7), (200, 3, 4), (2, 1, 11)].map(|(symbols, width, positions)| {
        let (dense, row) = layer_of(symbols, width);
        let embedding = Embedding {
            symbols,
            width,
            positions,
            weight: dense.weight,
        };
        (embedding, row)
    })
}

/// Tokens below `symbols`.
pub(crate) fn tokens(count: usize, symbols: usize) -> Vec<u32> {
    let token = |value: &f32| ((value + 1.0) * 0.5 * symbols as f32) as u32;
    numbers(count, 13)
        .iter()
        .map(|value| token(value).min(symbols as u32 - 1))
        .collect()
}

/// Examples of the tests of [`lstms`]: fewer than a cube takes, as many, and more.
pub(crate) const LSTM_EXAMPLES: [usize; 7] = [3, 3, 3, 3, 13, 10, 3];

/// Recurrent layers of widths that no vector fits, that one does, and of more numbers than a cube has units; and widths of
/// rows.
pub(crate) fn lstms() -> [(Lstm, usize); 7] {
    let sizes = [
        (3, 5, 4),
        (2, 8, 3),
        (1, 6, 1),
        (2, 257, 3),
        (2, 100, 3),
        (3, 256, 4),
        (1, 260, 2),
    ];
    sizes.map(|(inputs, hidden, positions)| {
        let mut layout = Layout::default();
        layout.push("before", 3, 5);
        let mut block = |rows| {
            let block = layout.push("block", rows, 4 * hidden);
            layout.blocks()[block].range()
        };
        let lstm = Lstm {
            inputs,
            hidden,
            positions,
            input_weight: block(inputs),
            hidden_weight: block(hidden),
            bias: block(1),
        };
        (lstm, layout.width())
    })
}
