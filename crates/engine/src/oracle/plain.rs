//! Loss and gradient by loops in double precision, example by example and layer by layer.

mod accumulate;
mod convolution;
mod cost;
mod covered;
mod dense;
mod embedding;
mod group_norm;
mod lstm;
mod max_pool;
mod mean_pool;
mod operands;

use super::channels::as_read;
use crate::network::Network;
use crate::network::dropout::Dropout;
use crate::network::layer::{Layer, Node, Source};
use crate::network::precision::Precision;
use accumulate::{accumulate, accumulate_places};
use operands::{operands, row_of_operands};
use std::borrow::Cow;

/// Mean loss and its gradient `[P_pad]` for one model `row` `[P_pad]` on examples `x` `[B, D]` with `targets` `[B, T]`.
///
/// Loops in f64; the padding of the gradient is zero. The mean is over all judged positions of all examples.
pub fn plain(network: &Network, row: &[f64], x: &[f64], targets: &[u16]) -> (f64, Vec<f64>) {
    plain_with_dropout(network, row, x, targets, None)
}

/// As [`plain`], for a training step with the given `dropout`.
pub fn plain_with_dropout(
    network: &Network,
    row: &[f64],
    x: &[f64],
    targets: &[u16],
    dropout: Option<&Dropout>,
) -> (f64, Vec<f64>) {
    let mut loss = 0.0;
    let scale = 1.0 / targets.len() as f64;
    let mut targets = targets.chunks_exact(network.positions());
    let gradient = each_example(network, row, x, dropout, |_, outputs| {
        let targets = targets.next().unwrap_or_default();
        let (cost, slopes) = cost::judge(network.loss(), outputs, targets);
        loss += cost * scale;
        let slopes = slopes.into_iter().map(|slope| slope * scale);
        [Vec::new(), slopes.collect()]
    });
    (loss, gradient)
}

/// The outputs `[B, T, C]` of one model `row` `[P_pad]` for examples `x` `[B, D]`, in a training step if there is `dropout`.
pub fn plain_outputs(
    network: &Network,
    row: &[f64],
    x: &[f64],
    dropout: Option<&Dropout>,
) -> Vec<f64> {
    let [_, outputs] = plain_forward(network, row, x, dropout);
    outputs
}

/// The representations `[B, T, H]` of examples `x` `[B, D]` by one model `row` `[P_pad]`: what its last layer reads, in a training step if
/// there is `dropout`.
pub fn plain_representations(
    network: &Network,
    row: &[f64],
    x: &[f64],
    dropout: Option<&Dropout>,
) -> Vec<f64> {
    let [representations, _] = plain_forward(network, row, x, dropout);
    representations
}

/// The representations and the outputs of all examples.
fn plain_forward(
    network: &Network,
    row: &[f64],
    x: &[f64],
    dropout: Option<&Dropout>,
) -> [Vec<f64>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    each_example(network, row, x, dropout, |representations, outputs| {
        all[0].extend_from_slice(representations);
        all[1].extend_from_slice(outputs);
        [Vec::new(), vec![0.0; outputs.len()]]
    });
    all
}

/// The gradient `[P_pad]` of the sum of `slopes` `[B, T, C]` times [outputs](plain_outputs) and of those by [representations](plain_representations),
/// `[B, T, H]`, or none, times these.
pub fn plain_pull_back(
    network: &Network,
    row: &[f64],
    x: &[f64],
    slopes: &[f64],
    by_representations: &[f64],
    dropout: Option<&Dropout>,
) -> Vec<f64> {
    let (mut slopes, mut more) = (slopes.iter().copied(), by_representations.iter().copied());
    each_example(network, row, x, dropout, |representations, outputs| {
        let more = more.by_ref().take(representations.len()).collect();
        [more, slopes.by_ref().take(outputs.len()).collect()]
    })
}

/// Runs every example forth, and back from what `slopes` makes of its representations and outputs: the gradient by the first, empty if
/// there is none, and by the second. Returns the sum of the gradients.
fn each_example(
    network: &Network,
    row: &[f64],
    x: &[f64],
    dropout: Option<&Dropout>,
    mut slopes: impl FnMut(&[f64], &[f64]) -> [Vec<f64>; 2],
) -> Vec<f64> {
    let mut gradient = vec![0.0; row.len()];
    let (x, row) = (as_read(network, x), row_of_operands(network, row));
    for (example, x) in x.chunks_exact(network.inputs()).enumerate() {
        let pass = Pass {
            nodes: network.nodes(),
            precision: network.precision(),
            row: &row,
            x,
            dropout,
            example,
        };
        let outputs = pass.forward();
        let representations = match network.nodes().last() {
            Some(last) => pass.read(last.source, &outputs),
            None => x,
        };
        let slopes = slopes(representations, outputs.last().map_or(x, Vec::as_slice));
        pass.backward(&outputs, slopes, &mut gradient);
    }
    gradient
}

/// One example on its way through the layers of one model.
struct Pass<'a> {
    nodes: &'a [Node],
    precision: Precision,
    /// The parameters, weights as operands.
    row: &'a [f64],
    x: &'a [f64],
    dropout: Option<&'a Dropout>,
    /// Place of the example in its batch.
    example: usize,
}

