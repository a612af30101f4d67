//! The allocator of the package: large memory begins at a multiple of 64 bytes.
//!
//! XLA, and with it JAX, reads an array without a copy only if it begins at such a multiple. The allocators of most systems promise 16 bytes.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes that large memory begins at a multiple of.
const ALIGNMENT: usize = 64;
/// Bytes from which on memory is large.
const LARGE: usize = 4096;

#[global_allocator]
static ALLOCATOR: Aligned = Aligned;

/// The allocator of the system, asked for aligned memory where it is large.
struct Aligned;

/// What the system is asked for in place of `layout`: a function of the layout alone, so that memory goes back as it came.
fn aligned(layout: Layout) -> Layout {
    match layout.size() < LARGE {
        true => layout,
        false => layout.align_to(ALIGNMENT).unwrap_or(layout),
    }
}

// SAFETY: all is the system's, which is told the same layout when memory comes and when it goes. `realloc` of small memory that stays
// small is told the layout that it came with; that of large memory is the trait's own: ask, copy, give back.
#[allow(
    unsafe_code,
    reason = "an allocator can be written in no other way; it hands everything to the system's"
)]
unsafe impl GlobalAlloc for Aligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is that of `alloc`.
        unsafe { System.alloc(aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(aligned(layout)) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `alloc` asked for this memory with the same layout.
        unsafe { System.dealloc(pointer, aligned(layout)) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE {
            // SAFETY: `alloc` asked for this memory with `layout` as it is.
            return unsafe { System.realloc(pointer, layout, size) };
        }
        // SAFETY: the caller promises that `size` fits the alignment and is not zero.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `pointer` has `layout`, the new memory is another one, and both have the bytes that are copied.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}
