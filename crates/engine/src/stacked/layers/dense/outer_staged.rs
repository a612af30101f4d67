//! The gradient of a layer whose weight has many blocks, each computed by a cube of units that share what they read.

use super::outer::Outer;
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::{cubes, shared_floats};
use crate::stacked::device::tuning::tuned;
use crate::stacked::gradients::sink::{
    GradientAction, GradientSink, StepAt, chain_start, store_or_step, store_or_step_all,
};
use crate::stacked::layers::dense_view::{self, DenseView};
use crate::stacked::layers::staged::blocks::VECTOR;
use crate::stacked::layers::staged::{put, unit_at};
use cubecl::prelude::*;

/// Up to so many places, a step takes more time for memory accesses than for its products.
const FEW_PLACES: usize = 64;

/// How a cube computes a block, inputs by outputs, of a weight's gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OuterBlocks {
    /// Units one below the other, an even number.
    down: usize,
    /// Units side by side.
    across: usize,
    /// Vectors of inputs of a unit, `down` apart.
    heights: usize,
    /// Vectors of outputs of a unit, `across` apart.
    widths: usize,
    /// Places that are loaded at once.
    chunk: usize,
    /// Chunks that there is room for.
    stages: usize,
}

impl OuterBlocks {
    /// The blocks of a gradient; `None` if it is too small for them or not made of whole vectors, or the device cannot
    /// run them. Every sum is one chain over the places, whatever the blocks are.
    pub(crate) fn of(outer: &Outer<'_>, part: &Part<'_>) -> Option<Self> {
        let (layer, client) = (outer.layer, &outer.inputs.client);
        let whole = layer.inputs.is_multiple_of(VECTOR) && layer.outputs.is_multiple_of(VECTOR);
        let large = layer.inputs >= 32 && layer.outputs >= 32;
        // The gradient with respect to a bias is the sum over all places, also those that `skip` leaves out.
        let alike = outer.skip == 0 || layer.bias.is_none() && layer.places > outer.skip;
        if !whole || !large || !alike || tuned("DENSE_OUTER", 1) == 0 {
            return None;
        }
        let blocks = Self::of_shape(layer.outputs / VECTOR, part.examples * layer.places);
        let most = client.properties().hardware.max_units_per_cube as usize;
        (VECTOR * blocks.shared() <= shared_floats(client) && blocks.units() <= most)
            .then_some(blocks)
    }

    fn of_shape(columns: usize, places: usize) -> Self {
        let few = places <= FEW_PLACES;
        let sizes = [
            (16, 2),
            (25, 2),
            (20, 2),
            (10, 2),
            (8, 2),
            (25, 1),
            (16, 1),
            (8, 1),
        ];
        let left_over = |(across, widths): &(usize, usize)| {
            let size = across * widths;
            columns.div_ceil(size) * size
        };
        let narrowest = sizes.into_iter().min_by_key(left_over);
        let (across, widths) = narrowest.unwrap_or((8, 1));
        let most = if few { 20 } else { tuned("OUTER_CHUNK", 16) };
        let chunk = places.div_ceil(places.div_ceil(most));
        Self {
            down: if across >= 16 { 8 } else { 16 },
            across,
            heights: if few {
                tuned("OUTER_TALL_FEW", 1)
            } else {
                tuned("OUTER_TALL", 2)
            },
            widths,
            chunk,
            stages: if chunk < places { 2 } else { 1 },
        }
    }

    /// Vectors of inputs of a block.
    fn rows(&self) -> usize {
        self.down * self.heights
    }

    /// Vectors of outputs of a block.
    fn columns(&self) -> usize {
        self.across * self.widths
    }

    fn units(&self) -> usize {
        self.down * self.across
    }

    /// Vectors of a chunk of the inputs.
    fn left(&self) -> usize {
        self.chunk * self.rows()
    }

    /// Vectors of a chunk of both factors.
    fn stage(&self) -> usize {
        self.chunk * (self.rows() + self.columns())
    }

    /// Vectors that the cube shares.
    fn shared(&self) -> usize {
        self.stages * self.stage()
    }

    /// Vectors that each unit loads of a chunk whose lines have `vectors` vectors.
    fn brought(&self, vectors: usize) -> usize {
        (self.chunk * vectors).div_ceil(self.units())
    }
}

/// The places of a row that are multiplied.
#[derive(CubeType, Clone, Copy)]
struct PlacesAt {
    /// The first place.
    first: usize,
    /// How many there are.
    count: usize,
    /// How many follow each other in an example.
    run: usize,
    /// Places of an example.
    of_example: usize,
}

