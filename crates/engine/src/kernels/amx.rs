//! Intel's AMX, a unit that multiplies tiles of 16 by 16 pairs of bfloat16 numbers, and an emulation with the same
//! bits.
//!
//! For a block of 16 pairs the unit sums the products of the first numbers and those of the second numbers separately,
//! each from zero. Then it adds both sums to the sum so far.

use super::pairs::{EmulatedPairs, Pairing};
#[cfg(target_arch = "x86_64")]
pub(super) use chip::{Chip, has_unit};

/// The most rows of a tile, and the most places of a row.
pub(super) const SIDE: usize = 16;

/// Registers of the unit.
const REGISTERS: usize = 8;

/// A row of a tile: a line of the cache.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Row(pub(super) [f32; SIDE]);

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
    /// Registers for two by two tiles of sums, `rows` by `columns` each, over blocks of `depth` pairs: 0 to 3 hold the
    /// sums, row by row, 4 and 5 the factors of their rows, 6 and 7 the factors of their columns.
    pub(super) fn square(rows: usize, columns: usize, depth: usize) -> Self {
        let (sums, of_rows, of_columns) = ((rows, columns), (rows, depth), (depth, columns));
        Self::of([
            sums, sums, sums, sums, of_rows, of_rows, of_columns, of_columns,
        ])
    }

    /// Registers for a gradient, summed over blocks of `depth` pairs, and for a product of `rows` rows with the weights
    /// that it updates: 0 and 1 hold tiles of the gradient or the weights, 2 and 3 the factors of the gradient, 4 and 5
    /// sums of the product, 6 and 7 the factors of their rows.
    pub(super) fn of_step(depth: usize, rows: usize) -> Self {
        let (whole, of_rows) = ((SIDE, SIDE), (rows, SIDE));
        Self::of([
            whole,
            whole,
            (SIDE, depth),
            (depth, SIDE),
            of_rows,
            of_rows,
            of_rows,
            of_rows,
        ])
    }

    /// Registers of so many rows and places.
    fn of(sizes: [(usize, usize); REGISTERS]) -> Self {
        let mut shape = Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            widths: [0; 16],
            rows: [0; 16],
        };
        for (at, (rows, places)) in sizes.into_iter().enumerate() {
            shape.rows[at] = rows as u8;
            shape.widths[at] = (places * size_of::<f32>()) as u16;
        }
        shape
    }
}

/// A unit that multiplies tiles. `REGISTER` is below 8; strides are in floats.
///
/// # Safety of its methods
/// The rows of the register are within the allocation that is read or written, and the processor has the instructions
/// that the type needs.
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
    /// Writes numbers in pairs.
    unsafe fn pair(pairs: impl Pairing);
    /// A tile transposed.
    unsafe fn transpose(tile: &[Row; SIDE]) -> [Row; SIDE];
}

/// The unit of this processor.
#[cfg(target_arch = "x86_64")]
mod chip {
    use super::{Pairing, Row, SIDE, Shape, Unit};
    use crate::kernels::pairs::in_one;
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, __m512, _mm512_castpd_ps, _mm512_castps_pd, _mm512_loadu_ps,
        _mm512_setzero_ps, _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd,
        _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
    };
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

        #[inline(always)]
        unsafe fn pair(pairs: impl Pairing) {
            // SAFETY: a processor that has the unit has the instruction.
            unsafe { in_one(pairs) }
        }

        #[inline(always)]
        unsafe fn transpose(tile: &[Row; SIDE]) -> [Row; SIDE] {
            // SAFETY: a processor that has the unit has AVX-512.
            unsafe { transposed(tile) }
        }
    }

    /// Transposes a tile in registers: first within squares of four numbers, then the squares. It has no closures,
    /// since a closure would be compiled without AVX-512.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transposed(tile: &[Row; SIDE]) -> [Row; SIDE] {
        let mut squares = [_mm512_setzero_ps(); SIDE];
        let mut row = 0;
        while row < SIDE {
            let a = load_row(&tile[row]);
            let b = load_row(&tile[row + 1]);
            let c = load_row(&tile[row + 2]);
            let d = load_row(&tile[row + 3]);
            let low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
            let high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
            let next_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
            let next_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
            squares[row] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, next_low));
            squares[row + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, next_low));
            squares[row + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, next_high));
            squares[row + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, next_high));
            row += 4;
        }
        let mut columns = [Row::default(); SIDE];
        let mut column = 0;
        while column < 4 {
            let (a, b) = (squares[column], squares[column + 4]);
            let (c, d) = (squares[column + 8], squares[column + 12]);
            // Of each square the even and the odd quarters.
            let even = _mm512_shuffle_f32x4::<0x88>(a, b);
            let odd = _mm512_shuffle_f32x4::<0xDD>(a, b);
            let next_even = _mm512_shuffle_f32x4::<0x88>(c, d);
            let next_odd = _mm512_shuffle_f32x4::<0xDD>(c, d);
            store_row(
                &mut columns[column],
                _mm512_shuffle_f32x4::<0x88>(even, next_even),
            );
            store_row(
                &mut columns[column + 4],
                _mm512_shuffle_f32x4::<0x88>(odd, next_odd),
            );
            store_row(
                &mut columns[column + 8],
                _mm512_shuffle_f32x4::<0xDD>(even, next_even),
            );
            store_row(
                &mut columns[column + 12],
                _mm512_shuffle_f32x4::<0xDD>(odd, next_odd),
            );
            column += 1;
        }
        columns
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_row(row: &Row) -> __m512 {
        // SAFETY: a row has 16 floats.
        unsafe { _mm512_loadu_ps(row.0.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_row(row: &mut Row, values: __m512) {
        // SAFETY: a row has 16 floats.
        unsafe { _mm512_storeu_ps(row.0.as_mut_ptr(), values) }
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

    /// Asks the system for the registers: it saves them only for processes that have asked.
    #[cfg(target_os = "linux")]
    fn permitted() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const TILE_DATA: libc::c_long = 18;
        // SAFETY: the call only changes which registers the system saves for this process.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
    }

    /// On other systems the unit is not used.
    #[cfg(not(target_os = "linux"))]
    fn permitted() -> bool {
        false
    }
}

/// The unit, emulated bit by bit with other instructions.
#[derive(Debug)]
pub(crate) struct Emulated {
    shape: Shape,
    registers: [[[f32; SIDE]; SIDE]; REGISTERS],
}

impl Default for Emulated {
    fn default() -> Self {
        Self {
            shape: Shape::square(SIDE, SIDE, SIDE),
            registers: [[[0.0; SIDE]; SIDE]; REGISTERS],
        }
    }
}

impl Emulated {
    fn rows(&self, register: usize) -> usize {
        self.shape.rows[register].into()
    }

    fn places(&self, register: usize) -> usize {
        usize::from(self.shape.widths[register]) / size_of::<f32>()
    }
}

impl Unit for Emulated {
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
                    // The product of two numbers with eight significant bits is exact.
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

    unsafe fn pair(pairs: impl Pairing) {
        pairs.write(EmulatedPairs);
    }

    unsafe fn transpose(tile: &[Row; SIDE]) -> [Row; SIDE] {
        std::array::from_fn(|row| Row(std::array::from_fn(|column| tile[column].0[row])))
    }
}

/// The first and the second number of a pair.
#[inline(always)]
fn halves(pair: f32) -> (f32, f32) {
    let bits = pair.to_bits();
    (
        f32::from_bits(bits & 0xFFFF_0000),
        f32::from_bits(bits << 16),
    )
}
