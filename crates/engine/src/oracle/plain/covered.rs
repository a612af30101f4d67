//! The places of a grid that a window covers.

use crate::network::layer::{Grid, Window};

/// The places of `input` that the window of output place `output` covers, in row-major order, without padding; the
/// output grid is `width` wide. Each is a pair: the place within the window, and the place of the grid.
///
/// Along each side, place `q` of the window for output place `p` is place `stride · p + q − padding` of the input.
pub(super) fn covered(
    window: &Window,
    input: &Grid,
    output: usize,
    width: usize,
) -> Vec<(usize, usize)> {
    let along = |place: usize, within: usize, stride: usize, padding: usize, end: usize| {
        let at = (place * stride + within).checked_sub(padding)?;
        (at < end).then_some(at)
    };
    let mut places = Vec::new();
    for y in 0..window.size.0 {
        for x in 0..window.size.1 {
            let row = along(
                output / width,
                y,
                window.stride.0,
                window.padding.0,
                input.height,
            );
            let column = along(
                output % width,
                x,
                window.stride.1,
                window.padding.1,
                input.width,
            );
            if let (Some(row), Some(column)) = (row, column) {
                places.push((y * window.size.1 + x, row * input.width + column));
            }
        }
    }
    places
}
