//! The forward product of a layer with many inputs and few outputs: the units of a cube divide the inputs among them,
//! and add up their sums.

use super::affine::Affine;
use crate::stacked::batches::part::{Part, Slot, Tile, tile_at};
use crate::stacked::device::launch::{cubes, shared_floats, vector_size};
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::relu::rectified;
use burn_cubecl::tensor::CubeTensor;
use cubecl::client::Client;
use cubecl::prelude::*;

/// Most outputs of such a layer.
const OUTPUTS: usize = 16;
/// Most places of a cube: with them a unit keeps [`OUTPUTS`] times as many sums.
const TILE: usize = 8;
/// Units of a cube. Each sums every 64th input.
const UNITS: usize = 64;

/// What a unit keeps of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Narrow {
    /// Places of a cube.
    tile: usize,
    /// Vectors of outputs.
    columns: usize,
}

impl Narrow {
    /// The shape for a layer from `inputs` to `outputs` with `places` places, if it is narrow and `client` supports it.
    pub(super) fn of(
        client: &Client,
        inputs: usize,
        outputs: usize,
        places: usize,
    ) -> Option<Self> {
        if outputs > OUTPUTS || inputs < 2 * UNITS || shared_floats(client) < UNITS * TILE * OUTPUTS
        {
            return None;
        }
        Some(Self {
            tile: places.div_ceil(places.div_ceil(TILE)),
            columns: outputs / vector_size(outputs),
        })
    }
}

/// Each cube holds `tile` places of examples by all outputs.
#[cube(launch)]
fn affine_narrow_kernel<N: Size>(
    models: &[Vector<f32, N>],
    inputs: &[f32],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    layer: DenseView,
    input_rows: usize,
    #[comptime] narrow: Narrow,
    #[comptime] relu: bool,
    #[comptime] biased: bool,
) {
    let (tile, columns) = comptime!((narrow.tile, narrow.columns));
    let all = comptime!(tile * columns);
    let Tile { row, first, count } = tile_at(&slot, counts, CUBE_POS, layer.places, tile);
    if first >= count {
        terminate!();
    }
    let slots = slot.examples * layer.places;
    let model = (slot.first_row + row) * layer.width;
    let source = row * input_rows * slots;
    let mut sums = Array::<Vector<f32, N>>::new(all);
    let mut places = Array::<usize>::new(tile);
    #[unroll]
    for i in 0..tile {
        #[unroll]
        for c in 0..columns {
            sums[i * columns + c] = Vector::new(0.0f32);
        }
        // Beyond the batch the last example is computed again, and not written.
        places[i] = (source + select(first + i < count, first + i, count - 1)) * layer.inputs;
    }
    let unit = UNIT_POS as usize;
    let mut k = unit;
    while k < layer.inputs {
        let mut w = Array::<Vector<f32, N>>::new(columns);
        let mut x = Array::<f32>::new(tile);
        #[unroll]
        for c in 0..columns {
            w[c] = models[model + layer.weight + k * columns + c];
        }
        #[unroll]
        for i in 0..tile {
            x[i] = inputs[places[i] + k];
        }
        #[unroll]
        for i in 0..tile {
            #[unroll]
            for c in 0..columns {
                sums[i * columns + c] += Vector::new(x[i]) * w[c];
            }
        }
        k += UNITS;
    }
    let mut shared = Shared::<[Vector<f32, N>]>::new_slice(comptime!(UNITS * all));
    #[unroll]
    for i in 0..all {
        shared[unit * all + i] = sums[i];
    }
    sync_cube();
    let mut at = unit;
    while at < all {
        let (i, column) = (at / columns, at % columns);
        if first + i < count {
            let mut sum = Vector::<f32, N>::new(0.0f32);
            if comptime!(biased) {
                sum = models[model + layer.bias + column];
            }
            for chunk in 0..UNITS / 8 {
                #[unroll]
                for other in 0..8 {
                    sum += shared[(chunk * 8 + other) * all + at];
                }
            }
            outputs[(row * slots + first + i) * columns + column] = rectified(sum, relu);
        }
        at += UNITS;
    }
}

impl Affine<'_> {
    /// As [`Affine::launch`], by cubes that hold all outputs.
    pub(super) fn launch_narrow(&self, part: &Part<'_>, outputs: &CubeTensor, narrow: Narrow) {
        let client = &self.models.client;
        let n = vector_size(self.layer.outputs);
        let tiles = (part.examples * self.layer.places).div_ceil(narrow.tile);
        let (count, dim) = cubes(client, part.rows * tiles, UNITS as u32);
        affine_narrow_kernel::launch(
            client,
            count,
            dim,
            n,
            self.models.clone().into_buffer_arg(),
            self.inputs.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            dense_view::argument(self.layer, self.width, n),
            usize::from(!self.shared),
            narrow,
            self.relu,
            self.layer.bias.is_some(),
        );
    }
}
