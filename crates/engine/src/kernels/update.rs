//! The update of a weight while its gradient is in registers.

use super::fused::fused;
use super::mask::first_lanes;
use pulp::{MemMask, Simd};

/// The place of a vector of a gradient.
#[derive(Clone, Copy)]
pub(crate) struct GradientPlace<S: Simd> {
    /// Its first float, counted from where the block begins.
    pub(super) offset: usize,
    /// The lanes in use, if not all are.
    pub(super) mask: Option<MemMask<S::m32s>>,
}

/// What is done with a gradient in registers.
pub(crate) trait Update: Sized {
    /// The targets, if the gradient is just added to them.
    fn sums(&mut self) -> Option<&mut [f32]> {
        None
    }

    /// Cuts the targets in two at float `at`.
    fn split(self, at: usize) -> (Self, Self);

    /// Whether the targets hold `size` floats.
    fn holds(&self, size: usize) -> bool;

    /// The values of the targets where a vector of a gradient is applied.
    type Held<S: Simd>: Copy;

    /// Reads what the targets hold at `place`.
    ///
    /// # Safety
    /// The lanes that count at `place` are within the targets.
    unsafe fn held<S: Simd>(&self, simd: S, place: GradientPlace<S>) -> Self::Held<S>;

    /// Applies one vector of gradient at `place`, where the targets hold `held`.
    ///
    /// # Safety
    /// As for [`Update::held`].
    unsafe fn apply<S: Simd>(
        &mut self,
        simd: S,
        place: GradientPlace<S>,
        held: Self::Held<S>,
        gradient: S::f32s,
    );

    /// Applies a gradient that is in memory, from float `offset` of the block on.
    #[inline(always)]
    fn apply_all<S: Simd>(&mut self, simd: S, offset: usize, gradient: &[f32]) {
        assert!(
            self.holds(offset + gradient.len()),
            "the target of the gradient is too short"
        );
        let lanes = S::F32_LANES;
        for first in (0..gradient.len()).step_by(lanes) {
            let left = gradient.len() - first;
            let mask = (left < lanes).then(|| first_lanes(simd, left));
            // SAFETY: the mask keeps within the gradient and, as asserted, within the targets.
            unsafe {
                let values = load(simd, gradient.as_ptr().add(first), mask);
                let place = GradientPlace {
                    offset: offset + first,
                    mask,
                };
                let held = self.held(simd, place);
                self.apply(simd, place, held, values);
            }
        }
    }
}

/// An update that changes weights.
pub(crate) trait Moves: Update {
    /// The weights.
    fn weights(&self) -> &[f32];
}

impl Moves for Plain<'_> {
    #[inline(always)]
    fn weights(&self) -> &[f32] {
        self.weights
    }
}

impl Moves for HeavyBallUpdate<'_> {
    #[inline(always)]
    fn weights(&self) -> &[f32] {
        self.weights
    }
}

/// Stores the gradient, or adds it to what is there.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    pub(crate) gradient: &'a mut [f32],
    pub(crate) add: bool,
}

/// A step without momentum: `w <- w − rate · (g + decay · w)`.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) weights: &'a mut [f32],
    pub(crate) rate: f32,
    pub(crate) decay: f32,
}

/// A step with momentum, `g` being the gradient with `decay · w`: `v <- momentum · v + g`, `w <- w − rate · v`, or Nesterov's,
/// `w <- w − rate · (g + momentum · v)`.
#[derive(Debug)]
pub(crate) struct HeavyBallUpdate<'a> {
    pub(crate) weights: &'a mut [f32],
    pub(crate) velocity: &'a mut [f32],
    pub(crate) rate: f32,
    pub(crate) momentum: f32,
    pub(crate) decay: f32,
    pub(crate) kind: MomentumKind,
}

/// Where the velocity of a step comes from and where the step goes. Both are in one byte, so that the innermost loops tell the usual step
/// from the others by one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MomentumKind(u8);

impl MomentumKind {
    const FRESH: u8 = 1;
    const NESTEROV: u8 = 2;

    /// A velocity that is `fresh` is taken as zero, whatever is in its memory. The step is Nesterov's or that of a heavy ball.
    pub(crate) fn new(fresh: bool, nesterov: bool) -> Self {
        Self((u8::from(fresh) * Self::FRESH) | (u8::from(nesterov) * Self::NESTEROV))
    }

    #[inline(always)]
    pub(crate) fn is_fresh(self) -> bool {
        self.0 & Self::FRESH != 0
    }

    #[inline(always)]
    pub(crate) fn is_nesterov(self) -> bool {
        self.0 & Self::NESTEROV != 0
    }

    /// Whether the step is that of a heavy ball that is moving.
    #[inline(always)]
    fn is_usual(self) -> bool {
        self.0 == 0
    }
}

#[inline(always)]
pub(super) unsafe fn load<S: Simd>(
    simd: S,
    pointer: *const f32,
    mask: Option<MemMask<S::m32s>>,
) -> S::f32s {
    // SAFETY: the caller names the lanes that may be read.
    unsafe {
        match mask {
            Some(mask) => simd.mask_load_ptr_f32s(mask, pointer),
            None => pointer.cast::<S::f32s>().read_unaligned(),
        }
    }
}

