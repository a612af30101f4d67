//! Rows of which each rank has some.

use super::halo::Halo;
use super::machine::Machine;
use super::placement::Placement;
use super::transfer::Transfer;
use super::world::World;
use crate::backend::rows::{HeavyBall, Rows, on, on_mut};
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::processor::host_rows::HostRows;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stack::quantiser::Quantiser;
use std::sync::Arc;

/// Bytes of rows that are mixed between two looks after messages, about, and how often these are looked after, at most.
const PIECE: usize = 16 << 20;
const MOST_PIECES: usize = 4;

/// Ranks of one machine mix together where one row of so many is read by others, or more.
const READ_BY_OTHERS: usize = 4;

/// Rows `[R, P_pad]`, of which this rank has those that the placement gives it.
#[derive(Debug)]
pub(crate) struct RankedRows {
    world: Arc<World>,
    placement: Arc<Placement>,
    own: HostRows,
}

/// Rows of a rank where somebody wants them.
#[derive(Debug)]
pub(crate) enum At<'a> {
    /// They were there.
    Here(&'a HostRows),
    /// Copies of them.
    Moved(HostRows),
}

impl At<'_> {
    /// The rows of this rank.
    pub(crate) fn own(&self) -> &HostRows {
        match self {
            Self::Here(rows) => rows,
            Self::Moved(rows) => rows,
        }
    }
}

impl RankedRows {
    /// Rows of zeros.
    pub(crate) fn zeros(world: &Arc<World>, rows: usize, width: usize) -> Self {
        let placement = world.placement(rows);
        let own = placement.of(world.rank()).len();
        Self {
            own: world.processor.zero_rows(own, width),
            world: world.clone(),
            placement,
        }
    }

    /// The own ones of `values`, `[R, width]`, which all ranks have.
    pub(crate) fn of_all(world: &Arc<World>, values: &[f32], width: usize) -> Self {
        let placement = world.placement(values.len() / width.max(1));
        let rows = placement.of(world.rank());
        let mut own = world.processor.unwritten(rows.len() * width);
        for (to, row) in own.chunks_exact_mut(width.max(1)).zip(rows) {
            to.copy_from_slice(&values[*row as usize * width..][..width]);
        }
        Self {
            own: world.processor.rows(own, width),
            world: world.clone(),
            placement,
        }
    }

    /// Where the rows lie.
    pub(crate) fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    /// The rows of this rank, to be changed.
    pub(crate) fn own_mut(&mut self) -> &mut HostRows {
        &mut self.own
    }

    fn rank(&self) -> usize {
        self.world.rank()
    }

