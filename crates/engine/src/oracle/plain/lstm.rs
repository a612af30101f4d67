//! Long short-term memory (LSTM) by loops.

use super::operands::operands;
use crate::network::layer::Lstm;
use crate::network::precision::Precision;

/// One position: gates after their nonlinearities, and the states, `[hidden]` each.
struct Moment {
    /// `σ(i)`
    input: Vec<f64>,
    /// `σ(f)`
    forget: Vec<f64>,
    /// `tanh(g)`
    candidate: Vec<f64>,
    /// `σ(o)`
    output: Vec<f64>,
    /// `c_t`
    cell: Vec<f64>,
    /// `h_t`
    hidden: Vec<f64>,
}

/// `h_t` at every position: `(i, f, g, o) = x_t W + h_{t−1} U + b`, `c_t = σ(f) c_{t−1} + σ(i) tanh(g)`,
/// `h_t = σ(o) tanh(c_t)`, `h_0 = c_0 = 0`.
///
/// # Source
/// Gers, Schmidhuber and Cummins, Learning to forget (2000), with hyperbolic tangents as the cell's squashing
/// functions, as in PyTorch.
pub(super) fn forward(layer: &Lstm, row: &[f64], x: &[f64], precision: Precision) -> Vec<f64> {
    let moments = moments(layer, row, x, precision);
    moments
        .into_iter()
        .flat_map(|moment| moment.hidden)
        .collect()
}

/// Backpropagation through time. From the last position to the first, with `δh_t = ∂L/∂h_t + δz_{t+1} Uᵀ`:
///
/// `δc_t = δh_t σ(o) (1 − tanh² c_t) + δc_{t+1} σ(f_{t+1})`, and the gate gradients `δz_t = (δi, δf, δg, δo)` are
/// `δc_t tanh(g) σ'(i)`, `δc_t c_{t−1} σ'(f)`, `δc_t σ(i) tanh'(g)`, `δh_t tanh(c_t) σ'(o)`. Then
/// `∂L/∂W = Σ_t x_tᵀ δz_t`, `∂L/∂U = Σ_t h_{t−1}ᵀ δz_t`, `∂L/∂b = Σ_t δz_t`, `∂L/∂x_t = δz_t Wᵀ`.
///
/// # Source
/// Greff et al., LSTM: a search space odyssey (2017), section II, without peepholes.
pub(super) fn backward(
    layer: &Lstm,
    row: &[f64],
    x: &[f64],
    slopes: &[f64],
    gradient: &mut [f64],
    precision: Precision,
) -> Vec<f64> {
    let moments = moments(layer, row, x, precision);
    let zeros = vec![0.0; layer.hidden];
    let mut by_input = vec![0.0; x.len()];
    let (mut by_hidden, mut by_cell) = (zeros.clone(), zeros.clone());
    for at in (0..layer.positions).rev() {
        super::accumulate::accumulate(&mut by_hidden, &slopes[at * layer.hidden..][..layer.hidden]);
        let before = at.checked_sub(1).map(|before| &moments[before]);
        let (hidden, cell) =
            before.map_or((&zeros, &zeros), |moment| (&moment.hidden, &moment.cell));
        let by_gates = gate_slopes(&moments[at], cell, &by_hidden, &mut by_cell);
        let multiplied = operands(precision, &by_gates);
        let place = at * layer.inputs..(at + 1) * layer.inputs;
        let below = through(
            &row[layer.input_weight.clone()],
            &operands(precision, &x[place.clone()]),
            &multiplied,
            &mut gradient[layer.input_weight.clone()],
        );
        by_input[place].copy_from_slice(&below);
        by_hidden = through(
            &row[layer.hidden_weight.clone()],
            &operands(precision, hidden),
            &multiplied,
            &mut gradient[layer.hidden_weight.clone()],
        );
        super::accumulate::accumulate(&mut gradient[layer.bias.clone()], &by_gates);
    }
    by_input
}

