//! Buffers for messages between ranks, reused from exchange to exchange.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// The most buffers that are kept: as many as one exchange uses at once.
const KEPT: usize = 3;

/// The buffers that no exchange uses now.
#[derive(Debug, Default)]
pub(crate) struct ExchangeBuffers(Mutex<Vec<Vec<f32>>>);

/// A buffer of floats with arbitrary values, to be overwritten.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// At least `used` floats.
    values: Vec<f32>,
    used: usize,
}

impl ExchangeBuffers {
    /// A buffer of `size` floats.
    pub(crate) fn take(&self, size: usize) -> Buffer {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let least = |large: bool| {
            let fits = kept.iter().enumerate();
            let fits = fits.filter(|(_, memory)| (memory.len() >= size) == large);
            fits.min_by_key(|(_, memory)| memory.len())
                .map(|(at, _)| at)
        };
        // The smallest buffer that is large enough; if none is, a new one replaces the smallest.
        let found = least(true);
        let mut values = match found.or_else(|| least(false)) {
            Some(place) => kept.swap_remove(place),
            None => Vec::new(),
        };
        if values.len() < size {
            values = vec![0.0; size];
        }
        Buffer { values, used: size }
    }

    /// Keeps the buffer for the next exchange.
    pub(crate) fn put(&self, buffer: Buffer) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(buffer.values);
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values[..self.used]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[..self.used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_by_whatever_fits_it() {
        let buffers = ExchangeBuffers::default();
        let (mut small, large) = (buffers.take(2), buffers.take(10));
        small.fill(7.0);
        buffers.put(large);
        buffers.put(small);
        assert_eq!(*buffers.take(1), [7.0]);
        let again = buffers.take(8);
        assert_eq!((again.len(), again.values.len()), (8, 10));
    }
}
