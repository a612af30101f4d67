//! A run in progress: the models, and whatever changes with them from round to round.

mod resuming;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use meshfold_algorithms::{
    Algorithm, IterateWeighting, LostMessages, Method, OwnFigures, Phase, Round, RowKind,
    SentModels, Setting, StragglerContext, Traffic,
};
use meshfold_data::{Examples, TrainingList};
use meshfold_engine::{
    Device, EngineError, Layout, Learner, LearningRate, Purpose, Ranks, Schedule, Stack,
};

use crate::config::budget::Budget;
use crate::network::{Clock, SimulatedTime};
use crate::plan::round_graph::{RoundGraphs, drops_rows, loses_messages_itself};
use crate::plan::run_plan::RunPlan;
use crate::rank_steps::{Step, announce};
use crate::results::checkpoint::Totals;
use crate::results::clients::spool::Scores;
use crate::results::metrics::record::{Record, RecordedFigure};
use crate::results::run_error::RunError;
use crate::run::client_views::ClientMeasurements;
use crate::run::evaluation::{HeldOut, Judge, Models, When, alive_rows};
use crate::run::first_models::first_models;
use crate::run::local_tests::LocalTests;
use crate::run::membership::MembershipAttack;
use crate::run::run_data::RunData;
use crate::run::stopwatch::Stopwatch;
use crate::run::theory_measurements::{RowsAlive, TheoryMeasurements};

/// The models of a run after some round.
pub(crate) struct RunState<'a> {
    plan: &'a RunPlan,
    learner: Learner,
    algorithm: Box<dyn Algorithm>,
    models: Stack,
    graphs: RoundGraphs<'a>,
    /// Which clients were alive in the last round, `[N]`.
    alive: Vec<bool>,
    judge: Judge,
    theory: TheoryMeasurements,
    traffic: Traffic,
    /// What the method recorded in the last round.
    figures: OwnFigures,
    /// What clients sent in the last round, if an attacker has it.
    sent: SentModels,
    totals: Totals,
    /// On the simulated network.
    time: SimulatedTime,
    round: usize,
    /// Whether the last evaluation ends the run, as it reaches the targets.
    has_reached: bool,
    stopwatch: Stopwatch,
}

impl<'a> RunState<'a> {
    /// Brings `data` and first models to the device.
    ///
    /// # Errors
    /// [`RunError::Engine`] or [`RunError::Algorithm`] if the plan does not fit the data or the device.
    pub(crate) fn start(
        plan: &'a RunPlan,
        data: &RunData,
        device: &Device,
    ) -> Result<Self, RunError> {
        let stopwatch = Stopwatch::start();
        let config = &plan.config;
        let partition = plan.partition.clone();
        let mut learner = Learner::upload(
            device,
            plan.model.clone(),
            data.splits.clone(),
            partition,
            config.seed_of(Purpose::Batches),
        )?;
        if let Some(augment) = config.augment {
            learner = learner.augmented(augment)?;
        }
        let mut algorithm = config.algorithm.build(&plan.population.setting)?;
        let rows = config.algorithm.rows(plan.population.setting.clients);
        let models = first_models(plan, &learner)?;
        algorithm.start(&models)?;
        let held_out = HeldOut {
            test: learner.splits().test.len(),
            validation: learner
                .splits()
                .validation
                .as_ref()
                .map_or(0, |examples| examples.len()),
        };
        let seed = config.seed_of(Purpose::Evaluation);
        let mut judge = Judge::new(rows.kind, &config.evaluate, config.rounds, held_out, seed);
        judge = judge.with_local_tests(LocalTests::new(plan, rows.kind));
        if config.evaluate.views_clients() {
            let of_test = learner.splits().test.labels();
            let list = data.list();
            let of_training = list.as_deref().map(TrainingList::labels);
            judge = judge.with_attack(MembershipAttack::new(plan, rows.kind, of_training, of_test));
            judge = judge.with_views(ClientMeasurements::new(
                plan,
                of_test,
                of_training,
                rows.kind,
            ));
        }
        let mut graphs = RoundGraphs::new(plan);
        let theory = TheoryMeasurements::new(plan, &models);
        Ok(Self {
            alive: graphs.alive(0)?.to_vec(),
            graphs,
            time: SimulatedTime::default(),
            judge,
            theory,
            traffic: Traffic::default(),
            figures: OwnFigures::new(rows.count),
            sent: SentModels::new(config.evaluate.attacks_sent_models()),
            totals: Totals::default(),
            round: 0,
            has_reached: false,
            stopwatch,
            plan,
            learner,
            algorithm,
            models,
        })
    }

