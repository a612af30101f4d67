//! Group normalisation of one example.

use super::{
    ExampleBackward, ExampleForward, ExampleGradient, ExampleLayer, ExampleTrace, GradientSums,
    RowContext,
};
use crate::blocked::pass::target::Target;
use crate::cpu::Cpu;
use crate::kernels::channels::{ChannelAffine, ChannelCombine, ChannelProducts, Squares, Sums};
use crate::network::layer::{GroupNorm, NORM_EPSILON};
use std::ops::Range;

impl ExampleLayer for GroupNorm {
    /// Mean and inverse deviation of every group, then of every channel the gradients of its offset and of its factor.
    fn kept(&self) -> usize {
        2 * self.groups + 2 * self.grid.channels
    }

    fn forward(&self, row: RowContext<'_>, forward: ExampleForward<'_>) {
        let ExampleForward { x, out, .. } = forward;
        let x = &x[..out.len()];
        self.on(row)
            .forward(row.weights.values, x, out, forward.relu, forward.kept);
    }

    fn backward(&self, row: RowContext<'_>, backward: ExampleBackward<'_>) {
        self.on(row)
            .backward(row.weights.values, backward.trace, backward.below);
    }

    fn gradient(&self) -> Option<&dyn ExampleGradient> {
        Some(self)
    }
}

impl ExampleGradient for GroupNorm {
    fn keep(&self, row: RowContext<'_>, x: &[f32], d: &[f32], kept: &mut [f32]) {
        self.on(row).gradients(&x[..d.len()], d, kept);
    }

    /// The factors, then the offsets.
    fn pieces(&self) -> Vec<Range<usize>> {
        vec![self.weight.clone(), self.bias.clone()]
    }

    fn add(
        &self,
        row: RowContext<'_>,
        piece: usize,
        trace: ExampleTrace<'_>,
        sums: GradientSums<'_>,
    ) {
        self.on(row).parameters(piece, trace.kept, sums.sums);
    }
}

impl GroupNorm {
    fn on<'a>(&'a self, row: RowContext<'a>) -> GroupNormLayer<'a> {
        GroupNormLayer {
            cpu: row.products.cpu,
            layer: self,
        }
    }
}

/// A normalisation on a processor.
#[derive(Debug, Clone, Copy)]
struct GroupNormLayer<'a> {
    cpu: &'a Cpu,
    layer: &'a GroupNorm,
}

