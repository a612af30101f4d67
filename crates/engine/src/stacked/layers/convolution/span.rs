//! Neighbouring places of a line of a grid, which a unit loads once for all windows over them.

use crate::stacked::layers::window::WindowAt;
use cubecl::prelude::*;

/// The part of a line that a unit loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    /// Places.
    pub(crate) places: usize,
    /// Vectors of channels of each.
    pub(crate) depth: usize,
    /// Whether some of the places may lie beyond the border.
    pub(crate) beyond: bool,
}

/// Loads channels from vector `channel` on, of the places from `left` on (counted with the border) of the line that
/// begins at place `line`: first the channels of one place, then those of the next. Beyond the border they are zero.
#[cube]
pub(crate) fn load_span<M: Size>(
    inputs: &[Vector<f32, M>],
    x: &mut Array<Vector<f32, M>>,
    line: usize,
    left: usize,
    channel: usize,
    channels: usize,
    window: &WindowAt,
    #[comptime] span: Span,
) {
    let depth = comptime!(span.depth);
    if comptime!(span.beyond) {
        let end = window.padding_x + window.width;
        if left >= window.padding_x && left + comptime!(span.places) <= end {
            let first = (line + left - window.padding_x) * channels + channel;
            #[unroll]
            for j in 0..comptime!(span.places) {
                #[unroll]
                for c in 0..depth {
                    x[j * depth + c] = inputs[first + j * channels + c];
                }
            }
        } else {
            #[unroll]
            for j in 0..comptime!(span.places) {
                #[unroll]
                for c in 0..depth {
                    x[j * depth + c] = Vector::new(0.0f32);
                }
                let at = left + j;
                if at >= window.padding_x && at < end {
                    let first = (line + at - window.padding_x) * channels + channel;
                    #[unroll]
                    for c in 0..depth {
                        x[j * depth + c] = inputs[first + c];
                    }
                }
            }
        }
    } else {
        let first = (line + left - window.padding_x) * channels + channel;
        #[unroll]
        for j in 0..comptime!(span.places) {
            #[unroll]
            for c in 0..depth {
                x[j * depth + c] = inputs[first + j * channels + c];
            }
        }
    }
}
