//! Hints to the caches.

/// Asks for `values` to be brought into the caches; where the compiler has no stable word for it, nothing happens.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(values)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is within `values`, and nothing is read from it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().add(offset)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
