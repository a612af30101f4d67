//! Hashes of bytes as they are read or written.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// A reader or writer that hashes and counts what passes.
pub(crate) struct Hashed<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Hashed<T> {
    /// Hashes what passes through `inner`.
    pub(crate) fn of(inner: T) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// Bytes that have passed.
    pub(crate) fn passed(&self) -> u64 {
        self.bytes
    }

    /// The inner reader or writer, and the SHA-256 of what passed.
    pub(crate) fn finish(self) -> (T, [u8; 32]) {
        (self.inner, self.hash.finalize().into())
    }

    fn see(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.see(&buffer[..count]);
        Ok(count)
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.see(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let text = String::with_capacity(2 * bytes.len());
    bytes.iter().fold(text, |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes any text");
        text
    })
}