impl GroupNormLayer<'_> {
    /// Channels of a group, and numbers that it is normalised over.
    fn group(&self) -> (usize, f64) {
        let channels = self.layer.grid.channels / self.layer.groups;
        (channels, (self.layer.grid.places() * channels) as f64)
    }

    /// The mean over each group of what was added up channel by channel.
    fn means(&self, sums: &[f32]) -> impl Iterator<Item = f64> {
        let (channels, count) = self.group();
        let total = |sums: &[f32]| sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
        sums.chunks_exact(channels)
            .map(move |sums| total(sums) / count)
    }

    /// What the groups keep, mean or inverse deviation, channel by channel.
    fn spread(&self, kept: &[f32], which: usize) -> Vec<f32> {
        let (channels, _) = self.group();
        let of = |channel: usize| kept[2 * (channel / channels) + which];
        (0..self.layer.grid.channels).map(of).collect()
    }

    /// Writes the normalised example, `max(0, ·)` if `relu`; keeps mean and inverse deviation of every group.
    fn forward(&self, weights: &[f32], x: &[f32], y: &mut [f32], relu: bool, kept: &mut [f32]) {
        let (instructions, all) = (self.cpu.instructions(), self.layer.grid.channels);
        let mut sums = vec![0.0; all];
        instructions.run(Sums { x, sums: &mut sums });
        for (group, mean) in self.means(&sums).enumerate() {
            kept[2 * group] = mean as f32;
        }
        let means = self.spread(kept, 0);
        instructions.run(Squares {
            x,
            means: &means,
            sums: &mut sums,
        });
        for (group, variance) in self.means(&sums).enumerate() {
            kept[2 * group + 1] = (1.0 / (variance + NORM_EPSILON).sqrt()) as f32;
        }
        // y = x · slope + shift, both per channel.
        let (factor, offset) = self.parameters_of(weights);
        let mut slopes = self.spread(kept, 1);
        for (slope, factor) in slopes.iter_mut().zip(factor) {
            *slope *= factor;
        }
        let shift = |channel: usize| offset[channel] - means[channel] * slopes[channel];
        let shifts: Vec<f32> = (0..all).map(shift).collect();
        instructions.run(ChannelAffine {
            x,
            slopes: &slopes,
            shifts: &shifts,
            y,
            relu,
        });
    }

    /// Factors and offsets.
    fn parameters_of<'b>(&self, weights: &'b [f32]) -> (&'b [f32], &'b [f32]) {
        let layer = self.layer;
        (&weights[layer.weight.clone()], &weights[layer.bias.clone()])
    }

    /// Keeps the example's gradients by offsets and factors.
    fn gradients(&self, x: &[f32], d: &[f32], kept: &mut [f32]) {
        let (means, inverses) = (self.spread(kept, 0), self.spread(kept, 1));
        let sums = &mut kept[2 * self.layer.groups..self.layer.kept()];
        let (plain, crossed) = sums.split_at_mut(self.layer.grid.channels);
        self.cpu.instructions().run(ChannelProducts {
            x,
            d,
            means: &means,
            plain,
            crossed,
        });
        for (crossed, inverse) in crossed.iter_mut().zip(&inverses) {
            *crossed *= inverse;
        }
    }

    /// The gradient by the input once [`GroupNormLayer::gradients`] are kept: with `x̂` the
    /// normalised input and `g = d · factor`, `inverse · (g − mean(g) − x̂ · mean(g · x̂))` over each group.
    fn backward(&self, weights: &[f32], trace: ExampleTrace<'_>, below: Target<'_>) {
        let ExampleTrace { x, d, kept } = trace;
        let all = self.layer.grid.channels;
        let (means, inverses) = (self.spread(kept, 0), self.spread(kept, 1));
        let (factor, _) = self.parameters_of(weights);
        let scaled = |of: usize| -> Vec<f32> {
            let sums = &kept[2 * self.layer.groups + of * all..][..all];
            sums.iter().zip(factor).map(|(sum, f)| sum * f).collect()
        };
        let (plain, crossed) = (scaled(0), scaled(1));
        // below = d · slope + x · tilt + shift, all per channel.
        let (channels, _) = self.group();
        let (mut tilts, mut shifts, mut slopes) =
            (vec![0.0; all], vec![0.0; all], inverses.clone());
        let groups = self.means(&plain).zip(self.means(&crossed));
        for (group, (mean, along)) in groups.enumerate() {
            for channel in group * channels..(group + 1) * channels {
                let inverse = inverses[channel];
                slopes[channel] *= factor[channel];
                tilts[channel] = -inverse * inverse * along as f32;
                shifts[channel] = -inverse * mean as f32 - means[channel] * tilts[channel];
            }
        }
        self.cpu.instructions().run(ChannelCombine {
            d,
            x,
            slopes: &slopes,
            tilts: &tilts,
            shifts: &shifts,
            y: below.gradient,
            add: below.add,
        });
    }

    /// Adds the gradient of the factors (`part` 0) or of the offsets (1), as it was kept, to `sums`.
    fn parameters(&self, part: usize, kept: &[f32], sums: &mut [f32]) {
        let all = self.layer.grid.channels;
        let kept = &kept[2 * self.layer.groups + (1 - part) * all..][..all];
        sums.iter_mut().zip(kept).for_each(|(sum, own)| *sum += own);
    }
}
