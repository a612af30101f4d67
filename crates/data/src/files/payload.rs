//! The bytes inside a data file, packed or plain, never more of them than asked for.

use std::io::{self, BufReader, Read};
use std::path::Path;

use md5::Md5;
use sha2::{Digest, Sha256};

use crate::DataError;
use crate::files::hashing::hexadecimal;
use crate::files::packing::Packing;
use crate::files::regular;
use crate::files::tar_member;

/// Opens the content of the file at `path` for reading in pieces; the name says how it is packed.
///
/// Content longer than `limit` bytes is an error once the reader has given the first `limit`, so that whoever reads to
/// the end has seen all of it. A file that is cut short or fails the checksum of its own format is an error as well.
/// [`fault`] turns either into words.
pub(crate) fn open(path: &Path, limit: u64) -> io::Result<impl Read + Send + use<>> {
    Ok(Bounded {
        content: content(path, limit)?,
        packing: Packing::of(path),
        limit,
        left: limit,
    })
}

/// Bytes that are reserved before anything is read.
const ROOM: u64 = 1 << 20;

/// Reads at most `limit + 1` bytes of `content`, so that overlong content is noticed but not held. Memory grows with
/// what is read, so the limit may be what a file announces.
pub(crate) fn gather(content: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let most = limit.saturating_add(1);
    let mut bytes = Vec::with_capacity(most.min(ROOM) as usize);
    content.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`gather`], with room for `expected` bytes from the start, so that what was read is never moved: for lengths that
/// the program knows, not the file alone.
pub(crate) fn gather_expected(content: impl Read, expected: u64) -> io::Result<Vec<u8>> {
    let most = expected.saturating_add(1);
    let mut bytes = Vec::with_capacity(most as usize);
    content.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Calls `see` with the place and the content of one piece after another, `length` bytes of at most `limit + 1` of
/// `content`, the last piece perhaps shorter; size and SHA-256 of all of it.
pub(crate) fn in_pieces(
    content: impl Read,
    limit: u64,
    length: usize,
    mut see: impl FnMut(usize, &[u8]),
) -> io::Result<(u64, String)> {
    let mut content = content.take(limit.saturating_add(1));
    let (mut piece, mut hash, mut size) = (Vec::with_capacity(length), Sha256::new(), 0);
    for place in 0.. {
        piece.clear();
        content
            .by_ref()
            .take(length as u64)
            .read_to_end(&mut piece)?;
        if piece.is_empty() {
            break;
        }
        hash.update(&piece);
        size += piece.len() as u64;
        see(place, &piece);
    }
    Ok((size, hexadecimal(&hash.finalize())))
}

/// Size and SHA-256 of at most `limit + 1` bytes of `content`, without holding it.
pub(crate) fn digest(content: impl Read, limit: u64) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let size = each_piece(content.take(limit.saturating_add(1)), |piece| {
        hash.update(piece)
    })?;
    Ok((size, hexadecimal(&hash.finalize())))
}

/// Size and checksums of at most `limit + 1` bytes of the file as it lies on the disk.
pub(crate) fn file_digest(path: &Path, limit: u64) -> io::Result<FileDigest> {
    let mut sums = Sums::default();
    let file = regular::open(path)?.take(limit.saturating_add(1));
    let bytes = each_piece(file, |piece| sums.update(piece))?;
    Ok(sums.finish(bytes))
}

/// The content of the file at `path`, however long; the caller reads about `most` bytes.
pub(crate) fn content(path: &Path, most: u64) -> io::Result<Box<dyn Read + Send>> {
    content_as(path, Packing::of(path), most)
}

/// As [`content`], of a file that is packed as `packing`.
pub(crate) fn content_as(
    path: &Path,
    packing: Packing,
    most: u64,
) -> io::Result<Box<dyn Read + Send>> {
    packing.content(
        BufReader::with_capacity(1 << 16, regular::open(path)?),
        most,
    )
}

/// Size and checksums of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileDigest {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// SHA-256, lower-case hexadecimal.
    pub(crate) sha256: String,
    /// MD5, lower-case hexadecimal.
    pub(crate) md5: String,
}

