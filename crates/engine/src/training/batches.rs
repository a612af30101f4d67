//! Which examples a row sees, step by step. Drawn on the host for every device, from the row's own streams.

mod skipped;

use super::schedule::Progress;
use super::work::{Amount, BatchSize, Draw, RowWork, Sgd};
use crate::network::Network;
use crate::network::dropout::Dropout;
use crate::stream::{Key, Purpose, stream};
use meshfold_data::{Augment, Partition};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How far a row has come through its data; enough to go on after a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    client: u32,
    /// Passes begun.
    passes: u32,
    /// Examples taken from the pass in progress.
    taken: u32,
    steps: u64,
    epochs: u64,
}

impl Position {
    /// Examples that the next `steps` local steps of `row` see on a shard of `shard` examples: the last batch of a pass
    /// is short.
    pub(crate) fn examples_of(&self, row: &RowWork, steps: u32, sgd: &Sgd, shard: usize) -> u64 {
        let size = sgd.batch_on(shard);
        if row.amount == Amount::Idle || steps == 0 {
            return 0;
        }
        if sgd.draw == Draw::WithReplacement || size == shard {
            return u64::from(steps) * size as u64;
        }
        let mut start = *self;
        start.begin(row);
        let (per_pass, begun) = (shard.div_ceil(size), start.taken as usize / size);
        let last = begun + steps as usize;
        let until = |batches: usize| {
            let (passes, batches) = (batches / per_pass, batches % per_pass);
            passes * shard + (batches * size).min(shard)
        };
        (until(last) - until(begun)) as u64
    }

    /// Leaves the pass in progress if `work` (not idle) is for another client or in whole passes. Returns whether it
    /// did.
    fn begin(&mut self, work: &RowWork) -> bool {
        let leaves = self.client != work.client || matches!(work.amount, Amount::Epochs(_));
        if leaves {
            self.client = work.client;
            self.taken = 0;
        }
        leaves
    }

    /// Moves on by one batch of a shard of `shard` examples. Returns the range of the pass in progress that the batch
    /// takes, if it is from one, and whether it ends an epoch.
    fn advance(&mut self, sgd: &Sgd, shard: usize) -> (Option<Range<usize>>, bool) {
        let size = sgd.batch_on(shard);
        let mut taken = None;
        let ends_epoch = if sgd.draw == Draw::WithReplacement {
            (self.steps + 1).is_multiple_of(shard.div_ceil(size) as u64)
        } else if size == shard {
            true
        } else {
            let first = self.taken as usize;
            let last = (first + size).min(shard);
            self.passes += u32::from(first == 0);
            self.taken = if last == shard { 0 } else { last as u32 };
            taken = Some(first..last);
            last == shard
        };
        self.steps += 1;
        self.epochs += u64::from(ends_epoch);
        (taken, ends_epoch)
    }

    /// Whether a row that trains on shards of `partition` can be at this position.
    pub(crate) fn is_within(&self, partition: &Partition) -> bool {
        let client = self.client as usize;
        client < partition.clients()
            && (self.taken == 0
                || (self.passes > 0 && (self.taken as usize) < partition.shard(client).len()))
    }
}

/// What a row had done when a round began.
#[derive(Debug, Clone, Copy)]
struct RoundStart {
    /// Rounds before.
    rounds: u64,
    steps: u64,
    epochs: u64,
}

/// A row's way through the shard it trains on.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShardPass {
    position: Position,
    /// The shard in the order of the pass in progress; empty if none is.
    order: Vec<u32>,
    /// Of the last round in which the row had work; none after a checkpoint, as these lie between rounds.
    round: Option<RoundStart>,
}

/// Rate of one local step, and where its row's draws stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepPlan {
    pub(crate) rate: f32,
    key: RowKey,
    /// Steps that the row made before, in the whole run.
    step: u64,
}

impl StepPlan {
    /// What the step leaves out of `network`.
    pub(crate) fn dropout(&self, network: &Network) -> Option<Dropout> {
        network.dropout(self.key.seed, self.key.row, self.step)
    }
}

