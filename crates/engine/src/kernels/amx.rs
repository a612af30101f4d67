//! Products by Intel's AMX: a unit that multiplies tiles of 16 by 16 pairs of numbers in bfloat16.
//!
//! The unit adds the products of a block of 16 pairs from zero on, those of first and of second numbers apart, and then adds both
//! sums to what there is. So the bits of a product depend on where blocks begin: every 16 pairs, and anew with each line of a window.
//! They do not depend on which rows and columns are computed together.

use super::column_subset::stretches;
use super::outer::Outer;
use super::packing::{PANEL, Packing, transpose};
use super::panel::{Panel, Place, even_part};
use super::start::Start;
use super::update::Update;
use pulp::Simd;

#[cfg(target_arch = "x86_64")]
pub(super) use chip::{Chip, has_unit};

/// Most rows of a tile, and places of a row.
const SIDE: usize = 16;

/// Registers of the unit: 0 and 1 hold sums, 2 one factor of both, 3 and 4 the other; 5, 6 and 7 hold those of a last, shorter block.
const REGISTERS: usize = 8;

/// Rows of the registers, and bytes of a row.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    widths: [u16; 16],
    rows: [u8; 16],
}

impl Shape {
    /// Tiles of `rows` rows and `columns` columns of sums over blocks whose last has `last` pairs, or none.
    fn new(rows: usize, columns: usize, last: usize) -> Self {
        let mut shape = Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            widths: [0; 16],
            rows: [0; 16],
        };
        let last = last.max(1);
        let sizes = [
            (rows, columns),
            (rows, columns),
            (rows, SIDE),
            (SIDE, columns),
            (SIDE, columns),
            (rows, last),
            (last, columns),
            (last, columns),
        ];
        for (at, (rows, places)) in sizes.into_iter().enumerate() {
            shape.rows[at] = rows as u8;
            shape.widths[at] = (places * size_of::<f32>()) as u16;
        }
        shape
    }
}

/// What multiplies tiles. `REGISTER` is below 8; strides are in floats.
///
/// # Safety of its methods
/// The rows of the register are within the allocation that they are read from or written to, and the processor has what the type needs.
pub(crate) trait Unit: Default {
    /// Shapes the registers.
    unsafe fn shape(&mut self, shape: &Shape);
    /// Sets a register to zero.
    unsafe fn zero<const REGISTER: usize>(&mut self);
    /// Reads a register.
    unsafe fn load<const REGISTER: usize>(&mut self, from: *const f32, stride: usize);
    /// Writes a register.
    unsafe fn store<const REGISTER: usize>(&mut self, to: *mut f32, stride: usize);
    /// Adds the products of a block.
    unsafe fn add<const SUM: usize, const A: usize, const B: usize>(&mut self);
    /// Gives the registers back.
    unsafe fn release(&mut self);
}

/// The unit of this processor.
#[cfg(target_arch = "x86_64")]
mod chip {
    use super::{Shape, Unit};
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::LazyLock;

    /// The unit of this processor.
    #[derive(Debug, Default)]
    pub(in crate::kernels) struct Chip(());

    impl Unit for Chip {
        #[inline(always)]
        unsafe fn shape(&mut self, shape: &Shape) {
            // SAFETY: the caller's promise.
            unsafe { asm!("ldtilecfg [{0}]", in(reg) shape, options(nostack, readonly)) }
        }

        #[inline(always)]
        unsafe fn zero<const REGISTER: usize>(&mut self) {
            // SAFETY: the caller's promise.
            unsafe { asm!("tilezero tmm{r}", r = const REGISTER, options(nostack, nomem)) }
        }

