//! Where the gradient of a layer goes: into the arena of gradients, or, where it is whole and nothing else acts on it,
//! straight into velocity and weights while it is in registers.

use super::memory::Memory;
use super::part::Part;
use super::sgd::{MomentumFrom, Update, advance};
use crate::work::Sgd;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// What a kernel does with a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum How {
    /// Writes it.
    Write,
    /// Goes on from what is there.
    Add,
    /// Steps along it.
    Step(MomentumFrom),
}

impl How {
    /// Where the velocity comes from, if it steps.
    pub(super) fn step(self) -> Option<MomentumFrom> {
        match self {
            Self::Step(from) => Some(from),
            Self::Write | Self::Add => None,
        }
    }
}

/// The numbers of a step that all rows share, as kernels see them.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct StepAt {
    pub(super) momentum: f32,
    pub(super) decay: f32,
}

/// Leaves the `gradient` of the parameters at `place`, which belong to entry `entry` of the table.
#[cube]
pub(super) fn pour<N: Size>(
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    step: &StepAt,
    entry: usize,
    place: usize,
    gradient: Vector<f32, N>,
    #[comptime] how: How,
) {
    if comptime!(how.step().is_some()) {
        let from = comptime!(how.step().unwrap_or(MomentumFrom::Nothing));
        let model = models[place];
        let along = gradient + Vector::new(step.decay) * model;
        let rate = rates[2 * entry];
        advance(
            models,
            velocities,
            place,
            model,
            along,
            rate,
            step.momentum,
            from,
        );
    } else {
        gradients[place] = gradient;
    }
}

/// A sink for the gradients of all layers. Arenas are `[R, width]`.
#[derive(Debug, Clone)]
pub(super) struct Sink {
    /// Unless it steps; of layers that cannot step at once, in any case.
    pub(super) gradients: CubeTensor,
    pub(super) models: CubeTensor,
    pub(super) velocities: CubeTensor,
    /// Rate and whether there is a step to do, of every entry of the table.
    pub(super) rates: CubeTensor,
    pub(super) width: usize,
    pub(super) how: How,
    momentum: f32,
    decay: f32,
}

impl Sink {
    /// Into `gradients`.
    pub(super) fn writing(gradients: &CubeTensor, width: usize) -> Self {
        // What a kernel does not use is stood in for by a vector of its own: a buffer that a kernel writes to must not be
        // bound twice.
        let memory = Memory::of(gradients);
        Self {
            gradients: gradients.clone(),
            models: memory.floats(&[4]),
            velocities: memory.floats(&[4]),
            rates: memory.floats(&[4]),
            width,
            how: How::Write,
            momentum: 0.0,
            decay: 0.0,
        }
    }

    /// Into `models` and their velocities, by way of `gradients` where a layer cannot step at once.
    pub(super) fn stepping(
        sgd: &Sgd,
        gradients: &CubeTensor,
        (models, velocities): (&CubeTensor, Option<&CubeTensor>),
        rates: &CubeTensor,
        (width, momentum_from): (usize, MomentumFrom),
    ) -> Self {
        let nothing = || Memory::of(models).floats(&[4]);
        Self {
            gradients: gradients.clone(),
            models: models.clone(),
            velocities: velocities.cloned().unwrap_or_else(nothing),
            rates: rates.clone(),
            width,
            how: How::Step(momentum_from),
            momentum: sgd.momentum,
            decay: sgd.weight_decay,
        }
    }

    /// The same for a piece of a batch: after the first, gradients are added to what is there.
    pub(super) fn piece(&self, first: bool) -> Self {
        let how = match self.how {
            How::Write if !first => How::Add,
            how => how,
        };
        assert!(first || how == How::Add, "a step needs the whole gradient");
        Self {
            how,
            ..self.clone()
        }
    }

    /// The numbers of a step.
    pub(super) fn step(&self) -> StepAtLaunch {
        StepAtLaunch::new(self.momentum, self.decay)
    }

    /// Floats that are read and written for the gradients of `count` parameters.
    pub(super) fn moves(&self, count: usize) -> (usize, usize) {
        match self.how {
            How::Write => (0, count),
            How::Add => (count, count),
            How::Step(from) => from.moves(count),
        }
    }

    /// Makes the step of the parameters `range` of each row whose gradient had to be written first.
    pub(super) fn catch_up(&self, range: Range<usize>, part: &Part) {
        let Some(momentum_from) = self.how.step() else {
            return;
        };
        let update = Update {
            momentum: self.momentum,
            decay: self.decay,
            gradients: &self.gradients,
            width: self.width,
            scales: None,
            correction: None,
            anchor: None,
            momentum_from,
        };
        let arenas = (&self.models, Some(&self.velocities));
        update.launch_on(range, arenas, &self.rates, part);
    }
}
