//! How windows move over a grid, for kernels.

use crate::network::layer::{Grid, Window};
use cubecl::prelude::*;

/// A window over a grid of `height × width` places, which has `rows × columns` positions.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct WindowAt {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) size_y: usize,
    pub(crate) size_x: usize,
    pub(crate) stride_y: usize,
    pub(crate) stride_x: usize,
    pub(crate) padding_y: usize,
    pub(crate) padding_x: usize,
}

/// The argument of a launch.
pub(crate) fn argument(input: &Grid, output: &Grid, window: &Window) -> WindowAtLaunch {
    WindowAtLaunch::new(
        input.height,
        input.width,
        output.height,
        output.width,
        window.size.0,
        window.size.1,
        window.stride.0,
        window.stride.1,
        window.padding.0,
        window.padding.1,
    )
}

/// One more than the place at `(y, x)` of the grid with its border; zero on the border.
#[cube]
pub(crate) fn place_at(window: &WindowAt, y: usize, x: usize) -> usize {
    let mut place = 0usize;
    if y >= window.padding_y
        && x >= window.padding_x
        && y < window.padding_y + window.height
        && x < window.padding_x + window.width
    {
        place = (y - window.padding_y) * window.width + x - window.padding_x + 1;
    }
    place
}

/// One more than the position of the window whose tap `(tap_y, tap_x)` is over `(y, x)` of the grid with its border;
/// zero if there is none. Windows move by one place unless they are `strided`.
#[cube]
pub(crate) fn position_over(
    window: &WindowAt,
    y: usize,
    x: usize,
    tap_y: usize,
    tap_x: usize,
    #[comptime] strided: bool,
) -> usize {
    let mut position = 0usize;
    if y >= tap_y && x >= tap_x {
        let (over_y, over_x) = (y - tap_y, x - tap_x);
        let mut row = over_y;
        let mut column = over_x;
        let mut hit = true;
        if comptime!(strided) {
            row = over_y / window.stride_y;
            column = over_x / window.stride_x;
            hit = row * window.stride_y == over_y && column * window.stride_x == over_x;
        }
        if hit && row < window.rows && column < window.columns {
            position = row * window.columns + column + 1;
        }
    }
    position
}

/// On the host: the places under the window at `position`, by tap, in row-major order.
#[cfg(test)]
pub(crate) fn taps(
    input: &Grid,
    output: &Grid,
    window: &Window,
    position: usize,
) -> Vec<(usize, usize)> {
    let (row, column) = (position / output.width, position % output.width);
    let mut taps = Vec::new();
    for tap_y in 0..window.size.0 {
        for tap_x in 0..window.size.1 {
            let y = (row * window.stride.0 + tap_y).checked_sub(window.padding.0);
            let x = (column * window.stride.1 + tap_x).checked_sub(window.padding.1);
            if let (Some(y), Some(x)) = (y, x)
                && y < input.height
                && x < input.width
            {
                taps.push((tap_y * window.size.1 + tap_x, y * input.width + x));
            }
        }
    }
    taps
}
