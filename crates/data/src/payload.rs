//! The bytes inside a data file, gzip or raw, never more of them than the dataset has.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// Reads at most `limit + 1` bytes of content, so that an overlong content is seen but not held.
///
/// A gzip file (`*.gz`) that is cut short or whose own checksum fails is an [`io::Error`].
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // One byte of room past the limit spares a reallocation at the end of the file.
    let room = usize::try_from(limit + 1).unwrap_or(0).min(1 << 28);
    let mut content = Vec::with_capacity(room);
    if is_gzip(path) {
        GzDecoder::new(io::BufReader::with_capacity(1 << 16, file))
            .take(limit + 1)
            .read_to_end(&mut content)?;
    } else {
        file.take(limit + 1).read_to_end(&mut content)?;
    }
    Ok(content)
}

/// Size and SHA-256 of the content as [`read`] sees it, without holding it.
pub(crate) fn digest(path: &Path, limit: u64) -> io::Result<(u64, String)> {
    let file = io::BufReader::with_capacity(1 << 16, File::open(path)?);
    if is_gzip(path) {
        digest_of(GzDecoder::new(file).take(limit + 1))
    } else {
        digest_of(file.take(limit + 1))
    }
}

/// Size and SHA-256 of the file as it lies on the disk.
pub(crate) fn file_digest(path: &Path) -> io::Result<(u64, String)> {
    digest_of(File::open(path)?)
}

/// The SHA-256 of `content` in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(content))
}

/// The lower-case hexadecimal digits of a finished hash.
pub(crate) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Whether the name says gzip.
pub(crate) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

fn digest_of(mut reader: impl Read) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok((size, hexadecimal(hash))),
            count => {
                hash.update(&buffer[..count]);
                size += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

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
        assert_eq!(digest(&bomb, 100).unwrap().0, 101);
    }

    #[test]
    fn a_truncated_gzip_is_an_error_and_never_a_short_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = gzip_file(folder.path(), b"twelve bytes");
        assert_eq!(read(&path, 12).unwrap(), b"twelve bytes");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        assert!(read(&path, 12).is_err());
    }

    #[test]
    fn the_digest_is_sha_256() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let folder = tempfile::tempdir().unwrap();
        let path = gzip_file(folder.path(), b"abc");
        assert_eq!(digest(&path, 3).unwrap(), (3, abc.to_owned()));
    }
}
