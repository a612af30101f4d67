//! Products in tiles of registers: the common part of products for dense layers, convolutions and gradients.

use super::column_subset::SumTerms;
use super::fused::in_double_precision;
use super::mask::first_lanes;
use super::multiply::Multiply;
use super::packing::{PANEL, Packing};
use super::start::SumStart;
use pulp::Simd;

/// Most rows of a tile that is several vectors wide.
pub(super) const WIDE_ROWS: usize = 6;
/// Most rows of a tile that is one vector wide.
pub(super) const NARROW_ROWS: usize = 12;

/// Cuts `total` into as few nearly equal parts as `most` allows.
#[inline(always)]
pub(super) fn even_part(total: usize, most: usize) -> usize {
    total.div_ceil(total.div_ceil(most).max(1)).max(1)
}

/// Calls a method for tiles of `S` with its row count as a constant.
macro_rules! with_rows {
    ($rows:expr, [$($count:literal)*], $receiver:ident.$tile:ident::<$simd:ident, $vectors:literal>$arguments:tt) => {
        match $rows {
            $($count => $receiver.$tile::<$simd, $count, $vectors>$arguments,)*
            rows => unreachable!("a tile of {rows} rows"),
        }
    };
}

/// Calls a method for tiles of `S` with its row count and its vectors as constants, for up to [`Columns::most`] rows.
macro_rules! with_tile {
    ($rows:expr, $vectors:expr, $receiver:ident.$tile:ident::<$simd:ident>$arguments:tt) => {
        if const { in_double_precision::<$simd>() } {
            match $vectors {
                2 => with_rows!($rows, [1], $receiver.$tile::<$simd, 2>$arguments),
                _ => with_rows!($rows, [1], $receiver.$tile::<$simd, 1>$arguments),
            }
        } else if const { $simd::REGISTER_COUNT >= 32 } {
            match $vectors {
                4 => with_rows!($rows, [1 2 3 4 5 6], $receiver.$tile::<$simd, 4>$arguments),
                2 => with_rows!($rows, [1 2 3 4 5 6 7 8 9 10 11 12], $receiver.$tile::<$simd, 2>$arguments),
                _ => with_rows!($rows, [1 2 3 4 5 6 7 8 9 10 11 12], $receiver.$tile::<$simd, 1>$arguments),
            }
        } else {
            match $vectors {
                2 => with_rows!($rows, [1 2 3 4 5 6], $receiver.$tile::<$simd, 2>$arguments),
                _ => with_rows!($rows, [1 2 3 4 5 6 7 8 9 10 11 12], $receiver.$tile::<$simd, 1>$arguments),
            }
        }
    };
}
pub(super) use {with_rows, with_tile};

/// Floats of a weight that stay in the first-level cache while rows are multiplied with it.
const CACHED: usize = 6144;

/// Products whose rows lie in lines: row `i` of a line begins `i · x_stride` floats after the line in `x` and
/// `i · y_stride` after it in `y`. A row of `x` is `segments` runs of `segment` floats, `segment_stride` apart. If not
/// every number is a term, it is one run, and `segment` is the number of its terms.
pub(super) struct Panel<'a, T> {
    pub(super) x: *const f32,
    pub(super) x_stride: usize,
    pub(super) terms: T,
    /// Rows of `w`.
    pub(super) inner: usize,
    pub(super) segments: usize,
    pub(super) segment: usize,
    pub(super) segment_stride: usize,
    pub(super) w: *const f32,
    pub(super) packing: Packing,
    pub(super) start: SumStart<'a>,
    pub(super) y: *mut f32,
    pub(super) y_stride: usize,
    pub(super) columns: usize,
    pub(super) relu: bool,
}

/// Where rows begin, in floats of `x` and of `y`.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) x: usize,
    pub(super) y: usize,
}

/// Rows of a line and how they are cut.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    /// Rows of a tile; the last may have fewer.
    of_tile: usize,
}

/// Some columns of a product, as cut into tiles.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) first: usize,
    pub(super) width: usize,
    /// Vectors of a tile; the only one may be wider than `width`.
    pub(super) vectors: usize,
    /// Most rows of a tile: sums, weights and one factor fit the registers.
    pub(super) most: usize,
}

