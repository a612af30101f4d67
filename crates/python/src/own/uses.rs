//! What a method in Python has asked of its rounds, and what its user is warned of.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_algorithms::training::{Local, Training};

use super::side_calls::SideCalls;

/// Whether a method has made use of something in any round of a run.
#[derive(Debug, Default)]
pub(super) struct Use(AtomicBool);

impl Use {
    /// It has.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(super) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a method has made use of.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// `round.train`.
    pub(super) train: Use,
    /// The key `local`, by `round.train` without `steps` or by `round.local_steps`.
    pub(super) local: Use,
    /// `round.local_steps`.
    pub(super) local_steps: Use,
    /// Not the method but its rounds: stragglers that cut down local work.
    pub(super) stragglers: Use,
    /// A matrix that moves models of clients that take no part, or mixes in such models.
    pub(super) absent: Use,
    /// `round.gradients`.
    pub(super) gradients: Use,
    /// `round.settings`, by which it may go itself.
    pub(super) settings: Use,
    /// `round.train` after other work in a round with a deadline for stragglers.
    pub(super) deadlines: Use,
    /// `round.train` that keeps no `velocity`, in which no client made more than one step.
    pub(super) single_steps: Use,
    /// `round.train` that keeps a `velocity`, or in which a client made several steps.
    pub(super) momentum: Use,
    /// `Stack.mix`, in a round.
    pub(super) mixed: Use,
    /// Not the method but its rounds: models of clients that take no part have changed.
    pub(super) moved: Use,
    /// `round.send` with the edges of an undirected overlay, each in one direction.
    pub(super) one_way: Use,
    /// `round.outputs` of another stack than that of the models, in a round whose overlay has edges.
    pub(super) other_outputs: Use,
    /// Gradients of a client on training examples that another one holds.
    pub(super) foreign: Use,
    /// Gradients on test examples.
    pub(super) tests: Use,
    /// The client of each training example, once it was asked for.
    pub(super) owners: OnceLock<Vec<u32>>,
    /// `round.mixing` or `round.edges`, in a round whose overlay has edges.
    pub(super) links: Use,
    /// Not the method but its rounds: a server.
    pub(super) server: Use,
    /// `round.send`.
    pub(super) send: Use,
    /// Not the method but its rounds: somebody asks for the models that clients send.
    pub(super) sought: Use,
    /// `round.send` of the stack of the models, in a round that is asked for it.
    pub(super) shown: Use,
    /// `round.count`.
    pub(super) counts: Use,
    /// Not the method but its rounds: local steps that take simulated time.
    pub(super) times_steps: Use,
    /// Not the method but its rounds: a simulated network.
    pub(super) has_network: Use,
    /// `round.network`.
    pub(super) network: Use,
    /// Not the method but its rounds: messages that it is to lose.
    pub(super) loses: Use,
    /// `round.loss_probability`.
    pub(super) loss_probability: Use,
    /// `round.train` and `round.gradients` of other stacks than that of the models.
    pub(super) side_calls: SideCalls,
}

impl Uses {
    /// What the user of the method called `method` is likely to take wrongly for granted.
    /// It `has_own_clock` if it simulates time itself.
    pub(super) fn warnings(
        &self,
        method: &str,
        training: &Training,
        has_own_clock: bool,
    ) -> Vec<String> {
        let all = [
            self.unused_keys(method, training),
            self.idle(method, training),
            self.idle_momentum(method, training),
            self.uncounted(method),
            self.one_way(method),
            self.uncut(method),
            self.several_deadlines(method),
            self.absent(method),
            self.foreign(method),
            self.tests(method),
            self.unseen(method),
            self.idle_network(method).filter(|_| has_own_clock),
            self.nothing_lost(method),
        ];
        all.into_iter().flatten().collect()
    }

    /// Attackers had nothing.
    fn unseen(&self, method: &str) -> Option<String> {
        (self.sought.is_noted() && !self.shown.is_noted()).then(|| {
            format!(
                "evaluate.membership has no models to attack: in the rounds that are judged, the method `{method}` sends none. Call \
                 round.send(models) before they are mixed, or round.send(stack, models=True) if clients send those of another stack"
            )
        })
    }

    /// A network for a method that simulates time itself and does not look at it.
    fn idle_network(&self, method: &str) -> Option<String> {
        (self.has_network.is_noted() && !self.network.is_noted()).then(|| {
            format!(
                "`network` has no effect: the method `{method}` simulates time itself, and never reads round.network; leave `network` out"
            )
        })
    }

    /// Messages that a method is to lose which does not ask how many.
    fn nothing_lost(&self, method: &str) -> Option<String> {
        (self.loses.is_noted() && !self.loss_probability.is_noted()).then(|| {
            format!(
                "no message was lost: the method `{method}` never reads round.loss_probability. A method without an overlay, or with a clock of \
                 its own, loses messages itself"
            )
        })
    }

    fn unused_keys(&self, method: &str, training: &Training) -> Option<String> {
        if !self.works() || self.settings.is_noted() {
            return None;
        }
        let local = self.unused_local(training);
        let sgd = &training.sgd;
        let momentum = [
            (sgd.momentum != 0.0, "algorithm.own.momentum"),
            (sgd.nesterov, "algorithm.own.nesterov"),
        ];
        let momentum = momentum
            .into_iter()
            .filter_map(|(is_set, key)| (is_set && !self.train.is_noted()).then_some(key));
        let keys: Vec<&str> = local.into_iter().chain(momentum).collect();
        let verb = if keys.len() == 1 { "is" } else { "are" };
        let why = match self.train.is_noted() {
            true => "gives round.train its `steps` or a `batch`",
            false => {
                "calls round.gradients, which takes the gradient of one mini-batch, and never round.train"
            }
        };
        (!keys.is_empty()).then(|| {
            let keys = keys.join(" and ");
            format!("{keys} {verb} not used: the method `{method}` {why}")
        })
    }