        #[inline(always)]
        unsafe fn load<const REGISTER: usize>(&mut self, from: *const f32, stride: usize) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    "tileloadd tmm{r}, [{from} + {stride}*4]",
                    r = const REGISTER,
                    from = in(reg) from,
                    stride = in(reg) stride,
                    options(nostack, readonly)
                )
            }
        }

        #[inline(always)]
        unsafe fn store<const REGISTER: usize>(&mut self, to: *mut f32, stride: usize) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    "tilestored [{to} + {stride}*4], tmm{r}",
                    r = const REGISTER,
                    to = in(reg) to,
                    stride = in(reg) stride,
                    options(nostack)
                )
            }
        }

        #[inline(always)]
        unsafe fn add<const SUM: usize, const A: usize, const B: usize>(&mut self) {
            // SAFETY: the caller's promise.
            unsafe {
                asm!(
                    "tdpbf16ps tmm{sum}, tmm{a}, tmm{b}",
                    sum = const SUM,
                    a = const A,
                    b = const B,
                    options(nostack, nomem)
                )
            }
        }

        #[inline(always)]
        unsafe fn release(&mut self) {
            // SAFETY: the caller's promise.
            unsafe { asm!("tilerelease", options(nostack, nomem)) }
        }
    }

    /// Whether this processor has the unit, and the system lets this process use it.
    pub(in crate::kernels) fn has_unit() -> bool {
        static HAS: LazyLock<bool> = LazyLock::new(|| {
            // Leaf 7: bfloat16 in tiles, and tiles.
            const NEEDED: u32 = 1 << 22 | 1 << 24;
            __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & NEEDED == NEEDED && permitted()
        });
        *HAS
    }

    /// Asks the system for the registers: their contents are kept for those alone who asked.
    #[cfg(target_os = "linux")]
    fn permitted() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const TILE_DATA: libc::c_long = 18;
        // SAFETY: the call changes what the system keeps of this process, and nothing else.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
    }

    /// Other systems are not asked.
    #[cfg(not(target_os = "linux"))]
    fn permitted() -> bool {
        false
    }
}

/// The unit's numbers, worked out by other instructions.
#[derive(Debug)]
pub(crate) struct InSteps {
    shape: Shape,
    registers: [[[f32; SIDE]; SIDE]; REGISTERS],
}

impl Default for InSteps {
    fn default() -> Self {
        Self {
            shape: Shape::new(SIDE, SIDE, SIDE),
            registers: [[[0.0; SIDE]; SIDE]; REGISTERS],
        }
    }
}

impl InSteps {
    fn rows(&self, register: usize) -> usize {
        self.shape.rows[register].into()
    }

    fn places(&self, register: usize) -> usize {
        usize::from(self.shape.widths[register]) / size_of::<f32>()
    }
}

impl Unit for InSteps {
    unsafe fn shape(&mut self, shape: &Shape) {
        self.shape = *shape;
    }

    unsafe fn zero<const REGISTER: usize>(&mut self) {
        self.registers[REGISTER] = [[0.0; SIDE]; SIDE];
    }

    unsafe fn load<const REGISTER: usize>(&mut self, from: *const f32, stride: usize) {
        let (rows, places) = (self.rows(REGISTER), self.places(REGISTER));
        for (row, to) in self.registers[REGISTER].iter_mut().take(rows).enumerate() {
            // SAFETY: the caller's promise.
            let from = unsafe { std::slice::from_raw_parts(from.add(row * stride), places) };
            to[..places].copy_from_slice(from);
        }
    }

    unsafe fn store<const REGISTER: usize>(&mut self, to: *mut f32, stride: usize) {
        let (rows, places) = (self.rows(REGISTER), self.places(REGISTER));
        for (row, from) in self.registers[REGISTER].iter().take(rows).enumerate() {
            // SAFETY: the caller's promise.
            let to = unsafe { std::slice::from_raw_parts_mut(to.add(row * stride), places) };
            to.copy_from_slice(&from[..places]);
        }
    }

    unsafe fn add<const SUM: usize, const A: usize, const B: usize>(&mut self) {
        let (rows, pairs, columns) = (self.rows(A), self.places(A), self.places(B));
        for row in 0..rows {
            let (mut first, mut second) = ([0.0f32; SIDE], [0.0f32; SIDE]);
            for pair in 0..pairs {
                let a = halves(self.registers[A][row][pair]);
                for column in 0..SIDE {
                    // A product of two numbers of eight digits is exact.
                    let b = halves(self.registers[B][pair][column]);
                    first[column] += a.0 * b.0;
                    second[column] += a.1 * b.1;
                }
            }
            let sums = &mut self.registers[SUM][row][..columns];
            for ((sum, first), second) in sums.iter_mut().zip(first).zip(second) {
                *sum += first + second;
            }
        }
    }

    unsafe fn release(&mut self) {}
}

/// The numbers of a pair.
#[inline(always)]
fn halves(pair: f32) -> (f32, f32) {
    let bits = pair.to_bits();
    (
        f32::from_bits(bits & 0xFFFF_0000),
        f32::from_bits(bits << 16),
    )
}

/// Where a tile begins, and its first row or column that the tile before it does not have.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: usize,
    fresh: usize,
}

/// `total` rows or columns in parts of `size`, of which the last may overlap the one before.
fn parts(total: usize, size: usize) -> impl Iterator<Item = Part> {
    (0..total).step_by(size).map(move |fresh| Part {
        first: fresh.min(total - size),
        fresh,
    })
}

