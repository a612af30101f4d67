//! What ranks hold and send while examples are dealt to them.

use super::*;
use crate::device::Device;
use crate::device::request::DeviceRequest;
use crate::ranks::Ranks;
use crate::ranks::in_process::{InProcess, connected};
use crate::ranks::placement::share;
use crate::ranks::transport::Counter;
use crate::stream::{Key, Purpose, stream};
use meshfold_data::{Scale, Shape};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Features of an example.
const WIDTH: usize = 50;
/// Examples of a piece.
const STEP: usize = 16;

/// A rank whose messages of bytes are measured.
#[derive(Debug)]
struct Measured {
    inner: InProcess,
    all: Arc<AtomicUsize>,
    largest: Arc<AtomicUsize>,
}

impl Transport for Measured {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn count(&self) -> usize {
        self.inner.count()
    }

    fn exchange(&self, to: &[&[f32]], from: &mut [&mut [f32]], work: &mut dyn FnMut() -> bool) {
        self.inner.exchange(to, from, work);
    }

    fn all_gather(&self, own: &[u64], lengths: &[usize]) -> Vec<Vec<u64>> {
        self.inner.all_gather(own, lengths)
    }

    fn broadcast(&self, words: &mut [u64]) {
        self.inner.broadcast(words);
    }

    fn send(&self, rank: usize, bytes: &[u8]) {
        self.all.fetch_add(bytes.len(), Ordering::Relaxed);
        self.largest.fetch_max(bytes.len(), Ordering::Relaxed);
        Transport::send(&self.inner, rank, bytes);
    }

    fn receive(&self, rank: usize) -> Vec<u8> {
        Transport::receive(&self.inner, rank)
    }

    fn readers(&self) -> Vec<usize> {
        self.inner.readers()
    }

    fn abort(&self, reason: &str) -> ! {
        self.inner.abort(reason)
    }

    fn counter(&self) -> &Counter {
        self.inner.counter()
    }
}

/// Training and test examples, each of features of its own.
fn splits(train: usize, test: usize) -> Splits {
    let of = |first: usize, count: usize| {
        let example = |e: usize| (0..WIDTH).map(move |f| (e * 31 + f) as u8);
        let bytes = (first..first + count).flat_map(example).collect();
        let labels = (first..first + count).map(|e| (e % 4) as u16).collect();
        let examples = Examples::new(bytes, labels, Shape::flat(WIDTH), 4, Scale::UNIT).unwrap();
        let owners = (first as u32..(first + count) as u32).collect();
        Arc::new(examples.with_owners(owners))
    };
    Splits {
        train: of(0, train),
        test: of(train, test),
        validation: Some(of(7, 3)),
    }
}

/// What a rank has at the end.
struct End {
    held: Option<Splits>,
    /// How often it read.
    readings: usize,
    /// Bytes that it sent by the end of each piece, and the largest message.
    sent: Vec<usize>,
    largest: usize,
}

