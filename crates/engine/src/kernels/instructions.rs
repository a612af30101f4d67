//! The instruction set that the kernels run on.

#[cfg(target_arch = "x86_64")]
use super::amx;
use super::fused::IN_DOUBLE;
use super::multiply::{self, Multiply, ProductKernel};
use super::pairs::{self, Pairing};
use crate::error::EngineError;
use crate::network::precision::Precision;
use pulp::{Simd, WithSimd};
use std::fmt;
use std::str::FromStr;

/// An instruction set, detected at run time or pinned by the user. Results are bit-identical on one set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instructions(Set);

#[derive(Debug, Clone, Copy)]
enum Set {
    /// AVX-512 with tiles of products of bfloat16.
    #[cfg(target_arch = "x86_64")]
    AmxBf16(pulp::x86::V4, Tiles),
    /// AVX-512 with products of bfloat16.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
    Portable(Fused),
}

/// How products in tiles are computed. All ways give the same bits.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
enum Tiles {
    /// The unit of this processor.
    Chip,
    /// Other instructions.
    Emulated,
}

/// How portable code computes fused multiply-adds. All ways give the same bits.
#[derive(Debug, Clone, Copy)]
enum Fused {
    /// By instructions that were found on this processor.
    #[cfg(target_arch = "x86_64")]
    Found(pulp::x86::V3),
    /// By instructions that every processor of the architecture has.
    #[cfg(not(target_arch = "x86_64"))]
    Always,
    /// By sums in double precision.
    InDouble,
}

impl Fused {
    /// The fastest that there is.
    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        pulp::x86::V3::try_new().map_or(Self::InDouble, Self::Found)
    }

    /// The fastest that there is.
    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        let always = cfg!(any(
            target_arch = "aarch64",
            target_arch = "loongarch64",
            target_arch = "powerpc64",
            target_arch = "riscv64",
            target_arch = "s390x",
        ));
        if always { Self::Always } else { Self::InDouble }
    }
}

