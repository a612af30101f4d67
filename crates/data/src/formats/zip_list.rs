//! The list of a zip archive's entries, which stands at its end and is read one entry after another.
//!
//! # Source
//! PKWARE, "APPNOTE.TXT, .ZIP file format specification", sections 4.3.12 to 4.3.16 and 4.5.3.

use std::io::{BufReader, Read, Seek, SeekFrom};

use crate::files::fault::Fault;

const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const END_64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
pub(super) const ENTRY: [u8; 4] = *b"PK\x01\x02";
/// The end record and the longest comment after it.
const MOST_END: u64 = 22 + 0xffff;
/// Marks a field whose value is in the record or the extra field of 64 bits.
pub(super) const ELSEWHERE: u64 = u32::MAX as u64;

/// Where the list of an archive is.
#[derive(Clone, Copy)]
pub(crate) struct List {
    /// Bytes of the archive.
    pub(crate) archive: u64,
    /// Bytes of the list.
    pub(crate) size: u64,
    place: u64,
}

impl List {
    /// The list of the archive `file`.
    ///
    /// # Errors
    /// A [`Fault`] if `file` is no whole archive.
    pub(crate) fn find(file: &mut (impl Read + Seek)) -> Result<Self, Fault> {
        let end = file.seek(SeekFrom::End(0));
        let archive = end.map_err(|error| Fault::at(0_u64, error.to_string()))?;
        let tail_at = archive.saturating_sub(MOST_END);
        let tail = bytes_at(file, tail_at, archive - tail_at)?;
        let end = tail.windows(4).rposition(|window| window == END);
        let end = end.filter(|end| tail.len() - end >= 22).ok_or_else(|| {
            let reason = "no zip archive, or one that is cut short: it has no end record";
            Fault::at(archive, reason)
        })?;
        let (before, record) = tail.split_at(end);
        let end_at = tail_at + end as u64;
        let locator = before.last_chunk::<20>();
        let (size, place) = match locator.filter(|bytes| bytes[..4] == END_64_LOCATOR) {
            Some(locator) => wide_end(file, u64_at(locator, 8))?,
            None => (u32_at(record, 12), u32_at(record, 16)),
        };
        match place.checked_add(size) {
            Some(end) if end <= end_at => Ok(Self {
                archive,
                size,
                place,
            }),
            _ => Err(Fault::at(
                end_at,
                "the list of entries lies outside the archive",
            )),
        }
    }

    /// The entries that the archive `file` lists, in order. An error ends the list.
    ///
    /// # Errors
    /// A [`Fault`] if `file` cannot be read.
    pub(crate) fn entries<R: Read + Seek>(self, mut file: R) -> Result<Entries<R>, Fault> {
        seek(&mut file, self.place)?;
        Ok(Entries {
            content: BufReader::with_capacity(1 << 16, file),
            at: self.place,
            end: self.place + self.size,
        })
    }

    /// The share of the list that is before `entry`.
    pub(crate) fn share_before(&self, entry: &Entry) -> f64 {
        (entry.listed - self.place) as f64 / self.size as f64
    }
}

/// Size and place of the list, as the end record of 64 bits at `place` says.
fn wide_end(file: &mut (impl Read + Seek), place: u64) -> Result<(u64, u64), Fault> {
    let record = bytes_at(file, place, 56)?;
    match record[..4] == END_64 {
        true => Ok((u64_at(&record, 40), u64_at(&record, 48))),
        false => Err(Fault::at(
            place,
            "no end record of 64 bits where one is announced",
        )),
    }
}

/// What the list says of an entry.
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Its place in the list, for [`entry_at`].
    pub(crate) listed: u64,
    /// Bytes of the unpacked content.
    pub(crate) size: u64,
    pub(super) method: u16,
    pub(super) sum: u32,
    pub(super) packed: u64,
    /// Where its local header is.
    pub(super) place: u64,
}

/// The entries of an archive, read one after another.
pub(crate) struct Entries<R> {
    content: BufReader<R>,
    at: u64,
    end: u64,
}

impl<R: Read> Iterator for Entries<R> {
    type Item = Result<Entry, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.end {
            return None;
        }
        let at = self.at;
        let content = self.content.by_ref().take(self.end - at);
        let read = read_entry(content, at);
        self.at = match &read {
            Ok((_, length)) => at + length,
            Err(_) => self.end,
        };
        Some(read.map(|(entry, _)| entry))
    }
}

/// The entry that the list of the archive `file` has at `listed`.
///
/// # Errors
/// A [`Fault`] if there is none.
pub(crate) fn entry_at(file: &mut (impl Read + Seek), listed: u64) -> Result<Entry, Fault> {
    seek(file, listed)?;
    read_entry(file, listed).map(|(entry, _)| entry)
}

