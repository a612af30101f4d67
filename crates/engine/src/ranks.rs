//! One run over several ranks: processes of MPI, or threads of one process. Each rank has the rows that it owns on its own
//! processor; all ranks carry out the same verbs in the same order, and what leaves them is the same on all of them, and the
//! same to the bit as on one processor.
//!
//! Whatever the host keeps (schedules, who trains on what, how far each row has come) every rank keeps of all rows, so that
//! methods know nothing of ranks.

pub(crate) mod backend;
pub(crate) mod buffers;
mod dealing;
pub(crate) mod halo;
pub(crate) mod in_process;
#[cfg(feature = "mpi")]
mod mpi;
pub(crate) mod placement;
pub(crate) mod rows;
pub(crate) mod tally_words;
pub(crate) mod trainer;
pub(crate) mod transfer;
pub(crate) mod transport;
pub(crate) mod world;

use std::sync::Arc;
use transport::Transport;

/// The ranks that a run is dealt over, as one of them sees them. Cheap to clone.
///
/// Every method is collective: all ranks call it, in the same order.
#[derive(Debug, Clone)]
pub struct Ranks {
    transport: Arc<dyn Transport>,
}

/// What a rank has sent to other ranks so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Messages that hold parameters of models.
    pub messages: u64,
    /// Bytes of those parameters.
    pub bytes: u64,
}

impl Ranks {
    /// `count` ranks that are threads of this process, one for each of them: what one of them sends, another one receives.
    pub fn in_process(count: usize) -> Vec<Self> {
        Self::on_machines(&vec![0; count])
    }

    /// [`Ranks::in_process`], as many as `machines` has items. They act as if each were on the machine of that number.
    pub fn on_machines(machines: &[usize]) -> Vec<Self> {
        let of = |transport| Self {
            transport: Arc::new(transport),
        };
        in_process::connected(machines)
            .into_iter()
            .map(of)
            .collect()
    }

    /// Which of the ranks this is, from 0.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.transport.count()
    }

    /// How many of them share the cores and the memory of this machine: at least one.
    pub fn on_this_machine(&self) -> usize {
        let readers = self.transport.readers();
        let reader = readers[self.rank()];
        readers.into_iter().filter(|rank| *rank == reader).count()
    }

    /// Whether this rank reads the examples for all ranks of its machine: the first of them does. See
    /// [`Learner::upload`](crate::Learner::upload).
    pub fn reads(&self) -> bool {
        self.transport.readers()[self.rank()] == self.rank()
    }

    /// Whether this rank leads: it alone decides what depends on clocks, signals and files, and it alone writes.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// The words of rank 0. On other ranks `words` are ignored, of which there are as many on all ranks.
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

    /// Ends all ranks at once, as this one cannot go on because of `reason`.
    pub fn abort(&self, reason: &str) -> ! {
        self.transport.abort(reason)
    }

    /// What this rank has sent so far.
    pub fn sent(&self) -> Sent {
        self.transport.sent()
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        self.transport.as_ref()
    }
}
