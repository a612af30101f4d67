//! One run over several ranks: MPI processes, or threads of one process. Each rank holds its rows on a device of its
//! own, the processor or a GPU. All ranks call the same verbs in the same order. Results are the same on all ranks, and
//! have the bits of one such device.
//!
//! The state on the host (schedules, who trains on what, how far each row has come) is kept for all rows on every rank,
//! so that methods need not know of ranks.

pub(crate) mod backend;
pub(crate) mod buffers;
pub(crate) mod dealing;
mod exchange;
pub(crate) mod halo;
pub(crate) mod in_process;
pub(crate) mod inner;
mod losses_on_devices;
pub(crate) mod machine;
mod mean;
#[cfg(feature = "mpi")]
mod mpi;
pub(crate) mod placement;
pub(crate) mod rows;
pub(crate) mod tally_words;
pub(crate) mod trainer;
pub(crate) mod transfer;
pub(crate) mod transport;
pub(crate) mod world;

use crate::error::EngineError;
use std::sync::{Arc, OnceLock, Weak};
use transport::Transport;

/// The ranks that a run is dealt over, as one of them sees them. Cheap to clone.
///
/// Every method is collective: all ranks call it, in the same order.
#[derive(Debug, Clone)]
pub struct Ranks {
    transport: Arc<dyn Transport>,
    /// The first rank that was found to differ from rank 0.
    differs: Arc<OnceLock<usize>>,
}

/// A weak handle to [`Ranks`], which does not keep them alive.
#[derive(Debug, Clone)]
pub struct WeakRanks(Weak<dyn Transport>);

impl WeakRanks {
    /// As [`Ranks::abort`], if the ranks are still alive.
    pub fn abort(&self, reason: &str) {
        if let Some(transport) = self.0.upgrade() {
            transport.abort(reason);
        }
    }
}

/// What a rank has sent to other ranks so far. Rows that others read in place count as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Messages that hold parameters of models.
    pub messages: u64,
    /// Bytes of parameters, in messages or read in place.
    pub bytes: u64,
    /// The part of `bytes` that ranks of the same machine have read in place.
    pub bytes_in_place: u64,
}

impl Ranks {
    /// `count` connected ranks in this process, for one thread each.
    pub fn in_process(count: usize) -> Vec<Self> {
        Self::on_machines(&vec![0; count])
    }

    /// As [`Ranks::in_process`], one rank per item. Rank `i` acts as if it were on machine `machines[i]`.
    pub fn on_machines(machines: &[usize]) -> Vec<Self> {
        let ranks = in_process::connected(machines).into_iter();
        ranks
            .map(|transport| Self::of(Arc::new(transport)))
            .collect()
    }

