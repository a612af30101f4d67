//! Losses that the device of each rank keeps for its own rows, until all are collected.
//!
//! A GPU adds the losses of a row to a sum in f32, which is moved to the host when it is needed there. To keep the bits
//! of one GPU, the sum moves with its row from rank to rank, and to the host when one GPU would move it.

use super::placement::Placement;
use super::world::World;
use crate::backend::trainer::Trainer;
use crate::training::tally::{DeviceLosses, RowTally};
use std::mem::replace;

/// Words of the losses of a row.
const WORDS: usize = 3;

/// One word with the first round whose loss was not finite above the bits of the sum; then steps; then examples.
type RowWords = [u64; WORDS];

/// Losses on the devices of all ranks; none if no row was trained since they were collected.
#[derive(Debug, Default)]
pub(crate) struct LossesOnDevices {
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Which rank has the losses of each row. The rank's trainer keeps them in the order of its rows.
    at: Placement,
    /// The last round that was trained in.
    round: usize,
}

impl LossesOnDevices {
    /// Called before rows with this `placement` are trained: moves their losses to it. If there is no room for so many
    /// rows, moves all losses to `tallies` first, as one GPU does.
    pub(crate) fn prepare(
        &mut self,
        world: &World,
        inner: &mut dyn Trainer,
        placement: &Placement,
        tallies: &mut [RowTally],
    ) {
        let rows = placement.rows();
        if self.kept.as_ref().is_some_and(|kept| kept.at.rows() < rows) {
            self.collect(world, inner, tallies);
        }
        let Some(kept) = &mut self.kept else {
            self.kept = Some(Kept {
                at: Placement::new(owners(placement), world.ranks.count()),
                round: 0,
            });
            return;
        };
        let beyond = owners(&kept.at).split_off(rows);
        let to = [owners(placement), beyond].concat();
        if to == owners(&kept.at) {
            return;
        }
        let to = Placement::new(to, world.ranks.count());
        kept.move_to(to, world, inner);
    }

    /// Notes that rows are trained in `round`.
    pub(crate) fn train(&mut self, round: usize) {
        if let Some(kept) = &mut self.kept {
            kept.round = round;
        }
    }

    /// Moves all losses to `tallies`. Every rank calls it.
    pub(crate) fn collect(
        &mut self,
        world: &World,
        inner: &mut dyn Trainer,
        tallies: &mut [RowTally],
    ) {
        if let Some(all) = self.all(world, inner) {
            all.add_to(tallies);
        }
        inner.resume(None);
        self.kept = None;
    }

    /// The losses of all rows, as one GPU would have them. Every rank calls it.
    pub(crate) fn all(&self, world: &World, inner: &dyn Trainer) -> Option<DeviceLosses> {
        let kept = self.kept.as_ref()?;
        let own = kept.own(world.rank(), inner);
        let all = world.per_row(&kept.at, own.into_iter());
        Some(of_words(&all, kept.round))
    }

    /// Sets the losses to `losses`, which every rank has.
    pub(crate) fn resume(
        &mut self,
        world: &World,
        inner: &mut dyn Trainer,
        losses: Option<&DeviceLosses>,
    ) {
        self.kept = losses.map(|losses| {
            let at = world.placement(losses.seen.len());
            Kept {
                at: Placement::new(owners(&at), world.ranks.count()),
                round: losses.round,
            }
        });
        let own = losses.zip(self.kept.as_ref()).map(|(losses, kept)| {
            let own = kept.at.pick(&words(losses), world.rank());
            of_words(&own, losses.round)
        });
        inner.resume(own.as_ref());
    }
}

impl Kept {
    /// The losses of the rows of this rank, number `rank`.
    fn own(&self, rank: usize, inner: &dyn Trainer) -> Vec<RowWords> {
        let none = || DeviceLosses::none(self.at.of(rank).len());
        words(&inner.losses().unwrap_or_else(none))
    }

    /// Moves the losses to the placement `to`.
    fn move_to(&mut self, to: Placement, world: &World, inner: &mut dyn Trainer) {
        let rank = world.rank();
        let own = self.own(rank, inner);
        let from = replace(&mut self.at, to);
        let goes = |row: &u32| self.at.owner(*row) != from.owner(*row);
        let going = |rank: usize| from.of(rank).iter().copied().filter(goes);
        let sent = going(rank).flat_map(|row| own[from.place(row)]);
        let sent: Vec<u64> = sent.collect();
        let lengths = from.counts().enumerate();
        let lengths: Vec<usize> = lengths
            .map(|(rank, _)| WORDS * going(rank).count())
            .collect();
        let told = world.ranks.transport().all_gather(&sent, &lengths);
        let mut arrived: Vec<(u32, RowWords)> = Vec::new();
        for (rank, told) in told.iter().enumerate() {
            arrived.extend(going(rank).zip(told.as_chunks::<WORDS>().0.iter().copied()));
        }
        arrived.sort_unstable_by_key(|(row, _)| *row);
        let words = self.at.of(rank).iter().map(|row| {
            let found = arrived.binary_search_by_key(row, |(row, _)| *row);
            found.map_or_else(|_| own[from.place(*row)], |place| arrived[place].1)
        });
        let words: Vec<RowWords> = words.collect();
        inner.resume(Some(&of_words(&words, self.round)));
    }
}

/// The rank of each row.
fn owners(placement: &Placement) -> Vec<u32> {
    let rows = 0..placement.rows() as u32;
    rows.map(|row| placement.owner(row) as u32).collect()
}

/// The losses of each row as words.
fn words(losses: &DeviceLosses) -> Vec<RowWords> {
    let (sums, broken) = losses.words.split_at(losses.seen.len());
    let rows = sums.iter().zip(broken).zip(&losses.seen);
    rows.map(|((sum, broken), (steps, examples))| {
        [
            u64::from(*sum) | u64::from(*broken) << 32,
            *steps,
            *examples,
        ]
    })
    .collect()
}

/// The inverse of [`words`]; `round` is the last one in which rows were trained.
fn of_words(words: &[RowWords], round: usize) -> DeviceLosses {
    let sums = words.iter().map(|[both, ..]| *both as u32);
    let broken = words.iter().map(|[both, ..]| (*both >> 32) as u32);
    DeviceLosses {
        words: sums.chain(broken).collect(),
        seen: words
            .iter()
            .map(|[_, steps, examples]| (*steps, *examples))
            .collect(),
        round,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_from_their_words() {
        let losses = DeviceLosses {
            words: vec![1.5f32.to_bits(), f32::NAN.to_bits(), u32::MAX, 7],
            seen: vec![(3, 21), (u64::MAX, 0)],
            round: 9,
        };
        assert_eq!(of_words(&words(&losses), 9), losses);
        assert_eq!(of_words(&[], 2).words, Vec::<u32>::new());
    }
}
