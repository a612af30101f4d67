//! A stack whose rows are dealt over ranks.

use super::halo::Halo;
use super::inner::{DealtMixing, OwnRows};
use super::placement::Placement;
use super::transfer::Transfer;
use super::world::World;
use crate::backend::rows::{MomentumRule, Rows, downcast, downcast_mut};
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::processor::row_memory::RowMemory;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stack::quantiser::Quantiser;
use crate::stack::row_lists::{RowLists, Statistic};
use std::sync::Arc;

/// Rows `[R, P_pad]`; this rank holds those that the placement gives it.
#[derive(Debug)]
pub(crate) struct RankedRows {
    world: Arc<World>,
    placement: Arc<Placement>,
    own: Box<dyn OwnRows>,
}

/// The rows of this rank under some placement.
#[derive(Debug)]
pub(crate) enum PlacedRows<'a> {
    /// The rows as they are: the placement is the same.
    Here(&'a dyn OwnRows),
    /// Copies, moved to where the placement has them.
    Moved(Box<dyn OwnRows>),
}

impl PlacedRows<'_> {
    /// The rows of this rank.
    pub(crate) fn own(&self) -> &dyn OwnRows {
        match self {
            Self::Here(rows) => *rows,
            Self::Moved(rows) => rows.as_ref(),
        }
    }
}

impl RankedRows {
    /// Rows of zeros.
    pub(crate) fn zeros(world: &Arc<World>, rows: usize, width: usize) -> Self {
        let placement = world.placement(rows);
        let own = placement.of(world.rank()).len();
        Self {
            own: world.inner.own_zeros(own, width),
            world: world.clone(),
            placement,
        }
    }

    /// This rank's rows of `values`, `[R, width]`, which all ranks have.
    pub(crate) fn of_all(world: &Arc<World>, values: &[f32], width: usize) -> Self {
        let placement = world.placement(values.len() / width.max(1));
        let rows = placement.of(world.rank()).iter();
        let rows: Vec<&[f32]> = rows
            .map(|row| &values[*row as usize * width..][..width])
            .collect();
        Self {
            own: world.expect(world.inner.own_rows(&rows, width)),
            world: world.clone(),
            placement,
        }
    }

    /// Where the rows lie.
    pub(crate) fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    /// The rows of this rank, to be changed.
    pub(crate) fn own_mut(&mut self) -> &mut dyn OwnRows {
        self.own.as_mut()
    }

    fn rank(&self) -> usize {
        self.world.rank()
    }

    /// The items of `all`, which has one per row, for the rows of this rank.
    fn pick<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.placement.pick(all, self.rank())
    }

    /// Other rows of the same width.
    fn of(&self, own: Box<dyn OwnRows>, placement: Arc<Placement>) -> Self {
        Self {
            world: self.world.clone(),
            placement,
            own,
        }
    }

    /// Moves the rows to the placement `to`.
    pub(crate) fn move_to(&mut self, to: &Arc<Placement>) {
        if let PlacedRows::Moved(own) = self.at(to) {
            self.own = own;
        }
        self.placement = to.clone();
    }

    /// This rank's rows under the placement `to`.
    pub(crate) fn at(&self, to: &Arc<Placement>) -> PlacedRows<'_> {
        if Arc::ptr_eq(&self.placement, to) || self.placement == *to {
            return PlacedRows::Here(self.own.as_ref());
        }
        let rows: Vec<u32> = (0..self.placement.rows() as u32).collect();
        PlacedRows::Moved(self.fetch(&rows, to))
    }

    /// `Σ_i weights[i] · row_i` over all rows.
    fn weighted_mean(&self, weights: &[f64]) -> Vec<f32> {
        self.world.mean(self.own.as_ref(), &self.placement, weights)
    }

    /// The rows of all ranks, on the device of this one.
    fn of_all_ranks(&self) -> Box<dyn OwnRows> {
        let (all, width) = (self.to_host(), self.own.width());
        let rows: Vec<&[f32]> = all.chunks_exact(width.max(1)).collect();
        self.world.expect(self.world.inner.own_rows(&rows, width))
    }

    /// This rank's rows of a new stack, placed as `to` says: its row `i` is row `rows[i]` of this one.
    fn fetch(&self, rows: &[u32], to: &Placement) -> Box<dyn OwnRows> {
        let rank = self.rank();
        let ranks = self.world.ranks.count();
        let transfer = Transfer::of(&self.placement, rank, ranks, |rank| {
            Box::new(to.of(rank).iter().map(|target| rows[*target as usize]))
        });
        let arrived = transfer.carry_out(&self.world, self.own.as_ref(), &mut |_| false);
        let find = transfer.finder(&self.placement, rank);
        let targets = to.of(rank).iter();
        let picks: Vec<u32> = targets.map(|target| find(rows[*target as usize])).collect();
        self.world
            .expect(self.own.gather_among(&picks, &arrived.rows()))
    }
}

