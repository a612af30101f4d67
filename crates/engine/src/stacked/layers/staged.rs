//! Products whose factors a cube loads, chunk by chunk, into memory that its units share: each number is read from the
//! device's memory once for a cube, not once for every unit that multiplies it.

pub(crate) mod blocks;

use blocks::Blocks;
use cubecl::prelude::*;

/// A factor in the memory of the device, and where the block of a cube begins in it.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Factor {
    /// The first vector of its first line.
    pub(crate) first: usize,
    /// Vectors from one line to the next.
    pub(crate) pitch: usize,
    /// How many lines it has; for lines beyond the last, which no result needs, the last is read.
    pub(crate) lines: usize,
    /// How many vectors a line has; for vectors beyond the last, the last is read.
    pub(crate) vectors: usize,
    /// The block's first line.
    pub(crate) line: usize,
    /// The block's first vector.
    pub(crate) vector: usize,
}

/// The share of a cube's block that a unit has.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct UnitAt {
    /// Its share of the inner dimension.
    pub(crate) part: usize,
    /// Its index among the units of its part.
    pub(crate) lane: usize,
    /// Its first place within the block.
    pub(crate) below: usize,
    /// Its first vector of outputs within the block.
    pub(crate) beside: usize,
}

/// The share of a unit among `parts` times `lanes` units, of which `across` are side by side. Neighbouring units share
/// outputs, and units two apart share places, so that NVIDIA's shared memory serves them in one read.
#[cube]
pub(crate) fn unit_at(
    #[comptime] lanes: usize,
    #[comptime] across: usize,
    #[comptime] parts: usize,
) -> UnitAt {
    let unit = UNIT_POS as usize;
    let pair = comptime!(2 * across);
    let mut part = 0usize;
    let mut lane = unit;
    if comptime!(parts > 1) {
        part = unit / lanes;
        lane = unit % lanes;
    }
    UnitAt {
        part,
        lane,
        below: lane / pair * 2 + lane % 2,
        beside: lane % pair / 2,
    }
}

/// Has each unit take its share of `lines` lines of `vectors` vectors from `from`.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn take<N: Size>(
    from: &[Vector<f32, N>],
    held: &mut Array<Vector<f32, N>>,
    of: &Factor,
    line: usize,
    vector: usize,
    #[comptime] lines: usize,
    #[comptime] vectors: usize,
    #[comptime] units: usize,
) {
    let last_line = of.lines - 1;
    let last_vector = of.vectors - 1;
    let shares = comptime!((lines * vectors).div_ceil(units));
    #[unroll]
    for share in 0..shares {
        let at = UNIT_POS as usize + comptime!(share * units);
        let line = of.line + line + at / vectors;
        let vector = of.vector + vector + at % vectors;
        let line = select(line < last_line, line, last_line);
        let vector = select(vector < last_vector, vector, last_vector);
        held[share] = from[of.first + line * of.pitch + vector];
    }
}

/// Has each unit put what it took into `tile` from `first` on, with lines `pitch` apart. With `dealt`, every fourth
/// line is stored next to the other: units with four neighbouring lines each then read neighbouring ones together.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn put<N: Size>(
    held: &Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    first: usize,
    #[comptime] lines: usize,
    #[comptime] vectors: usize,
    #[comptime] pitch: usize,
    #[comptime] units: usize,
    #[comptime] dealt: bool,
) {
    let all = comptime!(lines * vectors);
    let full = comptime!(all / units);
    let shares = comptime!(all.div_ceil(units));
    #[unroll]
    for share in 0..full {
        let at = UNIT_POS as usize + comptime!(share * units);
        tile[first + put_at(at, lines, vectors, pitch, dealt)] = held[share];
    }
    #[unroll]
    for share in full..shares {
        let at = UNIT_POS as usize + comptime!(share * units);
        if at < all {
            tile[first + put_at(at, lines, vectors, pitch, dealt)] = held[share];
        }
    }
}

