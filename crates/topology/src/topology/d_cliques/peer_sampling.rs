//! Peers that nodes know of, by exchanging whom they know.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;

/// A peer in somebody's view.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    peer: usize,
    /// Exchanges of the view since the peer told of itself.
    age: u32,
}

/// What each of some peers knows of the others: a view of at most `size` of them.
///
/// At first a peer knows those that follow it in a circle.
///
/// # Source
/// Jelasity et al., *Gossip-based peer sampling* (2007), which D-Cliques (Bellet et al.), Section III-B, refers to: pushing and pulling,
/// a random peer, H = 1, S = 0.
#[derive(Clone, Debug)]
pub(super) struct Views {
    size: usize,
    views: Vec<Vec<Known>>,
}

impl Views {
    /// The views of `peers` peers, two at least, of `size` others each, at least one.
    pub(super) fn new(peers: usize, size: usize) -> Self {
        let size = size.clamp(1, peers - 1);
        let known = |peer: usize| {
            move |next| Known {
                peer: (peer + next) % peers,
                age: 0,
            }
        };
        let views = (0..peers).map(|peer| (1..=size).map(known(peer)).collect());
        Self {
            size,
            views: views.collect(),
        }
    }

    /// Has `peer` exchange views with a random one of those that it knows.
    pub(super) fn exchange(&mut self, peer: usize, rng: &mut ChaCha8Rng) {
        let with = self.sample(peer, rng);
        let (told, heard) = (self.told(peer, rng), self.told(with, rng));
        self.take(with, &told, rng);
        self.take(peer, &heard, rng);
    }

    /// A random one of those that `peer` knows.
    pub(super) fn sample(&self, peer: usize, rng: &mut ChaCha8Rng) -> usize {
        let view = &self.views[peer];
        view[rng.random_range(0..view.len())].peer
    }

    /// What `peer` tells another: itself, and a random half of whom it knows.
    fn told(&self, peer: usize, rng: &mut ChaCha8Rng) -> Vec<Known> {
        let half = self.views[peer].sample(rng, self.size.div_ceil(2)).copied();
        half.chain([Known { peer, age: 0 }]).collect()
    }

    /// `peer` takes what it was `told` into its view, and drops the oldest and then any of what is too much.
    fn take(&mut self, peer: usize, told: &[Known], rng: &mut ChaCha8Rng) {
        let view = &mut self.views[peer];
        for known in told {
            match view.iter_mut().find(|other| other.peer == known.peer) {
                Some(other) => other.age = other.age.min(known.age),
                None if known.peer != peer => view.push(*known),
                None => {}
            }
        }
        if view.len() > self.size
            && let Some(oldest) = (0..view.len()).max_by_key(|place| view[*place].age)
        {
            view.swap_remove(oldest);
        }
        view.shuffle(rng);
        view.truncate(self.size);
        view.iter_mut().for_each(|known| known.age += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_peer_knows_others_and_none_twice() {
        for (peers, size) in [(2, 8), (3, 1), (20, 8), (100, 12)] {
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            let mut views = Views::new(peers, size);
            for step in 0..20 * peers {
                views.exchange(step % peers, &mut rng);
            }
            for (peer, view) in views.views.iter().enumerate() {
                let mut known: Vec<usize> = view.iter().map(|known| known.peer).collect();
                known.sort_unstable();
                known.dedup();
                assert_eq!(known.len(), size.min(peers - 1));
                assert!(!known.contains(&peer));
            }
        }
    }

    #[test]
    fn every_peer_is_met_about_as_often() {
        let peers = 50;
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut views = Views::new(peers, 8);
        let mut met = vec![0.0; peers];
        let rounds = 4000;
        for _ in 0..rounds {
            for peer in 0..peers {
                views.exchange(peer, &mut rng);
                met[views.sample(peer, &mut rng)] += 1.0;
            }
        }
        let expected = f64::from(rounds);
        assert!(
            met.iter()
                .all(|count| (count / expected - 1.0).abs() < 0.15),
            "{met:?}"
        );
        // Peer 0 meets all others, not those alone that it knew at first.
        let mut of_first = vec![false; peers];
        for _ in 0..2000 {
            (0..peers).for_each(|peer| views.exchange(peer, &mut rng));
            of_first[views.sample(0, &mut rng)] = true;
        }
        assert_eq!(of_first.iter().filter(|met| **met).count(), peers - 1);
    }
}
