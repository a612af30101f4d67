//! The instruction set that the kernels run on.

use crate::error::EngineError;
use pulp::{Simd, WithSimd};
use std::fmt;
use std::str::FromStr;

/// An instruction set, detected at run time or pinned by the user. Results are bit-identical on one set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instructions(Set);

#[derive(Debug, Clone, Copy)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
    Portable,
}

impl Set {
    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
            Self::Portable => "portable",
        }
    }

    /// What this processor has, the widest first.
    fn available() -> Vec<Self> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            sets.extend(pulp::x86::V4::try_new().map(Self::Avx512));
            sets.extend(pulp::x86::V3::try_new().map(Self::Avx2));
        }
        #[cfg(target_arch = "aarch64")]
        sets.extend(pulp::aarch64::Neon::try_new().map(Self::Neon));
        sets.push(Self::Portable);
        sets
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Set {}

impl Instructions {
    /// The widest set that this processor has.
    pub fn detect() -> Self {
        Self(Set::available()[0])
    }

    /// Every set that this processor has, the widest first.
    pub fn available() -> Vec<Self> {
        Set::available().into_iter().map(Self).collect()
    }

    /// Runs a kernel compiled for this set.
    #[inline]
    pub(crate) fn run<K: WithSimd>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(simd) => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(simd) => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "aarch64")]
            Set::Neon(simd) => Simd::vectorize(simd, kernel),
            Set::Portable => Simd::vectorize(pulp::Scalar256b, kernel),
        }
    }

    /// Runs plain loops compiled for this set.
    #[inline]
    pub(crate) fn vectorize<T>(self, work: impl FnOnce() -> T) -> T {
        struct Loops<F>(F);
        impl<T, F: FnOnce() -> T> WithSimd for Loops<F> {
            type Output = T;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> T {
                (self.0)()
            }
        }
        self.run(Loops(work))
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Instructions {
    type Err = EngineError;

    /// Reads `avx512`, `avx2`, `neon` or `portable`; a set that the processor lacks is an error.
    fn from_str(text: &str) -> Result<Self, EngineError> {
        Self::available()
            .into_iter()
            .find(|set| set.0.name() == text)
            .ok_or_else(|| EngineError::Setting {
                what: "instruction set",
                found: format!(
                    "{text} (this processor has {})",
                    Self::available()
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                needed: "one of avx512, avx2, neon, portable that the processor has",
            })
    }
}