/// Where vector `at` of `lines` lines of `vectors` vectors goes.
#[cube]
fn put_at(
    at: usize,
    #[comptime] lines: usize,
    #[comptime] vectors: usize,
    #[comptime] pitch: usize,
    #[comptime] dealt: bool,
) -> usize {
    let mut line = at / vectors;
    if comptime!(dealt) {
        line = at / vectors % 4 * comptime!(lines / 4) + at / vectors / 4;
    }
    line * pitch + at % vectors
}

/// Adds to the sums of each unit its part of the products of its places with its outputs, over `inner` vectors. Every
/// sum is one chain over the inner dimension of the part.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn add_staged_products<N: Size>(
    places: &[Vector<f32, N>],
    weights: &[Vector<f32, N>],
    sums: &mut Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    left: &Factor,
    right: &Factor,
    at: &UnitAt,
    inner: usize,
    #[comptime] blocks: Blocks,
) {
    let (chunk, parts) = comptime!((blocks.chunk, blocks.parts));
    let stage = comptime!(blocks.stage());
    let mut x = Array::<Vector<f32, N>>::new(comptime!(blocks.brought(blocks.lines() * chunk)));
    let mut w =
        Array::<Vector<f32, N>>::new(comptime!(blocks.brought(4 * blocks.columns() * chunk)));
    take_chunk(places, weights, &mut x, &mut w, left, right, 0usize, blocks);
    put_chunk(&x, &w, tile, 0usize, blocks);
    sync_cube();
    let chunks = inner.div_ceil(chunk);
    for current in 0..chunks {
        let next = current + 1;
        if next < chunks {
            take_chunk(places, weights, &mut x, &mut w, left, right, next, blocks);
        }
        let rest = inner - current * chunk;
        let here = select(rest < chunk, rest, chunk);
        let own = (here + comptime!(parts - 1) - at.part) / parts;
        let first = current % 2 * stage;
        for turn in 0..own {
            multiply(sums, tile, first, turn * parts + at.part, at, blocks);
        }
        if next < chunks {
            put_chunk(&x, &w, tile, next % 2 * stage, blocks);
        }
        sync_cube();
    }
}

/// Takes chunk `chunk` of both factors.
#[cube]
#[allow(clippy::too_many_arguments)]
fn take_chunk<N: Size>(
    places: &[Vector<f32, N>],
    weights: &[Vector<f32, N>],
    x: &mut Array<Vector<f32, N>>,
    w: &mut Array<Vector<f32, N>>,
    left: &Factor,
    right: &Factor,
    chunk: usize,
    #[comptime] blocks: Blocks,
) {
    let size = comptime!(blocks.chunk);
    let (units, lines) = comptime!((blocks.units(), blocks.lines()));
    let columns = comptime!(blocks.columns());
    let begin = chunk * size;
    take(places, x, left, 0usize, begin, lines, size, units);
    if comptime!(blocks.along) {
        let lines = comptime!(4 * columns);
        take(weights, w, right, 0usize, begin, lines, size, units);
    } else {
        let lines = comptime!(4 * size);
        take(weights, w, right, 4 * begin, 0usize, lines, columns, units);
    }
}

/// Puts a chunk of both factors into `tile` from `first` on.
#[cube]
fn put_chunk<N: Size>(
    x: &Array<Vector<f32, N>>,
    w: &Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    first: usize,
    #[comptime] blocks: Blocks,
) {
    let size = comptime!(blocks.chunk);
    let (units, lines) = comptime!((blocks.units(), blocks.lines()));
    let (columns, pitch) = comptime!((blocks.columns(), blocks.pitch()));
    let second = first + comptime!(blocks.left());
    put(x, tile, first, lines, size, pitch, units, false);
    if comptime!(blocks.along) {
        let lines = comptime!(4 * columns);
        put(w, tile, second, lines, size, pitch, units, true);
    } else {
        let lines = comptime!(4 * size);
        put(w, tile, second, lines, columns, columns, units, false);
    }
}

