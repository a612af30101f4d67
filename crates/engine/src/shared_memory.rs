//! Memory that processes of one machine share: a file without a name, which each of them maps. The system takes it back with
//! the last of them, however that ends, and it counts as memory of the process that has written it.
//!
//! It is there on Linux. Elsewhere [`Mapping::new`] and [`Mapping::of`] fail.
#![allow(unsafe_code)]

pub(crate) mod arena;
mod system;

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use system::LARGE_PAGE;
pub(crate) use system::memory_of_machine;

/// Bytes at the beginning that are [words](Mapping::word). Floats come after them.
pub(crate) const HEADER: usize = 4096;

/// A file of memory, mapped by several processes.
#[derive(Debug)]
pub(crate) struct Mapping {
    file: File,
    first: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is no thread's; what reads and writes it says so where it does.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Memory of `bytes` bytes, all zero, which takes room as it is written to.
    ///
    /// # Errors
    /// Those of the system, also if it limits the address space or the length of files of this process.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        Self::map(system::create(bytes)?, bytes)
    }

    /// The memory that process `process` has [made](Mapping::new) and knows as `file`.
    ///
    /// # Errors
    /// Those of the system, and if that file is none of `bytes` bytes.
    pub(crate) fn of(process: u32, file: u64, bytes: usize) -> io::Result<Self> {
        let file = system::open(process, file)?;
        let found = file.metadata()?;
        if !found.is_file() || found.len() != bytes as u64 {
            return Err(io::Error::other("this is another file"));
        }
        Self::map(file, bytes)
    }

    fn map(file: File, bytes: usize) -> io::Result<Self> {
        assert!(bytes >= HEADER, "there is room for the words");
        let first = system::map(&file, bytes)?;
        Ok(Self { file, first, bytes })
    }

    /// What this process knows the file as.
    pub(crate) fn number(&self) -> u64 {
        system::number(&self.file)
    }

    /// How large it is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A word that all processes see.
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        assert!(
            index < HEADER / size_of::<AtomicU64>(),
            "there is no such word"
        );
        // SAFETY: the header is mapped as long as `self` lives, pages are aligned, and it is used through atomics alone.
        unsafe { self.first.cast::<AtomicU64>().add(index).as_ref() }
    }

    /// The floats from byte `at` on.
    ///
    /// # Safety
    /// Nobody writes to them while they are lent, in this process or another one.
    ///
    /// # Panics
    /// If they are not all within the memory.
    pub(crate) unsafe fn floats(&self, at: usize, floats: usize) -> &[f32] {
        let first = self.place(at, floats);
        // SAFETY: they are mapped as long as `self` lives, any bits are a float, and nobody writes as the caller promises.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), floats) }
    }

    /// As [`Mapping::floats`], to be changed.
    ///
    /// # Safety
    /// Nobody else reads them or writes to them while they are lent.
    ///
    /// # Panics
    /// If they are not all within the memory.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that nobody else has them"
    )]
    pub(crate) unsafe fn floats_mut(&self, at: usize, floats: usize) -> &mut [f32] {
        let first = self.place(at, floats);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), floats) }
    }

    /// Where the floats from byte `at` on lie.
    ///
    /// # Panics
    /// If they are not all within the memory.
    pub(crate) fn place(&self, at: usize, floats: usize) -> NonNull<f32> {
        let end = floats
            .checked_mul(size_of::<f32>())
            .and_then(|bytes| at.checked_add(bytes));
        assert!(
            at >= HEADER && end.is_some_and(|end| end <= self.bytes),
            "floats lie within the memory"
        );
        assert!(at.is_multiple_of(align_of::<f32>()), "floats are aligned");
        // SAFETY: it is within the memory.
        unsafe { self.first.add(at) }.cast()
    }

    /// Has large pages between byte `at` and `bytes` further on, as far as the system has any: memory that is mixed is read and
    /// written in short pieces of many pages.
    ///
    /// # Safety
    /// Nobody has floats of theirs, whose values may be lost.
    unsafe fn use_large_pages(&self, at: usize, bytes: usize) {
        let pages = (at.next_multiple_of(LARGE_PAGE)..at + bytes).step_by(LARGE_PAGE);
        for page in pages.filter(|page| page + LARGE_PAGE <= at + bytes) {
            // SAFETY: the caller's promise.
            let first = unsafe { self.floats_mut(page, 1) };
            // The system makes a large page of small ones of which one is in use.
            first[0] = 0.0;
            if !system::become_large_page(self.place(page, 1).cast()) {
                return;
            }
        }
    }

    /// Gives whole pages, `bytes` bytes from `at` on, back to the system: they are zero if they are used again. Where the system
    /// cannot do so, they stay as they are.
    ///
    /// # Safety
    /// Nobody has floats of theirs.
    unsafe fn give_back(&self, at: usize, bytes: usize) {
        assert!(
            at >= HEADER && at + bytes <= self.bytes,
            "pages lie within the memory"
        );
        system::give_back(&self.file, at, bytes);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what was lent borrows `self`, so nothing of it is left.
        unsafe { system::unmap(self.first, self.bytes) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn who_maps_the_memory_sees_what_its_maker_writes() {
        let own = Mapping::new(HEADER + 4096).unwrap();
        let other = Mapping::of(std::process::id(), own.number(), own.bytes()).unwrap();
        assert_ne!(own.first, other.first);
        own.word(3).store(7, Ordering::Release);
        // SAFETY: this test alone has the memory, and nothing is read while it is written.
        unsafe { own.floats_mut(HEADER + 8, 2) }.copy_from_slice(&[1.5, 2.5]);
        assert_eq!(other.word(3).load(Ordering::Acquire), 7);
        // SAFETY: as above.
        assert_eq!(unsafe { other.floats(HEADER + 4, 4) }, [0.0, 1.5, 2.5, 0.0]);
        // SAFETY: as above.
        unsafe { own.give_back(HEADER, 4096) };
        // SAFETY: as above.
        assert_eq!(unsafe { other.floats(HEADER + 8, 2) }, [0.0; 2]);
    }

    #[test]
    fn another_file_is_refused() {
        let own = Mapping::new(2 * HEADER).unwrap();
        let process = std::process::id();
        let error = Mapping::of(process, own.number(), HEADER).unwrap_err();
        assert_eq!(error.to_string(), "this is another file");
        let error = Mapping::of(process, u64::MAX, 2 * HEADER).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    #[should_panic(expected = "within the memory")]
    fn floats_beyond_the_end_are_refused() {
        let own = Mapping::new(2 * HEADER).unwrap();
        // SAFETY: this test alone has the memory.
        unsafe { own.floats(HEADER, HEADER / 4 + 1) };
    }
}