impl Set {
    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::AmxBf16(..) => "amx-bf16",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16(_) => "avx512-bf16",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
            Self::Portable(_) => "portable",
        }
    }

    /// The sets of this processor, the widest first.
    fn available() -> Vec<Self> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx512 = pulp::x86::V4::try_new();
            let multiplies = is_x86_feature_detected!("avx512bf16");
            let tiles = avx512.filter(|_| multiplies && amx::has_unit());
            sets.extend(tiles.map(|simd| Self::AmxBf16(simd, Tiles::Chip)));
            sets.extend(avx512.filter(|_| multiplies).map(Self::Avx512Bf16));
            sets.extend(avx512.map(Self::Avx512));
            sets.extend(pulp::x86::V3::try_new().map(Self::Avx2));
        }
        #[cfg(target_arch = "aarch64")]
        sets.extend(pulp::aarch64::Neon::try_new().map(Self::Neon));
        sets.push(Self::Portable(Fused::detect()));
        sets
    }

    /// Sets that this processor lacks but can emulate with the same bits.
    fn in_steps() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V4::try_new() {
            return vec![Self::AmxBf16(simd, Tiles::Emulated)];
        }
        Vec::new()
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

    /// Every set that this processor has or emulates, and portable code as on processors without fused instructions.
    #[cfg(test)]
    pub(crate) fn every() -> Vec<Self> {
        let mut sets = Set::available();
        sets.extend(Set::in_steps());
        sets.push(Set::Portable(Fused::InDouble));
        sets.into_iter().map(Self).collect()
    }

    /// Runs a kernel compiled for this set.
    #[inline]
    pub(crate) fn run<K: WithSimd>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::AmxBf16(simd, _) | Set::Avx512Bf16(simd) | Set::Avx512(simd) => {
                Simd::vectorize(simd, kernel)
            }
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(simd) => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "aarch64")]
            Set::Neon(simd) => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "x86_64")]
            Set::Portable(Fused::Found(simd)) => Simd::vectorize(simd, InPortableCode(kernel)),
            #[cfg(not(target_arch = "x86_64"))]
            Set::Portable(Fused::Always) => Simd::vectorize(pulp::Scalar256b, kernel),
            Set::Portable(Fused::InDouble) => Simd::vectorize(IN_DOUBLE, kernel),
        }
    }

    /// Computes a product of operands of `precision`; in bfloat16 they come in pairs. Not inlined, as every caller
    /// would contain the code for every set.
    #[inline(never)]
    pub(crate) fn multiply(self, precision: Precision, product: impl ProductKernel) {
        match (precision, self.0) {
            #[cfg(target_arch = "x86_64")]
            (Precision::F32, Set::AmxBf16(simd, _) | Set::Avx512Bf16(simd) | Set::Avx512(simd)) => {
                multiply::Singles.compute_apart(simd, product);
            }
            #[cfg(target_arch = "x86_64")]
            (Precision::Bf16, Set::AmxBf16(simd, Tiles::Chip)) => {
                // SAFETY: a processor without the unit has no such set.
                let tiles = unsafe { multiply::Tiles::<amx::Chip>::new() };
                tiles.compute_apart(simd, product);
            }
            #[cfg(target_arch = "x86_64")]
            (Precision::Bf16, Set::AmxBf16(simd, Tiles::Emulated)) => {
                // SAFETY: the emulation needs no instructions.
                let tiles = unsafe { multiply::Tiles::<amx::Emulated>::new() };
                tiles.compute_apart(simd, product);
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a processor without the instruction has no such set.
            (Precision::Bf16, Set::Avx512Bf16(simd)) => unsafe { multiply::in_one(simd, product) },
            (Precision::F32, _) => self.multiply_by(multiply::Singles, product),
            (Precision::Bf16, _) => self.multiply_by(multiply::Pairs, product),
        }
    }

    /// Portable code uses the instructions of a set with equally wide vectors. Products have the same bits either way,
    /// also those of pairs.
    #[inline]
    fn multiply_by(self, multiply: impl Multiply, product: impl ProductKernel) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::AmxBf16(simd, _) | Set::Avx512Bf16(simd) | Set::Avx512(simd) => {
                multiply.compute_apart(*simd, product);
            }
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(simd) | Set::Portable(Fused::Found(simd)) => {
                multiply.compute_apart(simd, product);
            }
            #[cfg(target_arch = "aarch64")]
            Set::Neon(simd) => multiply.compute_apart(simd, product),
            #[cfg(not(target_arch = "x86_64"))]
            Set::Portable(Fused::Always) => multiply.compute_apart(pulp::Scalar256b, product),
            Set::Portable(Fused::InDouble) => multiply.compute_apart(IN_DOUBLE, product),
        }
    }

    /// Writes numbers in pairs, rounded to bfloat16.
    #[inline]
    pub(crate) fn pair(self, pairs: impl Pairing) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a processor without the instruction has no such set.
            Set::Avx512Bf16(_) | Set::AmxBf16(_, Tiles::Chip) => unsafe { pairs::in_one(pairs) },
            _ => self.vectorize(
                #[inline(always)]
                || pairs.write(pairs::EmulatedPairs),
            ),
        }
    }

    /// Whether products of `precision` come in tiles.
    pub(crate) fn in_tiles(self, precision: Precision) -> bool {
        #[cfg(target_arch = "x86_64")]
        let has = matches!(self.0, Set::AmxBf16(..));
        #[cfg(not(target_arch = "x86_64"))]
        let has = false;
        precision == Precision::Bf16 && has
    }

    /// Whether the set has an instruction for products of `precision`, so that they need no emulation.
    fn multiplies(self, precision: Precision) -> bool {
        #[cfg(target_arch = "x86_64")]
        let in_one = matches!(self.0, Set::Avx512Bf16(_) | Set::AmxBf16(..));
        #[cfg(not(target_arch = "x86_64"))]
        let in_one = false;
        precision == Precision::F32 || in_one
    }

    /// The device kind that runs of `precision` are bit-identical on. Instructions for bfloat16 add nothing to single precision.
    pub(crate) fn kind(self, precision: Precision) -> String {
        match (precision, self.multiplies(precision)) {
            (Precision::F32, _) => match self.0 {
                #[cfg(target_arch = "x86_64")]
                Set::AmxBf16(..) | Set::Avx512Bf16(_) => "cpu/avx512".to_owned(),
                set => format!("cpu/{}", set.name()),
            },
            (Precision::Bf16, true) => format!("cpu/{self}"),
            (Precision::Bf16, false) => format!("cpu/{self}+bf16"),
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

/// Runs a kernel with the vectors of portable code, whatever instructions it is compiled for.
#[cfg(target_arch = "x86_64")]
struct InPortableCode<K>(K);

#[cfg(target_arch = "x86_64")]
impl<K: WithSimd> WithSimd for InPortableCode<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> K::Output {
        self.0.with_simd(pulp::Scalar256b)
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Instructions {
    type Err = EngineError;

    /// Reads `amx-bf16`, `avx512-bf16`, `avx512`, `avx2`, `neon` or `portable`. A set that the processor lacks is an
    /// error, except `amx-bf16`, which AVX-512 can emulate.
    fn from_str(text: &str) -> Result<Self, EngineError> {
        Set::available()
            .into_iter()
            .chain(Set::in_steps())
            .find(|set| set.name() == text)
            .map(Self)
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
                needed: "one of amx-bf16, avx512-bf16, avx512, avx2, neon, portable that the processor has",
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;
    use crate::{
        Amount, BatchSize, Device, DeviceRequest, Draw, GnLenet, Learner, LearningRate, LocalWork,
        Mlp, Model, Network, RowWork, Sgd, Start, Velocity,
    };
    use meshfold_data::{Examples, Input, Partition, Scale, Shape, Splits};
    use std::sync::Arc;

    const SHAPE: Shape = Shape {
        channels: 1,
        height: 16,
        width: 16,
    };

    /// Forty images of noise, in two classes.
    fn noise() -> Arc<Examples> {
        let values = numbers(40 * SHAPE.features(), 7);
        let pixels = values.iter().map(|value| (value * 255.0) as u8).collect();
        let labels = (0..40).map(|at| at % 2).collect();
        let scale = Scale {
            multiply: 1.0 / 255.0,
            add: 0.0,
        };
        Arc::new(Examples::new(pixels, labels, SHAPE, 2, scale).unwrap())
    }

    /// The bits of two models after some local steps.
    fn trained(model: &Model, precision: Precision, set: Instructions) -> Vec<u32> {
        let device = Device::open(DeviceRequest::Cpu, Some(1), Some(set)).unwrap();
        let network = Network::new(model, Input::Numbers(SHAPE), 2).unwrap();
        let network = network.with_precision(precision).unwrap();
        let shards = vec![(0..20).collect(), (20..40).collect()];
        let partition = Arc::new(Partition::new(shards, 40).unwrap());
        let splits = Splits {
            train: noise(),
            test: noise(),
            validation: None,
        };
        let mut learner = Learner::upload(&device, network, splits, partition, 1).unwrap();
        let mut models = learner.initial(2, Start::Independent).unwrap();
        let sgd = Sgd {
            learning_rate: LearningRate::Constant(0.05),
            momentum: 0.9,
            nesterov: false,
            weight_decay: 1e-4,
            clip_norm: None,
            batch_size: BatchSize::Size(7),
            draw: Draw::Shuffled,
        };
        let rows = [0, 1].map(|client| RowWork {
            client,
            amount: Amount::Steps(3),
        });
        let work = LocalWork::new(1, &rows, &sgd);
        learner.train(&mut models, Velocity::Fresh, &work).unwrap();
        models
            .to_host()
            .iter()
            .map(|value| value.to_bits())
            .collect()
    }

    /// Portable code with and without fused multiply-adds has the same bits, as have tiles with and without the unit;
    /// all sets have nearly the same numbers.
    #[test]
    fn a_set_gives_the_same_models_in_all_its_ways() {
        let mlp = Model::Mlp(Mlp {
            hidden: vec![300, 9],
            dropout: 0.2,
            ..Mlp::default()
        });
        for model in [mlp, Model::GnLenet(GnLenet::default())] {
            for precision in [Precision::F32, Precision::Bf16] {
                let mut all: Vec<(Instructions, Vec<u32>)> = Vec::new();
                for set in Instructions::every() {
                    let found = trained(&model, precision, set);
                    if let Some((_, same)) = all.iter().find(|(other, _)| *other == set) {
                        assert!(found == *same, "{model:?}, {precision}: {set:?}");
                    }
                    for (found, first) in found.iter().zip(all.first().map_or(&found, |all| &all.1))
                    {
                        let (found, first) = (f32::from_bits(*found), f32::from_bits(*first));
                        let apart = (found - first).abs();
                        assert!(
                            apart < 5e-3,
                            "{model:?}, {precision}, {set}: {found} {first}"
                        );
                    }
                    all.push((set, found));
                }
            }
        }
    }
}
