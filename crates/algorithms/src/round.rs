//! A round as a method sees it, and the trait that methods implement.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::lost_messages::LostMessages;
use crate::network_speeds::NetworkSpeeds;
use crate::own_figures::{OwnFigure, OwnFigures};
use crate::sent_models::SentModels;
use crate::stragglers::{Completion, Policy, StragglerContext, VisitWork, Work};
use crate::traffic::{Message, Traffic};
use crate::training::Training;
use meshfold_engine::{
    Amount, Key, Layout, Learner, LocalWork, Mixing, Purpose, RowWork, Stack, stream,
};
use meshfold_topology::Overlay;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

mod local_steps;

/// Expected work and traffic of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Local steps of all rows together.
    pub local_steps: f64,
    /// Bytes that cross the network, each message counted once.
    pub bytes: u64,
}

impl Forecast {
    /// All clients train, and on an overlay each sends its model to every neighbour.
    pub fn of_exchange(training: &Training, setting: &Setting, overlay: Option<&Overlay>) -> Self {
        Self {
            local_steps: training.steps_of_all(setting),
            bytes: overlay.map_or(0, messages_over) * setting.model_bytes(),
        }
    }
}

/// What a method is built for.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Number of clients `N`.
    pub clients: usize,
    /// Examples of each client, `[N]`.
    pub shard_sizes: Vec<usize>,
    /// Label of each client's first example, `[N]`.
    pub first_labels: Vec<u16>,
    /// Seed of what methods draw: `seeds.methods`, or else the run's seed.
    pub seed: u64,
    /// Rounds that the run is planned to have. A budget, targets or an interruption may end it before.
    pub rounds: usize,
    /// How the parameters of a model lie in a row: weights and biases of its layers.
    pub layout: Arc<Layout>,
}

impl Setting {
    /// Bytes of a model sent in f32.
    pub fn model_bytes(&self) -> u64 {
        4 * self.layout.parameters() as u64
    }

    /// Examples of all clients.
    pub fn examples(&self) -> usize {
        self.shard_sizes.iter().sum()
    }
}

/// Messages of one exchange in which every node sends to all that listen to it.
pub fn messages_over(overlay: &Overlay) -> u64 {
    let directions = if overlay.is_directed() { 1 } else { 2 };
    directions * overlay.edge_count() as u64
}

/// One communication round.
#[derive(Debug)]
pub struct Round<'a> {
    /// Number of the round, from 1.
    pub number: usize,
    /// Local steps and gradients.
    pub learner: &'a mut Learner,
    /// The overlay of this round, if the method uses one: without the dead and without dropped stragglers.
    pub overlay: Option<&'a Overlay>,
    /// The overlay over which messages were sent, where some were lost: [`Round::overlay`] then has the links over which they arrive.
    pub sent_over: Option<&'a Overlay>,
    /// The messages that the method is to lose itself, if it [simulates time itself](crate::Profile::has_own_clock) or has no overlay. None
    /// for others, whose [`Round::overlay`] has lost them already.
    pub lost_messages: LostMessages,
    /// The mixing matrix of the overlay.
    pub mixing: Option<&'a Mixing>,
    /// Which clients take part in this round, `[N]`: the dead, dropped stragglers and frozen nodes do not.
    pub alive: &'a [bool],
    /// Which clients never come back, `[N]`.
    pub gone: &'a [bool],
    /// Who falls behind, if anyone does.
    pub straggler_context: Option<StragglerContext<'a>>,
    /// Seed of what methods draw: `seeds.methods`, or else the run's seed.
    pub seed: u64,
    /// Whether the models are judged after this round, so that what the method [records](Round::record) is kept.
    pub is_recorded: bool,
    /// Whether local steps take simulated time.
    pub times_steps: bool,
    /// The speeds of clients and links, for a method that [counts local steps itself](crate::Profile::counts_itself), if there is a simulated
    /// network.
    pub network: Option<&'a NetworkSpeeds>,
    /// Where the round's messages are counted.
    pub traffic: &'a mut Traffic,
    /// What the method [records](Round::record) of the round.
    pub figures: &'a mut OwnFigures,
    /// Where the method [shows](Round::show) the models that clients send.
    pub sent: &'a mut SentModels,
}