impl Columns {
    /// The columns of the tiles that begin at column `first` of `columns`.
    #[inline(always)]
    pub(super) fn from<S: Simd>(first: usize, columns: usize) -> Self {
        let (left, lanes) = (columns - first, S::F32_LANES);
        let many = S::REGISTER_COUNT >= 32;
        let (vectors, most) = match left / lanes {
            4.. if many => (4, WIDE_ROWS),
            2.. if many => (2, NARROW_ROWS),
            2.. => (2, WIDE_ROWS),
            _ => (1, NARROW_ROWS),
        };
        // Sums in double precision leave no register for more rows.
        let most = match const { in_double_precision::<S>() } {
            true => 1,
            false => most,
        };
        Self {
            first,
            width: left.min(vectors * lanes),
            vectors,
            most,
        }
    }

    /// All columns, from the first to the last.
    #[inline(always)]
    pub(super) fn all<S: Simd>(columns: usize) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(columns.div_ceil(S::F32_LANES));
        let mut first = 0;
        while first < columns {
            let next = Self::from::<S>(first, columns);
            first += next.width;
            all.push(next);
        }
        all
    }
}

impl<T: SumTerms> Panel<'_, T> {
    /// Computes `rows` rows of every line, given where it begins.
    ///
    /// If there are many tiles, the sums are cut along the rows of `w`, so that the part of `w` that the tiles share
    /// stays in cache. Meanwhile `y` holds the partial sums, which changes no bit.
    ///
    /// # Safety
    /// All addresses that the rows of the lines read and write are within their allocations, and so is `w`
    /// `[inner, columns]`.
    #[inline(always)]
    pub(super) unsafe fn lines<S: Simd, M: Multiply>(
        &self,
        simd: S,
        multiply: M,
        rows: usize,
        lines: &[Place],
    ) {
        if const { M::TILES } {
            // SAFETY: the caller's promise, and the maker of `multiply` has ensured that its unit exists.
            return unsafe { self.in_tiles::<S, M::Unit>(simd, rows, lines) };
        }
        let mut all = Columns::all::<S>(self.columns);
        if self.packing == (Packing::Panels { backwards: true }) {
            all.reverse();
        }
        for columns in all {
            let of_tile = even_part(rows, columns.most);
            let most = match lines.len() * rows.div_ceil(of_tile) {
                0..=1 => self.segment,
                _ => CACHED / columns.width,
            };
            let rows = Rows {
                count: rows,
                of_tile,
            };
            for cut in &self.cuts(most.max(1)) {
                for line in lines {
                    // SAFETY: the caller's promise.
                    unsafe { self.line(simd, multiply, *line, rows, &columns, cut) };
                }
            }
        }
    }
    /// The pieces of the sums, of at most `most` terms and nearly equal length within a segment. They are kept in
    /// memory, as their bounds would otherwise be recomputed in the innermost loop.
    fn cuts(&self, most: usize) -> Vec<Cut> {
        let pieces = self.segment.div_ceil(most).max(1);
        let size = self.segment.div_ceil(pieces);
        let all = self.segments * pieces;
        let cut = |piece: usize| {
            let from = (piece % pieces * size).min(self.segment);
            Cut {
                segment: piece / pieces,
                from,
                until: (from + size).min(self.segment),
                first: piece == 0,
                last: piece + 1 == all,
            }
        };
        (0..all).map(cut).collect()
    }

    /// One piece of the sums of all rows of one line.
    #[inline(always)]
    unsafe fn line<S: Simd>(
        &self,
        simd: S,
        multiply: impl Multiply,
        line: Place,
        rows: Rows,
        columns: &Columns,
        cut: &Cut,
    ) {
        let mut row = 0;
        while row < rows.count {
            let count = rows.of_tile.min(rows.count - row);
            // SAFETY: the caller bounds the rows of the line.
            unsafe {
                let first = Place {
                    x: line.x + row * self.x_stride,
                    y: line.y + row * self.y_stride,
                };
                let tile = self.tile(first, columns, cut);
                with_tile!(count, columns.vectors, tile.compute::<S>(simd, multiply));
            }
            row += count;
        }
    }

    /// The tile whose first row is at `place`.
    #[inline(always)]
    unsafe fn tile(&self, place: Place, columns: &Columns, cut: &Cut) -> Tile<T> {
        let (first, inner) = (columns.first, self.inner);
        let (w, w_stride) = match self.packing {
            Packing::Rows => (first, self.columns),
            Packing::Panels { .. } => {
                let panel = first - first % PANEL;
                (
                    panel * inner + first - panel,
                    PANEL.min(self.columns - panel),
                )
            }
        };
        let begin = match (cut.first, self.start) {
            (true, SumStart::Zero) => Begin::Zero,
            // SAFETY: the caller bounds the tile.
            (true, SumStart::Bias(bias)) => Begin::Bias(unsafe { bias.as_ptr().add(first) }),
            (true, SumStart::Target) | (false, _) => Begin::Target,
        };
        // SAFETY: the caller bounds the tile.
        unsafe {
            let (from, terms) = self.terms.after(cut.from);
            Tile {
                x: self
                    .x
                    .add(place.x + cut.segment * self.segment_stride + from),
                x_stride: self.x_stride,
                terms,
                count: cut.until - cut.from,
                w: self
                    .w
                    .add(w + (cut.segment * self.segment + from) * w_stride),
                w_stride,
                begin,
                y: self.y.add(place.y + first),
                y_stride: self.y_stride,
                width: columns.width,
                relu: self.relu && cut.last,
            }
        }
    }
}

