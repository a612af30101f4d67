//! Estimates the memory that a run takes, and finds out how much there is.

use std::path::Path;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

mod control_groups;
pub(crate) mod overlay;
mod process_limits;

/// The parts of a run that fill memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Rows of the stack of models, `R`.
    pub(crate) rows: usize,
    /// Rows that the method holds besides when it holds most.
    pub(crate) working_rows: usize,
    /// Floats of a row, padding included, `P_pad`.
    pub(crate) width: usize,
    /// Training and test examples, `M`.
    pub(crate) examples: usize,
    /// Examples of which it is known whose they are: all or none.
    pub(crate) owned_examples: usize,
    /// Bytes of their features as the dataset has them.
    pub(crate) feature_bytes: usize,
    /// Feature bytes of the examples that ranks deal among them, each keeping those of its own clients: training
    /// examples, and test examples that the partition deals as well. 0 for a text, which every rank keeps.
    pub(crate) shared_bytes: usize,
    /// Bytes of features of the test set that a partition holds out, which every rank keeps besides; 0 without one.
    pub(crate) held_out_bytes: usize,
    /// Bytes of the copy of features that a partition with a test set of its own is dealt from; 0 without one.
    pub(crate) dealt_bytes: usize,
    /// What reading the dataset takes besides the dataset itself.
    pub(crate) reading_bytes: usize,
    /// The same of a rank that reads for its machine, besides what it keeps.
    pub(crate) piece_bytes: usize,
    /// What messages between ranks take; 0 in one process.
    pub(crate) message_bytes: u64,
    /// Bytes of the overlays and their weights that are held in a round.
    pub(crate) overlay_bytes: u64,
    /// Bytes that it takes to build the overlay and to compute its figures.
    pub(crate) planning_bytes: u64,
    /// What the trainer needs besides.
    pub(crate) working_bytes: u64,
    /// What the page about the run takes for the overlay, while the allocator keeps what training held.
    pub(crate) page_bytes: u64,
}

/// What one of several ranks holds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankShare {
    ranks: usize,
    /// Rows of the run, and of this rank.
    rows: usize,
    own: usize,
    /// Rows that go to other ranks in an exchange.
    sent: usize,
    /// Whether the rows are on a GPU, so that they are copied on their way to other ranks and from them.
    on_gpu: bool,
    /// Training examples of its clients, and of all.
    examples: usize,
    all_examples: usize,
}

impl RankShare {
    /// `own` of `rows` rows, of which `sent` go to other ranks in an exchange, and about as many come. Its part of the examples is that
    /// of the rows, unless [more is known](RankShare::with_examples).
    pub(crate) fn new(ranks: usize, rows: usize, own: usize, sent: usize) -> Self {
        Self {
            ranks,
            rows,
            own,
            sent,
            on_gpu: false,
            examples: own,
            all_examples: rows,
        }
    }

    /// With rows on a GPU, or not.
    pub(crate) fn with_rows_on_gpu(self, on_gpu: bool) -> Self {
        Self { on_gpu, ..self }
    }

    /// Rows that it holds besides while it exchanges them with other ranks.
    fn exchanged(&self) -> usize {
        if self.ranks == 1 {
            return 0;
        }
        // A mean over all rows, which judging takes: the parts of own rows that others sum, those of their rows that this rank
        // sums, and all that it sums in order.
        let part = |rows: usize| rows.div_ceil(self.ranks);
        let mean = part(self.own * (self.ranks - 1)) + part(self.rows - self.own) + part(self.rows);
        match self.on_gpu {
            // A copy of the rows that are sent and the message; the message that comes, a copy of it in order, and that on the GPU.
            true => (self.own + mean + part(self.rows)).max(5 * self.sent),
            false => mean.max(2 * self.sent),
        }
    }

    /// With `examples` of `all` examples.
    pub(crate) fn with_examples(self, examples: usize, all: usize) -> Self {
        Self {
            examples,
            all_examples: all,
            ..self
        }
    }