impl Round<'_> {
    /// The row for draws that belong to no row, where rows draw for the same purpose.
    pub const NO_ROW: u32 = u32::MAX;

    /// The random stream of this round for `purpose` and `row`, a client, server or walker. Draws that belong to no row
    /// use 0 or [`Round::NO_ROW`]. `step` tells apart the draws of one row.
    pub fn stream(&self, purpose: Purpose, row: u32, step: u32) -> ChaCha8Rng {
        let key = Key {
            round: self.number as u64,
            row,
            step,
            ..Key::default()
        };
        stream(self.seed, purpose, key)
    }

    /// The same round, borrowed again.
    pub fn reborrow(&mut self) -> Round<'_> {
        Round {
            number: self.number,
            learner: &mut *self.learner,
            overlay: self.overlay,
            sent_over: self.sent_over,
            lost_messages: self.lost_messages,
            mixing: self.mixing,
            alive: self.alive,
            gone: self.gone,
            straggler_context: self.straggler_context,
            seed: self.seed,
            is_recorded: self.is_recorded,
            times_steps: self.times_steps,
            network: self.network,
            traffic: &mut *self.traffic,
            figures: &mut *self.figures,
            sent: &mut *self.sent,
        }
    }

    /// Shows `models`, `[N, P]`, as those that clients send to others in this round; which clients do is what the traffic says. Without
    /// anybody who asks for them, which [`Round::is_to_show`] tells, nothing happens. Of several stacks that a round shows the first counts. A
    /// method that calls this says so by [`Profile::shows_models`](crate::Profile::shows_models).
    pub fn show(&mut self, models: &Stack) {
        if self.is_to_show() {
            self.sent.keep(models.duplicate());
        }
    }

    /// Whether somebody asks for the models that clients send in this round, and has none yet.
    pub fn is_to_show(&self) -> bool {
        self.sent.are_asked_for() && self.is_recorded && self.sent.models().is_none()
    }

    /// Notes a figure of the method's own: a number for the round, or one for each row of the models, `[R]`. If the models are judged
    /// after this round, the record has it as `own.NAME`, numbers of rows as their spread over the rows alive. Of two figures with one
    /// name the later counts. Numbers that are not finite are null in the record. To read numbers of a stack waits for the device.
    ///
    /// # Errors
    /// [`AlgorithmError::FigureName`] unless the name is 1 to 64 ASCII letters, digits or `_`; [`AlgorithmError::FigureRows`].
    pub fn record(
        &mut self,
        name: &str,
        figure: impl Into<OwnFigure>,
    ) -> Result<(), AlgorithmError> {
        self.figures.record(name, figure.into())
    }

    /// The mixing matrix of a method that requires an overlay.
    pub fn mixing(&self) -> &Mixing {
        self.mixing
            .expect("a method that requires an overlay is only run with one")
    }

    /// The overlay of a method that requires one.
    pub fn overlay(&self) -> &Overlay {
        self.overlay
            .expect("a method that requires an overlay is only run with one")
    }

    /// The overlay over which clients send, of a method that requires one: [`Round::overlay`] but for messages that are lost.
    pub fn sent_over(&self) -> &Overlay {
        self.sent_over.unwrap_or_else(|| self.overlay())
    }

    /// Mixes `models` by the round's weights, and counts a message of `model_bytes` to each neighbour.
    pub fn mix(&mut self, models: &mut Stack, model_bytes: u64) -> Result<(), AlgorithmError> {
        self.exchange_models(model_bytes);
        Ok(models.mix(self.mixing())?)
    }

    /// Counts one exchange of models with all neighbours.
    pub fn exchange_models(&mut self, model_bytes: u64) {
        let overlay = self.sent_over();
        if overlay.is_directed() {
            let messages = overlay
                .edges()
                .map(|(from, to)| Message {
                    from,
                    to,
                    bytes: model_bytes,
                })
                .collect();
            self.traffic.messages(messages);
            return;
        }
        let degrees = (0..overlay.nodes())
            .map(|node| overlay.degree(node) as u32)
            .collect();
        self.traffic.neighbours(model_bytes, degrees);
    }

    /// Counts one exchange with all neighbours in which node `i` sends `bytes[i]` bytes to each of its neighbours, `[N]`. A node with
    /// no bytes sends no messages.
    ///
    /// # Panics
    /// If there are fewer numbers than nodes.
    ///
    /// # Complexity
    /// O(edges) of time and memory, unless all sizes are the same.
    pub fn exchange_sizes(&mut self, bytes: &[u64]) {
        let overlay = self.sent_over();
        let bytes = &bytes[..overlay.nodes()];
        if let Some(first) = bytes.first().filter(|first| **first > 0)
            && bytes.iter().all(|size| size == first)
        {
            return self.exchange_models(*first);
        }
        let messages = overlay.arcs().map(|(from, to)| Message {
            from,
            to,
            bytes: bytes[from as usize],
        });
        let messages = messages.filter(|message| message.bytes > 0).collect();
        self.traffic.messages(messages);
    }

    /// What each client does in a method in which every client alive trains its own row, `[N]`.
    pub fn client_rows(&mut self, training: &Training) -> Vec<RowWork> {
        let amount = training.local.amount();
        let rows = (0..self.alive.len() as u32).map(|client| RowWork { client, amount });
        self.rows_alive(rows.collect(), training)
    }

    /// `rows` without the work of clients that take no part, and with that of stragglers cut down to what they manage.
    ///
    /// # Panics
    /// If a row works for a client that does not exist.
    pub fn rows_alive(&mut self, mut rows: Vec<RowWork>, training: &Training) -> Vec<RowWork> {
        for row in &mut rows {
            if !self.alive[row.client as usize] {
                row.amount = Amount::Idle;
            }
        }
        self.in_time(rows, training)
    }

    /// Local steps of each client in this round, `[N]`: those of the configuration, cut down to what stragglers manage, and none for
    /// clients that take no part.
    pub fn local_steps(&mut self, training: &Training) -> Vec<u32> {
        let rows = self.client_rows(training);
        let steps = |row| self.learner.steps_of(row, &training.sgd);
        rows.iter().map(steps).collect()
    }

    /// `rows`, cut down to the work that stragglers manage.
    pub fn in_time(&mut self, mut rows: Vec<RowWork>, training: &Training) -> Vec<RowWork> {
        let Some(straggler_context) = self.straggler_context else {
            return rows;
        };
        let busy: Vec<usize> = (0..rows.len())
            .filter(|row| rows[*row].amount != Amount::Idle)
            .collect();
        let work: Vec<Work> = busy
            .iter()
            .map(|row| Work {
                client: rows[*row].client,
                whole: rows[*row].amount.count(),
                steps: self.learner.steps_of(&rows[*row], &training.sgd),
            })
            .collect();
        let completions = straggler_context.completions(&work);
        self.wait_for(&completions);
        for (row, completion) in busy.into_iter().zip(completions) {
            rows[row].amount = completion.done_of(rows[row].amount);
        }
        rows
    }

    /// Whether nobody knows at the start of the round who will be late, since a deadline decides it.
    pub fn has_deadline(&self) -> bool {
        self.straggler_context
            .is_some_and(|context| context.has_deadline())
    }

    /// What becomes of stragglers, if there may be some.
    pub fn straggler_policy(&self) -> Option<Policy> {
        self.straggler_context.map(|context| context.policy)
    }

    /// Makes the round last until the deadline, if there is one and somebody missed it.
    pub fn wait_for(&mut self, completions: &[Completion]) {
        if self
            .straggler_context
            .is_some_and(|context| context.misses_deadline(completions))
        {
            self.traffic.wait_for_deadline();
        }
    }

    /// How far walks of `visits` visits get that begin at `starts`. After visit `v`, walk `m` goes from client `i` to
    /// `next(m, i, v)`.
    pub fn walk_completions(
        &self,
        starts: &[u32],
        visits: u32,
        training: &Training,
        next: impl Fn(u32, u32, u32) -> u32,
    ) -> Vec<Completion> {
        let Some(straggler_context) = &self.straggler_context else {
            return vec![Completion::InTime; starts.len()];
        };
        let work_at = |client| {
            let row = RowWork {
                client,
                amount: match self.alive[client as usize] {
                    true => training.local.amount(),
                    false => Amount::Idle,
                },
            };
            VisitWork {
                client,
                steps: self.learner.steps_of(&row, &training.sgd),
            }
        };
        let walk = |(walker, start): (u32, &u32)| {
            let path = (1..visits).scan(*start, |at, visit| {
                if self.alive[*at as usize] {
                    *at = next(walker, *at, visit);
                }
                Some(*at)
            });
            std::iter::once(*start).chain(path).map(work_at).collect()
        };
        let walks: Vec<Vec<VisitWork>> = (0..).zip(starts).map(walk).collect();
        straggler_context.walk_completions(&walks)
    }

    /// Local work in this round.
    pub fn work<'b>(&self, rows: &'b [RowWork], training: &'b Training) -> LocalWork<'b> {
        LocalWork::new(self.number, rows, &training.sgd)
    }

    /// Counts local steps: `steps[i]` on the data of the client of `rows[i]`.
    pub fn count_steps(&mut self, rows: &[RowWork], steps: &[u32]) {
        let mut per_client = vec![0; self.alive.len()];
        for (row, steps) in rows.iter().zip(steps) {
            per_client[row.client as usize] += steps;
        }
        self.traffic.compute(per_client);
    }
}

