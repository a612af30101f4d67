//! Where the gradient of a layer goes: into the arena of gradients; or, if it is complete and nothing else acts on it,
//! directly into velocity and weights while it is in registers.

use super::sgd::{MomentumFrom, MomentumVariant, SgdUpdate, SteppedArenas, advance};
use crate::stacked::batches::part::Part;
use crate::stacked::device::memory::Memory;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// What a kernel does with a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GradientAction {
    /// Writes it.
    Write,
    /// Adds it to what is there.
    Add,
    /// Steps along it.
    Step(MomentumVariant),
}

impl GradientAction {
    /// The kind of step, if the action is one.
    pub(crate) fn step(self) -> Option<MomentumVariant> {
        match self {
            Self::Step(kind) => Some(kind),
            Self::Write | Self::Add => None,
        }
    }

    /// The kind of step of an action that is one.
    fn expect_step(self) -> MomentumVariant {
        self.step().expect("the action is a step")
    }
}

/// The numbers of a step that all rows share, as kernels see them.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct StepAt {
    pub(crate) momentum: f32,
    pub(crate) decay: f32,
}

/// The initial value of a chain of sums: what is at `place` if the gradient is added to it, else zero.
#[cube]
pub(crate) fn chain_start<N: Size>(
    gradients: &mut [Vector<f32, N>],
    place: usize,
    #[comptime] action: GradientAction,
) -> Vector<f32, N> {
    let mut sum = Vector::new(0.0f32);
    if comptime!(action == GradientAction::Add) {
        sum = gradients[place];
    }
    sum
}

/// Stores the `gradient` of the parameters at `place`, or steps along it; they belong to entry `entry` of the table.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn store_or_step<N: Size>(
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    step: &StepAt,
    entry: usize,
    place: usize,
    gradient: Vector<f32, N>,
    #[comptime] action: GradientAction,
) {
    if comptime!(action.step().is_some()) {
        let kind = comptime!(action.expect_step());
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
            kind,
        );
    } else {
        gradients[place] = gradient;
    }
}

/// As [`store_or_step`], for `all` gradients, of parameters from `first` on, `apart` vectors apart. Everything is read
/// before anything is written, so that the unit waits for memory once.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn store_or_step_all<N: Size>(
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    step: &StepAt,
    entry: usize,
    first: usize,
    apart: usize,
    of: &Array<Vector<f32, N>>,
    #[comptime] all: usize,
    #[comptime] action: GradientAction,
) {
    if comptime!(action.step().is_some()) {
        let kind = comptime!(action.expect_step());
        let mut before = Array::<Vector<f32, N>>::new(all);
        let mut moving = Array::<Vector<f32, N>>::new(all);
        let rate = rates[2 * entry];
        #[unroll]
        for i in 0..all {
            before[i] = models[first + i * apart];
        }
        if comptime!(kind.from == MomentumFrom::Velocity) {
            #[unroll]
            for i in 0..all {
                moving[i] = velocities[first + i * apart];
            }
        }
        #[unroll]
        for i in 0..all {
            let gradient = of[i] + Vector::new(step.decay) * before[i];
            let mut velocity = gradient;
            if comptime!(kind.from == MomentumFrom::Velocity) {
                velocity += Vector::new(step.momentum) * moving[i];
            }
            if comptime!(kind.from != MomentumFrom::Nothing) {
                velocities[first + i * apart] = velocity;
            }
            if comptime!(kind.nesterov) {
                let along = gradient + Vector::new(step.momentum) * velocity;
                models[first + i * apart] = before[i] - Vector::new(rate) * along;
            } else {
                models[first + i * apart] = before[i] - Vector::new(rate) * velocity;
            }
        }
    } else {
        #[unroll]
        for i in 0..all {
            gradients[first + i * apart] = of[i];
        }
    }
}

/// A step with momentum and decay alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRule {
    pub(crate) momentum: f32,
    pub(crate) decay: f32,
    pub(crate) kind: MomentumVariant,
}

/// A sink for the gradients of all layers. Arenas are `[R, width]`.
#[derive(Debug, Clone)]
pub(crate) struct GradientSink {
    /// The arena of gradients; when stepping, only for layers that cannot step at once.
    pub(crate) gradients: CubeTensor,
    pub(crate) models: CubeTensor,
    pub(crate) velocities: CubeTensor,
    /// Rate and whether there is a step to do, of every entry of the table.
    pub(crate) rates: CubeTensor,
    pub(crate) width: usize,
    pub(crate) action: GradientAction,
    momentum: f32,
    decay: f32,
}

impl GradientSink {
    /// A sink that writes to `gradients`.
    pub(crate) fn writing(gradients: &CubeTensor, width: usize) -> Self {
        // What a kernel does not use is stood in for by a vector of its own: a buffer that a kernel writes to must not be
        // bound twice.
        let memory = Memory::of(gradients);
        Self {
            gradients: gradients.clone(),
            models: memory.floats(&[4]),
            velocities: memory.floats(&[4]),
            rates: memory.floats(&[4]),
            width,
            action: GradientAction::Write,
            momentum: 0.0,
            decay: 0.0,
        }
    }

