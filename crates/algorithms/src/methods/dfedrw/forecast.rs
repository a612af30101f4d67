//! How many messages a round of random walks is expected to cause.

use super::Dfedrw;
use super::walk::{Aggregators, Source, WalkRows};
use crate::aggregation::messages_to;
use crate::participation::share_of;
use meshfold_topology::{MetropolisHastings, Overlay};

/// For complete overlays of at most so many nodes the edges are summed one by one; above, there is a closed form.
const LISTED_NODES: usize = 20_000;

impl Dfedrw {
    /// Expected messages of a round in which all clients are alive.
    ///
    /// Walks begin uniformly, and (7) keeps that distribution. So hops, one after every visit, and averages over
    /// neighbours are exact. Where `visited` clients or `walk_ends` are averaged, visits are treated as independent.
    pub(crate) fn messages(&self, overlay: &Overlay) -> f64 {
        let hops = self.walkers as f64 * f64::from(self.hops) * moving(overlay);
        let clients = overlay.nodes() as f64;
        let walkers = self.walkers as f64;
        let averages = if self.rows == WalkRows::Walkers {
            let apart = if self.hops > 1 {
                1.0 - 1.0 / clients
            } else {
                1.0
            };
            walkers * self.averaged(walkers - 1.0, self.include_self) * apart
        } else {
            let aggregating = match self.aggregators {
                Aggregators::All => clients,
                Aggregators::Share(share) => share_of(share, overlay.nodes()) as f64,
                Aggregators::WalkEnds => self.ends(clients),
            };
            aggregating * self.to_each(overlay)
        };
        hops + averages
    }

    /// Messages to one averaging client.
    fn to_each(&self, overlay: &Overlay) -> f64 {
        let clients = overlay.nodes() as f64;
        let sources = match self.from {
            Source::Neighbours => {
                let to =
                    |node| messages_to(overlay.degree(node), self.neighbours, self.include_self);
                return (0..overlay.nodes()).map(to).sum::<f64>() / clients;
            }
            Source::Visited => {
                let walkers = self.walkers as f64;
                let later = walkers * f64::from(self.hops - 1);
                clients - (clients - walkers) * (1.0 - 1.0 / clients).powf(later)
            }
            Source::WalkEnds => self.ends(clients),
        };
        // Whoever averages because a walk ended there is among the sources.
        let surely = match self.aggregators {
            Aggregators::WalkEnds => 1.0,
            Aggregators::All | Aggregators::Share(_) => sources / clients,
        };
        surely * self.averaged(sources - 1.0, self.include_self)
            + (1.0 - surely) * self.averaged(sources, false)
    }

    /// Messages to a client that draws from `others` and, if `own`, itself.
    fn averaged(&self, others: f64, own: bool) -> f64 {
        let candidates = others + f64::from(u8::from(own));
        let most = self.neighbours.map_or(f64::INFINITY, |most| most as f64);
        if candidates > most {
            most * others / candidates
        } else {
            others
        }
    }

    /// The expected number of clients at which walks end.
    fn ends(&self, clients: f64) -> f64 {
        let walkers = self.walkers as f64;
        if self.hops == 1 {
            return walkers;
        }
        clients * (1.0 - (1.0 - 1.0 / clients).powf(walkers))
    }
}

/// Probability that a walker at a client drawn uniformly moves on, by (7).
fn moving(overlay: &Overlay) -> f64 {
    if overlay.is_complete() && overlay.nodes() > LISTED_NODES {
        return 1.0 - 1.0 / overlay.nodes() as f64;
    }
    let both_ways =
        |(a, b): (u32, u32)| 2.0 * MetropolisHastings::weight(overlay, a as usize, b as usize);
    overlay.edges().map(both_ways).sum::<f64>() / overlay.nodes() as f64
}