    /// Those of `all`, which has an item for each row, that belong to rows of this rank.
    fn pick<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.placement.pick(all, self.rank())
    }

    /// Other rows of the same width.
    fn of(&self, own: HostRows, placement: Arc<Placement>) -> Self {
        Self {
            world: self.world.clone(),
            placement,
            own,
        }
    }

    /// Moves the rows to where `to` has them.
    pub(crate) fn move_to(&mut self, to: &Arc<Placement>) {
        if !Arc::ptr_eq(&self.placement, to) && self.placement != *to {
            let rows: Vec<u32> = (0..self.placement.rows() as u32).collect();
            self.own = self.fetch(&rows, to);
        }
        self.placement = to.clone();
    }

    /// The rows where `to` has them.
    pub(crate) fn at(&self, to: &Arc<Placement>) -> At<'_> {
        if Arc::ptr_eq(&self.placement, to) || self.placement == *to {
            return At::Here(&self.own);
        }
        let rows: Vec<u32> = (0..self.placement.rows() as u32).collect();
        At::Moved(self.fetch(&rows, to))
    }

    /// Row `i` of the new rows, as `to` has them, is row `rows[i]` of these.
    fn fetch(&self, rows: &[u32], to: &Placement) -> HostRows {
        let (width, rank) = (self.own.width(), self.rank());
        let ranks = self.world.ranks.count();
        let transfer = Transfer::of(&self.placement, rank, ranks, |rank| {
            Box::new(to.of(rank).iter().map(|target| rows[*target as usize]))
        });
        let arrived = transfer.carry_out(&self.world, &self.own, &mut |_| false);
        let (foreign, places) = (arrived.rows(), transfer.places());
        let mut fetched = self.world.processor.unwritten(to.of(rank).len() * width);
        let targets = to.of(rank).iter().map(|target| rows[*target as usize]);
        for (target, row) in fetched.chunks_exact_mut(width.max(1)).zip(targets) {
            target.copy_from_slice(match self.placement.owner(row) == rank {
                true => &self.own.values()[self.placement.place(row) * width..][..width],
                false => {
                    let found = places.binary_search_by_key(&row, |(row, _)| *row);
                    foreign[places[found.expect("what is read is sent")].1 as usize]
                }
            });
        }
        self.world.processor.rows(fetched, width)
    }

    /// The rows become those that the ranks of the only machine make of all rows together, each of a part of the parameters.
    fn mix_together(&mut self, machine: &Machine, matrix: &Matrix, halo: &Halo, to: &Placement) {
        let mut mixed = self.own.room_to_mix(halo.rows);
        let cpu = self.world.processor.cpu();
        let rows = (&self.own, &*self.placement);
        machine.mix_together(cpu, &matrix.host, rows, (&mut mixed, to));
        let counter = self.world.ranks.transport().counter();
        let read_by_others = halo.transfer.sent.iter().map(Vec::len);
        counter.add_in_place(read_by_others.sum::<usize>() * self.own.width());
        self.own.become_mixed(mixed);
    }

    /// The rows become those that `halo` makes of them: some that read no row of other ranks while the others are on their way.
    fn mix_sparsely(&mut self, halo: &Halo) {
        let mut mixed = self.own.room_to_mix(halo.rows);
        let bytes = size_of_val(self.own.values());
        let pieces = (bytes / PIECE).clamp(1, MOST_PIECES);
        let mut inner = halo.inner.chunks(halo.inner.len().div_ceil(pieces).max(1));
        let own = &self.own;
        let mut sources: Vec<&[f32]> = own.values().chunks_exact(own.width().max(1)).collect();
        let (mut done, by_message) = (0, halo.comes_by_message(&self.world));
        let mut mix_inner = |all_is_there: bool| {
            // Rows that are read twice cost more than a pass over all.
            if all_is_there && !by_message {
                return false;
            }
            let Some(piece) = inner.next() else {
                return false;
            };
            own.mix_some(&halo.matrix, piece, &sources, &mut mixed);
            done += piece.len();
            true
        };
        let arrived = halo.transfer.carry_out(&self.world, own, &mut mix_inner);
        let mut left = [&halo.inner[done..], &halo.border[..]].concat();
        left.sort_unstable();
        sources.extend(arrived.rows());
        own.mix_some(&halo.matrix, &left, &sources, &mut mixed);
        drop(arrived);
        self.own.become_mixed(mixed);
    }

    /// Every row of a member becomes `mean`, and the others stay.
    fn replace(&mut self, members: &[bool], mean: &[f32]) {
        let members = self.pick(members);
        let rows = self.own.values_mut().chunks_exact_mut(mean.len());
        rows.zip(members)
            .filter(|(_, member)| *member)
            .for_each(|(row, _)| row.copy_from_slice(mean));
    }
}

impl Rows for RankedRows {
    /// All rows on every rank.
    fn to_host(&self) -> Vec<f32> {
        let width = self.own.width();
        let sizes: Vec<usize> = self.placement.counts().map(|rows| rows * width).collect();
        let by_rank = self.world.of_all_ranks(self.own.memory(), &sizes);
        let mut all = vec![0.0; by_rank.len()];
        let rows = (0..sizes.len()).flat_map(|rank| self.placement.of(rank));
        for (row, values) in rows.zip(by_rank.chunks_exact(width.max(1))) {
            all[*row as usize * width..][..width].copy_from_slice(values);
        }
        all
    }

    fn host(&self) -> Option<&[f32]> {
        None
    }

    fn host_mut(&mut self) -> Option<&mut [f32]> {
        None
    }

    #[cfg(feature = "own-models")]
    fn tensor(&self) -> burn::tensor::Tensor<2> {
        let width = self.own.width();
        self.world
            .processor
            .rows(self.to_host().into(), width)
            .tensor()
    }

    fn duplicate(&self) -> Box<dyn Rows> {
        let own = self.own.copy();
        Box::new(self.of(own, self.placement.clone()))
    }

    fn clear(&mut self) {
        self.own.clear();
    }

    fn mix(&mut self, matrix: &Arc<Matrix>) {
        let to = self.world.placement(matrix.rows);
        match &matrix.host {
            HostMixing::Identity => {}
            HostMixing::Sparse { .. } => {
                let halo = Halo::of(&self.world, matrix, &self.placement, &to);
                // Where few rows are read by others, each rank leaves the rest to its own caches.
                let many = halo.transfer.of_all >= matrix.rows / READ_BY_OTHERS;
                let world = self.world.clone();
                match world.only_machine().filter(|_| many) {
                    Some(machine) => self.mix_together(machine, matrix, &halo, &to),
                    None => self.mix_sparsely(&halo),
                }
            }
            HostMixing::Average { weights } => {
                let mean = self.world.mean(&self.own, &self.placement, weights);
                let rows = to.of(self.rank()).len();
                let width = self.own.width();
                if self.own.values().len() != rows * width {
                    self.own = self.world.processor.zero_rows(rows, width);
                }
                let rows = self.own.values_mut().chunks_exact_mut(width.max(1));
                rows.for_each(|row| row.copy_from_slice(&mean));
            }
            HostMixing::Among { weights, members } => {
                let mean = self.world.mean(&self.own, &self.placement, weights);
                self.replace(members, &mean);
            }
        }
        self.placement = to;
    }

