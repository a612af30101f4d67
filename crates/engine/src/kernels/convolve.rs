//! The product of a convolution, computed without copying out its windows.
//!
//! In a grid with channels innermost, a row of a window is one run of floats. Neighbouring windows of a line are then
//! overlapping rows of a matrix, a fixed number of floats apart.

use super::column_subset::EveryTerm;
use super::multiply::{Multiply, ProductKernel};
use super::packing::Packing;
use super::panel::{Panel, Place};
use super::start::SumStart;
use pulp::Simd;

/// `y[p, o] = start[o] + Σ_{q, c} x[p · stride + q, c] · w[q, c, o]`, then `max(0, ·)` if `relu`.
///
/// `x` is a grid `[lines, width, channels]` with all padding in place, `w` `[height, width, channels, columns]`, `y`
/// `[lines, width, columns]`.
#[derive(Debug)]
pub(crate) struct Convolve<'a> {
    pub(crate) x: &'a [f32],
    /// Places of a line of `x`, and channels of each.
    pub(crate) x_line: (usize, usize),
    /// Height and width of the window.
    pub(crate) window: (usize, usize),
    /// Lines and places of `x` from one window to the next.
    pub(crate) stride: (usize, usize),
    pub(crate) w: &'a [f32],
    pub(crate) start: SumStart<'a>,
    pub(crate) y: &'a mut [f32],
    /// Lines of `y`, and places of each.
    pub(crate) output: (usize, usize),
    pub(crate) columns: usize,
    pub(crate) relu: bool,
}

impl ProductKernel for Convolve<'_> {
    #[inline(always)]
    fn compute<S: Simd, M: Multiply>(self, simd: S, multiply: M) {
        let (places, channels) = self.x_line;
        let ((lines, across), (height, width)) = (self.output, self.window);
        if lines * across * self.columns == 0 {
            return;
        }
        let line = places * channels;
        let reach = ((lines - 1) * self.stride.0 + height - 1) * line
            + ((across - 1) * self.stride.1 + width) * channels;
        assert!(self.x.len() >= reach, "x is too short");
        let inner = height * width * channels;
        assert!(self.w.len() >= inner * self.columns, "w is too short");
        assert!(
            self.y.len() >= lines * across * self.columns,
            "y is too short"
        );
        assert!(self.start.holds(self.columns), "bias is too short");
        let panel = Panel {
            x: self.x.as_ptr(),
            x_stride: self.stride.1 * channels,
            terms: EveryTerm,
            inner,
            segments: height,
            segment: width * channels,
            segment_stride: line,
            w: self.w.as_ptr(),
            packing: Packing::Rows,
            start: self.start,
            y: self.y.as_mut_ptr(),
            y_stride: self.columns,
            columns: self.columns,
            relu: self.relu,
        };
        let begin = |at: usize| Place {
            x: at * self.stride.0 * line,
            y: at * across * self.columns,
        };
        let begins: Vec<Place> = (0..lines).map(begin).collect();
        // SAFETY: the asserts above bound every window of every line.
        unsafe { panel.lines(simd, multiply, across, &begins) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;
    use crate::network::precision::Precision;

    #[test]
    fn a_convolution_equals_a_host_loop_on_odd_sizes() {
        // Lines, places, channels of the grid; window; stride; output channels.
        for (grid, window, stride, columns) in [
            ((1, 1, 1), (1, 1), (1, 1), 1),
            ((7, 9, 3), (5, 5), (1, 1), 32),
            ((6, 5, 4), (3, 2), (2, 1), 7),
            ((1, 31, 2), (1, 3), (1, 2), 67),
            ((9, 20, 1), (3, 3), (2, 2), 17),
        ] {
            let (lines, across) = (
                (grid.0 - window.0) / stride.0 + 1,
                (grid.1 - window.1) / stride.1 + 1,
            );
            let inner = window.0 * window.1 * grid.2;
            let (x, w) = (
                numbers(grid.0 * grid.1 * grid.2, 1),
                numbers(inner * columns, 2),
            );
            let bias = numbers(columns, 3);
            let expected = |line: usize, place: usize, column: usize| -> f64 {
                let mut sum = f64::from(bias[column]);
                for (ky, kx) in (0..window.0).flat_map(|ky| (0..window.1).map(move |kx| (ky, kx))) {
                    for c in 0..grid.2 {
                        let at = (line * stride.0 + ky) * grid.1 + place * stride.1 + kx;
                        let k = (ky * window.1 + kx) * grid.2 + c;
                        sum += f64::from(x[at * grid.2 + c]) * f64::from(w[k * columns + column]);
                    }
                }
                sum
            };
            for set in Instructions::every() {
                let mut y = vec![f32::NAN; lines * across * columns];
                set.multiply(
                    Precision::F32,
                    Convolve {
                        x: &x,
                        x_line: (grid.1, grid.2),
                        window,
                        stride,
                        w: &w,
                        start: SumStart::Bias(&bias),
                        y: &mut y,
                        output: (lines, across),
                        columns,
                        relu: false,
                    },
                );
                for (at, got) in y.iter().enumerate() {
                    let (place, column) = (at / columns, at % columns);
                    let want = expected(place / across, place % across, column);
                    // f32 sums of up to 75 products of numbers below 1.
                    assert!(
                        (f64::from(*got) - want).abs() < 1e-5,
                        "{set} {grid:?}: {got} {want}"
                    );
                }
            }
        }
    }
}
