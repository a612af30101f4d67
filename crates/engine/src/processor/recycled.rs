//! Memory of rows that are gone, for those that come: methods that hold a copy of all models during a round would ask the
//! system for it anew in each.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Floats from which on memory is kept; the allocator keeps what is smaller.
const KEPT: usize = 1 << 18;

/// Memory that no rows hold.
#[derive(Debug, Default)]
pub(crate) struct Recycled(Mutex<Vec<Vec<f32>>>);

impl Recycled {
    /// Memory of `size` floats, with what it last held. If there is none, pieces that are no larger go back to the system
    /// instead.
    pub(crate) fn take(&self, size: usize) -> Option<Vec<f32>> {
        let mut kept = self.lock();
        let place = kept.iter().position(|memory| memory.len() == size);
        if place.is_none() {
            kept.retain(|memory| memory.len() > size);
        }
        place.map(|place| kept.swap_remove(place))
    }

    /// Keeps `memory`, unless it is small. Pieces of about its size, but not of it, go back to the system: where sizes vary
    /// from call to call, no more than one of them is kept.
    pub(crate) fn put(&self, memory: Vec<f32>) {
        let size = memory.len();
        if size < KEPT {
            return;
        }
        let mut kept = self.lock();
        kept.retain(|other| {
            let other = other.len();
            other == size || other >= 2 * size || size >= 2 * other
        });
        kept.push(memory);
    }

    /// Gives all of it back to the system.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<f32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(units: usize) -> Vec<f32> {
        vec![0.0; units * KEPT]
    }

    #[test]
    fn memory_is_found_again_by_its_size() {
        let recycled = Recycled::default();
        recycled.put(memory(2));
        assert!(recycled.take(1).is_none());
        assert!(recycled.take(2 * KEPT).is_some() && recycled.take(2 * KEPT).is_none());
        recycled.put(memory(2));
        recycled.clear();
        assert!(recycled.take(2 * KEPT).is_none());
    }

    #[test]
    fn smaller_pieces_are_given_back_before_more_is_asked_for() {
        let recycled = Recycled::default();
        recycled.put(memory(1));
        recycled.put(memory(3));
        assert!(recycled.take(2 * KEPT).is_none());
        assert!(recycled.take(KEPT).is_none());
        assert!(recycled.take(3 * KEPT).is_some());
    }

    #[test]
    fn of_sizes_that_vary_the_last_is_kept() {
        let recycled = Recycled::default();
        for units in [3, 9, 10, 10, 8] {
            recycled.put(memory(units));
        }
        let mut kept = |units: usize| recycled.take(units * KEPT).is_some();
        assert_eq!([8, 3, 9, 10].map(&mut kept), [true, true, false, false]);
    }

    #[test]
    fn what_is_small_is_not_kept() {
        let recycled = Recycled::default();
        recycled.put(vec![0.0; KEPT - 1]);
        assert!(recycled.take(KEPT - 1).is_none());
    }
}
