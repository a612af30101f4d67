//! Ranks that are threads of one process. No message is lost and none overtakes another, as with MPI.

use super::transport::{Counter, Transport};
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// A message from one rank to another.
#[derive(Debug)]
enum Message {
    Floats(Vec<f32>),
    Words(Vec<u64>),
    Bytes(Vec<u8>),
    Abort(String),
}

/// One of several threads, with a channel to and from each.
pub(crate) struct InProcess {
    rank: usize,
    to: Vec<Mutex<Sender<Message>>>,
    from: Vec<Mutex<Receiver<Message>>>,
    readers: Vec<usize>,
    counter: Counter,
}

/// Connected ranks, one for each item of `machines`: rank `i` acts as if it were on machine `machines[i]`.
pub(crate) fn connected(machines: &[usize]) -> Vec<InProcess> {
    let count = machines.len();
    let first = |machine| machines.iter().position(|of_rank| of_rank == machine);
    let readers: Vec<usize> = machines.iter().filter_map(first).collect();
    let mut ends: Vec<Vec<Option<Receiver<Message>>>> = Vec::new();
    ends.resize_with(count, Vec::new);
    let mut to = Vec::new();
    for _ in 0..count {
        let mut own = Vec::new();
        for end in &mut ends {
            let (sender, receiver) = channel();
            own.push(Mutex::new(sender));
            end.push(Some(receiver));
        }
        to.push(own);
    }
    let ranks = to.into_iter().zip(ends).enumerate();
    ranks
        .map(|(rank, (to, from))| InProcess {
            rank,
            to,
            from: from.into_iter().flatten().map(Mutex::new).collect(),
            readers: readers.clone(),
            counter: Counter::default(),
        })
        .collect()
}

impl InProcess {
    fn put(&self, rank: usize, message: Message) {
        let channel = self.to[rank].lock().unwrap_or_else(PoisonError::into_inner);
        if channel.send(message).is_err() {
            panic!("rank {rank} is gone");
        }
    }

    fn next(&self, rank: usize) -> Message {
        let channel = self.from[rank].lock();
        let received = channel.unwrap_or_else(PoisonError::into_inner).recv();
        match received {
            Ok(Message::Abort(reason)) => panic!("rank {rank} cannot go on: {reason}"),
            Ok(message) => message,
            Err(_) => panic!("rank {rank} is gone"),
        }
    }

    fn words_of(&self, rank: usize) -> Vec<u64> {
        match self.next(rank) {
            Message::Words(words) => words,
            other => panic!("rank {rank} is elsewhere: it sends {other:?}"),
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank;
        (0..self.to.len()).filter(move |rank| *rank != own)
    }
}

impl Transport for InProcess {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, to: &[&[f32]], from: &mut [&mut [f32]], work: &mut dyn FnMut() -> bool) {
        for rank in self.others().filter(|rank| !to[*rank].is_empty()) {
            self.counter.add(to[rank]);
            self.put(rank, Message::Floats(to[rank].to_vec()));
        }
        while work() {}
        for rank in self.others() {
            if from[rank].is_empty() {
                continue;
            }
            match self.next(rank) {
                Message::Floats(floats) => from[rank].copy_from_slice(&floats),
                other => panic!("rank {rank} is elsewhere: it sends {other:?}"),
            }
        }
    }

    fn all_gather(&self, own: &[u64], lengths: &[usize]) -> Vec<Vec<u64>> {
        for rank in self.others() {
            self.put(rank, Message::Words(own.to_vec()));
        }
        let of_rank = |rank| match rank == self.rank {
            true => own.to_vec(),
            false => self.words_of(rank),
        };
        let all: Vec<Vec<u64>> = (0..self.to.len()).map(of_rank).collect();
        let found: Vec<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(
            found, lengths,
            "ranks have as many words as is known of them"
        );
        all
    }

    fn broadcast(&self, words: &mut [u64]) {
        match self.rank {
            0 => self
                .others()
                .for_each(|rank| self.put(rank, Message::Words(words.to_vec()))),
            _ => words.copy_from_slice(&self.words_of(0)),
        }
    }

    fn send(&self, rank: usize, bytes: &[u8]) {
        self.put(rank, Message::Bytes(bytes.to_vec()));
    }

