//! Which rank has which row.

use meshfold_topology::Division;
use std::ops::Range;

/// The rows of a stack, dealt over ranks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The rank of each row, `[R]`.
    owners: Vec<u32>,
    /// Which of its rank's rows a row is, `[R]`.
    places: Vec<u32>,
    /// The rows of each rank, ascending.
    of_rank: Vec<Vec<u32>>,
}

impl Placement {
    /// Row `i` of the stack is on rank `owners[i]` of `ranks`.
    pub(crate) fn new(owners: Vec<u32>, ranks: usize) -> Self {
        let mut of_rank = vec![Vec::new(); ranks];
        let mut places = Vec::with_capacity(owners.len());
        for (row, owner) in (0u32..).zip(&owners) {
            let own: &mut Vec<u32> = &mut of_rank[*owner as usize];
            places.push(own.len() as u32);
            own.push(row);
        }
        Self {
            owners,
            places,
            of_rank,
        }
    }

    /// Blocks of consecutive rows, of nearly equal size on all ranks.
    pub(crate) fn in_blocks(rows: usize, ranks: usize) -> Self {
        Self::new(Division::in_blocks(rows, ranks), ranks)
    }

    /// Rows of the stack.
    pub(crate) fn rows(&self) -> usize {
        self.owners.len()
    }

    /// The rank that has `row`.
    pub(crate) fn owner(&self, row: u32) -> usize {
        self.owners[row as usize] as usize
    }

    /// Which of its rank's rows `row` is.
    pub(crate) fn place(&self, row: u32) -> usize {
        self.places[row as usize] as usize
    }

    /// The rows of `rank`, ascending.
    pub(crate) fn of(&self, rank: usize) -> &[u32] {
        &self.of_rank[rank]
    }

    /// Rows that each rank has.
    pub(crate) fn counts(&self) -> impl Iterator<Item = usize> {
        self.of_rank.iter().map(Vec::len)
    }

    /// The items of `all`, which has one per row, for the rows of `rank`.
    pub(crate) fn pick<T: Copy>(&self, all: &[T], rank: usize) -> Vec<T> {
        let rows = self.of(rank).iter();
        rows.map(|row| all[*row as usize]).collect()
    }
}

/// The range of part `index` if `count` things are split into `parts` consecutive parts, larger ones first.
pub(crate) fn share(count: usize, index: usize, parts: usize) -> Range<usize> {
    Division::block(count, index, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_level_and_leave_no_row_out() {
        for ranks in 1..7 {
            for rows in 0..20 {
                let placement = Placement::in_blocks(rows, ranks);
                assert_eq!(placement.rows(), rows);
                let counts: Vec<usize> = placement.counts().collect();
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
            }
        }
        let placement = Placement::in_blocks(1, 3);
        assert_eq!((placement.owner(0), placement.of(0)), (0, &[0][..]));
    }

    #[test]
    fn rows_are_found_where_they_were_placed() {
        let placement = Placement::new(vec![1, 0, 1, 1, 0], 3);
        assert_eq!(placement.of(0), [1, 4]);
        assert_eq!(placement.of(1), [0, 2, 3]);
        assert!(placement.of(2).is_empty());
        for row in 0..5 {
            assert_eq!(
                placement.of(placement.owner(row))[placement.place(row)],
                row
            );
        }
        assert_eq!(
            placement.pick(&["a", "b", "c", "d", "e"], 1),
            ["a", "c", "d"]
        );
    }
}