/// Draws the batches of one row for one call of `train`.
#[derive(Debug)]
pub(crate) struct Batches<'a> {
    pass: &'a mut ShardPass,
    shard: &'a [u32],
    sgd: &'a Sgd,
    key: RowKey,
    left: u32,
    rate_scale: f32,
    done: Progress,
    replacement: Option<ChaCha8Rng>,
    augmentation: Option<Augmentation>,
}

/// How the images of batches are augmented.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Augmentation {
    pub(crate) augment: Augment,
    /// Training examples, beyond whose indices those of their variants lie.
    pub(crate) examples: usize,
}

impl Augmentation {
    /// Puts a variant of its own into the place of each of `indices`, which `key` sees in its step `step`. Nothing else decides the draws,
    /// so that a resumed run, and other threads, devices and ranks, see the same images.
    fn draw(&self, key: RowKey, step: u64, indices: &mut [u32]) {
        let key_of_step = Key {
            round: step,
            row: key.row,
            ..Key::default()
        };
        let mut rng = stream(key.seed, Purpose::Augmentation, key_of_step);
        for index in indices {
            *index = self.augment.draw(&mut rng).index_of(*index, self.examples);
        }
    }
}

/// What a row does in one call of `train`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowCall<'a> {
    pub(crate) work: RowWork,
    /// The examples of the client that it works for.
    pub(crate) shard: &'a [u32],
    /// Rounds that are over.
    pub(crate) rounds: u64,
}

/// Whose streams are drawn from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowKey {
    pub(crate) seed: u64,
    pub(crate) row: u32,
}

impl Sgd {
    /// Examples of a full batch on a shard of `shard` examples.
    pub fn batch_on(&self, shard: usize) -> usize {
        match self.batch_size {
            BatchSize::Full => shard,
            BatchSize::Size(size) => shard.min(size as usize),
        }
    }

    /// Local steps that `amount` means on a shard of `shard` examples.
    pub fn steps_on(&self, amount: Amount, shard: usize) -> u32 {
        match amount {
            Amount::Idle => 0,
            Amount::Steps(steps) => steps,
            Amount::Epochs(epochs) => {
                let in_one = shard.div_ceil(self.batch_on(shard).max(1)) as u32;
                epochs.saturating_mul(in_one)
            }
        }
    }
}

impl ShardPass {
    /// The state to save.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Goes on from a saved state, once the order of the pass in progress is [drawn again](ShardPass::redraw).
    pub(crate) fn at(position: Position) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// The same position in the round that `other` is in.
    pub(crate) fn in_round_of(self, other: &Self) -> Self {
        Self {
            round: other.round,
            ..self
        }
    }

    /// Where a schedule stands in the round after `rounds` rounds.
    pub(crate) fn progress(&self, rounds: u64) -> Progress {
        let Position { steps, epochs, .. } = self.position;
        let begun = self.round.filter(|round| round.rounds == rounds);
        let before = begun.map_or([steps, epochs], |round| [round.steps, round.epochs]);
        let [steps_here, epochs_here] = [steps - before[0], epochs - before[1]];
        Progress {
            rounds,
            steps: [steps, steps_here],
            epochs: [epochs, epochs_here],
            epochs_before_call: epochs_here,
        }
    }

    /// The positions of a schedule before each of `steps` steps of `work`, which is not idle, in the round after `rounds` rounds.
    pub(crate) fn progress_of(
        &self,
        (work, steps): (&RowWork, u32),
        rounds: u64,
        sgd: &Sgd,
        shard: usize,
    ) -> impl Iterator<Item = Progress> {
        let mut position = self.position;
        position.begin(work);
        let mut next = self.progress(rounds);
        (0..steps).map(move |_| {
            let now = next;
            let (_, ends_epoch) = position.advance(sgd, shard);
            next.advance(ends_epoch);
            now
        })
    }

    /// Counts a step on examples that are not drawn, in the round after `rounds` rounds.
    pub(crate) fn count_step(&mut self, rounds: u64) {
        self.begin_round(rounds);
        self.position.steps += 1;
    }

