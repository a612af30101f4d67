//! Peer sampling: nodes learn of peers by exchanging the peers that they know.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Fewest others in a view: with fewer, peers tell of themselves alone, and soon know nobody but a few who know them.
pub(super) const LEAST_VIEW: usize = 4;
/// Most others in a view, far more than the thirty of Jelasity et al.
pub(super) const LARGEST_VIEW: usize = 100;

/// The views of some peers: each knows at most `size` others, c.
///
/// At first a peer knows those that follow it in a circle.
///
/// # Source
/// Jelasity et al., *Gossip-based peer sampling* (2007), Fig. 1, which D-Cliques (Bellet et al.), Section III-B, refers to: pushing and
/// pulling, a random peer, H = 0 and S = c/2.
///
/// # Interpretation
/// D-Cliques do not say how views are selected. With S = c/2, swapping, a peer drops first what it has sent, so that views lose little of what
/// peers know. With H > 0 or S = 0 views of four among ten peers fell apart into groups that know nothing of each other. Peers do not fail
/// here, which is what H is for. Without H ages matter only if a peer hears of one that it knows: what it hears counts as younger.
#[derive(Clone, Debug)]
pub(super) struct Views {
    size: usize,
    views: Vec<Vec<usize>>,
}

impl Views {
    /// The views of `peers` peers, two at least, of `size` others each, or of all others if there are fewer.
    pub(super) fn new(peers: usize, size: usize) -> Self {
        let size = size.min(peers - 1);
        let following = |peer| (1..=size).map(move |next| (peer + next) % peers).collect();
        Self {
            size,
            views: (0..peers).map(following).collect(),
        }
    }

    /// Has `peer` exchange views with a random one of those that it knows.
    pub(super) fn exchange(&mut self, peer: usize, rng: &mut ChaCha8Rng) {
        let with = self.sample(peer, rng);
        let (told, heard) = (self.told(peer, rng), self.told(with, rng));
        self.take(with, &told);
        self.take(peer, &heard);
    }

    /// A random peer that `peer` knows.
    pub(super) fn sample(&self, peer: usize, rng: &mut ChaCha8Rng) -> usize {
        let view = &self.views[peer];
        view[rng.random_range(0..view.len())]
    }

    /// What `peer` tells another: itself, and c/2 - 1 random peers of its view, which then stand first in the view.
    fn told(&mut self, peer: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let others = (self.size / 2).saturating_sub(1);
        let view = &mut self.views[peer];
        view.shuffle(rng);
        view.iter().take(others).copied().chain([peer]).collect()
    }

    /// Adds what `peer` was `told` to its view, and drops the surplus from those that stand first.
    fn take(&mut self, peer: usize, told: &[usize]) {
        let view = &mut self.views[peer];
        view.retain(|known| !told.contains(known));
        view.extend(told.iter().filter(|other| **other != peer));
        view.drain(..view.len().saturating_sub(self.size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The peers that can be reached from peer 0, over who knows whom in either direction.
    fn reached(views: &Views) -> usize {
        let mut reached = vec![false; views.views.len()];
        let mut last = 0;
        reached[0] = true;
        loop {
            for (peer, view) in views.views.iter().enumerate() {
                if reached[peer] || view.iter().any(|known| reached[*known]) {
                    reached[peer] = true;
                    view.iter().for_each(|known| reached[*known] = true);
                }
            }
            let now = reached.iter().filter(|reached| **reached).count();
            if now == last {
                return now;
            }
            last = now;
        }
    }

    #[test]
    fn a_peer_knows_others_and_none_twice() {
        for (peers, size) in [(2, 8), (3, 4), (4, 8), (20, 8), (20, 5), (100, 12)] {
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            let mut views = Views::new(peers, size);
            for step in 0..20 * peers {
                views.exchange(step % peers, &mut rng);
            }
            for (peer, view) in views.views.iter().enumerate() {
                let mut known = view.clone();
                known.sort_unstable();
                known.dedup();
                assert_eq!(known.len(), size.min(peers - 1));
                assert!(!known.contains(&peer));
            }
        }
    }

    /// With H = 1 and S = 0 most views of four would, of ten peers and of a hundred.
    #[test]
    fn views_do_not_fall_apart() {
        for (peers, size) in [
            (10, LEAST_VIEW),
            (10, 5),
            (10, 8),
            (100, LEAST_VIEW),
            (100, 8),
        ] {
            for seed in 0..20 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut views = Views::new(peers, size);
                for _ in 0..10_000 {
                    views.exchange(rng.random_range(0..peers), &mut rng);
                }
                assert_eq!(reached(&views), peers, "view {size}, seed {seed}");
            }
        }
    }

    #[test]
    fn every_peer_is_met_about_as_often_by_everybody() {
        for (peers, size) in [(10, LEAST_VIEW), (10, 8), (50, LEAST_VIEW), (50, 8)] {
            let mut rng = ChaCha8Rng::seed_from_u64(4);
            let mut views = Views::new(peers, size);
            let mut met = vec![vec![0.0; peers]; peers];
            let rounds = 200 * peers;
            for _ in 0..rounds {
                for peer in 0..peers {
                    views.exchange(peer, &mut rng);
                    met[peer][views.sample(peer, &mut rng)] += 1.0;
                }
            }
            // Counts are about 200. They vary more than independent draws, as views change little by little.
            let expected = rounds as f64 / (peers - 1) as f64;
            for (peer, met) in met.iter().enumerate() {
                for (other, count) in met.iter().enumerate().filter(|(other, _)| *other != peer) {
                    let share = count / expected;
                    assert!(
                        (0.5..1.5).contains(&share),
                        "view {size}: {peer} {other} {share}"
                    );
                }
            }
            for other in 0..peers {
                let total: f64 = met.iter().map(|met| met[other]).sum();
                let share = total / rounds as f64;
                assert!((0.9..1.1).contains(&share), "view {size}: {other} {share}");
            }
        }
    }
}
