//! The guarantees of the quantiser, on any device.

use std::ops::Range;
use std::sync::Arc;

use meshfold_engine::{Device, Layout, NormScope, Quantiser, Stack, uniform};

/// Checks on 4,000 draws that quantising to four bits is unbiased, and that its variance is within Lemma 3's bound.
pub fn expect_unbiased_within_the_bound(device: &Device) {
    let mut layout = Layout::default();
    layout.push("first", 30, 1);
    layout.push("second", 50, 1);
    let layout = Arc::new(layout);
    let width = layout.width();
    let mut original = vec![0.0; width];
    for at in layout.blocks().iter().flat_map(|block| block.range()) {
        original[at] = uniform([3, 1], at as u32) - 0.5;
    }
    let square = |range: Range<usize>| {
        let squares = original[range].iter().map(|w| f64::from(*w).powi(2));
        squares.sum::<f64>()
    };
    let draws = 4000u32;
    for norm in [NormScope::Model, NormScope::Layer] {
        let values = original.repeat(draws as usize);
        let mut stack = Stack::from_host(device, &layout, values).unwrap();
        stack.quantize(&Quantiser {
            bits: 4,
            norm,
            keys: (0..draws).map(|row| [7, row]).collect(),
        });
        let after = stack.to_host();
        let (mut bias, mut variance, mut moved) = (0.0f64, 0.0, 0);
        for at in 0..width {
            let draws_at = || (0..draws as usize).map(|row| f64::from(after[row * width + at]));
            let mean = draws_at().sum::<f64>() / f64::from(draws);
            let exact = f64::from(original[at]);
            let squares = draws_at().map(|value| (value - exact).powi(2));
            let of_one = squares.sum::<f64>() / f64::from(draws);
            moved += usize::from(of_one > 0.0);
            variance += of_one;
            // A level is a seventh of the norm apart; its draws have a deviation of at most half of that.
            let whole = square(0..width).sqrt();
            bias = bias.max((mean - exact).abs() / (whole / 14.0 / f64::from(draws).sqrt()));
        }
        assert!(moved > 70, "{norm:?}: {moved} of 80 numbers are drawn");
        assert!(bias < 4.5, "{norm:?}: a mean is {bias} standard errors off");
        // Lemma 3: E‖Q(w) − w‖² ≤ min(P s², √P s)‖w‖² with s = 1/(2^{b−1} − 1), for each vector that has a norm of its own.
        let bound = |count: usize, range: Range<usize>| {
            let (count, step) = (count as f64, 1.0 / 7.0);
            (count * step * step).min(count.sqrt() * step) * square(range)
        };
        let bound = match norm {
            NormScope::Model => bound(80, 0..width),
            NormScope::Layer => layout
                .blocks()
                .iter()
                .map(|block| bound(block.range().len(), block.range()))
                .sum(),
        };
        assert!(variance <= bound, "{norm:?}: {variance} above {bound}");
    }
}