/// Has each unit take its share of `lines` places from `place` on, of the vectors of each from `vector` on.
#[cube]
#[allow(clippy::too_many_arguments)]
fn take_places<N: Size>(
    from: &[Vector<f32, N>],
    held: &mut Array<Vector<f32, N>>,
    places: &PlacesAt,
    skip: usize,
    pitch: usize,
    place: usize,
    vector: usize,
    #[comptime] vectors: usize,
    #[comptime] blocks: OuterBlocks,
    #[comptime] skips: bool,
) {
    let last = places.count - 1;
    #[unroll]
    for share in 0..comptime!(blocks.brought(vectors)) {
        let at = UNIT_POS as usize + comptime!(share * blocks.units());
        let line = place + at / vectors;
        let column = vector + at % vectors;
        let mut line = select(line < last, line, last);
        let column = select(column < pitch, column, pitch - 1);
        if comptime!(skips) {
            line = line / places.run * places.of_example + line % places.run + skip;
        }
        held[share] = from[(places.first + line) * pitch + column];
    }
}

/// Adds the products of the inputs at `left` with the deltas at `right`.
#[cube]
fn add_place<N: Size>(
    sums: &mut Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    left: usize,
    right: usize,
    #[comptime] blocks: OuterBlocks,
) {
    let (heights, widths) = comptime!((blocks.heights, blocks.widths));
    let mut d = Array::<Vector<f32, N>>::new(widths);
    #[unroll]
    for w in 0..widths {
        d[w] = tile[right + comptime!(w * blocks.across)];
    }
    #[unroll]
    for h in 0..heights {
        let x = tile[left + comptime!(h * blocks.down)];
        #[unroll]
        for j in 0..4usize {
            #[unroll]
            for w in 0..widths {
                sums[comptime!((h * widths + w) * 4 + j)] += Vector::new(x.extract(j)) * d[w];
            }
        }
    }
}