    /// Measures what the training examples `train` alone decide. It ends early once `stop` is true, and the run cannot go on:
    /// see [`TheoryMeasurements::is_called_off`].
    ///
    /// # Errors
    /// [`RunError::Theorem`].
    pub(crate) fn measure_examples(
        &mut self,
        train: &Examples,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        self.theory.of_examples(self.plan, train, stop)
    }

    /// Tells the ranks that take part in the run, if there are any, that `step` comes next. On such a rank nothing happens.
    fn announce(&self, step: Step) {
        let device = self.device();
        if device.ranks().is_some_and(Ranks::leads) {
            announce(device, step);
        }
    }

    /// The device that the models live on.
    pub(crate) fn device(&self) -> &Device {
        self.learner.device()
    }

    /// How the parameters of a model lie in a row.
    pub(crate) fn layout(&self) -> &Layout {
        self.learner.network().layout()
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
        self.judge.kind.name()
    }

    /// One round of the method, and what it would have cost.
    pub(crate) fn advance(&mut self) -> Result<(), RunError> {
        self.announce(Step::Advance);
        let begun = Instant::now();
        let round = self.round + 1;
        self.carry_out().map_err(|error| error.in_round(round))?;
        self.totals.round_seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), RunError> {
        let (config, number) = (&self.plan.config, self.round + 1);
        let (method, training) = (&config.algorithm, config.algorithm.training());
        let step_shares = step_shares(self.plan, number);
        let straggler_context = config
            .stragglers
            .as_ref()
            .zip(config.straggler_policy())
            .map(|(stragglers, policy)| StragglerContext {
                stragglers,
                policy,
                step_shares: step_shares.as_deref(),
                seed: config.seed_of(Purpose::Stragglers),
                round: number,
            });
        let kind = self.judge.kind;
        if self.judge.is_due(number) {
            self.theory
                .before_round(&self.learner, &self.models, kind)?;
        }
        let by_run = drops_rows(method.profile().stragglers, kind);
        let dropping = straggler_context.as_ref().filter(|_| by_run);
        let graph = self
            .graphs
            .in_round(number, dropping, &self.learner, &training)?;
        self.alive.clone_from(&graph.alive);
        self.traffic.clear();
        self.figures.clear();
        self.sent.clear();
        if graph.drops_stragglers && step_shares.is_some() {
            self.traffic.wait_for_deadline();
        }
        let asks_for_speeds = method.profile().counts_itself;
        let clock = self.plan.clock.as_ref().filter(|_| asks_for_speeds);
        let speeds = clock.map(|clock| clock.speeds(number));
        let mut round = Round {
            number,
            learner: &mut self.learner,
            overlay: graph.overlay.as_deref(),
            sent_over: graph.sent_over.as_deref(),
            lost_messages: match loses_messages_itself(method) {
                true => LostMessages {
                    probability: config.failures.loss_probability(number),
                    seed: config.seed_of(Purpose::Failure),
                },
                false => LostMessages::NONE,
            },
            mixing: graph.mixing.as_ref(),
            alive: &graph.working,
            gone: &graph.gone,
            straggler_context: straggler_context.filter(|straggler_context| {
                !by_run || straggler_context.policy == meshfold_algorithms::Policy::Partial
            }),
            seed: self.plan.population.setting.seed,
            is_recorded: self.judge.is_due(number),
            times_steps: self.plan.clock.as_ref().is_some_and(Clock::times_steps),
            network: speeds.as_ref(),
            traffic: &mut self.traffic,
            figures: &mut self.figures,
            sent: &mut self.sent,
        };
        self.algorithm.round(&mut self.models, &mut round)?;
        if self.sent.models().is_some() {
            let senders = self.traffic.senders(self.models.rows());
            self.sent.note_senders(senders);
        }
        self.round = number;
        self.totals.local_steps += local_steps(&self.traffic);
        self.totals.bytes += self.traffic.bytes_total();
        self.totals.bytes_busiest_node += self.traffic.bytes_busiest_node();
        self.totals.messages += self.traffic.messages_total();
        if let Some(printed) = self.traffic.messages_as_printed() {
            *self.totals.messages_as_printed.get_or_insert(0) += printed;
        }
        if method.profile().has_own_clock {
            if let Some(seconds) = self.own_seconds() {
                self.time.seconds = seconds;
            }
        } else if let Some(clock) = &self.plan.clock {
            let overlay = graph.sent_over.as_ref().or(graph.overlay.as_ref());
            let overlay = overlay.map(Arc::as_ref);
            clock.advance(&mut self.time, &self.traffic, overlay, number)?;
        }
        self.count_iterate(kind)
    }