    /// Notes where the row stands, if the round after `rounds` rounds begins for it.
    fn begin_round(&mut self, rounds: u64) {
        if self.round.is_none_or(|round| round.rounds != rounds) {
            let Position { steps, epochs, .. } = self.position;
            self.round = Some(RoundStart {
                rounds,
                steps,
                epochs,
            });
        }
    }

    /// This with the order of the pass in progress, drawn again if it is missing.
    pub(crate) fn redrawn(mut self, key: RowKey, shard: impl FnOnce(u32) -> Vec<u32>) -> Self {
        self.redraw(key, shard);
        self
    }

    /// Puts the shard into the order of the pass in progress.
    fn draw_order(&mut self, shard: &[u32], key: RowKey) {
        let key_of_pass = Key {
            row: key.row,
            step: self.position.passes - 1,
            ..Key::default()
        };
        self.order.clear();
        self.order.extend_from_slice(shard);
        self.order
            .shuffle(&mut stream(key.seed, Purpose::Batches, key_of_pass));
    }
}

impl<'a> Batches<'a> {
    /// The batches of a row that does `call`.
    pub(crate) fn new(
        pass: &'a mut ShardPass,
        call: RowCall<'a>,
        sgd: &'a Sgd,
        key: RowKey,
    ) -> Self {
        let RowCall {
            work,
            shard,
            rounds,
        } = call;
        if work.amount != Amount::Idle && pass.position.begin(&work) {
            pass.order.clear();
        }
        let replacement = (sgd.draw == Draw::WithReplacement).then(|| {
            let key_of_call = Key {
                round: pass.position.steps,
                row: key.row,
                step: 0,
                layer: 1,
            };
            stream(key.seed, Purpose::Batches, key_of_call)
        });
        pass.begin_round(rounds);
        let done = pass.progress(rounds);
        Self {
            left: sgd.steps_on(work.amount, shard.len()),
            rate_scale: 1.0,
            pass,
            shard,
            sgd,
            key,
            done,
            replacement,
            augmentation: None,
        }
    }

    /// The same with augmented images.
    pub(crate) fn augmented(self, augmentation: Option<Augmentation>) -> Self {
        Self {
            augmentation,
            ..self
        }
    }

    /// The same of examples that are `examples` in number: variants of their images lie beyond that.
    pub(crate) fn among(mut self, examples: usize) -> Self {
        if let Some(augmentation) = &mut self.augmentation {
            augmentation.examples = examples;
        }
        self
    }

    /// The same with every rate multiplied by `scale`.
    pub(crate) fn scaled(self, scale: f32) -> Self {
        Self {
            rate_scale: scale,
            ..self
        }
    }

    /// Draws the next batch into `indices`, or says that the row is finished. Augmented images have the indices of
    /// [variants](meshfold_data::Variant).
    pub(crate) fn next(&mut self, indices: &mut Vec<u32>) -> Option<StepPlan> {
        self.left = self.left.checked_sub(1)?;
        let rate = self.rate_scale * self.sgd.learning_rate.at(&self.done) as f32;
        let plan = StepPlan {
            rate,
            key: self.key,
            step: self.pass.position.steps,
        };
        let (taken, ends_epoch) = self.pass.position.advance(self.sgd, self.shard.len());
        indices.clear();
        if let Some(rng) = &mut self.replacement {
            let size = self.sgd.batch_on(self.shard.len());
            indices.extend((0..size).map(|_| self.shard[rng.random_range(0..self.shard.len())]));
        } else if let Some(taken) = taken {
            if taken.start == 0 {
                self.pass.draw_order(self.shard, self.key);
            }
            indices.extend_from_slice(&self.pass.order[taken]);
            if ends_epoch {
                self.pass.order.clear();
            }
        } else {
            indices.extend_from_slice(self.shard);
        }
        if let Some(augmentation) = &self.augmentation {
            augmentation.draw(self.key, plan.step, indices);
        }
        self.done.advance(ends_epoch);
        Some(plan)
    }
}

#[cfg(test)]
mod tests;
