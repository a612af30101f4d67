//! Group normalisation of one example.

use crate::layer::{GroupNorm, NORM_EPSILON};

/// Sum over a group's channels of what was added up channel by channel.
fn of_group(sums: &[f32], channels: usize, group: usize) -> f64 {
    let sums = &sums[group * channels..][..channels];
    sums.iter().map(|sum| f64::from(*sum)).sum()
}

/// Writes the normalised example; keeps mean and inverse deviation of every group.
#[inline(always)]
pub(super) fn forward(
    layer: &GroupNorm,
    weights: &[f32],
    x: &[f32],
    out: &mut [f32],
    kept: &mut [f32],
) {
    let (all, groups) = (layer.grid.channels, layer.groups);
    let channels = all / groups;
    let count = (layer.grid.places() * channels) as f64;
    let (mut sums, mut means) = (vec![0f32; all], vec![0f32; all]);
    for place in x.chunks_exact(all) {
        sums.iter_mut().zip(place).for_each(|(sum, x)| *sum += x);
    }
    for group in 0..groups {
        let mean = (of_group(&sums, channels, group) / count) as f32;
        means[group * channels..][..channels].fill(mean);
        kept[2 * group] = mean;
    }
    sums.fill(0.0);
    for place in x.chunks_exact(all) {
        for ((sum, x), mean) in sums.iter_mut().zip(place).zip(&means) {
            *sum += (x - mean) * (x - mean);
        }
    }
    let (factor, offset) = (&weights[layer.weight.clone()], &weights[layer.bias.clone()]);
    // y = x · slope + shift, both per channel.
    let (mut slopes, mut shifts) = (sums.clone(), means.clone());
    for group in 0..groups {
        let variance = of_group(&sums, channels, group) / count;
        let inverse = (1.0 / (variance + NORM_EPSILON).sqrt()) as f32;
        kept[2 * group + 1] = inverse;
        for channel in group * channels..(group + 1) * channels {
            slopes[channel] = inverse * factor[channel];
            shifts[channel] = offset[channel] - means[channel] * slopes[channel];
        }
    }
    for (out, x) in out.chunks_exact_mut(all).zip(x.chunks_exact(all)) {
        for (((out, x), slope), shift) in out.iter_mut().zip(x).zip(&slopes).zip(&shifts) {
            *out = x * slope + shift;
        }
    }
}

/// Mean and inverse deviation of every channel's group.
#[inline(always)]
fn spread(layer: &GroupNorm, kept: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let channels = layer.grid.channels / layer.groups;
    let of = |which: usize| {
        let group = |channel: usize| kept[2 * (channel / channels) + which];
        (0..layer.grid.channels).map(group).collect()
    };
    (of(0), of(1))
}

/// The gradient by the input, added to what `below` holds if `add`: with `x̂` the normalised input and `g = d · factor`,
/// `inverse · (g − mean(g) − x̂ · mean(g · x̂))` over each group.
#[inline(always)]
pub(super) fn backward(
    layer: &GroupNorm,
    weights: &[f32],
    (x, kept): (&[f32], &[f32]),
    d: &[f32],
    (below, add): (&mut [f32], bool),
) {
    let (all, groups) = (layer.grid.channels, layer.groups);
    let channels = all / groups;
    let count = (layer.grid.places() * channels) as f64;
    let (means, inverses) = spread(layer, kept);
    let factor = &weights[layer.weight.clone()];
    let (mut plain, mut crossed) = (vec![0f32; all], vec![0f32; all]);
    for (x, d) in x.chunks_exact(all).zip(d.chunks_exact(all)) {
        let sums = plain.iter_mut().zip(&mut crossed);
        for ((((plain, crossed), x), d), mean) in sums.zip(x).zip(d).zip(&means) {
            *plain += d;
            *crossed += d * (x - mean);
        }
    }
    for channel in 0..all {
        plain[channel] *= factor[channel];
        crossed[channel] *= factor[channel] * inverses[channel];
    }
    // below = d · slope + x · tilt + shift, all per channel.
    let (mut tilts, mut shifts, mut slopes) = (vec![0f32; all], vec![0f32; all], vec![0f32; all]);
    for group in 0..groups {
        let mean = (of_group(&plain, channels, group) / count) as f32;
        let along = (of_group(&crossed, channels, group) / count) as f32;
        for channel in group * channels..(group + 1) * channels {
            let inverse = inverses[channel];
            slopes[channel] = inverse * factor[channel];
            tilts[channel] = -inverse * inverse * along;
            shifts[channel] = -inverse * mean - means[channel] * tilts[channel];
        }
    }
    let places = below
        .chunks_exact_mut(all)
        .zip(x.chunks_exact(all))
        .zip(d.chunks_exact(all));
    for ((below, x), d) in places {
        let coefficients = slopes.iter().zip(&tilts).zip(&shifts);
        for (((below, x), d), ((slope, tilt), shift)) in
            below.iter_mut().zip(x).zip(d).zip(coefficients)
        {
            let before = if add { *below } else { 0.0 };
            *below = before + (d * slope + x * tilt + shift);
        }
    }
}

/// Adds the gradient of the factors (`part` 0) or of the offsets (1) to `sums`.
#[inline(always)]
pub(super) fn parameters(
    layer: &GroupNorm,
    part: usize,
    (x, kept): (&[f32], &[f32]),
    d: &[f32],
    sums: &mut [f32],
) {
    let all = layer.grid.channels;
    if part == 1 {
        for d in d.chunks_exact(all) {
            sums.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
        }
        return;
    }
    let (means, inverses) = spread(layer, kept);
    for (x, d) in x.chunks_exact(all).zip(d.chunks_exact(all)) {
        let groups = means.iter().zip(&inverses);
        for (((sum, x), d), (mean, inverse)) in sums.iter_mut().zip(x).zip(d).zip(groups) {
            *sum += d * (x - mean) * inverse;
        }
    }
}
