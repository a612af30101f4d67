//! Pieces of memory that other processes of the machine can read.

use super::{HEADER, LARGE_PAGE, Mapping};
use std::collections::BTreeMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that pieces are multiples of: a page of most systems.
const PAGE: usize = 4096;

/// Bytes of a piece from which on its memory goes back to the system with it.
const LARGE: usize = 1 << 20;

/// Bytes of a piece from which on it begins at a large page and has large pages.
const MANY_PAGES: usize = 2 * LARGE_PAGE;

/// Memory that pieces are cut from: the lowest room that is large enough, so that little is touched.
#[derive(Debug)]
pub(crate) struct Arena {
    mapping: Mapping,
    /// Where nothing is, and how many bytes from there on.
    free: Mutex<BTreeMap<usize, usize>>,
}

/// Floats of an arena. Nobody else in this process has them.
#[derive(Debug)]
pub(crate) struct Piece {
    arena: Arc<Arena>,
    /// The byte of the arena where they begin.
    at: usize,
    floats: usize,
}

impl Arena {
    /// An arena of `bytes` bytes, which takes room as pieces are written to.
    ///
    /// # Errors
    /// Those of [`Mapping::new`].
    pub(crate) fn new(bytes: usize) -> io::Result<Arc<Self>> {
        let mapping = Mapping::new(bytes)?;
        let free = BTreeMap::from([(HEADER, bytes - HEADER)]);
        Ok(Arc::new(Self {
            mapping,
            free: Mutex::new(free),
        }))
    }

    /// The memory itself.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// `floats` floats of any values.
    ///
    /// # Panics
    /// If there is no room: it is as if memory ended.
    pub(crate) fn take(self: &Arc<Self>, floats: usize) -> Piece {
        let bytes = Piece::bytes(floats);
        let (unit, large) = match bytes >= MANY_PAGES {
            true => (LARGE_PAGE, true),
            false => (PAGE, false),
        };
        let fits = |(first, room): (&usize, &usize)| {
            let (at, end) = (first.next_multiple_of(unit), first + room);
            (at + bytes <= end).then_some((*first, at, end))
        };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((first, at, end)) = free.iter().find_map(fits) else {
            panic!("there are no {bytes} bytes left in the memory of this rank");
        };
        free.remove(&first);
        for (from, to) in [(first, at), (at + bytes, end)] {
            if from < to {
                free.insert(from, to - from);
            }
        }
        drop(free);
        if large {
            // SAFETY: nobody has floats there yet.
            unsafe { self.mapping.use_large_pages(at, bytes) };
        }
        Piece {
            arena: self.clone(),
            at,
            floats,
        }
    }

    /// Makes room of `bytes` bytes from `at` on.
    fn leave(&self, mut at: usize, mut bytes: usize) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(after) = free.remove(&(at + bytes)) {
            bytes += after;
        }
        let before = free.range(..at).next_back();
        if let Some((first, room)) = before.map(|(first, room)| (*first, *room))
            && first + room == at
        {
            (at, bytes) = (first, room + bytes);
        }
        free.insert(at, bytes);
    }
}

impl Piece {
    /// The byte of the arena where it begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The arena that it is cut from.
    pub(crate) fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Bytes that `floats` floats take.
    fn bytes(floats: usize) -> usize {
        let bytes = floats.checked_mul(size_of::<f32>());
        let pages = bytes.and_then(|bytes| bytes.max(1).checked_next_multiple_of(PAGE));
        pages.expect("memory has fewer bytes than a word can count")
    }
}

impl Deref for Piece {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: no other piece has these floats, who writes to this one borrows it, and other processes only read.
        unsafe { self.arena.mapping.floats(self.at, self.floats) }
    }
}

impl DerefMut for Piece {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: no other piece has these floats. Other processes read them only while this piece is lent to them, which
        // borrows it.
        unsafe { self.arena.mapping.floats_mut(self.at, self.floats) }
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        let mut copy = self.arena.take(self.floats);
        copy.copy_from_slice(self);
        copy
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let bytes = Self::bytes(self.floats);
        if bytes >= LARGE {
            // SAFETY: the piece is gone, and no other one has its pages.
            unsafe { self.arena.mapping.give_back(self.at, bytes) };
        }
        self.arena.leave(self.at, bytes);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn room(arena: &Arena) -> Vec<(usize, usize)> {
        let free = arena.free.lock().expect("nobody has panicked with it");
        let pages = |(at, bytes): (&usize, &usize)| (at / PAGE, bytes / PAGE);
        free.iter().map(pages).collect()
    }

    #[test]
    fn pieces_do_not_overlap_and_their_room_is_used_again() {
        let arena = Arena::new(HEADER + 8 * PAGE).unwrap();
        let mut pieces: Vec<Piece> = [1, 1024, 1025, 0]
            .into_iter()
            .map(|floats| arena.take(floats))
            .collect();
        assert_eq!(room(&arena), [(6, 3)]);
        for (value, piece) in (1..).zip(&mut pieces) {
            piece.fill(value as f32);
        }
        for (value, piece) in (1..).zip(&pieces) {
            assert!(piece.iter().all(|float| *float == value as f32));
        }
        let copy = pieces[2].clone();
        assert!(copy.at() != pieces[2].at() && *copy == *pieces[2]);
        drop(copy);
        // One between others, one after it, one before it.
        pieces.swap_remove(1);
        assert_eq!(room(&arena), [(2, 1), (6, 3)]);
        assert_eq!(arena.take(5).at(), 2 * PAGE);
        pieces.pop();
        assert_eq!(room(&arena), [(2, 3), (6, 3)]);
        drop(pieces);
        assert_eq!(room(&arena), [(1, 8)]);
    }

    #[test]
    fn large_memory_goes_back_to_the_system() {
        let arena = Arena::new(HEADER + 2 * LARGE).unwrap();
        let (mut large, mut small) = (arena.take(LARGE / 4), arena.take(1));
        (large[7], small[0]) = (1.0, 2.0);
        drop((large, small));
        assert_eq!(arena.take(LARGE / 4)[7], 0.0);
    }

    #[test]
    fn large_pieces_begin_at_large_pages_and_hold_what_is_written() {
        let arena = Arena::new(HEADER + 5 * MANY_PAGES).unwrap();
        let (mut small, mut large) = (arena.take(1), arena.take(MANY_PAGES / 4 + 1));
        small.fill(1.0);
        large.fill(2.0);
        assert!(large.at().is_multiple_of(LARGE_PAGE));
        assert!(small[0] == 1.0 && large.iter().all(|float| *float == 2.0));
        let (copy, more) = (large.clone(), arena.take(1));
        assert!(more.at() < large.at() && *copy == *large);
    }

    #[test]
    #[should_panic(expected = "no 8192 bytes left")]
    fn an_arena_has_an_end() {
        let arena = Arena::new(HEADER + PAGE).unwrap();
        arena.take(PAGE / 4 + 1);
    }
}