/// A piece of the sums: terms `from..until` of a segment.
struct Cut {
    segment: usize,
    from: usize,
    until: usize,
    first: bool,
    last: bool,
}

/// The initial values of the sums of a tile.
#[derive(Clone, Copy)]
enum Begin {
    Zero,
    Bias(*const f32),
    Target,
}

struct Tile<T> {
    x: *const f32,
    x_stride: usize,
    terms: T,
    count: usize,
    w: *const f32,
    w_stride: usize,
    begin: Begin,
    y: *mut f32,
    y_stride: usize,
    width: usize,
    relu: bool,
}

impl<T: SumTerms> Tile<T> {
    /// One tile of `R` rows and `V` vectors; a tile of one vector may be narrower than the vector.
    #[inline(always)]
    unsafe fn compute<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        multiply: impl Multiply,
    ) {
        let lanes = S::F32_LANES;
        let last = if V == 1 { self.width } else { lanes };
        let mask = first_lanes(simd, last);
        let load = |pointer: *const f32, vector: usize| {
            // SAFETY: the caller keeps `width` columns readable; lanes beyond them are masked.
            unsafe {
                if V > 1 {
                    pointer
                        .add(vector * lanes)
                        .cast::<S::f32s>()
                        .read_unaligned()
                } else {
                    simd.mask_load_ptr_f32s(mask, pointer)
                }
            }
        };
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (row, sums) in sums.iter_mut().enumerate() {
            let begin = match self.begin {
                Begin::Zero => continue,
                Begin::Bias(bias) => bias,
                // SAFETY: the row is within `y`.
                Begin::Target => unsafe { self.y.add(row * self.y_stride).cast_const() },
            };
            for (vector, sum) in sums.iter_mut().enumerate() {
                *sum = load(begin, vector);
            }
        }
        for term in 0..self.count {
            // SAFETY: `term < count`.
            let k = unsafe { self.terms.at(term) };
            let mut weights = [simd.splat_f32s(0.0); V];
            for (vector, weight) in weights.iter_mut().enumerate() {
                // SAFETY: row `k` is within `w`.
                *weight = load(unsafe { self.w.add(k * self.w_stride) }, vector);
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row and k are within `x`.
                let x = simd.splat_f32s(unsafe { *self.x.add(row * self.x_stride + k) });
                for vector in 0..V {
                    sums[vector] = multiply.add(simd, x, weights[vector], sums[vector]);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sum) in sums.iter().enumerate() {
                let value = if self.relu {
                    simd.max_f32s(*sum, simd.splat_f32s(0.0))
                } else {
                    *sum
                };
                // SAFETY: the caller keeps `width` columns of each row writable.
                unsafe {
                    let target = self.y.add(row * self.y_stride + vector * lanes);
                    if V > 1 {
                        target.cast::<S::f32s>().write_unaligned(value)
                    } else {
                        simd.mask_store_ptr_f32s(mask, target, value)
                    }
                }
            }
        }
    }
}
