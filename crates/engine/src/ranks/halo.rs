//! The part of a mixing matrix that a rank computes, and the rows of other ranks that it reads: its halo.

use super::placement::Placement;
use super::transfer::Transfer;
use super::world::World;
use crate::stack::mixing::{HostMixing, Matrix};
use std::sync::{Arc, Mutex, PoisonError};

/// The halos computed for one matrix. Ranks that are threads of one process may share the matrix.
#[derive(Debug, Default)]
pub(crate) struct Halos(Mutex<Vec<Made>>);

/// The halo of one rank, and the placements of the rows that it was computed for.
#[derive(Debug)]
struct Made {
    rank: usize,
    from: Arc<Placement>,
    to: Arc<Placement>,
    halo: Arc<Halo>,
}

/// The rows of a sparse matrix that a rank computes.
#[derive(Debug)]
pub(crate) struct Halo {
    /// Sparse rows, with columns in the order of the whole matrix. Columns below the number of own rows stand for own
    /// rows, the others for rows of the halo.
    pub(crate) matrix: Matrix,
    /// The rows of `matrix` that read own rows alone.
    pub(crate) inner: Vec<u32>,
    /// The rows of `matrix` that read rows of the halo.
    pub(crate) border: Vec<u32>,
    pub(crate) transfer: Transfer,
}

impl Halo {
    /// The part of `matrix` that this rank computes; computed once for given placements.
    pub(crate) fn of(
        world: &World,
        matrix: &Matrix,
        from: &Arc<Placement>,
        to: &Arc<Placement>,
    ) -> Arc<Self> {
        let rank = world.rank();
        let halos = matrix.uploaded(|_| Halos::default());
        let mut halos = halos.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |made: &&Made| Arc::ptr_eq(&made.from, from) && Arc::ptr_eq(&made.to, to);
        if let Some(made) = halos.iter().filter(|made| made.rank == rank).find(fits) {
            return made.halo.clone();
        }
        let halo = Arc::new(Self::new(&matrix.host, from, to, rank));
        // Only the latest is kept: runs that share a matrix may place rows differently, but go one after another.
        halos.retain(|made| made.rank != rank);
        halos.push(Made {
            rank,
            from: from.clone(),
            to: to.clone(),
            halo: halo.clone(),
        });
        halo
    }

    /// Whether some rows of the halo come by message from other machines.
    pub(crate) fn comes_by_message(&self, world: &World) -> bool {
        let mut received = self.transfer.received.iter().enumerate();
        received.any(|(rank, rows)| !rows.is_empty() && !world.reads_in_place(rank))
    }

    /// The rows of `matrix` that `to` places on `rank`; `from` places the rows that they read.
    ///
    /// # Panics
    /// If the matrix is not sparse.
    fn new(matrix: &HostMixing, from: &Placement, to: &Placement, rank: usize) -> Self {
        let HostMixing::Sparse {
            row_ptr,
            columns,
            weights,
        } = matrix
        else {
            panic!("a mean is no sparse matrix");
        };
        let entries = |row: u32| row_ptr[row as usize]..row_ptr[row as usize + 1];
        let ranks = from.counts().count();
        let transfer = Transfer::of(from, rank, ranks, |rank| {
            let rows = to.of(rank).iter().copied();
            Box::new(rows.flat_map(move |row| columns[entries(row)].iter().copied()))
        });
        let (place, own) = (transfer.finder(from, rank), from.of(rank).len() as u32);
        let mut local = (vec![0], Vec::new(), Vec::new());
        for row in to.of(rank) {
            local
                .1
                .extend(columns[entries(*row)].iter().map(|column| place(*column)));
            local.2.extend_from_slice(&weights[entries(*row)]);
            local.0.push(local.1.len());
        }
        let reads_own = |row: &u32| {
            let (begin, end) = (local.0[*row as usize], local.0[*row as usize + 1]);
            local.1[begin..end].iter().all(|column| *column < own)
        };
        let rows = 0..to.of(rank).len() as u32;
        let (inner, border) = rows.partition(reads_own);
        let matrix = HostMixing::Sparse {
            row_ptr: local.0,
            columns: local.1,
            weights: local.2,
        };
        Self {
            inner,
            border,
            matrix: Matrix::new(to.of(rank).len(), matrix),
            transfer,
        }
    }

    /// Rows that the rank computes.
    pub(crate) fn rows(&self) -> usize {
        self.matrix.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_the_order_of_the_whole_matrix() {
        let matrix = HostMixing::Sparse {
            row_ptr: vec![0, 2, 4, 7, 9],
            columns: vec![0, 3, 1, 2, 0, 1, 3, 2, 3],
            weights: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        };
        let placement = Placement::new(vec![1, 0, 1, 0], 2);
        let inner = Placement::new(vec![0, 1, 1, 1], 2);
        assert_eq!(Halo::new(&matrix, &inner, &inner, 1).inner, [0, 2]);
        let halo = Halo::new(&matrix, &placement, &placement, 1);
        // Own rows 0 and 2; the halo holds rows 1 and 3.
        assert_eq!(halo.transfer.received, [vec![1, 3], vec![]]);
        let expected = HostMixing::Sparse {
            row_ptr: vec![0, 2, 5],
            columns: vec![0, 3, 0, 2, 3],
            weights: vec![0.1, 0.2, 0.5, 0.6, 0.7],
        };
        assert_eq!(halo.matrix.host, expected);
        assert_eq!((halo.inner, halo.border), (vec![], vec![0, 1]));
    }
}
