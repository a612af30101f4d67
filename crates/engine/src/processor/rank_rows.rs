//! The processor as the device of a rank.

use super::Processor;
use super::host_rows::HostRows;
use super::row_memory::RowMemory;
use crate::backend::rows::downcast;
use crate::error::EngineError;
use crate::kernels::host;
use crate::ranks::inner::{DealtMixing, Inner, OwnRows, Readable};
use crate::ranks::machine::Machine;
use std::sync::Arc;

/// Bytes of rows that are mixed between two looks after messages, about, and how often these are looked after, at most.
const PIECE: usize = 16 << 20;
const MOST_PIECES: usize = 4;

/// Ranks of one machine mix together where one row of so many is read by others, or more.
const READ_BY_OTHERS: usize = 4;

impl Inner for Processor {
    fn lends(&self) -> bool {
        true
    }

    fn of_machine(&self, machine: &Machine) -> Arc<dyn Inner> {
        Arc::new(self.clone().in_arena(machine.arena().clone()))
    }

    fn own_zeros(&self, rows: usize, width: usize) -> Box<dyn OwnRows> {
        Box::new(self.zero_rows(rows, width))
    }

    fn own_rows(&self, rows: &[&[f32]], width: usize) -> Result<Box<dyn OwnRows>, EngineError> {
        let mut own = self.unwritten(rows.len() * width);
        for (to, row) in own.chunks_exact_mut(width.max(1)).zip(rows) {
            to.copy_from_slice(row);
        }
        Ok(Box::new(self.rows(own, width)))
    }

    fn mean_of(
        &self,
        rows: &[&[f32]],
        weights: &[f64],
        width: usize,
    ) -> Result<RowMemory, EngineError> {
        let mut mean = self.unwritten(width);
        if width > 0 {
            host::mean_of(self.cpu(), rows, weights, &mut mean);
        }
        Ok(mean)
    }
}

impl HostRows {
    /// Finds a row among these and the `foreign` ones that follow them.
    fn among<'a>(&'a self, foreign: &'a [&'a [f32]]) -> impl Fn(u32) -> &'a [f32] {
        let (values, width, own) = (self.values(), self.width(), self.count());
        move |pick| match (pick as usize).checked_sub(own) {
            None => &values[pick as usize * width..][..width],
            Some(place) => foreign[place],
        }
    }

    /// The rows become those that the ranks of the only machine make of all rows together, each of a part of the parameters.
    fn mix_together(&mut self, machine: &Machine, mixing: &DealtMixing<'_>) {
        let halo = mixing.halo;
        let mut mixed = self.room_to_mix(halo.rows());
        let rows = (&*self, mixing.from);
        machine.mix_together(&mixing.matrix.host, rows, (&mut mixed, mixing.to));
        let counter = mixing.world.ranks.transport().counter();
        let read_by_others = halo.transfer.sent.iter().map(Vec::len);
        counter.add_in_place(read_by_others.sum::<usize>() * self.width());
        self.become_mixed(mixed);
    }

    /// The rows become those that the halo makes of them: some that read no row of other ranks while the others are on their way.
    fn mix_sparsely(&mut self, mixing: &DealtMixing<'_>) {
        let (halo, world) = (mixing.halo, mixing.world);
        let mut mixed = self.room_to_mix(halo.rows());
        let bytes = size_of_val(self.values());
        let pieces = (bytes / PIECE).clamp(1, MOST_PIECES);
        let mut inner = halo.inner.chunks(halo.inner.len().div_ceil(pieces).max(1));
        let own = &*self;
        let mut sources: Vec<&[f32]> = own.values().chunks_exact(own.width().max(1)).collect();
        let (mut done, by_message) = (0, halo.comes_by_message(world));
        let mut mix_inner = |all_is_there: bool| {
            // Rows that are read twice cost more than a pass over all.
            if all_is_there && !by_message {
                return false;
            }
            let Some(piece) = inner.next() else {
                return false;
            };
            own.mix_some(&halo.matrix.host, piece, &sources, &mut mixed);
            done += piece.len();
            true
        };
        let arrived = halo.transfer.carry_out(world, own, &mut mix_inner);
        let mut left = [&halo.inner[done..], &halo.border[..]].concat();
        left.sort_unstable();
        sources.extend(arrived.rows());
        own.mix_some(&halo.matrix.host, &left, &sources, &mut mixed);
        drop(arrived);
        self.become_mixed(mixed);
    }
}

impl OwnRows for HostRows {
    fn count(&self) -> usize {
        self.values().len() / self.width().max(1)
    }

    fn width(&self) -> usize {
        Self::width(self)
    }

    fn copy(&self) -> Box<dyn OwnRows> {
        Box::new(Self::copy(self))
    }

    fn readable(&self, _: &mut dyn Iterator<Item = u32>) -> Readable<'_> {
        Readable::InPlace(self.memory())
    }

    fn gather_among(
        &self,
        picks: &[u32],
        foreign: &[&[f32]],
    ) -> Result<Box<dyn OwnRows>, EngineError> {
        let mut gathered = self.unwritten(picks.len());
        let row = self.among(foreign);
        for (target, pick) in gathered.chunks_exact_mut(self.width().max(1)).zip(picks) {
            target.copy_from_slice(row(*pick));
        }
        Ok(Box::new(self.of(gathered)))
    }

    fn scatter_among(
        &mut self,
        targets: &[u32],
        picks: &[u32],
        source: &dyn OwnRows,
        foreign: &[&[f32]],
    ) -> Result<(), EngineError> {
        let source: &Self = downcast("scatter", source)?;
        let (width, row) = (self.width(), source.among(foreign));
        let own = self.values_mut();
        for (target, pick) in targets.iter().zip(picks) {
            own[*target as usize * width..][..width].copy_from_slice(row(*pick));
        }
        Ok(())
    }

    fn mix_among_ranks(&mut self, mixing: &DealtMixing<'_>) -> Result<(), EngineError> {
        // Where few rows are read by others, each rank leaves the rest to its own caches.
        let many = mixing.halo.transfer.of_all >= mixing.matrix.rows / READ_BY_OTHERS;
        match mixing.world.only_machine().filter(|_| many) {
            Some(machine) => self.mix_together(machine, mixing),
            None => self.mix_sparsely(mixing),
        }
        Ok(())
    }

    fn become_all(&mut self, rows: usize, row: &[f32]) {
        let width = self.width();
        if self.values().len() != rows * width {
            *self = self.zeros_beside(rows);
        }
        let all = self.values_mut().chunks_exact_mut(width.max(1));
        all.for_each(|own| own.copy_from_slice(row));
    }

    fn replace(&mut self, members: &[bool], row: &[f32]) {
        let rows = self.values_mut().chunks_exact_mut(row.len());
        rows.zip(members)
            .filter(|(_, member)| **member)
            .for_each(|(own, _)| own.copy_from_slice(row));
    }

    fn squared_distances_from(&self, mean: &[f32]) -> Vec<f64> {
        Self::squared_distances_from(self, mean)
    }
}
