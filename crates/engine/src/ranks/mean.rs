//! Means over all rows.

use super::exchange::{Incoming, Outgoing, pack};
use super::inner::{OwnRows, Readable};
use super::placement::{Placement, share};
use super::world::World;
use crate::network::layout::ALIGNMENT;
use std::ops::Range;

/// The rows of nonzero weight in a mean, and the parameters that each rank sums.
struct Parts {
    /// The rows of nonzero weight of each rank, ascending.
    rows: Vec<Vec<u32>>,
    /// The parameters that each rank sums.
    parts: Vec<Range<usize>>,
}

impl World {
    /// `Σ_i weights[i] · row_i` over all rows, on every rank. Each rank sums its part of the parameters over all rows
    /// in order, so that the sum has the bits of one device. Rows of weight zero are not sent.
    pub(crate) fn mean(
        &self,
        own: &dyn OwnRows,
        placement: &Placement,
        weights: &[f64],
    ) -> Vec<f32> {
        let (width, rank, ranks) = (own.width(), self.rank(), self.ranks.count());
        let counts = |row: &&u32| weights[**row as usize] != 0.0;
        let rows_of = |rank| placement.of(rank).iter().filter(counts).copied().collect();
        let part_of = |rank| {
            let blocks = share(width / ALIGNMENT, rank, ranks);
            blocks.start * ALIGNMENT..blocks.end * ALIGNMENT
        };
        let of = Parts {
            rows: (0..ranks).map(rows_of).collect(),
            parts: (0..ranks).map(part_of).collect(),
        };
        let part = of.parts[rank].len();
        let to_others = |size: &dyn Fn(usize) -> usize| -> Vec<usize> {
            let size = |other: usize| if other == rank { 0 } else { size(other) };
            (0..ranks).map(size).collect()
        };
        let outgoing = to_others(&|to| of.parts[to].len() * of.rows[rank].len());
        let taken = to_others(&|from| part * of.rows[from].len());
        let lengths = self.in_messages(&outgoing);
        let own_counted = of.rows[rank].iter();
        let readable = own.readable(&mut own_counted.map(|row| placement.place(*row) as u32));
        let mut packed = self.buffers.take(lengths.iter().sum());
        let messages = pack(&mut packed, &lengths, |to, message| {
            let part = &of.parts[to];
            let rows = of.rows[rank].iter();
            for (piece, row) in message.chunks_exact_mut(part.len().max(1)).zip(rows) {
                let row = readable.row(placement.place(*row), width);
                piece.copy_from_slice(&row[part.clone()]);
            }
        });
        let outgoing = Outgoing {
            rows: readable.memory(),
            sizes: outgoing,
            messages,
        };
        let incoming = self.exchange(outgoing, &taken, &mut |_| false);
        let rows = match part {
            0 => Vec::new(),
            _ => self.in_order(&readable, width, placement, &of, &incoming),
        };
        let weights = weights.iter().copied().filter(|weight| *weight != 0.0);
        let weights: Vec<f64> = weights.collect();
        let sums = self.expect(self.inner.mean_of(&rows, &weights, part));
        drop(incoming);
        self.buffers.put(packed);
        let sizes: Vec<usize> = of.parts.iter().map(Range::len).collect();
        self.of_all_ranks(&sums, &sizes)
    }

    /// This rank's part of the parameters of all rows of nonzero weight, in the order of the rows.
    fn in_order<'a>(
        &self,
        own: &'a Readable<'_>,
        width: usize,
        placement: &Placement,
        of: &Parts,
        incoming: &'a Incoming<'_>,
    ) -> Vec<&'a [f32]> {
        let rank = self.rank();
        let part = &of.parts[rank];
        let mut rows: Vec<(u32, &[f32])> = Vec::new();
        for (from, of_rank) in of
            .rows
            .iter()
            .enumerate()
            .filter(|(_, rows)| !rows.is_empty())
        {
            let places = of_rank.iter().map(|row| (*row, placement.place(*row)));
            if from == rank {
                let piece = |place| &own.row(place, width)[part.clone()];
                rows.extend(places.map(|(row, place)| (row, piece(place))));
            } else if let Some(all) = incoming.in_place(from) {
                let piece = |place: usize| &all[place * width + part.start..][..part.len()];
                rows.extend(places.map(|(row, place)| (row, piece(place))));
            } else {
                let pieces = incoming.message(from).chunks_exact(part.len());
                rows.extend(of_rank.iter().copied().zip(pieces));
            }
        }
        rows.sort_unstable_by_key(|(row, _)| *row);
        rows.into_iter().map(|(_, values)| values).collect()
    }
}
