//! The largest number of each window of a grid, channel by channel.

use super::channels::Lane;
use crate::network::layer::MaxPool;
use pulp::{Simd, WithSimd};

/// Writes the largest number of each window of `x` to `y`, and its place in the window, counted line by line, to
/// `kept`. Of equal numbers the first counts; NaN is larger than all numbers.
#[derive(Debug)]
pub(crate) struct Maximum<'a> {
    pub(crate) layer: &'a MaxPool,
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a mut [f32],
    pub(crate) kept: &'a mut [f32],
}

/// Adds the gradient `d` of each maximum to the place of `below` that it came from.
#[derive(Debug)]
pub(crate) struct MaximumBack<'a> {
    pub(crate) layer: &'a MaxPool,
    pub(crate) kept: &'a [f32],
    pub(crate) d: &'a [f32],
    pub(crate) below: &'a mut [f32],
}

/// Calls `visit` for each place of the window of output place `at` that lies in the grid, with its number within the
/// window and the float where its channels begin.
#[inline(always)]
fn window(layer: &MaxPool, at: usize, mut visit: impl FnMut(f32, usize)) {
    let (grid, window) = (&layer.input, &layer.window);
    let (line, place) = (at / layer.output.width, at % layer.output.width);
    let inside = |first: usize, size: usize, padding: usize, most: usize| {
        padding.saturating_sub(first)..size.min((most + padding).saturating_sub(first))
    };
    let (top, left) = (line * window.stride.0, place * window.stride.1);
    for ky in inside(top, window.size.0, window.padding.0, grid.height) {
        let line = top + ky - window.padding.0;
        for kx in inside(left, window.size.1, window.padding.1, grid.width) {
            let number = (ky * window.size.1 + kx) as f32;
            let place = left + kx - window.padding.1;
            visit(number, (line * grid.width + place) * grid.channels);
        }
    }
}

impl WithSimd for Maximum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (layer, channels) = (self.layer, self.layer.input.channels);
        let outputs = layer.output.size();
        assert!(self.x.len() == layer.input.size(), "x is the grid");
        assert!(self.y.len() == outputs && self.kept.len() == outputs);
        for at in 0..layer.output.places() {
            for lane in Lane::all(simd, channels) {
                let mut largest = simd.splat_f32s(f32::NEG_INFINITY);
                let mut from = simd.splat_f32s(-1.0);
                window(layer, at, |number, begin| {
                    // SAFETY: `begin` is a place of the grid.
                    let x = unsafe { lane.load(self.x, begin + lane.first) };
                    // Not at most the largest so far, unless that is itself not a number.
                    let larger = simd.and_m32s(
                        simd.not_m32s(simd.less_than_or_equal_f32s(x, largest)),
                        simd.equal_f32s(largest, largest),
                    );
                    largest = select(simd, larger, x, largest);
                    from = select(simd, larger, simd.splat_f32s(number), from);
                });
                let place = at * channels + lane.first;
                // SAFETY: `at` is a place of the outputs.
                unsafe {
                    lane.store(self.y, place, largest);
                    lane.store(self.kept, place, from);
                }
            }
        }
    }
}

impl WithSimd for MaximumBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (layer, channels) = (self.layer, self.layer.input.channels);
        let outputs = layer.output.size();
        assert!(self.below.len() == layer.input.size(), "below is the grid");
        assert!(self.d.len() >= outputs && self.kept.len() >= outputs);
        for at in 0..layer.output.places() {
            for lane in Lane::all(simd, channels) {
                let place = at * channels + lane.first;
                // SAFETY: `at` is a place of the outputs.
                let (d, from) = unsafe { (lane.load(self.d, place), lane.load(self.kept, place)) };
                window(layer, at, |number, begin| {
                    let begin = begin + lane.first;
                    let here = simd.equal_f32s(from, simd.splat_f32s(number));
                    // SAFETY: `begin` is a place of the grid.
                    unsafe {
                        let own = select(simd, here, d, simd.splat_f32s(0.0));
                        let sum = simd.add_f32s(lane.load(self.below, begin), own);
                        lane.store(self.below, begin, sum);
                    }
                });
            }
        }
    }
}

/// Lane by lane, `one` where `mask` is set, else `other`.
#[inline(always)]
fn select<S: Simd>(simd: S, mask: S::m32s, one: S::f32s, other: S::f32s) -> S::f32s {
    let bits = |values| simd.transmute_u32s_f32s(values);
    simd.transmute_f32s_u32s(simd.select_u32s(mask, bits(one), bits(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::network::layer::{Grid, Window};

    fn grid(height: usize, width: usize, channels: usize) -> Grid {
        Grid {
            height,
            width,
            channels,
        }
    }

    #[test]
    fn maxima_and_their_way_back_equal_host_loops_on_odd_sizes() {
        for (size, stride, padding, channels) in [(3, 2, 1, 5), (3, 2, 0, 33), (2, 2, 0, 16)] {
            let input = grid(7, 9, channels);
            let window = Window {
                size: (size, size),
                stride: (stride, stride),
                padding: (padding, padding),
            };
            let (height, width) = window.over(&input);
            let output = grid(height, width, channels);
            let layer = MaxPool {
                input,
                output,
                window,
            };
            let mut x: Vec<f32> = (0..layer.input.size())
                .map(|at| (at * 7919 % 23) as f32 - 11.0)
                .collect();
            x[channels] = f32::NAN;
            let count = layer.output.size();
            let d: Vec<f32> = (0..count).map(|at| (at % 13) as f32).collect();
            for set in Instructions::every() {
                let (mut y, mut kept) = (vec![0.0; count], vec![0.0; count]);
                let mut below = vec![0.0; x.len()];
                set.run(Maximum {
                    layer: &layer,
                    x: &x,
                    y: &mut y,
                    kept: &mut kept,
                });
                set.run(MaximumBack {
                    layer: &layer,
                    kept: &kept,
                    d: &d,
                    below: &mut below,
                });
                let mut expected = vec![0.0; x.len()];
                for at in 0..count {
                    let (place, channel) = (at / channels, at % channels);
                    let (top, left) = (place / width * stride, place % width * stride);
                    let mut best: Option<usize> = None;
                    for (ky, kx) in (0..size).flat_map(|ky| (0..size).map(move |kx| (ky, kx))) {
                        let (line, across) = (top + ky, left + kx);
                        let inside = |at: usize, most| (padding..most + padding).contains(&at);
                        if !inside(line, 7) || !inside(across, 9) {
                            continue;
                        }
                        let from = ((line - padding) * 9 + across - padding) * channels + channel;
                        let wins = best.is_none_or(|best| {
                            !x[best].is_nan() && (x[from].is_nan() || x[from] > x[best])
                        });
                        best = if wins { Some(from) } else { best };
                    }
                    let best = best.unwrap();
                    assert_eq!(y[at].to_bits(), x[best].to_bits(), "{set} {at}");
                    expected[best] += d[at];
                }
                assert_eq!(below, expected, "{set}");
            }
        }
    }
}