/// Each cube computes a block of inputs by outputs of a row's gradient; the cubes of the first inputs also compute the
/// bias's, if there is one.
#[cube(launch)]
#[allow(
    clippy::collapsible_if,
    reason = "what is known at compilation stands by itself"
)]
fn outer_staged_kernel<N: Size>(
    inputs: &[Vector<f32, N>],
    deltas: &[Vector<f32, N>],
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    slot: Slot,
    step: StepAt,
    layer: DenseView,
    skip: usize,
    #[comptime] action: GradientAction,
    #[comptime] blocks: OuterBlocks,
    #[comptime] skips: bool,
    #[comptime] biased: bool,
) {
    let inner = layer.inputs / N::value();
    let (rows, columns) = comptime!((blocks.rows(), blocks.columns()));
    let blocks_across = layer.columns.div_ceil(columns);
    let of_row = blocks_across * inner.div_ceil(rows);
    let row = CUBE_POS / of_row;
    let block = CUBE_POS % of_row;
    if row >= slot.rows {
        terminate!();
    }
    let examples = examples_of(&slot, counts, row);
    if examples == 0 {
        terminate!();
    }
    let entry = slot.entry + row;
    let model = (slot.first_row + row) * layer.width;
    let first_input = block / blocks_across * rows;
    let first_column = block % blocks_across * columns;
    let run = layer.places - skip;
    let places = PlacesAt {
        first: row * slot.examples * layer.places,
        count: examples * run,
        run,
        of_example: layer.places,
    };
    let unit = UNIT_POS as usize;
    let at = unit_at(comptime!(blocks.units()), comptime!(blocks.across), 1usize);
    let first = model
        + layer.weight
        + (first_input + at.below) * N::value() * layer.columns
        + first_column
        + at.beside;
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(4 * blocks.heights * blocks.widths));
    #[unroll]
    for h in 0..comptime!(blocks.heights) {
        #[unroll]
        for w in 0..comptime!(blocks.widths) {
            #[unroll]
            for j in 0..4usize {
                let mut start = Vector::new(0.0f32);
                if comptime!(action == GradientAction::Add) {
                    let input = at.below + comptime!(h * blocks.down);
                    let column = at.beside + comptime!(w * blocks.across);
                    if first_input + input < inner && first_column + column < layer.columns {
                        let down = comptime!(4 * h * blocks.down + j);
                        let place = first + down * layer.columns + comptime!(w * blocks.across);
                        start = gradients[place];
                    }
                }
                sums[comptime!((h * blocks.widths + w) * 4 + j)] = start;
            }
        }
    }
    let mut own_bias = false;
    if comptime!(biased) {
        own_bias = first_input == 0 && unit < columns && first_column + unit < layer.columns;
    }
    let bias_at = model + layer.bias + first_column + unit;
    let mut bias = Vector::new(0.0f32);
    if own_bias {
        bias = chain_start(gradients, bias_at, action);
    }
    let (stage, units) = comptime!((blocks.stage(), blocks.units()));
    let (left, chunk) = comptime!((blocks.left(), blocks.chunk));
    let mut tile = Shared::<[Vector<f32, N>]>::new_slice(comptime!(blocks.shared()));
    let mut x = Array::<Vector<f32, N>>::new(comptime!(blocks.brought(rows)));
    let mut d = Array::<Vector<f32, N>>::new(comptime!(blocks.brought(columns)));
    take_places(
        inputs,
        &mut x,
        &places,
        0usize,
        inner,
        0usize,
        first_input,
        rows,
        blocks,
        skips,
    );
    take_places(
        deltas,
        &mut d,
        &places,
        skip,
        layer.columns,
        0usize,
        first_column,
        columns,
        blocks,
        skips,
    );
    put(&x, &mut tile, 0usize, chunk, rows, rows, units, false);
    put(&d, &mut tile, left, chunk, columns, columns, units, false);
    sync_cube();
    let chunks = places.count.div_ceil(chunk);
    for current in 0..chunks {
        let next = current + 1;
        if comptime!(blocks.stages > 1) {
            if next < chunks {
                let begin = next * chunk;
                take_places(
                    inputs,
                    &mut x,
                    &places,
                    0usize,
                    inner,
                    begin,
                    first_input,
                    rows,
                    blocks,
                    skips,
                );
                take_places(
                    deltas,
                    &mut d,
                    &places,
                    skip,
                    layer.columns,
                    begin,
                    first_column,
                    columns,
                    blocks,
                    skips,
                );
            }
        }
        let begin = current % 2 * stage;
        let rest = places.count - current * chunk;
        let here = select(rest < chunk, rest, chunk);
        let left_at = begin + at.below;
        let right_at = begin + left + at.beside;
        for two in 0..here / 2 {
            let k = 2 * two;
            add_place(
                &mut sums,
                &mut tile,
                left_at + k * rows,
                right_at + k * columns,
                blocks,
            );
            let k = 2 * two + 1;
            add_place(
                &mut sums,
                &mut tile,
                left_at + k * rows,
                right_at + k * columns,
                blocks,
            );
        }
        if here % 2 == 1 {
            let k = here - 1;
            add_place(
                &mut sums,
                &mut tile,
                left_at + k * rows,
                right_at + k * columns,
                blocks,
            );
        }
        if own_bias {
            for k in 0..here {
                bias += tile[begin + left + k * columns + unit];
            }
        }
        if comptime!(blocks.stages > 1) {
            if next < chunks {
                let begin = next % 2 * stage;
                put(&x, &mut tile, begin, chunk, rows, rows, units, false);
                put(
                    &d,
                    &mut tile,
                    begin + left,
                    chunk,
                    columns,
                    columns,
                    units,
                    false,
                );
            }
            sync_cube();
        }
    }
    #[unroll]
    for h in 0..comptime!(blocks.heights) {
        #[unroll]
        for w in 0..comptime!(blocks.widths) {
            let input = first_input + at.below + comptime!(h * blocks.down);
            let column = first_column + at.beside + comptime!(w * blocks.across);
            if input < inner && column < layer.columns {
                let mut of = Array::<Vector<f32, N>>::new(4usize);
                #[unroll]
                for j in 0..4usize {
                    of[j] = sums[comptime!((h * blocks.widths + w) * 4 + j)];
                }
                let down = comptime!(4 * h * blocks.down);
                let place = first + down * layer.columns + comptime!(w * blocks.across);
                store_or_step_all(
                    gradients,
                    models,
                    velocities,
                    rates,
                    &step,
                    entry,
                    place,
                    layer.columns,
                    &of,
                    4usize,
                    action,
                );
            }
        }
    }
    if own_bias {
        store_or_step(
            gradients, models, velocities, rates, &step, entry, bias_at, bias, action,
        );
    }
}

impl Outer<'_> {
    pub(super) fn launch_staged(&self, sink: &GradientSink, part: &Part<'_>, blocks: OuterBlocks) {
        let (layer, client) = (self.layer, &self.inputs.client);
        let [down, beside] = [
            (layer.inputs / VECTOR).div_ceil(blocks.rows()),
            (layer.outputs / VECTOR).div_ceil(blocks.columns()),
        ];
        let (count, dim) = cubes(client, part.rows * down * beside, blocks.units() as u32);
        outer_staged_kernel::launch(
            client,
            count,
            dim,
            VECTOR,
            self.inputs.clone().into_buffer_arg(),
            self.deltas.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            sink.gradients.clone().into_buffer_arg(),
            sink.models.clone().into_buffer_arg(),
            sink.velocities.clone().into_buffer_arg(),
            sink.rates.clone().into_buffer_arg(),
            part.argument(),
            sink.step(),
            dense_view::argument(layer, sink.width, VECTOR),
            self.skip,
            sink.action,
            blocks,
            self.skip > 0,
            layer.bias.is_some(),
        );
    }
}