/// The gradient with respect to the gates `(i, f, g, o)` of one position, `[4 hidden]`, given that with respect to its
/// hidden state. `by_cell` holds what the next position adds to the gradient with respect to the cell; afterwards, what
/// this position adds for the one before.
fn gate_slopes(
    moment: &Moment,
    before: &[f64],
    by_hidden: &[f64],
    by_cell: &mut [f64],
) -> Vec<f64> {
    let hidden = by_hidden.len();
    let mut by_gates = vec![0.0; 4 * hidden];
    for unit in 0..hidden {
        let (input, forget) = (moment.input[unit], moment.forget[unit]);
        let (candidate, output) = (moment.candidate[unit], moment.output[unit]);
        let squashed = moment.cell[unit].tanh();
        let slope = by_cell[unit] + by_hidden[unit] * output * (1.0 - squashed * squashed);
        by_gates[unit] = slope * candidate * input * (1.0 - input);
        by_gates[hidden + unit] = slope * before[unit] * forget * (1.0 - forget);
        by_gates[2 * hidden + unit] = slope * input * (1.0 - candidate * candidate);
        by_gates[3 * hidden + unit] = by_hidden[unit] * squashed * output * (1.0 - output);
        by_cell[unit] = slope * forget;
    }
    by_gates
}

/// `δz wᵀ` for a `weight` `[x, δz]`; adds `xᵀ δz` to its `gradient`.
fn through(weight: &[f64], x: &[f64], by_gates: &[f64], gradient: &mut [f64]) -> Vec<f64> {
    let mut by_input = vec![0.0; x.len()];
    for (i, (value, by_value)) in x.iter().zip(&mut by_input).enumerate() {
        for (j, slope) in by_gates.iter().enumerate() {
            let at = i * by_gates.len() + j;
            gradient[at] += value * slope;
            *by_value += weight[at] * slope;
        }
    }
    by_input
}

/// All positions, in order.
fn moments(layer: &Lstm, row: &[f64], x: &[f64], precision: Precision) -> Vec<Moment> {
    let (mut hidden, mut cell) = (vec![0.0; layer.hidden], vec![0.0; layer.hidden]);
    let mut result = Vec::new();
    for x in x.chunks_exact(layer.inputs) {
        let mut gates = row[layer.bias.clone()].to_vec();
        add_product(
            &mut gates,
            &operands(precision, x),
            &row[layer.input_weight.clone()],
        );
        add_product(
            &mut gates,
            &operands(precision, &hidden),
            &row[layer.hidden_weight.clone()],
        );
        let moment = moment(&gates, &cell);
        hidden.clone_from(&moment.hidden);
        cell.clone_from(&moment.cell);
        result.push(moment);
    }
    result
}

/// `to += x w`.
fn add_product(to: &mut [f64], x: &[f64], weight: &[f64]) {
    for (value, weights) in x.iter().zip(weight.chunks_exact(to.len())) {
        for (to, weight) in to.iter_mut().zip(weights) {
            *to += value * weight;
        }
    }
}

/// The position with the gates `(i, f, g, o)`, `[4 hidden]`, if the position before has the cell `before`.
fn moment(gates: &[f64], before: &[f64]) -> Moment {
    let hidden = before.len();
    let sigmoid = |value: &f64| 1.0 / (1.0 + (-value).exp());
    let gate = |number: usize| gates[number * hidden..][..hidden].iter();
    let input: Vec<f64> = gate(0).map(sigmoid).collect();
    let forget: Vec<f64> = gate(1).map(sigmoid).collect();
    let candidate: Vec<f64> = gate(2).map(|value| value.tanh()).collect();
    let output: Vec<f64> = gate(3).map(sigmoid).collect();
    let cell: Vec<f64> = (0..hidden)
        .map(|unit| forget[unit] * before[unit] + input[unit] * candidate[unit])
        .collect();
    let visible = output
        .iter()
        .zip(&cell)
        .map(|(output, cell)| output * cell.tanh());
    Moment {
        hidden: visible.collect(),
        input,
        forget,
        candidate,
        output,
        cell,
    }
}