impl Rows for RankedRows {
    /// All rows on every rank.
    fn to_host(&self) -> Vec<f32> {
        let width = self.own.width();
        let sizes: Vec<usize> = self.placement.counts().map(|rows| rows * width).collect();
        let own = self.own.shared();
        let own = own.unwrap_or_else(|| Arc::new(RowMemory::from(self.own.to_host())));
        let by_rank = self.world.of_all_ranks(&own, &sizes);
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
        self.of_all_ranks().tensor()
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
                let mixing = DealtMixing {
                    world: &self.world,
                    matrix,
                    halo: &halo,
                    from: &self.placement,
                    to: &to,
                };
                self.world.expect(self.own.mix_among_ranks(&mixing));
            }
            HostMixing::Average { weights } => {
                let mean = self.weighted_mean(weights);
                self.own.become_all(to.of(self.rank()).len(), &mean);
            }
            HostMixing::Among { weights, members } => {
                let mean = self.weighted_mean(weights);
                self.own.replace(&self.pick(members), &mean);
            }
        }
        self.placement = to;
    }

    /// Every rank computes all new rows and keeps its own.
    fn statistic(&self, lists: &RowLists, statistic: Statistic<'_>) -> Box<dyn Rows> {
        let rows = self.of_all_ranks().statistic(lists, statistic).to_host();
        Box::new(Self::of_all(&self.world, &rows, self.own.width()))
    }

    fn pair_distances(
        &self,
        other: &dyn Rows,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<f64>, EngineError> {
        let other: &Self = downcast("squared_pair_distances", other)?;
        let other = other.of_all_ranks();
        self.of_all_ranks().pair_distances(other.as_ref(), pairs)
    }

    fn gather(&self, rows: &[u32]) -> Box<dyn Rows> {
        let to = self.world.placement(rows.len());
        let own = self.fetch(rows, &to);
        Box::new(self.of(own, to))
    }

    fn scatter(&mut self, rows: &[u32], source: &dyn Rows) -> Result<(), EngineError> {
        let source: &Self = downcast("scatter", source)?;
        let rank = self.rank();
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
        let own = source.own.as_ref();
        let arrived = transfer.carry_out(&self.world, own, &mut |_| false);
        let find = transfer.finder(&source.placement, rank);
        let place = |row: u32| self.placement.place(row) as u32;
        let (targets, picks): (Vec<u32>, Vec<u32>) = pairs
            .iter()
            .map(|(read, row)| (place(*row), find(*read)))
            .unzip();
        self.own
            .scatter_among(&targets, &picks, own, &arrived.rows())
    }

    fn add_scaled(&mut self, other: &dyn Rows, scales: &[f32]) -> Result<(), EngineError> {
        let other: &Self = downcast("add_scaled", other)?;
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

    fn momentum_step(
        &mut self,
        velocity: &mut dyn Rows,
        gradients: &dyn Rows,
        step: MomentumRule<'_>,
    ) -> Result<(), EngineError> {
        let velocity: &mut Self = downcast_mut("momentum_step", velocity)?;
        let gradients: &Self = downcast("momentum_step", gradients)?;
        velocity.move_to(&self.placement);
        let gradients = gradients.at(&self.placement);
        let rates = self.pick(step.rates);
        let step = MomentumRule {
            rates: &rates,
            ..step
        };
        self.own
            .momentum_step(velocity.own.as_mut(), gradients.own(), step)
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
        let mean = self.weighted_mean(weights);
        Box::new(Self::of_all(&self.world, &mean, self.own.width()))
    }

    fn squared_distances(&self, weights: &[f64]) -> Vec<f64> {
        let mean = self.weighted_mean(weights);
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
