//! The inner loop of products with weights.

use crate::stacked::device::launch::vector_size;
use cubecl::prelude::*;

/// How much of a product one unit computes. Every sum is one chain in any case, so that the tiling changes no bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// Outputs of a unit: a vector of them.
    pub(crate) vector: usize,
    /// Places whose sums it keeps in registers.
    pub(crate) tile: usize,
    /// Vectors of inputs that it loads at once, with their weights, before it multiplies any.
    pub(crate) ahead: usize,
}

/// Units that keep a large GPU busy. With fewer, the GPU idles while units wait for memory.
const BUSY: usize = 1 << 16;

impl Tiling {
    /// The tiling for products of `rows` rows with `places` places each, from `inner` vectors of inputs to `outputs`.
    /// Large tiles read each weight less often; if there is too little work for them, tiles are small (measured on an
    /// H200, `benches/LOG.md`).
    pub(crate) fn of(rows: usize, places: usize, outputs: usize, inner: usize) -> Self {
        let vector = vector_size(outputs);
        let units = rows * places.div_ceil(8) * (outputs / vector);
        let most = places.next_power_of_two();
        if units < BUSY {
            return Self {
                vector: 1,
                tile: 2.min(most),
                ahead: if inner.is_multiple_of(2) { 2 } else { 1 },
            };
        }
        Self {
            vector,
            tile: if units < 4 * BUSY { 4 } else { 8 }.min(most),
            ahead: 1,
        }
    }

    /// Units of `rows` rows of `places` places.
    pub(crate) fn units(&self, rows: usize, places: usize, outputs: usize) -> usize {
        rows * places.div_ceil(self.tile) * (outputs / self.vector)
    }
}

/// Adds to the sums of `tile` places their inputs, `inner` vectors from `places[i]` on, times the weights, whose rows have
/// `columns` vectors and begin for this unit at `first`. Every sum is one chain over the inputs.
#[cube]
pub(crate) fn add_products<N: Size, M: Size>(
    weights: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    places: &Array<usize>,
    sums: &mut Array<Vector<f32, N>>,
    first: usize,
    columns: usize,
    inner: usize,
    #[comptime] tile: usize,
    #[comptime] ahead: usize,
) {
    let size = M::value();
    for chunk in 0..inner / ahead {
        let mut x = Array::<Vector<f32, M>>::new(comptime!(tile * ahead));
        let mut w = Array::<Vector<f32, N>>::new(comptime!(size * ahead));
        #[unroll]
        for a in 0..ahead {
            let k = chunk * ahead + a;
            #[unroll]
            for m in 0..M::value() {
                w[a * size + m] = weights[first + (k * M::value() + m) * columns];
            }
            #[unroll]
            for i in 0..tile {
                x[a * tile + i] = inputs[places[i] + k];
            }
        }
        #[unroll]
        for a in 0..ahead {
            #[unroll]
            for m in 0..M::value() {
                #[unroll]
                for i in 0..tile {
                    sums[i] += Vector::new(x[a * tile + i].extract(m)) * w[a * size + m];
                }
            }
        }
    }
}

/// As [`add_products`], for places whose inputs begin one before `starts[i]`; if that is zero, the inputs are zero.
#[cube]
pub(crate) fn add_products_inside<N: Size, M: Size>(
    weights: &[Vector<f32, N>],
    inputs: &[Vector<f32, M>],
    starts: &Array<usize>,
    sums: &mut Array<Vector<f32, N>>,
    first: usize,
    columns: usize,
    inner: usize,
    #[comptime] tile: usize,
) {
    for k in 0..inner {
        let mut x = Array::<Vector<f32, M>>::new(tile);
        #[unroll]
        for i in 0..tile {
            x[i] = Vector::new(0.0f32);
            if starts[i] > 0 {
                x[i] = inputs[starts[i] - 1 + k];
            }
        }
        #[unroll]
        for m in 0..M::value() {
            let w = weights[first + (k * M::value() + m) * columns];
            #[unroll]
            for i in 0..tile {
                sums[i] += Vector::new(x[i].extract(m)) * w;
            }
        }
    }
}

/// Adds to the sums of a vector of inputs by a vector of outputs the products of `length` inputs, `x_step` vectors
/// apart from `x_at` on, with `length` deltas, `d_step` apart from `d_at` on: one chain for each sum. `ahead` of them
/// are loaded at once, so that the unit does not wait for each.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn add_outer_products<N: Size, M: Size>(
    inputs: &[Vector<f32, M>],
    deltas: &[Vector<f32, N>],
    sums: &mut Array<Vector<f32, N>>,
    x_at: usize,
    x_step: usize,
    d_at: usize,
    d_step: usize,
    length: usize,
    #[comptime] ahead: usize,
) {
    let mut x_at = x_at;
    let mut d_at = d_at;
    for _ in 0..length / ahead {
        let mut x = Array::<Vector<f32, M>>::new(ahead);
        let mut d = Array::<Vector<f32, N>>::new(ahead);
        #[unroll]
        for a in 0..ahead {
            x[a] = inputs[x_at + a * x_step];
            d[a] = deltas[d_at + a * d_step];
        }
        #[unroll]
        for a in 0..ahead {
            #[unroll]
            for m in 0..M::value() {
                sums[m] += Vector::new(x[a].extract(m)) * d[a];
            }
        }
        x_at += ahead * x_step;
        d_at += ahead * d_step;
    }
    for _ in 0..length % ahead {
        let x = inputs[x_at];
        let d = deltas[d_at];
        #[unroll]
        for m in 0..M::value() {
            sums[m] += Vector::new(x.extract(m)) * d;
        }
        x_at += x_step;
        d_at += d_step;
    }
}

/// Where part `part` begins and ends if `total` is split into `parts` equal parts.
#[cube]
pub(crate) fn share(total: usize, part: usize, #[comptime] parts: usize) -> (usize, usize) {
    (part * total / parts, (part + 1) * total / parts)
}
