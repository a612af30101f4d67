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
pub(crate) fn find<R: Read>(mut archive: R, name: &str) -> io::Result<TarMember<R>> {
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
            return Ok(TarMember { archive, left });
        }
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or_else(|| invalid(offset, "a size of the archive overflows"))?;
        if offset.saturating_add(padded) > MOST_BYTES {
            let reason = format!("unpacks to more than {MOST_BYTES} bytes before {name} is met");
            return Err(invalid(offset, &reason));
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
pub(crate) struct TarMember<R> {
    archive: R,
    left: u64,
}

impl<R: Read> Read for TarMember<R> {
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

/// What is wrong with an archive that can be unpacked.
#[derive(Debug, thiserror::Error)]
#[error("{reason} (byte {offset} of the unpacked archive)")]
pub(crate) struct InvalidArchive {
    offset: u64,
    reason: String,
}

fn invalid(offset: u64, reason: &str) -> io::Error {
    let reason = reason.to_owned();
    io::Error::new(
        io::ErrorKind::InvalidData,
        InvalidArchive { offset, reason },
    )
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
            let error = content(&whole[..cut], "a/second.bin").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut}");
        }
        let mut bent = whole.clone();
        bent[125] ^= 1;
        let bent = content(&bent, "a/second.bin").unwrap_err().to_string();
        assert!(bent.starts_with("no intact header"), "{bent}");
    }

    #[test]
    fn links_and_names_that_lead_elsewhere_give_nothing_but_content_of_the_archive() {
        let mut whole = Vec::new();
        let links = [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Char,
            EntryType::Fifo,
        ];
        for kind in links {
            let mut header = Header::new_ustar();
            header.set_entry_type(kind);
            header.set_size(0);
            header.set_path("a").unwrap();
            header.set_link_name("/etc/passwd").unwrap();
            header.set_cksum();
            whole.extend(header.as_bytes());
        }
        for name in ["../a", "/etc/passwd"] {
            let mut header = Header::new_ustar();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(EntryType::Regular);
            header.set_size(3);
            header.set_cksum();
            whole.extend(header.as_bytes());
            whole.extend(b"own");
            whole.resize(whole.len().next_multiple_of(BLOCK), 0);
        }
        whole.resize(whole.len() + 2 * BLOCK, 0);
        let absent = content(&whole, "a").unwrap_err().to_string();
        assert!(
            absent.starts_with("the archive holds no file a"),
            "{absent}"
        );
        assert_eq!(content(&whole, "../a").unwrap(), b"own");
        assert_eq!(content(&whole, "/etc/passwd").unwrap(), b"own");
    }

    #[test]
    fn an_archive_without_end_is_given_up() {
        let mut header = Header::new_gnu();
        header.set_path("other").unwrap();
        header.set_size(MOST_BYTES + 1);
        header.set_cksum();
        let endless = header.as_bytes().chain(io::repeat(0));
        let error = find(endless, "a").err().unwrap().to_string();
        assert!(
            error.starts_with("unpacks to more than 8589934592 bytes"),
            "{error}"
        );
    }
}