    /// Whether Meshfold makes local steps for it.
    fn works(&self) -> bool {
        self.gradients.is_noted() || self.train.is_noted()
    }

    /// The key `local`, if it is set and has no effect.
    fn unused_local(&self, training: &Training) -> Option<&'static str> {
        // One epoch is what a method has that says nothing of it.
        let is_usual = matches!(training.local, Local::Steps(1) | Local::Epochs(1));
        (!is_usual && !self.local.is_noted()).then_some("algorithm.own.local")
    }

    /// What has no effect for a method without local steps of Meshfold's.
    fn idle(&self, method: &str, training: &Training) -> Option<String> {
        if self.works() || self.settings.is_noted() {
            return None;
        }
        let sgd = &training.sgd;
        let set = [
            (sgd.momentum != 0.0, "algorithm.own.momentum"),
            (sgd.nesterov, "algorithm.own.nesterov"),
            (sgd.weight_decay != 0.0, "algorithm.own.weight_decay"),
            (sgd.clip_norm.is_some(), "algorithm.own.clip_norm"),
        ];
        let set = set
            .into_iter()
            .filter_map(|(is_set, key)| is_set.then_some(key));
        let keys: Vec<&str> = self.unused_local(training).into_iter().chain(set).collect();
        let is_uncounted = !self.counts.is_noted();
        if keys.is_empty() && !(is_uncounted && self.times_steps.is_noted()) {
            return None;
        }
        let have = if keys.len() == 1 { "has" } else { "have" };
        let keys = match keys.is_empty() {
            true => String::new(),
            false => format!(". {} {have} no effect", keys.join(" and ")),
        };
        let count = match is_uncounted {
            true => {
                ". It counts no local steps and no examples, and its work takes no simulated time: count the steps that it makes itself by \
                 round.count(steps=...), or call round.count(steps=0) if it makes none"
            }
            false => "",
        };
        Some(format!(
            "the method `{method}` calls neither round.train nor round.gradients{keys}{count}"
        ))
    }

    fn idle_momentum(&self, method: &str, training: &Training) -> Option<String> {
        let is_idle = self.single_steps.is_noted() && !self.momentum.is_noted();
        let is_asked_for = training.sgd.momentum != 0.0 && !training.sgd.nesterov;
        (is_idle && is_asked_for && !self.settings.is_noted()).then(|| {
            format!(
                "algorithm.own.momentum has no effect: the method `{method}` begins it anew in each call of round.train, and each call makes one \
                 local step. Give it a stack that lasts, `round.train(models, velocity=self.velocity)`, with `self.velocity = \
                 models.zeros_like()` in `start`, or make more local steps"
            )
        })
    }

    fn one_way(&self, method: &str) -> Option<String> {
        self.one_way.is_noted().then(|| {
            format!(
                "the method `{method}` calls round.send(edges=round.edges) on an undirected overlay: that counts a message from the first to the \
                 second client of each edge, and none back. Leave `edges` out, or give both directions"
            )
        })
    }

    fn uncut(&self, method: &str) -> Option<String> {
        let by_gradients = self.gradients.is_noted() && !self.train.is_noted();
        (self.stragglers.is_noted() && by_gradients && !self.local_steps.is_noted()).then(|| {
            format!(
                "stragglers cut down no work of the method `{method}`, which calls round.gradients and never round.train: \
                 round.local_steps has how many steps each client makes, and `rows` of round.gradients takes those that go on"
            )
        })
    }

    fn several_deadlines(&self, method: &str) -> Option<String> {
        self.deadlines.is_noted().then(|| {
            format!(
                "stragglers.deadline_seconds is compared with the work of each call of round.train alone, and the method `{method}` works \
                 several times in a round: its rounds last longer than the deadline, also for clients that are in time"
            )
        })
    }

    fn absent(&self, method: &str) -> Option<String> {
        if self.absent.is_noted() {
            return Some(format!(
                "the method `{method}` mixes by a matrix of its own that moves models of clients that take no part in a round, or mixes \
                 them in: give these clients rows and columns of the identity, by round.alive"
            ));
        }
        self.moved.is_noted().then(|| {
            format!(
                "the method `{method}` changes models of clients that take no part in a round: leave their rows as they are, by round.alive"
            )
        })
    }

    fn uncounted(&self, method: &str) -> Option<String> {
        if self.send.is_noted() {
            return None;
        }
        let (does, to) = match (self.links.is_noted(), self.server.is_noted()) {
            (true, _) => ("uses round.mixing or round.edges", ""),
            (false, true) => ("has a server", ", to=\"server\""),
            (false, false) if self.mixed.is_noted() => ("mixes models", ""),
            (false, false) if self.other_outputs.is_noted() => (
                "takes outputs of other models than those of the clients",
                "",
            ),
            (false, false) => return None,
        };
        Some(format!(
            "the method `{method}` {does} and never calls round.send: its messages and bytes are 0. Count them by round.send(stack{to}), or \
             call round.send(bytes=0{to}) if it is to send nothing"
        ))
    }

    fn foreign(&self, method: &str) -> Option<String> {
        self.foreign.is_noted().then(|| {
            format!(
                "the method `{method}` takes gradients of a client on training examples that another one holds: indices of round.examples count all \
                 training examples, and those of each client are `round.examples().indices`"
            )
        })
    }

    fn tests(&self, method: &str) -> Option<String> {
        self.tests.is_noted().then(|| {
            format!("the method `{method}` takes gradients on test examples, which then judge models that have seen them")
        })
    }
}