/// Factors of the sums of a tile, in pairs: the rows of `a` are `a_stride` floats apart, those of `b` `b_stride`.
struct Factors {
    a: *const f32,
    a_stride: usize,
    b: *const f32,
    b_stride: usize,
    /// Floats of `b` from the first tile to the second, if there are two.
    second: Option<usize>,
    pairs: usize,
}

impl Factors {
    /// Adds their products to the sums in the registers 0 and 1.
    ///
    /// # Safety
    /// The rows are within their allocations.
    #[inline(always)]
    unsafe fn add(&self, unit: &mut impl Unit) {
        let whole = self.pairs - self.pairs % SIDE;
        // SAFETY: the caller's promise.
        unsafe {
            for pair in (0..whole).step_by(SIDE) {
                let b = self.b.add(pair * self.b_stride);
                unit.load::<2>(self.a.add(pair), self.a_stride);
                unit.load::<3>(b, self.b_stride);
                unit.add::<0, 2, 3>();
                if let Some(second) = self.second {
                    unit.load::<4>(b.add(second), self.b_stride);
                    unit.add::<1, 2, 4>();
                }
            }
            if whole < self.pairs {
                let b = self.b.add(whole * self.b_stride);
                unit.load::<5>(self.a.add(whole), self.a_stride);
                unit.load::<6>(b, self.b_stride);
                unit.add::<0, 5, 6>();
                if let Some(second) = self.second {
                    unit.load::<7>(b.add(second), self.b_stride);
                    unit.add::<1, 5, 7>();
                }
            }
        }
    }
}

/// Columns of a weight that lie together: floats of `w` before the first, and from one row to the next.
struct Strip {
    first: usize,
    width: usize,
    w: usize,
    w_stride: usize,
}

impl<T> Panel<'_, T> {
    /// [`Panel::lines`] in tiles.
    ///
    /// # Safety
    /// As there; and the processor has what `U` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<U: Unit>(&self, rows: usize, lines: &[Place]) {
        let mut unit = U::default();
        let height = even_part(rows, SIDE);
        for strip in self.strips() {
            let width = strip.width.min(SIDE);
            // SAFETY: the caller's promise; parts are within the rows and the columns.
            unsafe {
                unit.shape(&Shape::new(height, width, self.segment % SIDE));
                for line in lines {
                    for row in parts(rows, height) {
                        let mut columns = parts(strip.width, width);
                        while let Some(one) = columns.next() {
                            let other = columns.next();
                            self.sum(&mut unit, *line, row, &strip, one, other);
                            let size = [height, width];
                            self.leave::<U, 0>(&mut unit, *line, row, &strip, one, size);
                            if let Some(other) = other {
                                self.leave::<U, 1>(&mut unit, *line, row, &strip, other, size);
                            }
                        }
                    }
                }
                unit.release();
            }
        }
    }

    /// The columns of `w` as they lie.
    fn strips(&self) -> impl Iterator<Item = Strip> {
        let (inner, columns) = (self.inner, self.columns);
        let wide = match self.packing {
            Packing::Rows => columns.max(1),
            Packing::Panels { .. } => PANEL,
        };
        let strip = move |first: usize| {
            let width = wide.min(columns - first);
            Strip {
                first,
                width,
                w: first * inner,
                w_stride: width,
            }
        };
        (0..columns).step_by(wide).map(strip)
    }

    /// The sums of the rows from `row.first` on in one or two tiles.
    #[inline(always)]
    unsafe fn sum(
        &self,
        unit: &mut impl Unit,
        line: Place,
        row: Part,
        strip: &Strip,
        one: Part,
        other: Option<Part>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.begin::<_, 0>(unit, line, row, strip.first + one.first);
            if let Some(other) = other {
                self.begin::<_, 1>(unit, line, row, strip.first + other.first);
            }
            for segment in 0..self.segments {
                let x = line.x + row.first * self.x_stride + segment * self.segment_stride;
                let w = strip.w + segment * self.segment * strip.w_stride + one.first;
                let factors = Factors {
                    a: self.x.add(x),
                    a_stride: self.x_stride,
                    b: self.w.add(w),
                    b_stride: strip.w_stride,
                    second: other.map(|other| other.first - one.first),
                    pairs: self.segment,
                };
                factors.add(unit);
            }
        }
    }

    /// What the sums of a tile begin with.
    #[inline(always)]
    unsafe fn begin<U: Unit, const SUM: usize>(
        &self,
        unit: &mut U,
        line: Place,
        row: Part,
        column: usize,
    ) {
        // SAFETY: the caller's promise; a stride of zero reads the bias for every row.
        unsafe {
            match self.start {
                Start::Zero => unit.zero::<SUM>(),
                Start::Bias(bias) => unit.load::<SUM>(bias.as_ptr().add(column), 0),
                Start::Target => {
                    let y = line.y + row.first * self.y_stride + column;
                    unit.load::<SUM>(self.y.add(y), self.y_stride);
                }
            }
        }
    }

    /// Writes what is fresh of a tile of sums.
    #[inline(always)]
    unsafe fn leave<U: Unit, const SUM: usize>(
        &self,
        unit: &mut U,
        line: Place,
        row: Part,
        strip: &Strip,
        column: Part,
        [height, width]: [usize; 2],
    ) {
        let y = line.y + row.first * self.y_stride + strip.first + column.first;
        // SAFETY: the caller's promise.
        unsafe {
            let y = self.y.add(y);
            if row.first == row.fresh && column.first == column.fresh && !self.relu {
                return unit.store::<SUM>(y, self.y_stride);
            }
            let mut sums = [[0.0f32; SIDE]; SIDE];
            unit.store::<SUM>(sums.as_mut_ptr().cast(), SIDE);
            let from = column.fresh - column.first;
            for (at, sums) in sums[..height]
                .iter()
                .enumerate()
                .skip(row.fresh - row.first)
            {
                let y = y.add(at * self.y_stride + from);
                for (at, sum) in sums[from..width].iter().enumerate() {
                    // As the vectors of the other tiles have it: what is no number becomes zero.
                    let keeps = !self.relu || *sum > 0.0;
                    y.add(at).write(if keeps { *sum } else { 0.0 });
                }
            }
        }
    }
}

