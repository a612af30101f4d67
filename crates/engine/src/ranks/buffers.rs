//! Memory for what goes from rank to rank, which is kept from exchange to exchange.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Pieces of memory that are kept: as many as one exchange uses at once.
const KEPT: usize = 3;

/// Memory that no exchange uses.
#[derive(Debug, Default)]
pub(crate) struct ExchangeBuffers(Mutex<Vec<Vec<f32>>>);

/// Floats of any values, to be written.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// As many as are used, or more.
    values: Vec<f32>,
    used: usize,
}

impl ExchangeBuffers {
    /// `size` floats.
    pub(crate) fn take(&self, size: usize) -> Buffer {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let least = |large: bool| {
            let fits = kept.iter().enumerate();
            let fits = fits.filter(|(_, memory)| (memory.len() >= size) == large);
            fits.min_by_key(|(_, memory)| memory.len())
                .map(|(at, _)| at)
        };
        // The smallest that is large enough; if none is, the smallest goes and a new one comes.
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

    /// Keeps memory for the next exchange.
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