    /// The time that a method with a clock of its own has recorded.
    fn own_seconds(&self) -> Option<f64> {
        let seconds = self.figures.number("seconds");
        seconds.filter(|seconds| seconds.is_finite())
    }

    /// The simulated time, if it is told.
    fn simulated_seconds(&self) -> Option<f64> {
        let is_told = match self.plan.config.algorithm.profile().has_own_clock {
            true => self.round == 0 || self.own_seconds().is_some(),
            false => self.plan.clock.is_some(),
        };
        is_told.then_some(self.time.seconds)
    }

    /// Counts the models of the round that is done among the averaged iterates.
    fn count_iterate(&mut self, kind: RowKind) -> Result<(), RunError> {
        let deployed = self.algorithm.deployed(&self.models);
        let alive = alive_rows(kind, deployed, &self.alive);
        let setting = &self.plan.population.setting;
        let weight = iterate_weight(&self.plan.config.algorithm, setting, self.round)?;
        Ok(self.theory.after_round(deployed, &alive, weight)?)
    }

    /// Whether no round is left: after the last one, or at an evaluation where the budget is spent or the targets are reached.
    pub(crate) fn is_done(&self) -> bool {
        let config = &self.plan.config;
        let is_spent =
            |budget: Budget| budget.is_spent(self.time.seconds, self.totals.bytes as f64);
        let has_spent = self.is_judged() && config.budget.is_some_and(is_spent);
        self.round == config.rounds || has_spent || self.has_reached
    }

    /// Ends the run if the accuracy of `record`, its last one, is asked for no more.
    pub(crate) fn look_at(&mut self, record: &Record) {
        let accuracy = record.test_accuracy.mean;
        self.has_reached = self.plan.config.evaluate.ends_at(accuracy);
    }

    /// Whether the models are judged after the round that is done.
    pub(crate) fn is_judged(&self) -> bool {
        self.judge.is_due(self.round)
    }

    /// Judges the models as they are, for a record and for the table of clients.
    ///
    /// # Errors
    /// [`RunError::NobodyAlive`] if no client is whose model could be judged; those of the engine.
    pub(crate) fn evaluate(&mut self) -> Result<(Record, Scores), RunError> {
        self.announce(Step::Evaluate);
        let begun = Instant::now();
        let judged = self.judge_models();
        self.totals.judging_seconds += begun.elapsed().as_secs_f64();
        judged.map_err(|error| error.in_round(self.round))
    }

    fn judge_models(&mut self) -> Result<(Record, Scores), RunError> {
        let kind = self.judge.kind;
        if kind == RowKind::Client && !self.alive.contains(&true) {
            return Err(RunError::NobodyAlive { round: self.round });
        }
        let when = When {
            round: self.round,
            is_last: self.is_done(),
        };
        let verdict = self.judge.judge(
            &mut self.learner,
            &*self.algorithm,
            Models {
                kept: &self.models,
                sent: &self.sent,
            },
            &self.alive,
            when,
        )?;
        let deployed = self.algorithm.deployed(&self.models);
        let deployed_alive = alive_rows(kind, deployed, &self.alive);
        let skew = match self.theory.asks_for_cliques() {
            true => self.graphs.clique_skew(self.round)?,
            false => None,
        };
        let mut theory = self.theory.measure(
            &mut self.learner,
            RowsAlive {
                models: &self.models,
                alive: &self.alive,
            },
            RowsAlive {
                models: deployed,
                alive: &deployed_alive,
            },
            kind,
            (self.round, skew),
        )?;
        // JSON has no word for the others, and a record must be read again.
        theory.retain(|_, value| value.is_finite());
        let record = Record {
            bytes_total: self.totals.bytes,
            bytes_busiest_node: self.totals.bytes_busiest_node,
            messages_total: self.totals.messages,
            messages_as_printed: self.totals.messages_as_printed,
            simulated_seconds: self.simulated_seconds(),
            wall_seconds: self.stopwatch.wall(),
            alive: self.alive.iter().filter(|alive| **alive).count(),
            components: self.graphs.components(self.round)?,
            theory,
            own: self.own_figures(),
            ..verdict.record(self.round)
        };
        self.look_at(&record);
        Ok((record, verdict.scores(&self.figures)))
    }

    /// What the method recorded in the last round; nothing at the start.
    fn own_figures(&self) -> BTreeMap<String, RecordedFigure> {
        let alive = alive_rows(self.judge.kind, &self.models, &self.alive);
        let recorded = |(name, figure): (&str, _)| {
            Some((name.to_owned(), RecordedFigure::of(figure, &alive)?))
        };
        self.figures.iter().filter_map(recorded).collect()
    }