impl Pass<'_> {
    /// The output of every node, after ReLU and dropout.
    fn forward(&self) -> Vec<Vec<f64>> {
        let mut outputs: Vec<Vec<f64>> = Vec::new();
        for node in self.nodes {
            let mut output = self.apply(node, &outputs);
            for (unit, value) in output.iter_mut().enumerate() {
                if node.relu {
                    *value = value.max(0.0);
                }
                *value *= self.factor(node, unit);
            }
            outputs.push(output);
        }
        outputs
    }

    /// The output of the layer of `node`, before ReLU and dropout.
    fn apply(&self, node: &Node, outputs: &[Vec<f64>]) -> Vec<f64> {
        let x = self.read(node.source, outputs);
        match &node.layer {
            Layer::Dense(layer) => dense::forward(layer, self.row, &self.operands(x)),
            Layer::Convolution(layer) => convolution::forward(layer, self.row, &self.operands(x)),
            Layer::GroupNorm(layer) => group_norm::forward(layer, self.row, x),
            Layer::MaxPool(layer) => max_pool::forward(layer, x),
            Layer::MeanPool(pool) => mean_pool::forward(&pool.grid, x),
            Layer::Add(add) => {
                let pairs = x.iter().zip(self.read(add.other, outputs));
                pairs.map(|(one, other)| one + other).collect()
            }
            Layer::Embedding(layer) => embedding::forward(layer, self.row, x),
            Layer::Lstm(layer) => lstm::forward(layer, self.row, x, self.precision),
            Layer::Last(last) => x[x.len() - last.grid.channels..].to_vec(),
        }
    }

    /// Backpropagates the gradients with respect to what the last node reads, `more`, and to its output, `slopes`. Adds the gradient with
    /// respect to the parameters to `gradient`.
    fn backward(&self, outputs: &[Vec<f64>], [more, slopes]: [Vec<f64>; 2], gradient: &mut [f64]) {
        let mut by_output: Vec<Vec<f64>> = outputs.iter().map(|y| vec![0.0; y.len()]).collect();
        if let Some(last) = by_output.last_mut() {
            *last = slopes;
        }
        if let Some(Source::Node(hidden)) = self.nodes.last().map(|last| last.source) {
            accumulate(&mut by_output[hidden], &more);
        }
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let mut slopes = std::mem::take(&mut by_output[index]);
            for (unit, (slope, value)) in slopes.iter_mut().zip(&outputs[index]).enumerate() {
                // The slope of ReLU at zero is taken as zero.
                if node.relu && *value <= 0.0 {
                    *slope = 0.0;
                }
                *slope *= self.factor(node, unit);
            }
            if let Some(Source::Node(other)) = node.layer.added() {
                accumulate(&mut by_output[other], &slopes);
            }
            let x = self.read(node.source, outputs);
            let by_input = self.apply_backward(node, x, &slopes, gradient);
            if let Source::Node(source) = node.source {
                accumulate(&mut by_output[source], &by_input);
            }
        }
    }

    /// The gradient with respect to the input `x` of `node`, given `slopes`, that with respect to its layer's output.
    /// Adds the gradient with respect to its parameters to `gradient`.
    fn apply_backward(
        &self,
        node: &Node,
        x: &[f64],
        slopes: &[f64],
        gradient: &mut [f64],
    ) -> Vec<f64> {
        match &node.layer {
            Layer::Dense(layer) => {
                let of_bias = layer.bias.clone().unwrap_or_default();
                accumulate_places(&mut gradient[of_bias], slopes);
                let (x, slopes) = (self.operands(x), self.operands(slopes));
                dense::backward(layer, self.row, &x, &slopes, gradient)
            }
            Layer::Convolution(layer) => {
                let of_bias = layer.bias.clone().unwrap_or_default();
                accumulate_places(&mut gradient[of_bias], slopes);
                let (x, slopes) = (self.operands(x), self.operands(slopes));
                convolution::backward(layer, self.row, &x, &slopes, gradient)
            }
            Layer::GroupNorm(layer) => group_norm::backward(layer, self.row, x, slopes, gradient),
            Layer::MaxPool(layer) => max_pool::backward(layer, x, slopes),
            Layer::MeanPool(pool) => mean_pool::backward(&pool.grid, slopes),
            Layer::Add(_) => slopes.to_vec(),
            Layer::Embedding(layer) => embedding::backward(layer, x, slopes, gradient),
            Layer::Lstm(layer) => {
                lstm::backward(layer, self.row, x, slopes, gradient, self.precision)
            }
            Layer::Last(last) => {
                let mut by_input = vec![0.0; x.len()];
                by_input[x.len() - last.grid.channels..].copy_from_slice(slopes);
                by_input
            }
        }
    }

    /// `values` as operands of a product: rounded as the network's precision says.
    fn operands<'a>(&self, values: &'a [f64]) -> Cow<'a, [f64]> {
        operands(self.precision, values)
    }

    fn read<'a>(&'a self, source: Source, outputs: &'a [Vec<f64>]) -> &'a [f64] {
        match source {
            Source::Example => self.x,
            Source::Node(node) => &outputs[node],
        }
    }

    /// The factor of output `unit` of `node` in training, due to dropout.
    fn factor(&self, node: &Node, unit: usize) -> f64 {
        match (self.dropout, node.dropout) {
            (Some(dropout), Some(left_out)) => {
                let element = self.example * node.output.size() + unit;
                f64::from(dropout.factor(left_out, element as u32))
            }
            _ => 1.0,
        }
    }
}