/// The checksums that makers publish, while the bytes pass by.
#[derive(Default)]
pub(crate) struct Sums {
    sha256: Sha256,
    md5: Md5,
}

impl Sums {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.sha256.update(piece);
        self.md5.update(piece);
    }

    pub(crate) fn finish(self, bytes: u64) -> FileDigest {
        FileDigest {
            bytes,
            sha256: hexadecimal(&self.sha256.finalize()),
            md5: hexadecimal(&self.md5.finalize()),
        }
    }
}

/// The SHA-256 of `content` in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// What was wrong when the content of a dataset's file could not be read: a damaged file is
/// [`DataError::Malformed`] at byte `offset` of the content, anything else [`DataError::Io`].
pub(crate) fn fault(dataset: &str, path: &Path, offset: u64, error: io::Error) -> DataError {
    if !is_damage(&error) {
        return DataError::io("read", path)(error);
    }
    let is_said = |inner: &(dyn std::error::Error + Send + Sync + 'static)| {
        inner.is::<Overlong>() || inner.is::<Damaged>() || inner.is::<tar_member::InvalidArchive>()
    };
    let reason = match Packing::of(path) {
        // Of a plain file nothing but its length can be wrong.
        _ if error.get_ref().is_some_and(is_said) => error.to_string(),
        Packing::Plain => error.to_string(),
        packing => format!("damaged {} data: {error}", packing.name()),
    };
    DataError::Malformed {
        dataset: dataset.into(),
        path: path.into(),
        offset,
        reason,
    }
}

/// Whether the file could be read but what it holds is broken.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{
        InvalidData, InvalidInput, Other, OutOfMemory, UnexpectedEof, Unsupported,
    };
    // The zstd library reports damage as `Other`; the operating system's refusals have a code of their own.
    let decoders = [
        InvalidData,
        InvalidInput,
        UnexpectedEof,
        Other,
        OutOfMemory,
        Unsupported,
    ];
    error.raw_os_error().is_none()
        && decoders.contains(&error.kind())
        && !regular::is_other_kind(error)
}

/// A reader that fails where the content goes on past the limit.
struct Bounded<R> {
    content: R,
    packing: Packing,
    limit: u64,
    left: u64,
}

/// More content than there may be.
#[derive(Debug, thiserror::Error)]
#[error("{}", overlong(*.packing, *.limit))]
struct Overlong {
    packing: Packing,
    limit: u64,
}

/// Says that a content packed as `packing` is longer than the `limit` bytes that it may have. Such a file is not damaged,
/// and nobody knows how long its content is: reading ends at the limit.
pub(crate) fn overlong(packing: Packing, limit: u64) -> String {
    match packing {
        Packing::Plain => {
            format!("the file goes on after {limit} bytes, the most that it may have")
        }
        _ => format!("the file unpacks to more than {limit} bytes, the most that it may hold"),
    }
}

/// What a packed file holds cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("damaged {} data: {error}", .packing.name())]
struct Damaged {
    packing: Packing,
    error: io::Error,
}

impl<R: Read> Bounded<R> {
    /// Reads content; if packed content cannot be read, the error says that it is damaged.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let packing = self.packing;
        self.content.read(buffer).map_err(|error| match packing {
            Packing::Plain => error,
            _ if !is_damage(&error) => error,
            _ => io::Error::new(io::ErrorKind::InvalidData, Damaged { packing, error }),
        })
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            let (packing, limit) = (self.packing, self.limit);
            return match self.take(&mut [0])? {
                0 => Ok(0),
                _ => {
                    let overlong = Overlong { packing, limit };
                    Err(io::Error::new(io::ErrorKind::InvalidData, overlong))
                }
            };
        }
        let room = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = self.take(&mut buffer[..room])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// The error that a file as it lies on the disk is longer than `limit` bytes.
pub(crate) fn overlong_file(limit: u64) -> io::Error {
    let packing = Packing::Plain;
    io::Error::new(io::ErrorKind::InvalidData, Overlong { packing, limit })
}

/// Calls `see` with one piece of `content` after another; how many bytes there were.
fn each_piece(mut content: impl Read, mut see: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(size),
            Ok(count) => {
                see(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