    fn receive(&self, rank: usize) -> Vec<u8> {
        match self.next(rank) {
            Message::Bytes(bytes) => bytes,
            other => panic!("rank {rank} is elsewhere: it sends {other:?}"),
        }
    }

    fn readers(&self) -> Vec<usize> {
        self.readers.clone()
    }

    fn abort(&self, reason: &str) -> ! {
        for rank in self.others() {
            let channel = self.to[rank].lock().unwrap_or_else(PoisonError::into_inner);
            // A rank that has left need not be told.
            channel.send(Message::Abort(reason.to_owned())).ok();
        }
        panic!("rank {} cannot go on: {reason}", self.rank)
    }

    fn counter(&self) -> &Counter {
        &self.counter
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InProcess({} of {})", self.rank, self.to.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// What `work` returns on each of `count` ranks.
    fn on_each<T: Send>(count: usize, work: impl Fn(&InProcess) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let ranks = connected(&vec![0; count]).into_iter();
            let work = &work;
            let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || work(&rank))).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, T>| thread.join().unwrap();
            threads.into_iter().map(join).collect()
        })
    }

    #[test]
    fn each_rank_gets_what_the_others_send_it() {
        let found = on_each(3, |rank| {
            let own = rank.rank as f32;
            let to = [[own, 0.0], [own, 1.0], [own, 2.0]];
            let mut from = [[9.0; 2]; 3];
            let sent: Vec<&[f32]> = to.iter().map(<[f32; 2]>::as_slice).collect();
            let mut received: Vec<&mut [f32]> =
                from.iter_mut().map(<[f32; 2]>::as_mut_slice).collect();
            let mut left = 3;
            rank.exchange(&sent, &mut received, &mut || {
                left -= 1;
                left > 0
            });
            assert_eq!(left, 0);
            (from, rank.counter.sent())
        });
        for (own, (from, sent)) in found.into_iter().enumerate() {
            let expected = |rank: usize| match rank == own {
                true => [9.0; 2],
                false => [rank as f32, own as f32],
            };
            assert_eq!(from, [0, 1, 2].map(expected));
            assert_eq!((sent.messages, sent.bytes), (2, 16));
        }
    }

    #[test]
    fn words_of_all_ranks_come_in_their_order() {
        let found = on_each(4, |rank| {
            let own = vec![rank.rank as u64; rank.rank];
            let mut told = [rank.rank as u64 + 7];
            rank.broadcast(&mut told);
            (rank.all_gather(&own, &[0, 1, 2, 3]), told)
        });
        for (all, told) in found {
            assert_eq!(all, [vec![], vec![1], vec![2; 2], vec![3; 3]]);
            assert_eq!(told, [7]);
        }
    }

    #[test]
    fn bytes_go_from_the_reader_of_a_machine_to_the_others_there() {
        let found = thread::scope(|scope| {
            let ranks = connected(&[4, 2, 4]).into_iter();
            let threads: Vec<_> = ranks
                .map(|rank| {
                    scope.spawn(move || match (rank.rank, rank.readers()[rank.rank]) {
                        (0, 0) => {
                            Transport::send(&rank, 2, &[1, 2]);
                            Vec::new()
                        }
                        (_, reader) if reader != rank.rank => Transport::receive(&rank, reader),
                        _ => vec![9],
                    })
                })
                .collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect::<Vec<_>>()
        });
        assert_eq!(found, [vec![], vec![9], vec![1, 2]]);
    }

    #[test]
    fn a_rank_that_gives_up_ends_the_others() {
        let ends = thread::scope(|scope| {
            let ranks = connected(&[0; 2]).into_iter();
            let threads: Vec<_> = ranks
                .map(|rank| {
                    scope.spawn(move || match rank.rank {
                        1 => rank.abort("the disk is full"),
                        _ => rank.all_gather(&[], &[0, 0]),
                    })
                })
                .collect();
            let ends = threads.into_iter().map(|thread| thread.join());
            ends.map(|end| *end.unwrap_err().downcast::<String>().unwrap())
                .collect::<Vec<_>>()
        });
        assert_eq!(ends, ["rank 1 cannot go on: the disk is full"; 2]);
    }
}
