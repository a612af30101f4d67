//! The request of a run to its device: the local steps, or the gradients, of one schedule of batches.

use crate::error::EngineError;
use crate::network::Network;
use crate::network::layer::{Layer, Node};
use crate::stack::mixing::Matrix;
use crate::stacked::batches::batch_schedule::BatchSchedule;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::device_batch_schedule::DeviceBatchSchedule;
use crate::stacked::batches::examples::DeviceExamples;
use crate::stacked::batches::part::Part;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::sgd::{MomentumFrom, MomentumVariant, SgdUpdate, SteppedArenas};
use crate::stacked::gradients::sink::{GradientSink, StepRule};
use crate::stacked::passes::steps::{PassScratch, Steps};
use crate::stacked::passes::tallies::{RowTallies, Tallies};
use crate::stacked::stack_ops::cleared::clear;
use crate::stacked::stack_ops::mix::mixed;
use crate::stacked::stack_ops::norms::clip_scales;
use crate::stacked::stack_ops::scaled::scale_by;
use crate::training::trained_layers::TrainedLayers;
use crate::training::work::Sgd;
use burn_cubecl::tensor::CubeTensor;
use std::slice;
use std::sync::Arc;

/// How gradients become steps, the same for all rows of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    momentum: f32,
    nesterov: bool,
    decay: f32,
    clip_norm: Option<f32>,
    /// Strength of the pull towards the anchor.
    mu: Option<f32>,
    /// Where the velocity of the first step comes from.
    pub(crate) first: MomentumFrom,
}

impl Rule {
    /// The rule of `sgd`, with a pull of strength `mu` if given, and velocities that start at zero if `fresh`.
    pub(crate) fn of(sgd: &Sgd, mu: Option<f32>, fresh: bool) -> Self {
        Self {
            momentum: sgd.momentum,
            nesterov: sgd.nesterov && sgd.momentum != 0.0,
            decay: sgd.weight_decay,
            clip_norm: sgd.clip_norm,
            mu,
            first: match sgd.momentum {
                0.0 => MomentumFrom::Nothing,
                _ if fresh => MomentumFrom::Zero,
                _ => MomentumFrom::Velocity,
            },
        }
    }

    /// The rule of the steps that follow.
    pub(crate) fn going_on(self) -> Self {
        let first = match self.first {
            MomentumFrom::Zero | MomentumFrom::Velocity => MomentumFrom::Velocity,
            MomentumFrom::Nothing => MomentumFrom::Nothing,
        };
        Self { first, ..self }
    }
}

/// The arenas of a request, each `[R, P_pad]`.
#[derive(Debug)]
pub(crate) struct Arenas {
    pub(crate) models: CubeTensor,
    /// The matrix with which the models are to be mixed before the first step.
    pub(crate) mixing: Option<Arc<Matrix>>,
    /// Velocities that the caller takes back after the request; `None` if they are dropped, or stay with the trainer.
    pub(crate) velocities: Option<CubeTensor>,
    pub(crate) correction: Option<CubeTensor>,
    pub(crate) anchor: Option<CubeTensor>,
    /// Where gradients are kept, if the request is for gradients and not for steps.
    pub(crate) gradients: Option<CubeTensor>,
}

/// A request of one run.
#[derive(Debug)]
pub(crate) struct TrainBatchRequest {
    pub(crate) network: Arc<Network>,
    pub(crate) examples: Arc<DeviceExamples>,
    pub(crate) rule: Rule,
    /// The layers that steps move; all if absent.
    pub(crate) layers: Option<TrainedLayers>,
    pub(crate) schedule: BatchSchedule,
    pub(crate) arenas: Arenas,
    pub(crate) tallies: Tallies,
}

impl Arenas {
    /// Mixes the models without those of other runs, if they wait for mixing.
    pub(crate) fn mix(&mut self) {
        if let Some(matrix) = self.mixing.take() {
            self.models = mixed(&self.models, &matrix);
        }
    }
}

impl TrainBatchRequest {
    /// Carries it out without other requests.
    ///
    /// # Errors
    /// Errors of a user's own model.
    pub(crate) fn make(
        &self,
        memory: &Memory,
        scratch: &mut PassScratch,
        block: BlockShape,
    ) -> Result<(), EngineError> {
        let job = Job {
            network: &self.network,
            examples: &self.examples,
            rule: self.rule,
            layers: self.layers.as_ref(),
            schedule: &self.schedule,
            arenas: &self.arenas,
            tallies: &[RowTallies {
                tallies: &self.tallies,
                rows: 0..self.schedule.rows,
            }],
        };
        job.make(memory, scratch, block)
    }
}

/// The work of one request, or of several carried out as one.
pub(crate) struct Job<'a> {
    pub(crate) network: &'a Network,
    pub(crate) examples: &'a DeviceExamples,
    pub(crate) rule: Rule,
    /// The layers that steps move; all if absent.
    pub(crate) layers: Option<&'a TrainedLayers>,
    pub(crate) schedule: &'a BatchSchedule,
    pub(crate) arenas: &'a Arenas,
    /// Where the losses go.
    pub(crate) tallies: &'a [RowTallies<'a>],
}