    pub(crate) fn of(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            differs: Arc::default(),
        }
    }

    /// Which of the ranks this is, from 0.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.transport.count()
    }

    /// How many of the ranks share the cores and the memory of this machine, this one included.
    pub fn on_this_machine(&self) -> usize {
        let readers = self.transport.readers();
        let reader = readers[self.rank()];
        readers.into_iter().filter(|rank| *rank == reader).count()
    }

    /// Which of the ranks of this machine this is, from 0.
    pub fn place_on_this_machine(&self) -> usize {
        let readers = self.transport.readers();
        let before = readers[..self.rank()].iter();
        before
            .filter(|reader| **reader == readers[self.rank()])
            .count()
    }

    /// The most bytes of features in a piece of training examples that ranks of a machine [deal](crate::Device::deal):
    /// few beside what a rank holds of a dataset that needs several ranks, but enough to outweigh the cost of a
    /// message.
    pub const PIECE: usize = 8 << 20;

    /// Whether this rank reads the examples for all ranks of its machine: the first of them does. See
    /// [`Device::deal`](crate::Device::deal).
    pub fn reads(&self) -> bool {
        self.transport.readers()[self.rank()] == self.rank()
    }

    /// Whether this rank leads: it alone decides what depends on clocks, signals and files, and it alone writes.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Returns the words of rank 0 on every rank. All ranks pass as many words; those of other ranks are ignored.
    pub fn broadcast<const N: usize>(&self, mut words: [u64; N]) -> [u64; N] {
        self.transport.broadcast(&mut words);
        words
    }

    /// The words of all ranks, in their order.
    pub fn gather<const N: usize>(&self, words: [u64; N]) -> Vec<[u64; N]> {
        let all = self.transport.all_gather(&words, &vec![N; self.count()]);
        let of_rank = |words: Vec<u64>| words.try_into().expect("each rank has as many words");
        all.into_iter().map(of_rank).collect()
    }

    /// Checks that all ranks have the same words as rank 0, and that the first word is not 0. After a failure, every
    /// later call fails at once on every rank, without an exchange: ranks that differ need not call it as often.
    ///
    /// # Errors
    /// The first rank that differs, the same on all ranks.
    pub fn expect_same_words(&self, words: [u64; 2]) -> Result<(), usize> {
        if let Some(rank) = self.differs.get() {
            return Err(*rank);
        }
        let all = self.gather(words);
        let differs = |own: &[u64; 2]| *own != all[0] || own[0] == 0;
        match all.iter().position(differs) {
            Some(rank) => Err(*self.differs.get_or_init(|| rank)),
            None => Ok(()),
        }
    }

    /// Returns `own`, unless some rank has an error: then all ranks return one. Rank 0 learns the first rank's reason.
    ///
    /// # Errors
    /// The error of `own`; [`EngineError::OfRank`].
    pub(crate) fn expect_success_on_all<T>(
        &self,
        own: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let failed = self.gather([u64::from(own.is_err())]);
        let Some(first) = failed.iter().position(|failed| *failed == [1]) else {
            return own;
        };
        let mut reason = String::from("rank 0 is told why");
        match (&own, first) {
            (_, 0) => {}
            (Err(error), _) if self.rank() == first => {
                self.transport.send(0, error.to_string().as_bytes());
            }
            _ if self.leads() => {
                let told = self.transport.receive(first);
                reason = String::from_utf8_lossy(&told).into_owned();
            }
            _ => {}
        }
        own.and(Err(EngineError::OfRank {
            rank: first,
            reason,
        }))
    }

    /// Sends `bytes` to the other ranks of this machine, each of which [hears](Ranks::hear) them. A rank that
    /// [reads](Ranks::reads) calls it.
    pub fn tell(&self, bytes: &[u8]) {
        let readers = self.transport.readers();
        let own = self.rank();
        let others = (0..readers.len()).filter(|rank| *rank != own && readers[*rank] == own);
        others.for_each(|rank| self.transport.send(rank, bytes));
    }

    /// What the rank that reads for this machine [tells](Ranks::tell) next. The others of the machine call it.
    pub fn hear(&self) -> Vec<u8> {
        self.transport
            .receive(self.transport.readers()[self.rank()])
    }

    /// Ends all ranks at once, as this one cannot go on because of `reason`.
    pub fn abort(&self, reason: &str) -> ! {
        self.transport.abort(reason)
    }

    /// What this rank has sent to other ranks so far, reads in place included.
    pub fn sent(&self) -> Sent {
        self.transport.counter().sent()
    }

    /// A weak handle to the ranks. They leave MPI when no [`Ranks`] is left.
    pub fn downgrade(&self) -> WeakRanks {
        WeakRanks(Arc::downgrade(&self.transport))
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        self.transport.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// What [`Ranks::expect_success_on_all`] returns on each rank, if rank `i` has the result `own[i]`.
    fn outcomes(own: &[Result<usize, &str>]) -> Vec<Result<usize, String>> {
        thread::scope(|scope| {
            let ranks = Ranks::in_process(own.len()).into_iter();
            let start = |ranks: Ranks| {
                scope.spawn(move || {
                    let own = own[ranks.rank()].map_err(|reason| EngineError::OwnModel {
                        reason: reason.to_owned(),
                    });
                    ranks
                        .expect_success_on_all(own)
                        .map_err(|error| error.to_string())
                })
            };
            let threads: Vec<_> = ranks.map(start).collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect()
        })
    }

    #[test]
    fn what_one_rank_cannot_do_all_leave_and_rank_0_knows_why() {
        assert_eq!(outcomes(&[Ok(3), Ok(4)]), [Ok(3), Ok(4)]);
        let ends = outcomes(&[Ok(1), Err("no room"), Err("no GPU"), Ok(2)]);
        let told: Vec<String> = ends.into_iter().map(Result::unwrap_err).collect();
        let others = "rank 1: rank 0 is told why";
        let expected = [
            "rank 1: own model: no room",
            "own model: no room",
            "own model: no GPU",
            others,
        ];
        assert_eq!(told, expected);
        let ends = outcomes(&[Err("no GPU"), Ok(1)]);
        assert_eq!(ends[0], Err("own model: no GPU".to_owned()));
        assert_eq!(ends[1], Err("rank 0: rank 0 is told why".to_owned()));
    }

    #[test]
    fn ranks_of_a_machine_are_counted_there() {
        let places = Ranks::on_machines(&[4, 2, 4, 2, 2]).into_iter();
        let places: Vec<usize> = places.map(|ranks| ranks.place_on_this_machine()).collect();
        assert_eq!(places, [0, 0, 1, 1, 2]);
    }
}