    /// What has been counted, for a checkpoint.
    pub(crate) fn totals(&self) -> Totals {
        let worked = self.stopwatch.worked();
        Totals {
            wall_seconds: worked.wall,
            processor_seconds: worked.processor,
            simulated_seconds: self.time.seconds,
            ..self.totals
        }
    }

    /// When each node has done the last round on the simulated network, where that differs; for a checkpoint.
    pub(crate) fn node_seconds(&self) -> Vec<f64> {
        self.time.nodes.clone()
    }

    /// What is measured beside the papers' bounds, for a checkpoint.
    pub(crate) fn theory(&self) -> &TheoryMeasurements {
        &self.theory
    }
}

/// The share that a local step of each client takes of the deadline for stragglers in round `round`, `[N]`; `None` without a deadline.
fn step_shares(plan: &RunPlan, round: usize) -> Option<Vec<f64>> {
    let stragglers = plan.config.stragglers.as_ref()?;
    let clock = plan.clock.as_ref()?;
    Some(clock.step_shares(stragglers.deadline_seconds?, round))
}

/// The weight of the models after `round` in the averaged iterates: `(t + γ)²` with `t` as the harmonic rate counts it,
/// or the rate of the round's first step.
fn iterate_weight(method: &Method, setting: &Setting, round: usize) -> Result<f64, EngineError> {
    let rate = method.training().sgd.learning_rate;
    let weighting = method.profile().iterate_weighting;
    if let (IterateWeighting::InverseSquare, LearningRate::Schedule(Schedule::Harmonic(harmonic))) =
        (weighting, &rate)
        && harmonic.warmup == 0.0
    {
        let next = rate.at(&method.progress_after(round, setting)); // δ / (t + γ)
        return Ok((harmonic.delta / next).powi(2));
    }
    rate.try_at(&method.progress_after(round - 1, setting))
}

/// Local steps of all clients in the phases of a round.
fn local_steps(traffic: &Traffic) -> u64 {
    let steps = |phase: &Phase| match phase {
        Phase::Compute { steps } | Phase::Visits { steps, .. } => {
            steps.iter().map(|steps| u64::from(*steps)).sum()
        }
        Phase::Exchange(_) => 0,
    };
    traffic.phases().iter().map(steps).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reader;
    use crate::config::source::ExperimentSource;
    use crate::config::tree::Node;
    use std::sync::Arc;

    fn weight(method: &str, round: usize) -> f64 {
        let source = ExperimentSource::new("method.yaml", method);
        let node = Node::read(method, 0, 0).unwrap();
        let method: Method = reader::read(&node, &source).unwrap();
        let setting = Setting {
            clients: 3,
            shard_sizes: vec![10, 20, 30],
            first_labels: vec![0; 3],
            seed: 1,
            rounds: 9,
            layout: Arc::default(),
        };
        iterate_weight(&method, &setting, round).unwrap()
    }

    #[test]
    fn an_iterate_counts_by_the_epochs_and_visits_of_the_rounds_before() {
        let rate = "learning_rate: {power: {r: 1, q: 1, per: epoch}}";
        let walks = format!("{{dfedrw: {{walkers: 2, hops: 5, batch_size: 5, {rate}}}}}");
        assert_eq!(weight(&walks, 1), 1.0);
        assert_eq!(weight(&walks, 4), 1.0 / 16.0);
        let epochs = format!("{{dfedavg: {{local: {{epochs: 3}}, batch_size: 5, {rate}}}}}");
        assert_eq!(weight(&epochs, 4), 1.0 / 10.0);
        // Ten steps are two and a half passes over shards of four batches in the mean.
        let steps = format!("{{dfedavg: {{local: {{steps: 10}}, batch_size: 5, {rate}}}}}");
        assert_eq!(weight(&steps, 5), 1.0 / 11.0);
    }

    #[test]
    fn squares_count_what_the_rate_counts() {
        let servers = "servers: {count: 1}, local: {epochs: 3}, batch_size: 5";
        let harmonic = |per| {
            let rate = format!("learning_rate: {{harmonic: {{delta: 2, gamma: 7, per: {per}}}}}");
            weight(&format!("{{p_fedavg: {{{servers}, {rate}}}}}"), 4)
        };
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12);
        close(harmonic("round"), 11.0 * 11.0);
        close(harmonic("epoch"), 19.0 * 19.0);
        // Four batches an epoch in the mean.
        close(harmonic("step"), 55.0 * 55.0);
    }
}
