//! How cubes share the work on a convolution's gradient.

use super::span::Span;
use crate::network::layer::Convolution;
use crate::stacked::batches::part::Part;
use crate::stacked::device::launch::shared_floats;
use crate::stacked::device::tuning::tuned;
use cubecl::prelude::*;

/// Floats that the units of a cube share; every device with shared memory has at least so many.
const SHARED: usize = 4096;

/// Units that keep a large GPU busy; fewer in tests, so that cubes come to take turns.
const BUSY: usize = if cfg!(test) { 64 } else { 1 << 17 };

/// Positions that a part of an example has at least, so that there are several of it where it has many; fewer in tests.
const PART: usize = if cfg!(test) { 8 } else { 256 };

/// Blocks that a cube may have, most first.
const LANES: [usize; 4] = [32, 16, 8, 4];

/// How a cube does its work.
///
/// A *block* is what one unit sums: some vectors of channels under some taps of one row of the window, by one vector of
/// outputs. A cube has one *lane* per block; for each lane it has as many units as it takes parts of examples at once,
/// an even number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tiles {
    /// Blocks of a cube.
    pub(super) lanes: usize,
    /// Parts of examples that it takes at once.
    pub(super) at_once: usize,
    /// Parts of an example, some lines of positions each.
    pub(super) parts: usize,
    /// Taps of a block, side by side.
    pub(super) run: usize,
    /// Runs that a row of the window has.
    pub(super) runs: usize,
    /// Vectors of channels of a block.
    pub(super) depth: usize,
    /// Vectors of sums of a block.
    pub(super) sums: usize,
    /// How many of these sums units write to shared memory at once.
    pub(super) together: usize,
    /// Positions that a unit loads at once.
    pub(super) ahead: usize,
    /// Places from a position to the next.
    pub(super) stride: usize,
    /// Whether the window may extend beyond the border of a line.
    pub(super) padded: bool,
    /// Whether a line of positions is not a multiple of `ahead`.
    pub(super) ragged: bool,
    pub(super) biased: bool,
}

/// The largest divisor of `number` that is at most `most`.
fn divisor(number: usize, most: usize) -> usize {
    let most = most.clamp(1, number);
    let fits = |part: &usize| number.is_multiple_of(*part);
    (1..=most).rev().find(fits).unwrap_or(1)
}

impl Tiles {
    /// The tiles of `convolution`, with vectors of `n` outputs and of `m` channels; `None` if the device has too little
    /// shared memory.
    pub(crate) fn of(
        convolution: &Convolution,
        (n, m): (usize, usize),
        client: &Client,
        part: &Part<'_>,
    ) -> Option<Self> {
        let units = client.properties().hardware.max_units_per_cube.min(256) as usize;
        if shared_floats(client) < SHARED || units < 64 || tuned("CONVOLVE_OUTER", 1) == 0 {
            return None;
        }
        let (window, output) = (&convolution.window, &convolution.output);
        let most = tuned("CONVOLVE_SUMS", 80);
        let runs = (window.size.1 * m * n).div_ceil(most.max(m * n));
        let run = window.size.1.div_ceil(runs);
        let vectors = convolution.input.channels / m;
        let depth = divisor(vectors, most / (run * m * n));
        let blocks = output.channels / n * (vectors / depth) * runs * window.size.0;
        let parts = (output.places() / PART).clamp(1, output.height);
        // As many at once as keep the device busy, in turns of as many. Few different numbers, so that few kernels are compiled.
        let items = part.examples * parts;
        let wanted = match tuned("CONVOLVE_AT_ONCE", 0) {
            0 => 1 << (BUSY / (part.rows * blocks)).max(1).ilog2(),
            wanted => wanted,
        };
        let turns = items.div_ceil(wanted.clamp(4, units / LANES[LANES.len() - 1]));
        let at_once = items.div_ceil(turns).max(4).next_multiple_of(2);
        let fits = |lanes: &usize| {
            let small = *lanes <= tuned("CONVOLVE_LANES", 32) && lanes / 2 < blocks;
            small && lanes * at_once <= units
        };
        let lanes = LANES.into_iter().find(fits).unwrap_or(4);
        let sums = run * depth * m;
        // Few registers for what a unit adds up of several, then few rounds.
        let fits = |together: &usize| {
            sums.is_multiple_of(*together) && lanes * at_once * together * n <= SHARED
        };
        let cost = |together: &usize| {
            let rounds = sums / together;
            (rounds * together.div_ceil(at_once), rounds)
        };
        let together = (1..=sums).filter(fits).min_by_key(cost)?;
        let ahead = tuned("CONVOLVE_AHEAD", 4).min(output.width.next_power_of_two());
        Some(Self {
            lanes,
            at_once,
            parts,
            run,
            runs,
            depth,
            sums,
            together,
            ahead,
            stride: window.stride.1,
            padded: window.padding.1 > 0,
            ragged: !output.width.is_multiple_of(ahead),
            biased: convolution.bias.is_some(),
        })
    }

    /// What a unit loads at once of a line of places.
    pub(super) fn span(self) -> Span {
        Span {
            places: (self.ahead - 1) * self.stride + self.run,
            depth: self.depth,
            beyond: self.padded || self.ragged || self.runs > 1,
        }
    }
}
