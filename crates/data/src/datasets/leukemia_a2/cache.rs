//! A compact copy of the matrix in a file beside it: half the bytes of the text, read in a third of the time.
//!
//! `MFA2\0\0\0\1`, the SHA-256 of the matrix's file, the SHA-256 of what follows, the numbers of samples, of genes and of
//! bytes of names (8 bytes each, little endian), the names, one a line, then the values, 4 bytes each, gene by gene.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::matrix::{self, MOST_BYTES, MOST_NUMBERS, Matrix};
use super::{GENES, NAME};
use crate::files::hashing::{Hashed, hexadecimal};
use crate::files::payload;
use crate::files::place::Place;
use crate::files::regular;
use crate::files::unfinished;
use crate::{DataError, Manifest, ManifestFile};

pub(super) const MAGIC: &[u8; 8] = b"MFA2\0\0\0\x01";
/// Prefix of the names of unfinished caches.
const UNFINISHED: &str = ".matrix-";
/// Bytes that the names of the samples may have.
const MOST_NAMES: usize = 1 << 26;
/// Bytes before the names.
const HEADER: usize = 8 + 32 + 32 + 24;

/// The matrix in the file at `path`, whose content must match `expected`. Read from the cache if that is of this file.
///
/// # Errors
/// [`DataError::Malformed`] or [`DataError::Io`]. A cache that cannot be read is made anew, and one that cannot be
/// written is skipped.
pub(crate) fn matrix(path: &Path, expected: Option<&ManifestFile>) -> Result<Matrix, DataError> {
    let source = file_hash(path).map_err(|error| payload::fault(NAME, path, 0, error))?;
    let place = place(path);
    if let Some(matrix) = read(&place, &source) {
        return Ok(matrix);
    }
    let matrix = parsed(path, expected)?;
    if let Err(error) = write(&place, &source, &matrix) {
        tracing::warn!("{NAME}: {} cannot be written: {error}", place.display());
    }
    Ok(matrix)
}

/// Where the cache of the matrix at `path` is.
pub(crate) fn place(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".cache");
    PathBuf::from(name)
}

fn parsed(path: &Path, expected: Option<&ManifestFile>) -> Result<Matrix, DataError> {
    let content = payload::open(path, MOST_BYTES);
    let mut hashed = Hashed::of(content.map_err(|error| payload::fault(NAME, path, 0, error))?);
    // A number takes a digit and what follows it.
    let most = expected.map_or(0, |file| file.content_bytes() as usize / 2);
    let matrix = matrix::read(&mut hashed, GENES, most).map_err(|fault| fault.of(NAME, path))?;
    if let Some(expected) = expected {
        let (manifest, place) = (Manifest::by_name(NAME)?, Place::File(path.to_owned()));
        manifest.expect_length(expected, &place, hashed.passed())?;
        manifest.verify(expected, &place, &hexadecimal(&hashed.finish().1))?;
    }
    Ok(matrix)
}

/// The matrix in the cache at `place`, if it is whole and of the file with the hash `source`.
fn read(place: &Path, source: &[u8; 32]) -> Option<Matrix> {
    let file = regular::open(place).ok()?;
    let length = file.metadata().ok()?.len();
    read_from(BufReader::new(file), length, source)
}