    /// A sink that steps `arenas`; layers that cannot step at once write to `gradients` first.
    pub(crate) fn stepping(
        rule: StepRule,
        gradients: &CubeTensor,
        arenas: SteppedArenas<'_>,
        rates: &CubeTensor,
        width: usize,
    ) -> Self {
        let SteppedArenas { models, velocities } = arenas;
        let nothing = || Memory::of(models).floats(&[4]);
        Self {
            gradients: gradients.clone(),
            models: models.clone(),
            velocities: velocities.cloned().unwrap_or_else(nothing),
            rates: rates.clone(),
            width,
            action: GradientAction::Step(rule.kind),
            momentum: rule.momentum,
            decay: rule.decay,
        }
    }

    /// The same for a piece of a batch: after the first, gradients are added to what is there.
    pub(crate) fn piece(&self, first: bool) -> Self {
        let action = match self.action {
            GradientAction::Write if !first => GradientAction::Add,
            action => action,
        };
        assert!(
            first || action == GradientAction::Add,
            "a step needs the whole gradient"
        );
        Self {
            action,
            ..self.clone()
        }
    }

    /// The numbers of a step.
    pub(crate) fn step(&self) -> StepAtLaunch {
        StepAtLaunch::new(self.momentum, self.decay)
    }

    /// Floats that are read and written for the gradients of `count` parameters.
    pub(crate) fn moves(&self, count: usize) -> (usize, usize) {
        match self.action {
            GradientAction::Write => (0, count),
            GradientAction::Add => (count, count),
            GradientAction::Step(kind) => kind.from.moves(count),
        }
    }

    /// Steps the parameters `range` of each row, whose gradient had to be written first.
    pub(crate) fn catch_up(&self, range: Range<usize>, part: &Part<'_>) {
        let Some(kind) = self.action.step() else {
            return;
        };
        let update = SgdUpdate {
            momentum: self.momentum,
            decay: self.decay,
            gradients: &self.gradients,
            width: self.width,
            scales: None,
            correction: None,
            anchor: None,
            kind,
        };
        let arenas = SteppedArenas {
            models: &self.models,
            velocities: Some(&self.velocities),
        };
        update.launch_on(range, arenas, &self.rates, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, expect_close, gpu, layer_of, numbers, stacked,
    };
    use crate::stacked::gradients::sgd::tests::kinds;
    use crate::stacked::layers::dense::outer::Outer;

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn a_step_goes_along_the_gradient_that_would_be_written() {
        // One unit by one, and in blocks.
        for (inputs, outputs) in [(5, 8), (36, 40)] {
            compare_steps(inputs, outputs);
        }
    }

    fn compare_steps(inputs: usize, outputs: usize) {
        let gpu = gpu();
        let (batch, (layer, width)) = (UnevenBatch::uneven(3, 1), layer_of(inputs, outputs));
        let (memory, all) = (gpu.memory(), 1 + batch.rows());
        let (momentum, decay) = (0.9, 0.01);
        let rates: Vec<f32> = (0..batch.rows()).map(|row| 0.1 + row as f32).collect();
        let table: Vec<f32> = rates.iter().flat_map(|rate| [*rate, 1.0]).collect();
        let table = memory.upload_floats(&table);
        let [inputs, deltas] = [(layer.inputs, 9), (layer.outputs, 10)]
            .map(|(size, seed)| memory.upload_floats(&numbers(batch.rows() * 3 * size, seed)));
        let counts = memory.upload_words(&batch.counts);
        let outer = Outer {
            layer: &layer,
            inputs: &inputs,
            deltas: &deltas,
            skip: 0,
        };
        let zeros = cube(stacked(&gpu, &vec![0.0; all * width], all));
        outer.launch(&GradientSink::writing(&zeros, width), &batch.part(&counts));
        let gradients = download::<f32>(zeros);
        let bias = layer.bias.clone().unwrap_or_default();
        for kind in kinds() {
            let [mut models, mut velocities] = [1, 2].map(|seed| numbers(all * width, seed));
            let arenas = [&models, &velocities].map(|values| cube(stacked(&gpu, values, all)));
            let nothing = memory.floats(&[4]);
            let states = SteppedArenas {
                models: &arenas[0],
                velocities: Some(&arenas[1]),
            };
            let rule = StepRule {
                momentum,
                decay,
                kind,
            };
            let sink = GradientSink::stepping(rule, &nothing, states, &table, width);
            outer.launch(&sink, &batch.part(&counts));
            let busy = (0..batch.rows()).filter(|row| batch.counts[*row] > 0);
            for (row, at) in busy.flat_map(|row| {
                let places = layer.weight.clone().chain(bias.clone());
                places.map(move |place| (row, (1 + row) * width + place))
            }) {
                let mut step = gradients[at] + decay * models[at];
                let gradient = step;
                if kind.from == MomentumFrom::Velocity {
                    step += momentum * velocities[at];
                }
                if kind.from != MomentumFrom::Nothing {
                    velocities[at] = step;
                }
                if kind.nesterov {
                    step = gradient + momentum * step;
                }
                models[at] -= rates[row] * step;
            }
            let [found, found_velocities] = arenas.map(download::<f32>);
            expect_close(&found, &models, 1e-6);
            expect_close(&found_velocities, &velocities, 1e-6);
        }
    }
}
