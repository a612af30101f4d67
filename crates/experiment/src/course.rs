//! A run in progress: the models, and whatever changes with them from round to round.

use std::time::Instant;

use meshfold_algorithms::{Algorithm, Phase, Round, Setting, Traffic};
use meshfold_data::Splits;
use meshfold_engine::{Device, Learner, LearnerState, Mixing, Network, Stack};

use crate::checkpoint::{Saved, Stacks, Totals};
use crate::evaluation::{Judge, Verdict};
use crate::plan::RunPlan;
use crate::records::Record;
use crate::run_error::RunError;

/// The name of the models in a checkpoint; a method's own stacks have the names that it gives them.
const MODELS: &str = "models";

/// The models of a run after some round.
pub(crate) struct Course<'a> {
    plan: &'a RunPlan,
    learner: Learner,
    algorithm: Box<dyn Algorithm>,
    models: Stack,
    mixing: Option<Mixing>,
    alive: Vec<bool>,
    judge: Judge,
    traffic: Traffic,
    totals: Totals,
    round: usize,
    /// When this program began to work on the run, and the seconds that had been worked before.
    clock: (Instant, f64),
}

impl<'a> Course<'a> {
    /// Brings data, as the partition counts them, and first models to the device.
    ///
    /// # Errors
    /// [`RunError::Engine`] or [`RunError::Algorithm`] if the plan does not fit the data or the device.
    pub(crate) fn start(
        plan: &'a RunPlan,
        data: &Splits,
        device: &Device,
    ) -> Result<Self, RunError> {
        let config = &plan.config;
        let network = Network::new(&config.model, data.train.width(), data.train.classes())?;
        let parameters = network.layout().parameters();
        let partition = plan.partition.clone();
        let setting = Setting {
            clients: plan.clients,
            shard_sizes: partition.sizes(),
            seed: config.seed,
            parameters,
        };
        let learner = Learner::upload(device, network, data.clone(), partition, config.seed)?;
        let algorithm = config.algorithm.build(&setting)?;
        let models = learner.initial(algorithm.rows().count, config.start)?;
        Ok(Self {
            mixing: plan
                .overlay
                .as_ref()
                .map(|overlay| Mixing::new(&overlay.matrix)),
            alive: vec![true; plan.clients],
            judge: Judge::new(
                &config.evaluate,
                config.rounds,
                data.test.len(),
                config.seed,
            ),
            traffic: Traffic::default(),
            totals: Totals::default(),
            round: 0,
            clock: (Instant::now(), 0.0),
            plan,
            learner,
            algorithm,
            models,
        })
    }

    /// Rounds done.
    pub(crate) fn round(&self) -> usize {
        self.round
    }

    /// Local steps of all rows so far.
    pub(crate) fn local_steps(&self) -> u64 {
        self.totals.local_steps
    }

    /// What a row of the models stands for.
    pub(crate) fn row_kind(&self) -> &'static str {
        self.algorithm.rows().kind.name()
    }

    /// One round of the method.
    pub(crate) fn advance(&mut self) -> Result<(), RunError> {
        self.traffic.clear();
        let mut round = Round {
            number: self.round + 1,
            learner: &mut self.learner,
            overlay: self.plan.overlay.as_ref().map(|planned| &planned.overlay),
            mixing: self.mixing.as_ref(),
            alive: &self.alive,
            seed: self.plan.config.seed,
            traffic: &mut self.traffic,
        };
        self.algorithm.round(&mut self.models, &mut round)?;
        self.round += 1;
        self.totals.local_steps += local_steps(&self.traffic);
        self.totals.bytes += self.traffic.bytes_total();
        self.totals.bytes_busiest_node += self.traffic.bytes_busiest_node();
        Ok(())
    }

    /// Whether the models are judged after the round that is done.
    pub(crate) fn is_judged(&self) -> bool {
        self.judge.is_due(self.round)
    }

    /// Judges the models as they are, for a record and for the table of clients.
    pub(crate) fn evaluate(&mut self) -> Result<(Record, Verdict), RunError> {
        let verdict = self.judge.judge(
            &mut self.learner,
            &*self.algorithm,
            &self.models,
            &self.alive,
            self.round,
        )?;
        let record = Record {
            bytes_total: self.totals.bytes,
            bytes_busiest_node: self.totals.bytes_busiest_node,
            wall_seconds: self.wall_seconds(),
            alive: self.alive.iter().filter(|alive| **alive).count(),
            ..verdict.record(self.round)
        };
        Ok((record, verdict))
    }

    /// What has been counted, for a checkpoint.
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            wall_seconds: self.wall_seconds(),
            ..self.totals
        }
    }

    /// How far each row has come through its data, for a checkpoint.
    pub(crate) fn learner_state(&self) -> LearnerState {
        self.learner.state()
    }

    /// The stacks that a checkpoint needs, by name.
    pub(crate) fn stacks(&self) -> Vec<(&str, &Stack)> {
        let mut stacks: Vec<(&str, &Stack)> = self.algorithm.state();
        stacks.push((MODELS, &self.models));
        stacks
    }

    /// Goes on from a checkpoint of the same run.
    pub(crate) fn restore(&mut self, saved: &Saved, stacks: Stacks) -> Result<(), RunError> {
        let layout = self.learner.network().layout().clone();
        for (name, values) in stacks {
            let stack = Stack::from_host(self.learner.device(), &layout, values)?;
            match name.as_str() {
                MODELS => self.models = stack,
                name => self.algorithm.restore(name, stack),
            }
        }
        self.learner.resume(&saved.learner);
        self.totals = saved.totals;
        self.round = saved.round;
        self.clock = (Instant::now(), saved.totals.wall_seconds);
        Ok(())
    }

    fn wall_seconds(&self) -> f64 {
        let (began, before) = self.clock;
        before + began.elapsed().as_secs_f64()
    }
}

/// Local steps of all clients in the phases of a round.
fn local_steps(traffic: &Traffic) -> u64 {
    let steps = |phase: &Phase| match phase {
        Phase::Compute { steps } => steps.iter().map(|steps| u64::from(*steps)).sum(),
        Phase::Exchange(_) => 0,
    };
    traffic.phases().iter().map(steps).sum()
}
