//! Intel's AMX: a unit that multiplies tiles of 16 by 16 pairs of numbers in bfloat16, and its numbers in steps.
//!
//! The unit adds the products of a block of 16 pairs from zero on, those of first and of second numbers apart, and then adds both
//! sums to what there is.

#[cfg(target_arch = "x86_64")]
pub(super) use chip::{Chip, has_unit};

/// Most rows of a tile, and places of a row.
pub(super) const SIDE: usize = 16;

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
    pub(super) fn new(rows: usize, columns: usize, last: usize) -> Self {
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
