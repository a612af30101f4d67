//! Saving and resuming a run in progress.

use std::collections::BTreeMap;

use meshfold_engine::{LearnerState, Stack};

use super::RunState;
use crate::network::{Clock, SimulatedTime};
use crate::rank_steps::Step;
use crate::results::checkpoint::{MODELS, Saved, VerifiedCheckpoint};
use crate::results::run_error::RunError;
use crate::run::evaluation::alive_rows;
use crate::run::stopwatch::Worked;
use crate::run::theory_measurements::AVERAGED;

/// The stack of the models that clients sent in the last round, and which of them did.
const SENT: [&str; 2] = ["sent_models", "senders"];

impl RunState<'_> {
    /// The position of each row in its examples, and its losses since the last record.
    pub(crate) fn learner_state(&self) -> LearnerState {
        self.announce(Step::Losses);
        self.learner.state()
    }

    /// The numbers that the method keeps between rounds, by name.
    pub(crate) fn numbers(&self) -> BTreeMap<String, Vec<f64>> {
        let own = self.algorithm.numbers().into_iter();
        let mut all: BTreeMap<String, Vec<f64>> = own.collect();
        if self.sent.models().is_some() {
            let senders = self.sent.senders().iter();
            let senders = senders.map(|sends| f64::from(u8::from(*sends)));
            all.insert(SENT[1].to_owned(), senders.collect());
        }
        all
    }

    /// Whether each row of the models is alive, `[R]`; empty if all are.
    pub(crate) fn rows_alive(&self) -> Vec<bool> {
        let rows = alive_rows(self.judge.kind, &self.models, &self.alive);
        match rows.contains(&false) {
            true => rows,
            false => Vec::new(),
        }
    }

    /// The stacks that a checkpoint holds, by name.
    pub(crate) fn stacks(&self) -> Vec<(&str, &Stack)> {
        let kept = self.algorithm.kept().iter();
        let of_method = kept.filter_map(|kept| Some((kept.name(), kept.get()?)));
        let mut stacks: Vec<(&str, &Stack)> = of_method.collect();
        stacks.extend(self.theory.state());
        stacks.extend(self.sent.models().map(|models| (SENT[0], models)));
        stacks.push((MODELS, &self.models));
        stacks
    }

    /// Why this run cannot resume from `checkpoint`; none if it can. Checks names, shapes, counts and positions.
    pub(crate) fn misfit(&self, checkpoint: &VerifiedCheckpoint) -> Option<String> {
        let width = self.layout().width();
        let Saved {
            round,
            learner,
            numbers,
            ..
        } = &checkpoint.saved;
        if !(1..=self.plan.config.rounds).contains(round) {
            let rounds = self.plan.config.rounds;
            return Some(format!("it is of round {round}, but the run has {rounds}"));
        }
        let stacks = checkpoint.stacks();
        if stacks.iter().all(|(name, _)| name != MODELS) {
            return Some("it has no models".to_owned());
        }
        for (name, [rows, found]) in stacks {
            if *found != width || !self.may_hold(name, *rows) {
                return Some(format!(
                    "the run has no stack `{name}` of {rows} rows with {found} numbers"
                ));
            }
        }
        for (name, numbers) in numbers {
            let of_sent = name == SENT[1] && self.may_hold(SENT[0], numbers.len());
            if !of_sent && !self.algorithm.may_keep(name, numbers) {
                return Some(format!("the method does not keep such numbers as `{name}`"));
            }
        }
        let timed = self.plan.clock.as_ref().map_or(0, Clock::timed_nodes);
        if checkpoint.saved.node_seconds.len() != timed {
            return Some(format!("it has not the times of {timed} nodes"));
        }
        let fits = self.learner.fits(learner);
        (!fits).then(|| "no client can be at the place in its examples that it names".to_owned())
    }

    /// Whether a checkpoint of this run may hold a stack of `rows` rows under `name`.
    fn may_hold(&self, name: &str, rows: usize) -> bool {
        match name {
            MODELS => rows == self.models.rows(),
            AVERAGED => rows == 1 && self.theory.averages(),
            name if name == SENT[0] => rows == self.models.rows() && self.sent.are_asked_for(),
            name => self.algorithm.may_keep_stack(name, rows),
        }
    }

    /// Resumes from a checkpoint that is no [misfit](Self::misfit). The models are read into the memory of the first models.
    ///
    /// # Errors
    /// [`RunError::Read`] if the checkpoint can no longer be read. Where others take part in the run, it ends all ranks.
    pub(crate) fn restore(&mut self, checkpoint: VerifiedCheckpoint) -> Result<(), RunError> {
        self.announce(Step::Restore(checkpoint.saved.round as u64));
        let restored = self.take_over(checkpoint);
        if let (Err(error), Some(ranks)) = (&restored, self.device().ranks()) {
            ranks.abort(&error.to_string());
        }
        restored
    }

    fn take_over(&mut self, mut checkpoint: VerifiedCheckpoint) -> Result<(), RunError> {
        let (device, layout) = (self.learner.device(), self.learner.network().layout());
        let mut averaged = None;
        for (name, [rows, _]) in checkpoint.stacks().to_vec() {
            if name == MODELS {
                checkpoint.read(MODELS, &mut self.models)?;
                continue;
            }
            let mut stack = Stack::zeros(device, layout, rows);
            checkpoint.read(&name, &mut stack)?;
            match name.as_str() {
                AVERAGED => averaged = Some(stack),
                name if name == SENT[0] => self.sent.keep(stack),
                name => self.algorithm.restore_stack(name, stack),
            }
        }
        let saved = checkpoint.saved;
        self.theory
            .restore(averaged, saved.iterates, saved.gradients);
        for (name, numbers) in saved.numbers {
            match name == SENT[1] {
                true => self
                    .sent
                    .note_senders(numbers.iter().map(|sends| *sends > 0.0).collect()),
                false => self.algorithm.restore_numbers(&name, numbers),
            }
        }
        self.learner.resume(&saved.learner);
        self.totals = saved.totals;
        self.time = SimulatedTime {
            seconds: saved.totals.simulated_seconds,
            nodes: saved.node_seconds,
        };
        self.round = saved.round;
        self.alive = self.graphs.alive(self.round)?.to_vec();
        self.stopwatch.resume(Worked {
            wall: saved.totals.wall_seconds,
            processor: saved.totals.processor_seconds,
        });
        Ok(())
    }
}
