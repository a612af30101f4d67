//! Sums of products in double precision, with the same bits on every set of instructions.
//!
//! Sums are kept in eight lanes that are added up in one order, and nothing is fused. The loops are compiled for each set
//! of instructions; which one runs is decided at run time.

use pulp::{Arch, Simd, WithSimd};

/// Sums kept side by side, which a processor adds up at once.
pub(super) const LANES: usize = 8;

/// `Σ_k a_k b_k`.
///
/// # Panics
/// If `a` and `b` differ in length.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    Arch::new().dispatch(Dot { a, b })
}

/// `to += factor · from`.
///
/// # Panics
/// If `to` and `from` differ in length.
pub(super) fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    assert_eq!(to.len(), from.len(), "vectors of one length");
    Arch::new().dispatch(AddScaled { to, factor, from });
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        dots(simd, [self.a], self.b)[0]
    }
}

struct AddScaled<'a> {
    to: &'a mut [f64],
    factor: f64,
    from: &'a [f64],
}

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to += self.factor * from;
        }
    }
}

/// `Σ_k rows[r][k] with[k]` of every row.
#[inline(always)]
pub(super) fn dots<S: Simd, const ROWS: usize>(
    simd: S,
    rows: [&[f64]; ROWS],
    with: &[f64],
) -> [f64; ROWS] {
    let registers = LANES / S::F64_LANES;
    let whole = with.len() / LANES * LANES;
    let mut sums = [[simd.splat_f64s(0.0); LANES]; ROWS];
    let parts = rows.map(|row| S::as_simd_f64s(&row[..whole]).0);
    let with_parts = S::as_simd_f64s(&with[..whole]).0;
    for first in (0..with_parts.len()).step_by(registers) {
        for register in 0..registers {
            let with = with_parts[first + register];
            for (sums, parts) in sums.iter_mut().zip(parts) {
                let product = simd.mul_f64s(parts[first + register], with);
                sums[register] = simd.add_f64s(sums[register], product);
            }
        }
    }
    std::array::from_fn(|row| {
        let mut lanes = [0.0; LANES];
        S::as_mut_simd_f64s(&mut lanes)
            .0
            .copy_from_slice(&sums[row][..registers]);
        for ((lane, a), b) in lanes
            .iter_mut()
            .zip(&rows[row][whole..])
            .zip(&with[whole..])
        {
            *lane += a * b;
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    })
}
