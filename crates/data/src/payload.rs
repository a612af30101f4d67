//! The bytes inside a data file, packed or plain, never more of them than asked for.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use md5::Md5;
use sha2::{Digest, Sha256};

use crate::DataError;
use crate::packing::Packing;

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

/// Reads at most `limit + 1` bytes of `content`, so that an overlong content is seen but not held. The limit may be what a
/// file announces: memory grows with what is read.
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
    Ok((size, hexadecimal(hash)))
}

/// Size and SHA-256 of at most `limit + 1` bytes of `content`, without holding it.
pub(crate) fn digest(content: impl Read, limit: u64) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let size = each_piece(content.take(limit.saturating_add(1)), |piece| {
        hash.update(piece)
    })?;
    Ok((size, hexadecimal(hash)))
}

/// Size and checksums of the file as it lies on the disk.
pub(crate) fn file_digest(path: &Path) -> io::Result<FileDigest> {
    let mut sums = Sums::default();
    let bytes = each_piece(File::open(path)?, |piece| sums.update(piece))?;
    Ok(sums.finish(bytes))
}

/// The content of the file at `path`, however long; who reads takes about `most` bytes.
pub(crate) fn content(path: &Path, most: u64) -> io::Result<Box<dyn Read + Send>> {
    content_as(path, Packing::of(path), most)
}

/// As [`content`], of a file that is packed as `packing`.
pub(crate) fn content_as(
    path: &Path,
    packing: Packing,
    most: u64,
) -> io::Result<Box<dyn Read + Send>> {
    packing.content(BufReader::with_capacity(1 << 16, File::open(path)?), most)
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
            sha256: hexadecimal(self.sha256),
            md5: hexadecimal(self.md5),
        }
    }
}

/// The SHA-256 of `content` in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(content))
}

/// What was wrong when the content of a dataset's file could not be read: a damaged file is
/// [`DataError::Malformed`] at byte `offset` of the content, anything else [`DataError::Io`].
pub(crate) fn fault(dataset: &str, path: &Path, offset: u64, error: io::Error) -> DataError {
    if !is_damage(&error) {
        return DataError::io("read", path)(error);
    }
    let is_said = |inner: &(dyn std::error::Error + Send + Sync + 'static)| {
        inner.is::<Overlong>() || inner.is::<Damaged>()
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
    error.raw_os_error().is_none() && decoders.contains(&error.kind())
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
#[error("content goes on after the {limit} bytes that it may have")]
struct Overlong {
    limit: u64,
}

/// What a packed file holds cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("damaged {} data: {error}", .packing.name())]
struct Damaged {
    packing: Packing,
    error: io::Error,
}

impl<R: Read> Bounded<R> {
    /// Reads content, and says of packed content that cannot be read that it is damaged.
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
            let limit = self.limit;
            return match self.take(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    Overlong { limit },
                )),
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

/// The lower-case hexadecimal digits of a finished hash.
fn hexadecimal(hash: impl Digest) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        gather(content(path, limit)?, limit)
    }

    fn gzip_file(folder: &Path, content: &[u8]) -> std::path::PathBuf {
        let path = folder.join("content.gz");
        let mut encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap();
        path
    }

    #[test]
    fn an_overlong_content_stops_one_byte_past_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let bomb = gzip_file(folder.path(), &vec![0; 10 << 20]);
        assert_eq!(read(&bomb, 100).unwrap().len(), 101);
        assert_eq!(digest(content(&bomb, 100).unwrap(), 100).unwrap().0, 101);
    }

    #[test]
    fn memory_grows_with_what_is_read_and_not_with_the_limit() {
        let few = gather(&b"few"[..], u64::MAX).unwrap();
        assert_eq!(few, b"few");
        assert!(few.capacity() as u64 <= ROOM);
        let many = vec![7; 3 << 20];
        assert_eq!(gather(many.as_slice(), 3 << 20).unwrap(), many);
    }

    #[test]
    fn what_is_expected_is_never_moved_and_what_is_more_is_seen() {
        let content = vec![7; 3 << 20];
        let exact = gather_expected(content.as_slice(), 3 << 20).unwrap();
        assert_eq!(exact.capacity(), (3 << 20) + 1);
        assert_eq!(exact, content);
        assert_eq!(gather_expected(content.as_slice(), 9).unwrap().len(), 10);
    }

    #[test]
    fn pieces_are_whole_but_the_last_and_summed_as_one() {
        let content: Vec<u8> = (0..250).collect();
        let pieces = |limit| {
            let mut seen = Vec::new();
            let see = |place, piece: &[u8]| {
                assert_eq!(place * 100, seen.len());
                seen.extend_from_slice(piece);
            };
            let found = in_pieces(content.as_slice(), limit, 100, see).unwrap();
            assert_eq!(found, (seen.len() as u64, sha256(&seen)));
            seen
        };
        assert_eq!(pieces(250), content);
        assert_eq!(pieces(200), content[..201]);
    }

    #[test]
    fn a_stream_gives_what_is_allowed_and_then_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = gzip_file(folder.path(), &[7; 200]);
        let mut seen = Vec::new();
        let error = open(&path, 100).unwrap().read_to_end(&mut seen);
        assert_eq!(seen, [7; 100]);
        let fault = fault("sevens", &path, 100, error.unwrap_err()).to_string();
        assert!(
            fault.contains("at byte 100: content goes on after the 100 bytes"),
            "{fault}"
        );
        let exact = open(&path, 200).unwrap().read_to_end(&mut Vec::new());
        assert_eq!(exact.unwrap(), 200);
    }

    #[test]
    fn a_truncated_gzip_is_an_error_and_never_a_short_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = gzip_file(folder.path(), b"twelve bytes");
        assert_eq!(read(&path, 12).unwrap(), b"twelve bytes");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let fault = fault("twelve", &path, 0, read(&path, 12).unwrap_err()).to_string();
        assert!(fault.contains("at byte 0: damaged gzip data"), "{fault}");
        let piece = open(&path, 12).unwrap().read_to_end(&mut Vec::new());
        let error = piece.unwrap_err();
        assert!(
            error.to_string().starts_with("damaged gzip data: "),
            "{error}"
        );
        let same = super::fault("twelve", &path, 0, error).to_string();
        assert_eq!(same, fault);
    }

    #[test]
    fn the_digest_is_sha_256() {
        // FIPS 180-2, appendix B.1; RFC 1321, appendix A.5.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let folder = tempfile::tempdir().unwrap();
        let path = gzip_file(folder.path(), b"abc");
        assert_eq!(
            digest(content(&path, 3).unwrap(), 3).unwrap(),
            (3, abc.to_owned())
        );
        let plain = folder.path().join("plain");
        std::fs::write(&plain, b"abc").unwrap();
        let found = file_digest(&plain).unwrap();
        assert_eq!((found.bytes, found.sha256.as_str()), (3, abc));
        assert_eq!(found.md5, "900150983cd24fb0d6963f7d28e17f72");
    }
}