/// Floats of `d` that stay in the second-level cache while the rows of the gradient go past it.
const CACHED: usize = 64 << 10;

impl<U: Update> Outer<'_, U> {
    /// The gradient in tiles; the caller has asserted that everything is as long as it must be.
    ///
    /// # Safety
    /// The processor has what `V` needs.
    #[inline(always)]
    pub(super) unsafe fn in_tiles<S: Simd, V: Unit>(&mut self, simd: S) {
        let (pairs, inner, columns) = (self.rows, self.inner, self.columns);
        let mut rows = Vec::with_capacity(pairs * inner);
        for line in 0..pairs / self.line.max(1) {
            for place in 0..self.line {
                let row = &self.x[line * self.line_stride + place * self.x_stride..];
                rows.extend_from_slice(&row[..inner]);
            }
        }
        let mut x = vec![0.0; inner * pairs];
        transpose(&rows, pairs, inner, &mut x);
        let mut unit = V::default();
        let (height, width) = (inner.min(SIDE), columns.min(SIDE));
        // SAFETY: the caller's promise.
        unsafe { unit.shape(&Shape::new(height, width, pairs % SIDE)) };
        // All columns of some rows are handed on together, unless `d` is too large to be read for each.
        let together = match pairs * columns {
            0..=CACHED => columns.next_multiple_of(width),
            _ => 2 * SIDE,
        };
        let tiles: Vec<Part> = parts(columns, width).collect();
        let mut sums = Vec::new();
        for tiles in tiles.chunks(together / width) {
            let (begin, fresh) = (tiles[0].first, tiles[0].fresh);
            let span = tiles[tiles.len() - 1].first + width - begin;
            sums.resize(SIDE * span, 0.0);
            for rows in stretches(self.subset, inner, SIDE) {
                let first = rows.start.min(inner - height);
                for tiles in tiles.chunks(2) {
                    let (one, other) = (tiles[0].first, tiles.get(1).map(|tile| tile.first));
                    // SAFETY: parts are within `x`, transposed, and `d`.
                    unsafe {
                        let factors = Factors {
                            a: x.as_ptr().wrapping_add(first * pairs),
                            a_stride: pairs,
                            b: self.d.as_ptr().wrapping_add(one),
                            b_stride: columns,
                            second: other.map(|other| other - one),
                            pairs,
                        };
                        unit.zero::<0>();
                        unit.zero::<1>();
                        factors.add(&mut unit);
                        let to = sums.as_mut_ptr();
                        unit.store::<0>(to.add(one - begin), span);
                        if let Some(other) = other {
                            unit.store::<1>(to.add(other - begin), span);
                        }
                    }
                }
                for row in rows {
                    let sums = &sums[(row - first) * span..][fresh - begin..span];
                    self.update.apply_all(simd, row * columns + fresh, sums);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { unit.release() };
    }
}