    fn gather(&self, rows: &[u32]) -> Box<dyn Rows> {
        let to = self.world.placement(rows.len());
        let own = self.fetch(rows, &to);
        Box::new(self.of(own, to))
    }

    fn scatter(&mut self, rows: &[u32], source: &dyn Rows) -> Result<(), EngineError> {
        let source: &Self = on("scatter", source)?;
        let (width, rank) = (self.own.width(), self.rank());
        // Row `read[i]` of the source goes to row `written[i]` of this rank.
        let placement = self.placement.clone();
        let written = |rank: usize| {
            let pairs = (0u32..).zip(rows.iter().copied());
            let placement = &placement;
            pairs.filter(move |(_, row)| placement.owner(*row) == rank)
        };
        let ranks = self.world.ranks.count();
        let transfer = Transfer::of(&source.placement, rank, ranks, |rank| {
            Box::new(written(rank).map(|(read, _)| read))
        });
        let pairs: Vec<(u32, u32)> = written(rank).collect();
        let arrived = transfer.carry_out(&self.world, &source.own, &mut |_| false);
        let (foreign, places) = (arrived.rows(), transfer.places());
        for (read, row) in pairs {
            let values = match source.placement.owner(read) == rank {
                true => &source.own.values()[source.placement.place(read) * width..][..width],
                false => {
                    let found = places.binary_search_by_key(&read, |(row, _)| *row);
                    foreign[places[found.expect("what is read is sent")].1 as usize]
                }
            };
            let target = self.placement.place(row) * width;
            self.own.values_mut()[target..][..width].copy_from_slice(values);
        }
        Ok(())
    }

    fn add_scaled(&mut self, other: &dyn Rows, scales: &[f32]) -> Result<(), EngineError> {
        let other: &Self = on("add_scaled", other)?;
        let scales = self.pick(scales);
        let other = other.at(&self.placement);
        self.own.add_scaled(other.own(), &scales)
    }

    fn scale(&mut self, scales: &[f32]) {
        let scales = self.pick(scales);
        self.own.scale(&scales);
    }

    fn shorten(&mut self, longest: f32) {
        self.own.shorten(longest);
    }

    fn heavy_ball(
        &mut self,
        velocity: &mut dyn Rows,
        gradients: &dyn Rows,
        step: HeavyBall<'_>,
    ) -> Result<(), EngineError> {
        let velocity: &mut Self = on_mut("heavy_ball_step", velocity)?;
        let gradients: &Self = on("heavy_ball_step", gradients)?;
        velocity.move_to(&self.placement);
        let gradients = gradients.at(&self.placement);
        let rates = self.pick(step.rates);
        let step = HeavyBall {
            rates: &rates,
            momentum: step.momentum,
        };
        self.own
            .heavy_ball(&mut velocity.own, gradients.own(), step)
    }

    fn quantize(&mut self, layout: &Layout, quantiser: &Quantiser) {
        let quantiser = Quantiser {
            keys: self.pick(&quantiser.keys),
            ..*quantiser
        };
        self.own.quantize(layout, &quantiser);
    }

    fn keep_largest(&mut self, count: usize) {
        self.own.keep_largest(count);
    }

    fn mean(&self, weights: &[f64]) -> Box<dyn Rows> {
        let mean = self.world.mean(&self.own, &self.placement, weights);
        Box::new(Self::of_all(&self.world, &mean, self.own.width()))
    }

    fn squared_distances(&self, weights: &[f64]) -> Vec<f64> {
        let mean = self.world.mean(&self.own, &self.placement, weights);
        let own = self.own.squared_distances_from(&mean);
        self.world.floats_per_row(&self.placement, &own)
    }

    fn squared_norms(&self) -> Vec<f64> {
        let own = self.own.squared_norms();
        self.world.floats_per_row(&self.placement, &own)
    }

    fn are_finite(&self) -> Vec<bool> {
        let own = self.own.are_finite().into_iter();
        let words = own.map(|finite| [u64::from(finite)]);
        let all = self.world.per_row(&self.placement, words);
        all.into_iter().map(|[word]| word == 1).collect()
    }
}