/// The entry at `at` of a list, which `content` begins with, and how many bytes the list has for it.
fn read_entry(mut content: impl Read, at: u64) -> Result<(Entry, u64), Fault> {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        let read = content.read_exact(&mut bytes);
        read.map(|()| bytes)
            .map_err(|_| Fault::at(at, "an entry that is cut short"))
    };
    let head = read(46)?;
    if head[..4] != ENTRY {
        return Err(Fault::at(
            at,
            "no entry of a zip archive where one is announced",
        ));
    }
    if u16_at(&head, 8) & 1 != 0 {
        return Err(Fault::at(at, "an encrypted entry"));
    }
    let [name, extra, comment] = [28, 30, 32].map(|place| usize::from(u16_at(&head, place)));
    let rest = read(name + extra + comment)?;
    let (mut packed, mut size, mut place) =
        (u32_at(&head, 20), u32_at(&head, 24), u32_at(&head, 42));
    let fields = [&mut size, &mut packed, &mut place];
    widen(&rest[name..name + extra], fields).map_err(|reason| Fault::at(at, reason))?;
    let entry = Entry {
        name: String::from_utf8_lossy(&rest[..name]).into_owned(),
        listed: at,
        size,
        method: u16_at(&head, 10),
        sum: u32_at(&head, 16) as u32,
        packed,
        place,
    };
    Ok((entry, (head.len() + rest.len()) as u64))
}

/// Replaces the fields that are elsewhere by what the extra field of 64 bits says, in their order.
pub(super) fn widen(mut extra: &[u8], fields: [&mut u64; 3]) -> Result<(), String> {
    let fields: Vec<&mut u64> = fields.into_iter().filter(|f| **f == ELSEWHERE).collect();
    while !fields.is_empty() {
        if extra.len() < 4 {
            return Err("an entry without its sizes".into());
        }
        let (kind, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let content = extra
            .get(4..4 + length)
            .ok_or("an extra field that is cut short")?;
        if kind == 1 {
            let mut values = content.chunks_exact(8);
            for field in fields {
                let value = values.next().ok_or("an entry without its sizes")?;
                *field = u64_at(value, 0);
            }
            return Ok(());
        }
        extra = &extra[4 + length..];
    }
    Ok(())
}

/// Exactly `count` bytes from `place`.
pub(super) fn bytes_at(
    file: &mut (impl Read + Seek),
    place: u64,
    count: u64,
) -> Result<Vec<u8>, Fault> {
    seek(file, place)?;
    let mut bytes = Vec::new();
    let found = file.take(count).read_to_end(&mut bytes);
    match found.map_err(|error| Fault::at(place, error.to_string()))? as u64 {
        found if found == count => Ok(bytes),
        found => Err(Fault::at(
            place.saturating_add(found),
            "the archive ends here",
        )),
    }
}

pub(super) fn seek(file: &mut impl Seek, place: u64) -> Result<(), Fault> {
    let sought = file.seek(SeekFrom::Start(place));
    sought
        .map(drop)
        .map_err(|error| Fault::at(place, error.to_string()))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16_at(bytes, at)) | u64::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u32_at(bytes, at) | u32_at(bytes, at + 4) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::zip_member;
    use crate::formats::zip_member::tests::archive;
    use std::io::Cursor;

    #[test]
    fn entries_are_told_one_by_one_and_found_again() {
        let archive = archive(&[("a/", b""), ("a/b", &[1; 9]), ("c", &[2; 70_000])]);
        let mut file = Cursor::new(&archive);
        let list = List::find(&mut file).unwrap();
        let entries = list.entries(Cursor::new(&archive)).unwrap();
        let entries: Vec<Entry> = entries.collect::<Result<_, _>>().unwrap();
        let told: Vec<(&str, u64)> = entries.iter().map(|e| (e.name.as_str(), e.size)).collect();
        assert_eq!(told, [("a/", 0), ("a/b", 9), ("c", 70_000)]);
        let again = entry_at(&mut file, entries[1].listed).unwrap();
        assert_eq!((again.name.as_str(), again.size), ("a/b", 9));
        let nothing = entry_at(&mut file, entries[1].listed + 1).err().unwrap();
        assert!(nothing.reason.starts_with("no entry of a zip archive"));
    }

    #[test]
    fn the_end_record_of_64_bits_is_believed_where_there_is_one() {
        let mut bytes = archive(&[("a", b"content")]);
        let end = bytes.split_off(bytes.len() - 22);
        let (size, place) = (u32_at(&end, 12), u32_at(&end, 16));
        let record_at = bytes.len() as u64;
        bytes.extend(END_64);
        bytes.extend([0; 36]);
        bytes.extend(size.to_le_bytes());
        bytes.extend(place.to_le_bytes());
        bytes.extend(END_64_LOCATOR);
        bytes.extend([0; 4]);
        bytes.extend(record_at.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&end[..8]);
        bytes.extend([0xff; 12]);
        bytes.extend([0; 2]);
        let mut file = Cursor::new(&bytes);
        let member = zip_member::open(&mut file, "a", 9).unwrap();
        assert_eq!(member.size(), 7);
        member.finish().unwrap();
        bytes[record_at as usize] ^= 1;
        let fault = List::find(&mut Cursor::new(&bytes)).err().unwrap();
        assert_eq!(fault.offset, record_at);
        assert!(fault.reason.starts_with("no end record of 64 bits"));
    }

    #[test]
    fn sizes_of_64_bits_are_read() {
        let mut extra = vec![1, 0, 16, 0];
        extra.extend(5_u64.to_le_bytes());
        extra.extend((1_u64 << 33).to_le_bytes());
        let (mut size, mut packed, mut place) = (ELSEWHERE, ELSEWHERE, 7);
        widen(&extra, [&mut size, &mut packed, &mut place]).unwrap();
        assert_eq!((size, packed, place), (5, 1 << 33, 7));
        let cut = widen(&extra[..10], [&mut 1, &mut { ELSEWHERE }, &mut 1]);
        assert_eq!(cut.unwrap_err(), "an extra field that is cut short");
    }
}
