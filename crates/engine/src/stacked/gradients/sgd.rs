//! The update of a local step after all gradients are written: one launch over the arena.

use crate::stacked::batches::part::{Part, Slot};
use crate::stacked::device::launch::line;
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use std::ops::Range;

/// Each unit moves one vector of one row that has a step to do: clip, weight decay, correction, anchor, momentum, step.
#[cube(launch)]
fn sgd_kernel<N: Size>(
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    gradients: &[Vector<f32, N>],
    corrections: &[Vector<f32, N>],
    anchors: &[Vector<f32, N>],
    scales: &[f32],
    steps: &[f32],
    slot: Slot,
    first: usize,
    columns: usize,
    width: usize,
    momentum: f32,
    decay: f32,
    mu: f32,
    #[comptime] clipped: bool,
    #[comptime] corrected: bool,
    #[comptime] anchored: bool,
    #[comptime] kind: MomentumVariant,
) {
    let row = ABSOLUTE_POS / columns;
    if row >= slot.rows {
        terminate!();
    }
    let entry = 2 * (slot.entry + row);
    if steps[entry + 1] == 0.0f32 {
        terminate!();
    }
    let place = (slot.first_row + row) * width + first + ABSOLUTE_POS % columns;
    let model = models[place];
    let mut step = gradients[place];
    if comptime!(clipped) {
        step *= Vector::new(scales[row]);
    }
    step += Vector::new(decay) * model;
    if comptime!(corrected) {
        step += corrections[place];
    }
    if comptime!(anchored) {
        step += Vector::new(mu) * (model - anchors[place]);
    }
    let rate = steps[entry];
    advance(models, velocities, place, model, step, rate, momentum, kind);
}

/// `v <- momentum · v + step`, `w <- model − rate · v`, or Nesterov's `w <- model − rate · (step + momentum · v)`, of the vector at
/// `place`.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn advance<N: Size>(
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    place: usize,
    model: Vector<f32, N>,
    step: Vector<f32, N>,
    rate: f32,
    momentum: f32,
    #[comptime] kind: MomentumVariant,
) {
    let mut velocity = step;
    if comptime!(kind.from == MomentumFrom::Velocity) {
        velocity += Vector::new(momentum) * velocities[place];
    }
    if comptime!(kind.from != MomentumFrom::Nothing) {
        velocities[place] = velocity;
    }
    if comptime!(kind.nesterov) {
        let along = step + Vector::new(momentum) * velocity;
        models[place] = model - Vector::new(rate) * along;
    } else {
        models[place] = model - Vector::new(rate) * velocity;
    }
}

/// What a step does with the velocity; kernels are compiled for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MomentumVariant {
    pub(crate) from: MomentumFrom,
    /// Whether the step is Nesterov's.
    pub(crate) nesterov: bool,
}

/// Where the velocity of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MomentumFrom {
    /// There is no momentum, and no velocity is kept.
    Nothing,
    /// The velocity was zero.
    Zero,
    /// The velocity of the step before.
    Velocity,
}

impl MomentumFrom {
    /// How many floats are read and written to step `count` parameters along a gradient.
    pub(crate) fn moves(self, count: usize) -> (usize, usize) {
        match self {
            Self::Nothing => (count, count),
            Self::Zero => (count, 2 * count),
            Self::Velocity => (2 * count, 2 * count),
        }
    }
}

/// What a step changes, each `[R, width]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteppedArenas<'a> {
    pub(crate) models: &'a CubeTensor,
    pub(crate) velocities: Option<&'a CubeTensor>,
}

/// An update to launch. Arenas are `[R, width]`.
pub(crate) struct SgdUpdate<'a> {
    pub(crate) momentum: f32,
    pub(crate) decay: f32,
    pub(crate) gradients: &'a CubeTensor,
    pub(crate) width: usize,
    /// The factor of the gradient of each row of the block.
    pub(crate) scales: Option<&'a CubeTensor>,
    pub(crate) correction: Option<&'a CubeTensor>,
    pub(crate) anchor: Option<(&'a CubeTensor, f32)>,
    pub(crate) kind: MomentumVariant,
}

