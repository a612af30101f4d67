//! Where nodes stand on the rings, and how far apart.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Names a node for good: a node that is gone does not come back under its address.
///
/// A message that brings an address brings the coordinates of its node with it; they never change, so
/// [`Coordinates`] keeps them once for all.
pub(super) type Address = u32;

/// One of the two neighbours that a node has on every ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The neighbour with the next smaller coordinate, 0 and 1 being one point.
    Previous,
    /// The neighbour with the next larger coordinate.
    Next,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Previous, Self::Next];

    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Previous => Self::Next,
            Self::Next => Self::Previous,
        }
    }
}

/// A side of a node on one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) space: usize,
    pub(super) side: Side,
}

impl Slot {
    /// Every slot of a node on `spaces` rings.
    pub(super) fn all(spaces: usize) -> impl Iterator<Item = Self> {
        (0..spaces).flat_map(|space| Side::BOTH.map(|side| Self { space, side }))
    }

    /// The slot in which the neighbour in this slot holds this node.
    pub(super) fn opposite(self) -> Self {
        Self {
            side: self.side.opposite(),
            ..self
        }
    }

    /// Position in [`Slot::all`].
    pub(super) fn index(self) -> usize {
        2 * self.space + usize::from(self.side == Side::Next)
    }
}

/// The virtual coordinates of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// Of every ring, by address, in 0..1.
    spaces: Vec<Vec<f64>>,
}

impl Coordinates {
    /// Coordinates of `nodes` nodes, drawn ring by ring as [`VirtualRings`](crate::VirtualRings) does.
    pub(super) fn draw(nodes: usize, spaces: usize, draws: &mut ChaCha8Rng) -> Self {
        let mut ring = || (0..nodes).map(|_| draws.random()).collect();
        Self {
            spaces: (0..spaces).map(|_| ring()).collect(),
        }
    }

    /// Draws the coordinates of one more node, and returns its address.
    pub(super) fn add(&mut self, draws: &mut ChaCha8Rng) -> Address {
        for ring in &mut self.spaces {
            ring.push(draws.random());
        }
        (self.nodes() - 1) as Address
    }

    pub(super) fn nodes(&self) -> usize {
        self.spaces[0].len()
    }

    pub(super) fn spaces(&self) -> usize {
        self.spaces.len()
    }

    pub(super) fn of(&self, space: usize, node: Address) -> f64 {
        self.spaces[space][node as usize]
    }

    /// How far one goes around the ring of `slot`, towards its side, from one node to another; in 0..1.
    pub(super) fn along(&self, slot: Slot, from: Address, to: Address) -> f64 {
        let (from, to) = (self.of(slot.space, from), self.of(slot.space, to));
        match slot.side {
            Side::Next => (to - from).rem_euclid(1.0),
            Side::Previous => (from - to).rem_euclid(1.0),
        }
    }

    /// The shorter way around the ring between two nodes; at most one half.
    pub(super) fn circular(&self, space: usize, a: Address, b: Address) -> f64 {
        let apart = (self.of(space, a) - self.of(space, b)).abs();
        apart.min(1.0 - apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_one_are_the_same_point() {
        let coordinates = Coordinates {
            spaces: vec![vec![0.9, 0.1, 0.5]],
        };
        let [previous, next] = Side::BOTH.map(|side| Slot { space: 0, side });
        let is_near = |distance: f64, expected: f64| (distance - expected).abs() < 1e-12;
        assert!(is_near(coordinates.along(next, 0, 1), 0.2));
        assert!(is_near(coordinates.along(previous, 0, 1), 0.8));
        assert!(is_near(coordinates.along(previous, 1, 0), 0.2));
        assert!(is_near(coordinates.circular(0, 0, 1), 0.2));
        assert!(is_near(coordinates.circular(0, 1, 2), 0.4));
        assert_eq!((previous.index(), next.index()), (0, 1));
        assert_eq!(
            Slot::all(2).map(Slot::index).collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
    }
}
