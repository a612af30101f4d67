//! SHA-256 digests of data.

use std::io::{self, Read};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::files::hashing::{Hashed, hexadecimal};

/// Values that are converted to bytes at once.
const CHUNK: usize = 1 << 14;

/// A digest that is being computed. Every part is preceded by its name and length, so that different contents never give the
/// same bytes.
#[derive(Debug)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// An empty digest of a `kind` of data.
    pub(crate) fn of(kind: &str) -> Self {
        Self(Sha256::new()).part("kind", kind.as_bytes())
    }

    /// Adds the bytes of a part.
    pub(crate) fn part(self, name: &str, bytes: &[u8]) -> Self {
        let mut digest = self.head(name, bytes.len());
        digest.0.update(bytes);
        digest
    }

    /// Adds a number.
    pub(crate) fn count(self, count: usize) -> Self {
        self.part("count", &(count as u64).to_le_bytes())
    }

    /// Adds labels or tokens.
    pub(crate) fn labels(self, labels: &[u16]) -> Self {
        self.values("u16", labels, u16::to_le_bytes)
    }

    /// Adds indices.
    pub(crate) fn indices(self, indices: &[u32]) -> Self {
        self.values("u32", indices, u32::to_le_bytes)
    }

    /// Adds the bits of numbers.
    pub(crate) fn numbers(self, numbers: &[f32]) -> Self {
        self.values("f32", numbers, f32::to_le_bytes)
    }

    /// Adds everything that can be read from `from`.
    pub(crate) fn content(self, from: impl Read) -> io::Result<Self> {
        let mut own = Hashed::of(from);
        io::copy(&mut own, &mut io::sink())?;
        Ok(self.part("content", &own.finish().1))
    }

    /// Adds the owners of examples, if they are known.
    pub(crate) fn owners(self, owners: Option<&[u32]>) -> Self {
        match owners {
            Some(owners) => self.part("owners", b"known").indices(owners),
            None => self.part("owners", b"unknown"),
        }
    }

    /// Begins a part of `length` values, which [`Digest::more`] adds.
    pub(crate) fn begin(self, name: &str, length: usize) -> Self {
        self.head(name, length)
    }

    /// Adds values to the part that was begun last.
    pub(crate) fn more(mut self, values: Values<'_>) -> Self {
        match values {
            Values::Bytes(bytes) => self.0.update(bytes),
            Values::Numbers(numbers) => self.update(numbers, f32::to_le_bytes),
            Values::Indices(indices) => self.update(indices, u32::to_le_bytes),
        }
        self
    }

    /// The digest in lower-case hexadecimal.
    pub(crate) fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }

    fn head(mut self, name: &str, length: usize) -> Self {
        self.0.update((name.len() as u64).to_le_bytes());
        self.0.update(name.as_bytes());
        self.0.update((length as u64).to_le_bytes());
        self
    }

    fn values<T: Copy, const N: usize>(
        self,
        name: &str,
        values: &[T],
        to_bytes: fn(T) -> [u8; N],
    ) -> Self {
        let mut digest = self.head(name, values.len());
        digest.update(values, to_bytes);
        digest
    }

    fn update<T: Copy, const N: usize>(&mut self, values: &[T], to_bytes: fn(T) -> [u8; N]) {
        let mut bytes = vec![0; N * CHUNK.min(values.len())];
        for chunk in values.chunks(CHUNK) {
            let bytes = &mut bytes[..N * chunk.len()];
            for (place, value) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(chunk) {
                *place = to_bytes(*value);
            }
            self.0.update(bytes);
        }
    }
}

/// Values of a part that comes in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    Bytes(&'a [u8]),
    Numbers(&'a [f32]),
    Indices(&'a [u32]),
}

/// A digest that is computed on first use. All compare equal, so that data compare by what they hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(OnceLock<String>);

impl Kept {
    /// The digest; `compute` is called on first use.
    pub(crate) fn or(&self, compute: impl FnOnce() -> Digest) -> &str {
        self.0.get_or_init(|| compute().finish())
    }
}

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Kept {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_value_stable() {
        let digest = Digest::of("test").count(3).numbers(&[0.5, -1.0]);
        let digest = digest.labels(&[1, 2, 3]).owners(Some(&[7]));
        assert_eq!(
            digest.finish(),
            "2b1b125a3c889e8078ebd653a1189c4c6232b8c1cd98056c791d8278f553ae7f"
        );
    }

    #[test]
    fn parts_that_are_cut_elsewhere_give_another_digest() {
        let of = |first: &[u32], second: &[u32]| {
            Digest::of("cut").indices(first).indices(second).finish()
        };
        assert_ne!(of(&[1, 2], &[3]), of(&[1], &[2, 3]));
        assert_ne!(of(&[], &[1]), of(&[1], &[]));
    }

    #[test]
    fn many_values_are_taken_piece_by_piece() {
        let values: Vec<u32> = (0..3 * CHUNK as u32 + 5).collect();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let mut whole = Digest::of("many").head("u32", values.len());
        whole.0.update(&bytes);
        let whole = whole.finish();
        assert_eq!(Digest::of("many").indices(&values).finish(), whole);
        let begun = Digest::of("many").begin("u32", values.len());
        let pieces = values.chunks(CHUNK / 3).map(Values::Indices);
        assert_eq!(pieces.fold(begun, Digest::more).finish(), whole);
    }
}
