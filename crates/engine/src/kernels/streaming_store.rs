//! Writing to memory without reading it into the caches first.

/// When dropped, makes what was written past the caches visible to other threads.
#[derive(Default)]
pub(super) struct Written(());

impl Drop for Written {
    fn drop(&mut self) {
        // SAFETY: every processor of this architecture has the instruction.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// `to = values`, past the caches if `to` begins at a cache line and the architecture has a stable intrinsic. Other
/// threads may read it once `_written` is dropped.
#[inline(always)]
pub(super) fn streaming_store<const N: usize>(
    to: &mut [f32],
    values: &[f32; N],
    _written: &Written,
) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_stream_ps};
        const { assert!(N.is_multiple_of(4)) };
        assert_eq!(to.len(), N);
        if to.as_ptr().addr().is_multiple_of(LINE) {
            for at in (0..N).step_by(4) {
                // SAFETY: four floats from `at` on are within both, and the first of `to` lies at a multiple of 16 bytes.
                unsafe {
                    let four = _mm_loadu_ps(values.as_ptr().add(at));
                    _mm_stream_ps(to.as_mut_ptr().add(at), four);
                }
            }
            return;
        }
    }
    to.copy_from_slice(values);
}

/// Bytes of a line of the caches.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_written_wherever_it_begins() {
        let values: [f32; 8] = std::array::from_fn(|at| at as f32 + 1.0);
        for offset in 0..32 {
            let mut to = vec![-1.0f32; 64];
            streaming_store(&mut to[offset..offset + 8], &values, &Written::default());
            assert_eq!(to[offset..offset + 8], values);
            let others = to[..offset].iter().chain(&to[offset + 8..]);
            assert!(others.into_iter().all(|other| *other == -1.0));
        }
    }
}