    /// A share of `count` things that are dealt as the rows are.
    pub(crate) fn part(&self, count: usize) -> usize {
        part(count, self.own, self.rows)
    }

    /// Its share of `bytes` of all examples that are dealt.
    fn kept(&self, bytes: usize) -> usize {
        part(bytes, self.examples, self.all_examples)
    }
}

/// Bytes that the trainer of a rank with some share needs besides models and examples; those of its examples' features are given.
pub(crate) type Working<'a> = dyn Fn(&RankShare, usize) -> u64 + 'a;

/// A share of `count` things as `own` is one of `all`.
fn part(count: usize, own: usize, all: usize) -> usize {
    (count as u128 * own as u128).div_ceil(all.max(1) as u128) as usize
}

/// What the program takes with the smallest of runs, measured: its own pages, its threads, and what the allocator holds for
/// use again, in pages of 2 MiB.
const PROGRAM: u64 = 42 << 20;

/// What a library of MPI takes in a rank besides, measured with OpenMPI 4.1 on one machine: its own memory, and what it shares with other
/// ranks.
const MPI: u64 = 8 << 20;

/// What reading let go of and is still held when training begins, at most, measured: the allocator gives memory back
/// some time after it was freed, and what training asks for meanwhile does not always fit it.
const LINGERING: u64 = 16 << 20;

impl Footprint {
    /// Estimate in bytes of the most memory that a run holds at once. Reading follows planning and training follows
    /// reading, so the largest of them counts.
    pub(crate) fn bytes(&self) -> u64 {
        let most = self.planning().max(self.reading()).max(self.training());
        most.saturating_add(PROGRAM + self.message_bytes)
    }

    /// That of a rank with this share of the run, whose trainer needs what `working` says.
    pub(crate) fn of_a_rank(&self, share: &RankShare, working: &Working<'_>) -> Self {
        if share.ranks == 1 {
            return *self;
        }
        let kept = share.kept(self.shared_bytes) + self.held_out_bytes;
        let feature_bytes = self.feature_bytes - self.shared_bytes + kept;
        Self {
            rows: share.own,
            working_rows: share.part(self.working_rows) + share.exchanged(),
            working_bytes: working(share, feature_bytes),
            feature_bytes,
            // Every rank is counted as one that reads: with one rank on each machine all of them do.
            reading_bytes: self.piece_bytes,
            dealt_bytes: 0,
            message_bytes: MPI,
            ..*self
        }
    }

    /// Estimate in bytes of the most memory that one of the ranks with these shares holds at once.
    pub(crate) fn of_ranks(&self, shares: &[RankShare], working: &Working<'_>) -> u64 {
        let each = shares
            .iter()
            .map(|share| self.of_a_rank(share, working).bytes());
        each.max().unwrap_or_else(|| self.bytes())
    }

    /// The fewest ranks that would do where each has `available` bytes for itself, with rows on a GPU or not; `None` if no number of them
    /// would.
    pub(crate) fn ranks_within(
        &self,
        available: u64,
        on_gpu: bool,
        working: &Working<'_>,
    ) -> Option<usize> {
        let fits = |ranks: &usize| {
            let own = self.rows.div_ceil(*ranks);
            let share = RankShare::new(*ranks, self.rows, own, own).with_rows_on_gpu(on_gpu);
            self.of_a_rank(&share, working).bytes() <= available
        };
        (2..=self.rows).find(fits)
    }

    /// While the run is planned: whose each example is, and the overlay.
    fn planning(&self) -> u64 {
        let known = 8 * self.examples as u64 + 8 * self.owned_examples as u64;
        known.saturating_add(self.planning_bytes)
    }

    /// While the dataset is read: its examples, and what the reader takes.
    fn reading(&self) -> u64 {
        self.held().saturating_add(self.reading_bytes as u64)
    }

