//! What a method in Python has asked of its rounds, and what its user is warned of.

use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_algorithms::training::{Local, Training};

/// Whether a method has made use of something in any round of a run.
#[derive(Debug, Default)]
pub(super) struct Use(AtomicBool);

impl Use {
    /// It has.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a method has made use of.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// `round.train`.
    pub(super) train: Use,
    /// The key `local`, by `round.train` without `steps`.
    pub(super) local: Use,
    /// `round.gradients`.
    pub(super) gradients: Use,
    /// `round.settings`, by which it may go itself.
    pub(super) settings: Use,
    /// `round.mixing` or `round.edges`, in a round whose overlay has edges.
    pub(super) links: Use,
    /// `round.send`.
    pub(super) send: Use,
}

impl Uses {
    /// What the user of the method called `method` is likely to take wrongly for granted.
    pub(super) fn warnings(&self, method: &str, training: &Training) -> Vec<String> {
        let unused = self.unused_keys(method, training);
        unused.into_iter().chain(self.uncounted(method)).collect()
    }

    fn unused_keys(&self, method: &str, training: &Training) -> Option<String> {
        let works = self.gradients.is_noted() || self.train.is_noted();
        if !works || self.settings.is_noted() {
            return None;
        }
        // One epoch is what a method has that says nothing of it.
        let is_usual = matches!(training.local, Local::Steps(1) | Local::Epochs(1));
        let local = (!is_usual && !self.local.is_noted()).then_some("algorithm.own.local");
        let momentum = (training.sgd.momentum != 0.0 && !self.train.is_noted())
            .then_some("algorithm.own.momentum");
        let keys: Vec<&str> = local.into_iter().chain(momentum).collect();
        let verb = if keys.len() == 1 { "is" } else { "are" };
        let why = match self.train.is_noted() {
            true => "gives round.train its `steps`",
            false => {
                "calls round.gradients, which takes the gradient of one mini-batch, and never round.train"
            }
        };
        (!keys.is_empty()).then(|| {
            let keys = keys.join(" and ");
            format!("{keys} {verb} not used: the method `{method}` {why}")
        })
    }

    fn uncounted(&self, method: &str) -> Option<String> {
        (self.links.is_noted() && !self.send.is_noted()).then(|| {
            format!(
                "the method `{method}` uses round.mixing or round.edges and never calls round.send: its messages and bytes are 0. Count \
                 them by round.send(stack), or call round.send(bytes=0) if it is to send nothing"
            )
        })
    }
}
