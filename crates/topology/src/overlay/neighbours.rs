//! The nodes that one node is linked with.

use std::iter::Chain;
use std::slice::Iter;

/// The neighbours of a node, ascending.
///
/// In a complete overlay they are all nodes but the node itself. They are then two slices of one list that all nodes
/// share; in other overlays they are one slice, and the other is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighbours<'a> {
    first: &'a [u32],
    second: &'a [u32],
}

impl<'a> Neighbours<'a> {
    /// All nodes of `list`, ascending.
    pub(super) fn all(list: &'a [u32]) -> Self {
        Self {
            first: list,
            second: &[],
        }
    }

    /// All nodes of `list`, ascending, but `node`.
    pub(super) fn all_but(node: u32, list: &'a [u32]) -> Self {
        match place_of(node, list) {
            Ok(place) => Self {
                first: &list[..place],
                second: &list[place + 1..],
            },
            Err(_) => Self::all(list),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours, ascending.
    pub fn iter(&self) -> Chain<Iter<'a, u32>, Iter<'a, u32>> {
        self.first.iter().chain(self.second)
    }

    /// Whether `node` is one of them, in O(log n).
    #[must_use]
    pub fn contains(&self, node: &u32) -> bool {
        let is_in = |list: &[u32]| list.binary_search(node).is_ok();
        is_in(self.first) || is_in(self.second)
    }

    /// The neighbour at `place`, counted from 0 in ascending order.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<u32> {
        let found = match place.checked_sub(self.first.len()) {
            None => self.first.get(place),
            Some(place) => self.second.get(place),
        };
        found.copied()
    }

    /// The neighbours as a list.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u32> {
        [self.first, self.second].concat()
    }

    /// Those that are greater than `node`.
    pub(super) fn above(self, node: u32) -> Self {
        let rest = |list: &'a [u32]| &list[list.partition_point(|other| *other <= node)..];
        Self {
            first: rest(self.first),
            second: rest(self.second),
        }
    }
}

/// The place of `node` in an ascending list, or where it would stand. In a list of all nodes each stands at its number.
pub(super) fn place_of(node: u32, list: &[u32]) -> Result<usize, usize> {
    let number = node as usize;
    match list.get(number) {
        Some(found) if *found == node => Ok(number),
        _ => list.binary_search(&node),
    }
}

impl<'a> IntoIterator for Neighbours<'a> {
    type Item = &'a u32;
    type IntoIter = Chain<Iter<'a, u32>, Iter<'a, u32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &Neighbours<'a> {
    type Item = &'a u32;
    type IntoIter = Chain<Iter<'a, u32>, Iter<'a, u32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Neighbours<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<const N: usize> PartialEq<[u32; N]> for Neighbours<'_> {
    fn eq(&self, other: &[u32; N]) -> bool {
        self.iter().eq(other)
    }
}

impl PartialEq<Vec<u32>> for Neighbours<'_> {
    fn eq(&self, other: &Vec<u32>) -> bool {
        self.iter().eq(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_are_what_is_left_of_the_list() {
        let list = [1, 3, 4, 8];
        let of = |node| Neighbours::all_but(node, &list);
        assert_eq!(of(1), [3, 4, 8]);
        assert_eq!(of(4), [1, 3, 8]);
        assert_eq!(of(8), [1, 3, 4]);
        assert_eq!(of(5), [1, 3, 4, 8]);
        assert_eq!((of(4).len(), of(5).len()), (3, 4));
        assert!(of(4).contains(&8) && !of(4).contains(&4) && !of(4).contains(&2));
        assert_eq!(
            [0, 1, 2, 3].map(|place| of(4).get(place)),
            [Some(1), Some(3), Some(8), None]
        );
        assert_eq!(of(3).to_vec(), [1, 4, 8]);
        assert_eq!(of(3).above(3), [4, 8]);
        assert_eq!(of(3).above(4), [8]);
        assert!(Neighbours::default().is_empty());
    }
}
