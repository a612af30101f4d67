//! Hints to the caches.

/// Prefetches `values` into the caches; does nothing on architectures without a stable intrinsic.
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

/// Prefetches the `N` values from `first` on into the second-level cache, for use after more than the first level
/// holds. They may lie beyond the end.
#[inline(always)]
pub(super) fn prefetch_for_later<const N: usize>(values: &[f32], first: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..N).step_by(LINE / size_of::<f32>()) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let address = values.as_ptr().wrapping_add(first + at);
        // SAFETY: nothing is read from the address, and a prefetch of an invalid address does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast::<i8>()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, first);
}

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