/// Adds the products of vector `k` of the inner dimension of the chunk that begins at `first`.
#[cube]
fn multiply<N: Size>(
    sums: &mut Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    first: usize,
    k: usize,
    at: &UnitAt,
    #[comptime] blocks: Blocks,
) {
    let (across, vectors, pitch) = comptime!((blocks.across, blocks.vectors, blocks.pitch()));
    let columns = comptime!(blocks.columns());
    let second = first + comptime!(blocks.left());
    // Weights of the four numbers of the vector, one after the other.
    let mut w = Array::<Vector<f32, N>>::new(comptime!(4 * vectors));
    #[unroll]
    for v in 0..vectors {
        if comptime!(blocks.along) {
            let right = second + at.beside * pitch + k;
            let mut lines = Array::<Vector<f32, N>>::new(4usize);
            #[unroll]
            for line in 0..4usize {
                lines[line] = tile[right + comptime!((line * columns + v * across) * pitch)];
            }
            #[unroll]
            for j in 0..4usize {
                let mut of_outputs = Vector::<f32, N>::new(0.0f32);
                #[unroll]
                for line in 0..4usize {
                    of_outputs.insert(line, lines[line].extract(j));
                }
                w[comptime!(j * vectors + v)] = of_outputs;
            }
        } else {
            let right = second + 4 * k * columns + at.beside;
            #[unroll]
            for j in 0..4usize {
                w[comptime!(j * vectors + v)] = tile[right + comptime!(j * columns + v * across)];
            }
        }
    }
    let left = first + at.below * pitch + k;
    #[unroll]
    for i in 0..comptime!(blocks.places) {
        let x = tile[left + comptime!(i * blocks.down * pitch)];
        #[unroll]
        for j in 0..4usize {
            #[unroll]
            for v in 0..vectors {
                sums[comptime!(i * vectors + v)] +=
                    Vector::new(x.extract(j)) * w[comptime!(j * vectors + v)];
            }
        }
    }
}

/// Adds the sums of all parts, in order. Afterwards each unit has the totals of every `parts`th of its sums, starting
/// with the one whose index is its part.
#[cube]
pub(crate) fn add_parts<N: Size>(
    sums: &Array<Vector<f32, N>>,
    totals: &mut Array<Vector<f32, N>>,
    tile: &mut Shared<[Vector<f32, N>]>,
    at: &UnitAt,
    #[comptime] blocks: Blocks,
) {
    let (parts, lanes) = comptime!((blocks.parts, blocks.lanes()));
    let (all, rounds) = comptime!((blocks.sums(), blocks.totals()));
    #[unroll]
    for round in 0..rounds {
        if comptime!(parts == 1) {
            totals[round] = sums[round];
        } else {
            let count = comptime!(parts.min(all - round * parts));
            #[unroll]
            for i in 0..count {
                tile[(at.part + comptime!(i * parts)) * lanes + at.lane] =
                    sums[comptime!(round * parts + i)];
            }
            sync_cube();
            let first = at.part * comptime!(parts * lanes) + at.lane;
            let mut total = tile[first];
            #[unroll]
            for part in 1..parts {
                total += tile[first + comptime!(part * lanes)];
            }
            totals[round] = total;
            sync_cube();
        }
    }
}

/// A total that a unit has.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct TotalAt {
    /// Its place within the block.
    pub(crate) place: usize,
    /// Its vector of outputs within the block.
    pub(crate) column: usize,
    /// Whether the unit has it.
    pub(crate) there: bool,
}

/// The place and column of total `round` of a unit.
#[cube]
pub(crate) fn total_at(
    at: &UnitAt,
    #[comptime] round: usize,
    #[comptime] blocks: Blocks,
) -> TotalAt {
    let (vectors, down, across) = comptime!((blocks.vectors, blocks.down, blocks.across));
    let mut sum = comptime!(round * blocks.parts).runtime();
    if comptime!(blocks.parts > 1) {
        sum += at.part;
    }
    TotalAt {
        place: at.below + sum / vectors * down,
        column: at.beside + sum % vectors * across,
        there: sum < comptime!(blocks.sums()),
    }
}