    /// In the rounds: `4 P_pad (R + working rows + 1)` for the models, what the method needs besides, and the mean of the
    /// models when they are judged; the examples; the overlays; what the trainer needs; what lingers of reading; and the page
    /// in the end.
    fn training(&self) -> u64 {
        let rows = (self.rows as u64)
            .saturating_add(self.working_rows as u64)
            .saturating_add(1);
        let models = rows.saturating_mul(self.width as u64).saturating_mul(4);
        [
            models,
            self.held(),
            self.dealt_bytes as u64,
            self.overlay_bytes,
            self.working_bytes,
            LINGERING.min(self.reading_bytes as u64),
            self.page_bytes,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// The examples with labels of two bytes and owners of four, those of the plan too, and the clients' index tables and
    /// orders of the pass, 4 each.
    fn held(&self) -> u64 {
        self.feature_bytes as u64 + 12 * self.examples as u64 + 8 * self.owned_examples as u64
    }
}

/// Bytes that are left to a run: of the machine, of each control group that the program runs in, and of the limits of the
/// process; `None` where the system tells none of these.
pub(crate) fn available() -> Option<u64> {
    let root = Path::new("/");
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let limits = [
        of_the_machine(),
        control_groups::left(root),
        process_limits::left(root, threads),
    ];
    limits.into_iter().flatten().min()
}

/// Bytes that the machine has left.
fn of_the_machine() -> Option<u64> {
    let refresh = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(refresh);
    Some(system.available_memory()).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of 100 bytes, and nothing else.
    fn footprint() -> Footprint {
        Footprint {
            rows: 0,
            working_rows: 0,
            width: 0,
            examples: 1 << 20,
            owned_examples: 0,
            feature_bytes: 100 << 20,
            shared_bytes: 0,
            dealt_bytes: 0,
            held_out_bytes: 0,
            reading_bytes: 0,
            piece_bytes: 0,
            message_bytes: 0,
            overlay_bytes: 0,
            planning_bytes: 0,
            working_bytes: 0,
            page_bytes: 0,
        }
    }

    /// A trainer that needs nothing.
    fn nothing(_: &RankShare, _: usize) -> u64 {
        0
    }

    #[test]
    fn as_many_ranks_are_asked_for_as_hold_the_models() {
        let large = Footprint {
            rows: 1000,
            working_rows: 1000,
            width: 1 << 20,
            ..footprint()
        };
        // 4 MiB a row. One of ten ranks has a hundred rows and as many in its copy; of a mean 90 on their way, 90 that came and
        // 100 in order.
        let fixed = PROGRAM + MPI + (112 << 20) + (4 << 20);
        let of_ten = fixed + (480 << 22);
        let within = |bytes| large.ranks_within(bytes, false, &nothing);
        assert_eq!(within(of_ten), Some(10));
        assert_eq!(within(of_ten - 1), Some(11));
        assert_eq!(within(fixed), None);
    }

    #[test]
    fn rows_on_a_gpu_are_held_once_more_on_their_way_and_its_trainer_has_its_share() {
        let all = Footprint {
            rows: 1000,
            working_rows: 1000,
            width: 1 << 20,
            shared_bytes: 50 << 20,
            working_bytes: 1 << 40,
            ..footprint()
        };
        let share = RankShare::new(10, 1000, 100, 60).with_rows_on_gpu(true);
        let working = |share: &RankShare, features: usize| (share.part(1000) + features) as u64;
        // Of the mean: the own rows, 90 on their way, 90 that came, and 100 in order twice.
        let rows = 100 + 100 + (100 + 90 + 90 + 100 + 100) + 1;
        let features = 55 << 20;
        let expected = PROGRAM + MPI + (rows << 22) + (12 << 20) + 2 * features + 100;
        assert_eq!(all.of_a_rank(&share, &working).bytes(), expected);
        let listened_to = RankShare::new(10, 1000, 100, 100).with_rows_on_gpu(true);
        let more = all.of_a_rank(&listened_to, &working).bytes() - expected;
        assert_eq!(more, (500 - 480) << 22);
    }

    #[test]
    fn a_rank_trains_on_the_examples_of_its_own_clients() {
        let all = Footprint {
            rows: 8,
            width: 100 << 20,
            shared_bytes: 80 << 20,
            ..footprint()
        };
        let of = |ranks: usize| {
            let share = RankShare::new(ranks, 8, 8 / ranks, 0);
            all.of_a_rank(&share, &nothing).bytes()
        };
        // A rank of four has two rows, six that a mean takes and the mean, a quarter of what is shared and all the rest.
        let models = 9 * (400 << 20);
        assert_eq!(of(4), PROGRAM + MPI + models + (52 << 20));
        assert_eq!(of(1), all.bytes());
    }

    #[test]
    fn of_ranks_the_one_with_most_examples_counts_and_it_reads() {
        let all = Footprint {
            rows: 8,
            shared_bytes: 80 << 20,
            piece_bytes: 30 << 20,
            held_out_bytes: 1 << 20,
            reading_bytes: 500 << 20,
            ..footprint()
        };
        let share = |examples| RankShare::new(2, 8, 4, 0).with_examples(examples, 100);
        // What is not shared, three quarters of what is, the test set, labels and owners, and a piece.
        let expected = PROGRAM + MPI + ((20 + 60 + 1 + 12 + 30) << 20);
        assert_eq!(all.of_ranks(&[share(25), share(75)], &nothing), expected);
        assert_eq!(all.of_ranks(&[], &nothing), all.bytes());
    }

    #[test]
    fn a_thousand_models_are_counted_with_velocities_spare_and_mean() {
        let footprint = Footprint {
            rows: 1000,
            working_rows: 2000,
            width: 159_104,
            overlay_bytes: 132_000,
            working_bytes: 5,
            ..footprint()
        };
        let examples = 112 << 20;
        assert_eq!(
            footprint.bytes(),
            PROGRAM + 4 * 3001 * 159_104 + examples + 132_005
        );
    }

    #[test]
    fn of_reading_and_training_the_larger_counts_and_some_lingers() {
        let examples = 112 << 20;
        let read = Footprint {
            reading_bytes: 70 << 20,
            working_bytes: 5 << 20,
            ..footprint()
        };
        assert_eq!(read.bytes(), PROGRAM + examples + (70 << 20));
        let dealt = Footprint {
            dealt_bytes: 100 << 20,
            ..read
        };
        let lingers = LINGERING;
        assert_eq!(dealt.bytes(), PROGRAM + examples + (105 << 20) + lingers);
        let little = Footprint {
            reading_bytes: 3 << 20,
            ..dealt
        };
        assert_eq!(little.bytes(), PROGRAM + examples + (108 << 20));
    }

    #[test]
    fn an_overlay_that_takes_more_to_plan_than_the_run_counts() {
        let footprint = Footprint {
            planning_bytes: 4 << 30,
            overlay_bytes: 1 << 30,
            ..footprint()
        };
        let owners_of_examples = 8 << 20;
        assert_eq!(footprint.bytes(), PROGRAM + (4 << 30) + owners_of_examples);
    }

    #[test]
    fn owners_are_held_twice() {
        let footprint = Footprint {
            owned_examples: 1 << 20,
            ..footprint()
        };
        assert_eq!(footprint.bytes(), PROGRAM + (120 << 20));
    }

    #[test]
    fn a_run_beyond_all_memory_does_not_overflow() {
        let huge = usize::MAX / 8;
        let footprint = Footprint {
            rows: huge,
            working_rows: huge,
            width: huge,
            ..footprint()
        };
        assert_eq!(footprint.bytes(), u64::MAX);
    }

    #[test]
    fn this_machine_has_memory_left() {
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
    }
}