impl Job<'_> {
    /// Carries it out in blocks of such a shape.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn make(
        &self,
        memory: &Memory,
        scratch: &mut PassScratch,
        block: BlockShape,
    ) -> Result<(), EngineError> {
        let (rows, width) = (self.schedule.rows, self.network.layout().width());
        let keeps = self.arenas.gradients.is_some();
        let at_once = !keeps && self.steps_at_once() && block.examples >= self.schedule.width;
        if !keeps && self.rule.first != MomentumFrom::Nothing && self.arenas.velocities.is_none() {
            // The first step of a row overwrites them.
            scratch
                .velocities
                .get_or_insert_with(|| memory.floats(&[rows, width]));
        }
        if !(keeps || at_once && layers_step_at_once(self.network)) {
            scratch
                .gradients
                .get_or_insert_with(|| memory.zeros(rows, width));
        }
        let rounds: Vec<u32> = self.tallies.iter().map(RowTallies::round).collect();
        let table = DeviceBatchSchedule::upload(memory, self.schedule, &rounds);
        let steps = Steps {
            network: self.network,
            examples: self.examples,
            schedule: self.schedule,
            table: &table,
            models: &self.arenas.models,
            scratch,
            tallies: self.tallies,
            block,
        };
        match &self.arenas.gradients {
            Some(gradients) => self.keep(&steps, gradients),
            None => self.step(&steps, at_once),
        }
    }

    /// Whether only momentum and decay act on the gradients of all layers, so that each layer may step as soon as it has its
    /// gradient.
    fn steps_at_once(&self) -> bool {
        let adds = self.arenas.correction.is_some() || self.arenas.anchor.is_some();
        self.layers.is_none() && !self.network.needs_whole_gradient(self.rule.clip_norm, adds)
    }

    /// Writes the gradients of every row's batch, clipped, to `gradients`.
    fn keep(&self, steps: &Steps<'_>, gradients: &CubeTensor) -> Result<(), EngineError> {
        let width = self.network.layout().width();
        let sink = GradientSink::writing(gradients, width);
        steps.each(|part| {
            steps.gradient(part, &sink)?;
            if let Some(largest) = self.rule.clip_norm {
                let scales = clip_scales(gradients, part.stack_rows(), width, largest);
                scale_by(gradients, &scales, part.stack_rows(), width);
            }
            Ok(())
        })
    }

    /// Steps models and velocities along the gradients.
    fn step(&self, steps: &Steps<'_>, at_once: bool) -> Result<(), EngineError> {
        let (rows, scratch) = (self.schedule.rows, steps.scratch);
        let velocities = self.arenas.velocities.as_ref();
        let stepped = SteppedArenas {
            models: &self.arenas.models,
            velocities: velocities.or(scratch.velocities.as_ref()),
        };
        let kind = |part: &Part<'_>| MomentumVariant {
            from: match self.rule.first {
                MomentumFrom::Zero if part.entry >= rows => MomentumFrom::Velocity,
                from => from,
            },
            nesterov: self.rule.nesterov,
        };
        if at_once {
            self.step_at_once(steps, stepped, kind)
        } else {
            self.step_afterwards(steps, stepped, kind)
        }
    }

    /// Steps each layer as soon as it has its gradient; the kind of step is that of `kind`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    fn step_at_once(
        &self,
        steps: &Steps<'_>,
        stepped: SteppedArenas<'_>,
        kind: impl Fn(&Part<'_>) -> MomentumVariant,
    ) -> Result<(), EngineError> {
        let [no_gradients, no_velocities] = &steps.scratch.nothing;
        let gradients = steps.scratch.gradients.as_ref().unwrap_or(no_gradients);
        let arenas = SteppedArenas {
            velocities: stepped.velocities.or(Some(no_velocities)),
            ..stepped
        };
        let (rates, width) = (&steps.table.scalars, self.network.layout().width());
        let rule = |kind| StepRule {
            momentum: self.rule.momentum,
            decay: self.rule.decay,
            kind,
        };
        steps.each(|part| {
            let sink = GradientSink::stepping(rule(kind(part)), gradients, arenas, rates, width);
            steps.gradient(part, &sink)
        })
    }

    /// Steps once all gradients are written; the kind of step is that of `kind`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    fn step_afterwards(
        &self,
        steps: &Steps<'_>,
        stepped: SteppedArenas<'_>,
        kind: impl Fn(&Part<'_>) -> MomentumVariant,
    ) -> Result<(), EngineError> {
        let (arenas, width) = (self.arenas, self.network.layout().width());
        let gradients = steps.scratch.gradients.as_ref();
        let gradients = gradients.expect("there is memory for gradients that are written");
        let sink = GradientSink::writing(gradients, width);
        let whole = 0..width;
        let moving = self
            .layers
            .map_or(slice::from_ref(&whole), TrainedLayers::trained);
        let frozen = self.layers.map_or(&[][..], TrainedLayers::frozen);
        steps.each(|part| {
            steps.gradient(part, &sink)?;
            if self.rule.clip_norm.is_some() {
                for range in frozen {
                    clear(gradients, part.stack_rows(), width, range.clone());
                }
            }
            let clip = |largest| clip_scales(gradients, part.stack_rows(), width, largest);
            let scales = self.rule.clip_norm.map(clip);
            let update = SgdUpdate {
                momentum: self.rule.momentum,
                decay: self.rule.decay,
                gradients,
                width,
                scales: scales.as_ref(),
                correction: arenas.correction.as_ref(),
                anchor: arenas.anchor.as_ref().zip(self.rule.mu),
                kind: kind(part),
            };
            for range in moving {
                update.launch_on(range.clone(), stepped, &steps.table.scalars, part);
            }
            Ok(())
        })
    }
}

/// Whether every layer of `network` can step as soon as it has its gradient.
pub(crate) fn layers_step_at_once(network: &Network) -> bool {
    let embeds = |node: &Node| matches!(node.layer, Layer::Embedding(_));
    !network.nodes().iter().any(embeds)
}
