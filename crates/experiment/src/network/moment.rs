//! Where and when an exchange happens, and the draws that belong to it.

use meshfold_engine::{Key, Purpose, stream};
use meshfold_topology::Overlay;

use super::distribution::Distribution;
use super::redraw::Redraw;

/// An exchange's place in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'a> {
    /// Clients `N`; the nodes from `N` on are servers.
    pub(super) clients: usize,
    /// Seed of what is drawn for the network.
    pub(super) seed: u64,
    /// Communication round, 1-based.
    pub(super) round: u64,
    /// Seconds since the start of the run.
    pub(super) seconds: f64,
    /// The graph of an exchange among all neighbours.
    pub(super) overlay: Option<&'a Overlay>,
}

impl Moment<'_> {
    /// Whether `node` is a server.
    pub(super) fn is_server(&self, node: u32) -> bool {
        node as usize >= self.clients
    }

    /// Which entry of a list is that of `node`, which counts among its own kind.
    pub(super) fn index(&self, node: u32) -> usize {
        let node = node as usize;
        node.checked_sub(self.clients).unwrap_or(node)
    }

    /// The round that a draw belongs to.
    pub(super) fn drawn_in(&self, redraw: Redraw) -> u64 {
        match redraw {
            Redraw::Never => 0,
            Redraw::EachRound => self.round,
        }
    }
}

/// What is drawn; each has streams of its own.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(super) enum Drawn {
    Slowdown = 0,
    Upload = 1,
    Download = 2,
    ServerToClients = 3,
    ServerToServers = 4,
    Edge = 5,
    StepOfRound = 6,
}

/// The number of `index` in `distribution`, drawn in `round`, 0 for a draw that stays.
pub(super) fn draw(
    distribution: &Distribution,
    drawn: Drawn,
    index: usize,
    seed: u64,
    round: u64,
) -> f64 {
    let key = Key {
        round,
        row: index as u32,
        step: 0,
        layer: drawn as u32,
    };
    distribution.draw(index, &mut stream(seed, Purpose::Network, key))
}

/// The number of the edge `a`-`b`, the same both ways.
pub(super) fn draw_edge(
    distribution: &Distribution,
    (a, b): (u32, u32),
    seed: u64,
    round: u64,
) -> f64 {
    let key = Key {
        round,
        row: a.min(b),
        step: a.max(b),
        layer: Drawn::Edge as u32,
    };
    distribution.draw(0, &mut stream(seed, Purpose::Network, key))
}
