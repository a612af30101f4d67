//! One file out of a tar archive, read in passing: nothing is unpacked, no name of the archive becomes a path.

use std::io::{self, Read};

use tar::{EntryType, Header};

const BLOCK: usize = 512;
/// Entries that are looked at before the search is given up.
const MOST_ENTRIES: usize = 10_000;
/// Bytes of the unpacked archive that are looked through, 8 GiB.
pub(crate) const MOST_BYTES: u64 = 1 << 33;

/// The content of the regular file called `name` in the tar stream `archive`.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the archive is not a tar or lacks the file; [`io::ErrorKind::UnexpectedEof`] if it
/// is cut short, also while the content is read.
pub(crate) fn find<R: Read>(mut archive: R, name: &str) -> io::Result<Member<R>> {
    let mut offset = 0_u64;
    for _ in 0..MOST_ENTRIES {
        let mut block = [0; BLOCK];
        archive.read_exact(&mut block)?;
        if block == [0; BLOCK] {
            break;
        }
        let header = Header::from_byte_slice(&block);
        let size = size_of(header, offset)?;
        if header.entry_type() == EntryType::Regular && *header.path_bytes() == *name.as_bytes() {
            let left = size;
            return Ok(Member { archive, left });
        }
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or_else(|| invalid(offset, "a size of the archive overflows"))?;
        if offset.saturating_add(padded) > MOST_BYTES {
            return Err(invalid(offset, "the archive is too large to look through"));
        }
        skip(&mut archive, padded)?;
        offset = offset.saturating_add(BLOCK as u64).saturating_add(padded);
    }
    Err(invalid(
        offset,
        &format!("the archive holds no file {name}"),
    ))
}

/// The file that was found.
pub(crate) struct Member<R> {
    archive: R,
    left: u64,
}

impl<R: Read> Read for Member<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = self.archive.read(&mut buffer[..room])?;
        if count == 0 && room > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// The size that an intact header announces.
fn size_of(header: &Header, offset: u64) -> io::Result<u64> {
    let bytes = header.as_bytes();
    // The checksum counts its own field, bytes 148 to 155, as spaces.
    let others = bytes[..148].iter().chain(&bytes[156..]);
    let sum = others.map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    if header.cksum().ok() != Some(sum) {
        return Err(invalid(offset, "no intact header of a tar archive"));
    }
    header
        .entry_size()
        .map_err(|_| invalid(offset, "a header of the archive has no size"))
}

fn skip(archive: &mut impl Read, bytes: u64) -> io::Result<()> {
    match io::copy(&mut archive.take(bytes), &mut io::sink())? {
        skipped if skipped == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(offset: u64, reason: &str) -> io::Error {
    let reason = format!("{reason} (byte {offset} of the unpacked archive)");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in [("a/first.bin", &[1_u8; 700][..]), ("a/second.bin", b"two")] {
            let mut header = Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn content(archive: &[u8], name: &str) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        find(archive, name)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn a_member_is_found_and_ends_where_it_ends() {
        assert_eq!(content(&archive(), "a/first.bin").unwrap(), [1; 700]);
        assert_eq!(content(&archive(), "a/second.bin").unwrap(), b"two");
    }

    #[test]
    fn absent_members_damage_and_truncation_are_errors() {
        let whole = archive();
        let absent = content(&whole, "a/third.bin").unwrap_err().to_string();
        assert!(
            absent.starts_with("the archive holds no file a/third.bin"),
            "{absent}"
        );
        for cut in [100, 600, 1400, 1540] {
            assert!(content(&whole[..cut], "a/second.bin").is_err(), "{cut}");
        }
        let mut bent = whole.clone();
        bent[125] ^= 1;
        let bent = content(&bent, "a/second.bin").unwrap_err().to_string();
        assert!(bent.starts_with("no intact header"), "{bent}");
    }
}