#[inline(always)]
unsafe fn store<S: Simd>(
    simd: S,
    pointer: *mut f32,
    mask: Option<MemMask<S::m32s>>,
    value: S::f32s,
) {
    // SAFETY: the caller names the lanes that may be written.
    unsafe {
        match mask {
            Some(mask) => simd.mask_store_ptr_f32s(mask, pointer, value),
            None => pointer.cast::<S::f32s>().write_unaligned(value),
        }
    }
}

impl Update for Store<'_> {
    fn sums(&mut self) -> Option<&mut [f32]> {
        self.add.then_some(&mut *self.gradient)
    }

    fn split(self, at: usize) -> (Self, Self) {
        let (low, high) = self.gradient.split_at_mut(at);
        (
            Store {
                gradient: low,
                ..self
            },
            Store {
                gradient: high,
                ..self
            },
        )
    }

    #[inline(always)]
    fn holds(&self, size: usize) -> bool {
        self.gradient.len() >= size
    }

    /// The gradient so far, if it is to be added to.
    type Held<S: Simd> = S::f32s;

    #[inline(always)]
    unsafe fn held<S: Simd>(
        &self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
    ) -> S::f32s {
        if !self.add {
            return simd.splat_f32s(0.0);
        }
        // SAFETY: the caller's promise.
        unsafe { load(simd, self.gradient.as_ptr().add(offset), mask) }
    }

    #[inline(always)]
    unsafe fn apply<S: Simd>(
        &mut self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
        held: S::f32s,
        gradient: S::f32s,
    ) {
        let sum = if self.add {
            simd.add_f32s(held, gradient)
        } else {
            gradient
        };
        // SAFETY: the caller's promise.
        unsafe { store(simd, self.gradient.as_mut_ptr().add(offset), mask, sum) }
    }
}

impl Update for Plain<'_> {
    fn split(self, at: usize) -> (Self, Self) {
        let (low, high) = self.weights.split_at_mut(at);
        (
            Plain {
                weights: low,
                ..self
            },
            Plain {
                weights: high,
                ..self
            },
        )
    }

    #[inline(always)]
    fn holds(&self, size: usize) -> bool {
        self.weights.len() >= size
    }

    /// The weights.
    type Held<S: Simd> = S::f32s;

    #[inline(always)]
    unsafe fn held<S: Simd>(
        &self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
    ) -> S::f32s {
        // SAFETY: the caller's promise.
        unsafe { load(simd, self.weights.as_ptr().add(offset), mask) }
    }

    #[inline(always)]
    unsafe fn apply<S: Simd>(
        &mut self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
        weights: S::f32s,
        gradient: S::f32s,
    ) {
        let step = fused(simd, simd.splat_f32s(self.decay), weights, gradient);
        let weights = fused(simd, simd.splat_f32s(-self.rate), step, weights);
        // SAFETY: the caller's promise.
        unsafe { store(simd, self.weights.as_mut_ptr().add(offset), mask, weights) }
    }
}

/// Weights and their velocity.
#[derive(Clone, Copy)]
pub(crate) struct Moving<S: Simd> {
    weights: S::f32s,
    /// Of no meaning where it is fresh.
    velocity: S::f32s,
}

impl Update for HeavyBallUpdate<'_> {
    fn split(self, at: usize) -> (Self, Self) {
        let (low, high) = self.weights.split_at_mut(at);
        let (low_velocity, high_velocity) = self.velocity.split_at_mut(at);
        (
            HeavyBallUpdate {
                weights: low,
                velocity: low_velocity,
                ..self
            },
            HeavyBallUpdate {
                weights: high,
                velocity: high_velocity,
                ..self
            },
        )
    }

    #[inline(always)]
    fn holds(&self, size: usize) -> bool {
        self.weights.len() >= size && self.velocity.len() >= size
    }

    /// The weights and their velocity.
    type Held<S: Simd> = Moving<S>;

    #[inline(always)]
    unsafe fn held<S: Simd>(
        &self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
    ) -> Moving<S> {
        // SAFETY: the caller's promise.
        unsafe {
            Moving {
                weights: load(simd, self.weights.as_ptr().add(offset), mask),
                // Not asking whether it is fresh saves a branch for each vector.
                velocity: load(simd, self.velocity.as_ptr().add(offset), mask),
            }
        }
    }

    #[inline(always)]
    unsafe fn apply<S: Simd>(
        &mut self,
        simd: S,
        GradientPlace { offset, mask }: GradientPlace<S>,
        held: Moving<S>,
        gradient: S::f32s,
    ) {
        let decay = simd.splat_f32s(self.decay);
        let gradient = fused(simd, decay, held.weights, gradient);
        let momentum = simd.splat_f32s(self.momentum);
        let (velocity, along) = if self.kind.is_usual() {
            let velocity = fused(simd, momentum, held.velocity, gradient);
            (velocity, velocity)
        } else {
            let velocity = match self.kind.is_fresh() {
                true => gradient,
                false => fused(simd, momentum, held.velocity, gradient),
            };
            let along = match self.kind.is_nesterov() {
                true => fused(simd, momentum, velocity, gradient),
                false => velocity,
            };
            (velocity, along)
        };
        let weights = fused(simd, simd.splat_f32s(-self.rate), along, held.weights);
        // SAFETY: the caller's promise.
        unsafe {
            store(simd, self.velocity.as_mut_ptr().add(offset), mask, velocity);
            store(simd, self.weights.as_mut_ptr().add(offset), mask, weights);
        }
    }
}