/// As [`read`], of a cache of `length` bytes.
pub(super) fn read_from(mut file: impl Read, length: u64, source: &[u8; 32]) -> Option<Matrix> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header).ok()?;
    let (start, rest) = header.split_at(72);
    if start[..8] != *MAGIC || start[8..40] != *source {
        return None;
    }
    let count =
        |at: usize| usize::try_from(u64::from_le_bytes(rest[at..at + 8].try_into().ok()?)).ok();
    let (samples, genes, named) = (count(0)?, count(8)?, count(16)?);
    let bytes = samples
        .checked_mul(genes)?
        .checked_mul(4)?
        .checked_add(named)?;
    // A long file may be empty, so the limits of a matrix also bound the memory that is reserved.
    let is_matrix = samples > 0 && genes > 0 && samples.checked_mul(genes)? <= MOST_NUMBERS;
    if bytes.checked_add(HEADER)? as u64 != length || !is_matrix || named > MOST_NAMES {
        return None;
    }
    let mut hash = Sha256::new_with_prefix(rest);
    let mut names = vec![0; named];
    file.read_exact(&mut names).ok()?;
    hash.update(&names);
    let mut values = Vec::new();
    values.try_reserve_exact(samples * genes).ok()?;
    let mut row = vec![0; 4 * samples];
    for _ in 0..genes {
        file.read_exact(&mut row).ok()?;
        hash.update(&row);
        values.extend(
            row.chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        );
    }
    let names = String::from_utf8(names).ok()?;
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    let is_whole = hash.finalize()[..] == start[40..] && names.len() == samples;
    is_whole.then_some(Matrix {
        samples: names,
        values,
    })
}

fn write(place: &Path, source: &[u8; 32], matrix: &Matrix) -> io::Result<()> {
    let names: String = matrix
        .samples
        .iter()
        .flat_map(|name| [name, "\n"])
        .collect();
    let counts = [matrix.samples.len(), matrix.genes(), names.len()];
    let counts = counts.map(|count| (count as u64).to_le_bytes()).concat();
    let mut hash = Sha256::new_with_prefix(&counts);
    hash.update(&names);
    let rows = || matrix.values.chunks_exact(matrix.samples.len());
    let bytes = |row: &[f32]| -> Vec<u8> { row.iter().flat_map(|v| v.to_le_bytes()).collect() };
    rows().for_each(|row| hash.update(bytes(row)));
    let folder = place.parent().unwrap_or(Path::new("."));
    unfinished::remove_leftovers(folder, UNFINISHED);
    let mut file = io::BufWriter::new(unfinished::create(folder, UNFINISHED)?);
    for part in [
        MAGIC.as_slice(),
        source,
        &hash.finalize(),
        &counts,
        names.as_bytes(),
    ] {
        file.write_all(part)?;
    }
    for row in rows() {
        file.write_all(&bytes(row))?;
    }
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(place).map(drop).map_err(|error| error.error)
}

/// The SHA-256 of the file at `path` as it lies there, which may be packed.
fn file_hash(path: &Path) -> io::Result<[u8; 32]> {
    let file = regular::open(path)?;
    let length = file.metadata()?.len();
    if length > MOST_BYTES {
        return Err(payload::overlong_file(MOST_BYTES));
    }
    let mut hashed = Hashed::of(file.take(length));
    let mut buffer = vec![0; 1 << 18];
    while hashed.read(&mut buffer)? > 0 {}
    Ok(hashed.finish().1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_of_no_genes_asks_for_no_memory() {
        let counts = [1_u64 << 60, 0, 0].map(u64::to_le_bytes).concat();
        let sum = Sha256::digest(&counts);
        let file = [MAGIC.as_slice(), &[7; 32], &sum, &counts].concat();
        let matrix = read_from(file.as_slice(), file.len() as u64, &[7; 32]);
        assert_eq!(matrix, None);
    }

    #[test]
    fn a_cache_that_is_long_and_empty_asks_for_no_memory() {
        for counts in [[1_u64 << 20, 1 << 20, 0], [1, 1, 1 << 40]] {
            let bytes = 4 * counts[0] * counts[1] + counts[2] + HEADER as u64;
            let counts = counts.map(u64::to_le_bytes).concat();
            let sum = Sha256::digest(&counts);
            let file = [MAGIC.as_slice(), &[7; 32], &sum, &counts].concat();
            let matrix = read_from(file.chain(io::repeat(0)), bytes, &[7; 32]);
            assert_eq!(matrix, None);
        }
    }

    #[test]
    fn a_matrix_without_end_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix");
        // Nothing is on the disk but the length.
        std::fs::File::create(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let error = matrix(&path, None).unwrap_err().to_string();
        assert!(
            error.contains("the file goes on after 4294967296 bytes"),
            "{error}"
        );
    }
}
