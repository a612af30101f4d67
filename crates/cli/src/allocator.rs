//! The allocator of the program.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 3, which the bindings do not name.
const PURGE_DELAY: mi_option_t = 15;

/// How long free memory is kept.
const MILLISECONDS: c_long = 10;

/// Returns free memory to the system after 10 ms instead of a second. Otherwise a run holds up to a third more than it
/// needs, because training begins before the memory of planning and reading is returned.
#[allow(unsafe_code)]
pub(crate) fn return_memory_soon() {
    // SAFETY: this sets a number in a table of the allocator, at a place that the table has, while there is one thread.
    unsafe { mi_option_set(PURGE_DELAY, MILLISECONDS) }
}