/// Deals `data` by `partition` to ranks on `machines`, of which `fails` cannot read.
fn deal(
    machines: &[usize],
    data: &Splits,
    partition: &Partition,
    fails: Option<usize>,
) -> Vec<End> {
    let end_of = |inner: InProcess| {
        let (all, largest) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let rank = inner.rank();
        let ranks = Ranks::of(Arc::new(Measured {
            inner,
            all: all.clone(),
            largest: largest.clone(),
        }));
        let device = Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
        let (mut readings, mut sent) = (0, Vec::new());
        let held = device.deal(partition, &mut |see| {
            readings += 1;
            let rest = data.clone().in_pieces(STEP * WIDTH, &mut |piece| {
                see(piece);
                sent.push(all.load(Ordering::Relaxed));
            });
            (fails != Some(rank)).then_some(rest)
        });
        End {
            held,
            readings,
            sent,
            largest: largest.load(Ordering::Relaxed),
        }
    };
    thread::scope(|scope| {
        let ranks = connected(machines).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(|| end_of(rank))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Seven clients of `examples`, not in their order; some are nobody's.
fn partition(examples: usize) -> Partition {
    let shards = (0..7).map(|client| (client..examples as u32 - 5).step_by(7).rev().collect());
    Partition::new(shards.collect(), examples).unwrap()
}

#[test]
fn one_rank_of_each_machine_reads_and_each_holds_its_own_alone() {
    let data = splits(100, 9);
    let pooled = partition(109)
        .holding_out(Some(vec![107, 104, 108, 105]))
        .unwrap();
    let tested = partition(100).with_local_tests(0.3, |row| {
        let key = Key {
            row,
            ..Key::default()
        };
        stream(1, Purpose::Partition, key)
    });
    for partition in [partition(100), tested, pooled] {
        let whole = data.clone().apply_partition(&partition);
        for (machines, readers) in [
            (vec![0, 0, 0], vec![0]),
            (vec![0, 1, 0, 1], vec![0, 1]),
            (vec![2, 1, 0], vec![0, 1, 2]),
        ] {
            let ends = deal(&machines, &data, &partition, None);
            for (rank, end) in ends.into_iter().enumerate() {
                let reads = usize::from(readers.contains(&rank));
                assert_eq!(end.readings, reads, "rank {rank} on {machines:?}");
                // Rows lie in blocks.
                let own = share(7, rank, machines.len());
                let kept = partition.of_clients(|client| own.contains(&client)).1;
                let held = end.held.unwrap();
                assert_eq!(*held.train, whole.train.selected(&kept));
                assert_eq!(held.test, whole.test);
                assert_eq!(held.validation, whole.validation);
            }
        }
    }
}

#[test]
fn a_piece_has_gone_on_before_the_next_one_is_read() {
    let data = splits(100, 9);
    let partition = partition(100);
    let ends = deal(&[0, 0], &data, &partition, None);
    let foreign = partition
        .of_clients(|client| share(7, 1, 2).contains(&client))
        .1;
    let sent = &ends[0].sent;
    assert_eq!(sent.len(), 100_usize.div_ceil(STEP));
    for (piece, sent) in sent.iter().enumerate() {
        let end = (piece + 1) * STEP;
        let gone = foreign.iter().filter(|e| (**e as usize) < end).count();
        assert!(*sent >= gone * WIDTH, "after piece {piece}: {sent} bytes");
    }
    // No message is larger than a piece; the messages with the rest of the splits are smaller here.
    let largest = ends[0].largest;
    assert!(largest <= STEP * WIDTH, "{largest} bytes in a message");
}

#[test]
fn ranks_of_a_machine_that_cannot_read_have_nothing() {
    let data = splits(100, 9);
    let ends = deal(&[0, 1, 0, 1], &data, &partition(100), Some(1));
    let held = ends.iter().map(|end| end.held.is_some());
    assert_eq!(held.collect::<Vec<_>>(), [true, false, true, false]);
}

#[test]
fn more_or_fewer_examples_than_were_planned_end_no_rank() {
    for train in [90, 120] {
        let data = splits(train, 9);
        let ends = deal(&[0, 0, 1], &data, &partition(100), None);
        assert!(ends.iter().all(|end| end.held.is_some()));
    }
}

#[test]
fn ranks_that_have_differed_once_say_so_without_another_word() {
    let told = thread::scope(|scope| {
        let ranks = Ranks::in_process(3).into_iter();
        let of = |ranks: Ranks| {
            move || {
                let first = ranks.expect_same_words([1, 7]);
                let second = ranks.expect_same_words([2, u64::from(ranks.rank() == 2)]);
                // One of them never calls it again.
                let third = (ranks.rank() != 1).then(|| ranks.expect_same_words([3, 3]));
                (first, second, third)
            }
        };
        let threads: Vec<_> = ranks.map(|ranks| scope.spawn(of(ranks))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        ends.collect::<Vec<_>>()
    });
    let differs = Some(Err(2));
    let expected = [differs, None, differs].map(|third| (Ok(()), Err(2), third));
    assert_eq!(told, expected);
}
