//! Reuses the memory of dropped rows for new ones. Methods that hold a copy of all models during a round would
//! otherwise ask the system for it anew in each.

use super::row_memory::RowMemory;
use crate::shared_memory::arena::Arena;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Floats from which on memory is kept; the allocator keeps what is smaller.
const KEPT: usize = 1 << 18;

/// Memory that no rows hold, and where more comes from.
#[derive(Debug, Default)]
pub(crate) struct Recycled {
    kept: Mutex<Vec<RowMemory>>,
    /// Where other ranks can read it; `None` if it is for this process alone.
    arena: Option<Arc<Arena>>,
}

impl Recycled {
    /// All memory is to come from `arena`.
    pub(super) fn from_arena(arena: Arc<Arena>) -> Self {
        Self {
            kept: Mutex::default(),
            arena: Some(arena),
        }
    }

    /// Memory of `size` floats, of any values.
    pub(crate) fn unwritten(&self, size: usize) -> RowMemory {
        match (self.take(size), &self.arena) {
            (Some(kept), _) => kept,
            (None, Some(arena)) => arena.take(size).into(),
            (None, None) => vec![0.0; size].into(),
        }
    }

    /// Memory of `size` zeros.
    pub(crate) fn zeros(&self, size: usize) -> RowMemory {
        match (self.take(size), &self.arena) {
            // The system has zeros at hand.
            (None, None) => vec![0.0; size].into(),
            (kept, _) => {
                let mut zeros = kept.unwrap_or_else(|| self.unwritten(size));
                zeros.fill(0.0);
                zeros
            }
        }
    }

    /// Memory that holds `values`.
    pub(crate) fn copy_of(&self, values: &[f32]) -> RowMemory {
        match (self.take(values.len()), &self.arena) {
            (None, None) => values.to_vec().into(),
            (kept, _) => {
                let mut copy = kept.unwrap_or_else(|| self.unwritten(values.len()));
                copy.copy_from_slice(values);
                copy
            }
        }
    }

    /// Memory of `size` floats, with what it last held. If there is none, pieces that are no larger go back to the system
    /// instead.
    fn take(&self, size: usize) -> Option<RowMemory> {
        let mut kept = self.lock();
        let place = kept.iter().position(|memory| memory.len() == size);
        if place.is_none() {
            kept.retain(|memory| memory.len() > size);
        }
        place.map(|place| kept.swap_remove(place))
    }

    /// Keeps `memory`, unless it is small. Pieces of about its size, but not of it, go back to the system: where sizes vary
    /// from call to call, no more than one of them is kept.
    pub(crate) fn put(&self, memory: RowMemory) {
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

    fn lock(&self) -> MutexGuard<'_, Vec<RowMemory>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(units: usize) -> RowMemory {
        vec![0.0; units * KEPT].into()
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
        recycled.put(vec![0.0; KEPT - 1].into());
        assert!(recycled.take(KEPT - 1).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_comes_from_an_arena_holds_what_is_asked_for() {
        let arena = Arena::new(1 << 23).unwrap();
        let recycled = Recycled::from_arena(arena);
        for size in [3, KEPT] {
            let mut first = recycled.unwritten(size);
            first.fill(7.0);
            recycled.put(first);
            let zeros = recycled.zeros(size);
            assert!(zeros.piece().is_some() && zeros.iter().all(|float| *float == 0.0));
            let copy = recycled.copy_of(&vec![2.0; size]);
            assert!(copy.piece().is_some() && copy.iter().all(|float| *float == 2.0));
        }
    }
}