/// A method in the course of a run.
pub trait Algorithm: Send {
    /// Advances all models, `[R, P]`, by one communication round, without a read-back.
    ///
    /// # Errors
    /// [`AlgorithmError`] if the engine refuses a verb.
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError>;

    /// Called once, before the first round and before anything of a checkpoint is restored: with the models that the run starts
    /// from, `[R, P]`.
    ///
    /// # Errors
    /// [`AlgorithmError`] if the method cannot start.
    fn start(&mut self, _models: &Stack) -> Result<(), AlgorithmError> {
        Ok(())
    }

    /// The models that a user of the method would hold, judged by evaluation.
    fn deployed<'a>(&'a self, models: &'a Stack) -> &'a Stack {
        models
    }

    /// What else than its models the method had trained in `round` by row `row` of a call of the engine, in words: `round.train of a stack`.
    /// It is asked where something of the row was not finite, and the model of the row is.
    fn trained_aside(&self, _round: usize, _row: usize) -> Option<String> {
        None
    }

    /// The stacks that the method keeps from round to round besides the models. A checkpoint holds those that are there.
    fn kept(&self) -> &[KeptStack] {
        &[]
    }

    /// The same stacks, in which those of a checkpoint are put.
    fn kept_mut(&mut self) -> &mut [KeptStack] {
        &mut []
    }

    /// Whether [`Algorithm::kept`] may hold a stack of `rows` rows under this name.
    fn may_keep_stack(&self, name: &str, rows: usize) -> bool {
        let mut kept = self.kept().iter();
        kept.any(|kept| kept.name() == name && kept.rows() == rows)
    }

    /// Takes back a stack of a checkpoint that the method [may keep](Algorithm::may_keep_stack).
    fn restore_stack(&mut self, name: &str, stack: Stack) {
        let mut kept = self.kept_mut().iter_mut();
        if let Some(kept) = kept.find(|kept| kept.name() == name) {
            kept.replace(stack);
        }
    }

    /// Numbers that the method keeps on the host from round to round, by name, for checkpoints.
    fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        Vec::new()
    }

    /// Whether [`Algorithm::numbers`] may give `numbers` under this name.
    fn may_keep(&self, _name: &str, _numbers: &[f64]) -> bool {
        false
    }

    /// Takes back numbers that [`Algorithm::numbers`] named and the method [may keep](Algorithm::may_keep).
    fn restore_numbers(&mut self, _name: &str, _numbers: Vec<f64>) {}
}