impl SgdUpdate<'_> {
    /// Updates the parameters `range` of `arenas`, for the rows of `part` that have a step to do. `rates` has, for
    /// every entry of the table, the rate and whether there is a step. `range` begins at a vector, and from its end to
    /// the next vector there is padding.
    pub(crate) fn launch_on(
        &self,
        range: Range<usize>,
        arenas: SteppedArenas<'_>,
        rates: &CubeTensor,
        part: &Part<'_>,
    ) {
        let SteppedArenas { models, velocities } = arenas;
        // What a variant does not use is stood in for by a vector of its own: a buffer that a kernel writes to must
        // not be bound twice.
        let memory = Memory::of(models);
        let or_nothing = |tensor: Option<&CubeTensor>| {
            tensor
                .cloned()
                .unwrap_or_else(|| memory.floats(&[4]))
                .into_buffer_arg()
        };
        let columns = range.len().div_ceil(4);
        let (count, dim) = line(&models.client, part.rows * columns);
        let moved = part.rows * range.len();
        let others =
            1 + usize::from(self.correction.is_some()) + usize::from(self.anchor.is_some());
        let (read, written) = self.kind.from.moves(moved);
        moves(read + others * moved, written);
        sgd_kernel::launch(
            &models.client,
            count,
            dim,
            4,
            models.clone().into_buffer_arg(),
            or_nothing(velocities),
            self.gradients.clone().into_buffer_arg(),
            or_nothing(self.correction),
            or_nothing(self.anchor.map(|anchor| anchor.0)),
            or_nothing(self.scales),
            rates.clone().into_buffer_arg(),
            part.argument(),
            range.start / 4,
            columns,
            self.width / 4,
            self.momentum,
            self.decay,
            self.anchor.map_or(0.0, |anchor| anchor.1),
            self.scales.is_some(),
            self.correction.is_some(),
            self.anchor.is_some(),
            self.kind,
        );
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{UnevenBatch, expect_close, gpu, numbers, stacked};
    use crate::training::schedule::LearningRate;
    use crate::training::work::{BatchSize, Draw, Sgd};

    const WIDTH: usize = 192;
    const ROWS: usize = 4;

    /// The variants of one update.
    #[derive(Debug, Clone, Copy)]
    struct Variant {
        clipped: bool,
        corrected: bool,
        anchored: bool,
        kind: MomentumVariant,
    }

    /// All kinds of steps.
    pub(crate) fn kinds() -> impl Iterator<Item = MomentumVariant> {
        let of = |nesterov| {
            let from = [
                MomentumFrom::Nothing,
                MomentumFrom::Zero,
                MomentumFrom::Velocity,
            ];
            from.map(|from| MomentumVariant { from, nesterov })
        };
        // Without momentum there is no step of Nesterov's.
        of(false).into_iter().chain(of(true).into_iter().skip(1))
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn an_update_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for bits in 0..8 {
            for kind in kinds() {
                let [clipped, corrected, anchored] = [1, 2, 4].map(|bit| bits & bit > 0);
                compare(
                    &gpu,
                    Variant {
                        clipped,
                        corrected,
                        anchored,
                        kind,
                    },
                );
            }
        }
    }

    fn compare(gpu: &crate::stacked::device::gpu::Gpu, variant: Variant) {
        let sgd = Sgd {
            learning_rate: LearningRate::Constant(0.1),
            momentum: 0.9,
            nesterov: variant.kind.nesterov,
            weight_decay: 0.01,
            clip_norm: None,
            batch_size: BatchSize::Full,
            draw: Draw::Shuffled,
        };
        // The block is rows 1 to 3, of which row 2 has nothing to do.
        let batch = UnevenBatch {
            counts: vec![3, 0, 2],
            examples: 3,
            first_row: 1,
        };
        let (rates, scales, mu) = ([0.1, 0.2, 0.3], [0.5, 0.6, 0.7], 0.05);
        let [models, velocities, gradients, correction, anchor] =
            [1, 2, 3, 4, 5].map(|seed| numbers(ROWS * WIDTH, seed));
        let (mut host, mut host_velocities) = (models.clone(), velocities.clone());
        for row in [0, 2] {
            for place in (1 + row) * WIDTH..(2 + row) * WIDTH {
                let mut step = gradients[place];
                step *= if variant.clipped { scales[row] } else { 1.0 };
                step += sgd.weight_decay * models[place];
                step += if variant.corrected {
                    correction[place]
                } else {
                    0.0
                };
                step += if variant.anchored {
                    mu * (models[place] - anchor[place])
                } else {
                    0.0
                };
                let gradient = step;
                if variant.kind.from == MomentumFrom::Velocity {
                    step += sgd.momentum * velocities[place];
                }
                if variant.kind.from != MomentumFrom::Nothing {
                    host_velocities[place] = step;
                }
                if variant.kind.nesterov {
                    step = gradient + sgd.momentum * step;
                }
                host[place] -= rates[row] * step;
            }
        }
        let [models, velocities, gradients, correction, anchor] =
            [models, velocities, gradients, correction, anchor]
                .map(|values| cube(stacked(gpu, &values, ROWS)));
        let scales = gpu.memory().upload_floats(&scales);
        let update = SgdUpdate {
            momentum: sgd.momentum,
            decay: sgd.weight_decay,
            gradients: &gradients,
            width: WIDTH,
            scales: variant.clipped.then_some(&scales),
            correction: variant.corrected.then_some(&correction),
            anchor: variant.anchored.then_some((&anchor, mu)),
            kind: variant.kind,
        };
        let scalars = [rates[0], 1.0, rates[1], 0.0, rates[2], 1.0];
        let rates_of = gpu.memory().upload_floats(&scalars);
        let counts = gpu.memory().upload_words(&batch.counts);
        let kept = (variant.kind.from != MomentumFrom::Nothing).then_some(&velocities);
        let arenas = SteppedArenas {
            models: &models,
            velocities: kept,
        };
        // In two parts, the second of which ends within a vector.
        for range in [0..64, 64..WIDTH - 1] {
            update.launch_on(range, arenas, &rates_of, &batch.part(&counts));
        }
        expect_close(&download::<f32>(models), &host, 1e-6);
        expect_close(&download::<f32>(velocities), &host_velocities, 1e-6);
    }
}
