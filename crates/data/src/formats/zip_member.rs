//! One entry out of a zip archive, as NumPy writes them: stored or deflated, named without folders.
//!
//! Written here and not taken from the `zip` crate, whose errors name no place in the file (`InvalidArchive` of 9.8).
//!
//! # Source
//! PKWARE, "APPNOTE.TXT, .ZIP file format specification", sections 4.3.7 to 4.3.16 and 4.5.3.

use std::cmp::Ordering;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::files::excerpt::{excerpt, listed};
use crate::files::fault::Fault;

const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The end record and the longest comment after it.
const MOST_END: u64 = 22 + 0xffff;
/// Bytes that the list of entries may have.
const MOST_LIST: u64 = 1 << 24;
/// What a field says whose value is in the extra field of 64 bits.
const ELSEWHERE: u64 = u32::MAX as u64;
/// Bytes that a deflated byte yields at most: four matches of 258, two bits each.
const MOST_YIELD: u64 = 1032;

/// Opens the content of the entry `name` of the zip archive `file`, which announces at most `limit` bytes.
///
/// # Errors
/// A [`Fault`] that says where the archive is broken, or that there is no such entry, naming those that there are. More
/// bytes than the archive's own length can hold are not believed.
pub(crate) fn open<'f>(
    file: &'f mut (impl Read + Seek),
    name: &str,
    limit: u64,
) -> Result<Member<'f>, Fault> {
    let length = end_of(file)?;
    let mut entries = entries(file, length)?;
    let Some(place) = entries.iter().position(|entry| entry.name == name) else {
        let mut names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
        names.sort_unstable();
        let reason = format!("no entry `{}` among {}", excerpt(name), listed(names));
        return Err(Fault::at(0_u64, reason));
    };
    let entry = entries.swap_remove(place);
    let refused = |reason| Fault::at(entry.place, reason);
    if entry.size > limit {
        let reason = format!(
            "{} unpacks to {} bytes, at most {limit} needed",
            excerpt(name),
            entry.size
        );
        return Err(refused(reason));
    }
    let start = content_start(file, &entry)?;
    let packed = entry.packed.min(length.saturating_sub(start));
    let is_deflated = is_deflated(&entry, packed).map_err(refused)?;
    seek(file, start)?;
    let packed = file.take(packed);
    Ok(Member {
        content: match is_deflated {
            true => Box::new(DeflateDecoder::new(packed)),
            false => Box::new(packed),
        },
        sum: Crc::new(),
        bytes: 0,
        start,
        entry,
    })
}

/// Whether `entry` is deflated or stored, if `packed` bytes can hold as much as it announces.
fn is_deflated(entry: &Entry, packed: u64) -> Result<bool, String> {
    let (name, size) = (excerpt(&entry.name), entry.size);
    let (is_deflated, most) = match entry.method {
        0 => (false, packed),
        8 => (true, packed.saturating_mul(MOST_YIELD)),
        other => return Err(format!("{name} is packed by method {other}, 0 or 8 needed")),
    };
    match size <= most {
        true => Ok(is_deflated),
        false => Err(format!(
            "{name} announces {size} bytes, the archive holds at most {most} of it"
        )),
    }
}

/// The content of an entry, summed up as it is read.
pub(crate) struct Member<'f> {
    content: Box<dyn Read + 'f>,
    sum: Crc,
    /// How many were read.
    bytes: u64,
    start: u64,
    entry: Entry,
}

impl Member<'_> {
    /// Bytes that it announces: at most [`MOST_YIELD`] times those of the archive.
    pub(crate) fn size(&self) -> u64 {
        self.entry.size
    }

    /// Reads what is left of it.
    ///
    /// # Errors
    /// A [`Fault`] if it is longer or shorter than it announces, or if its checksum is another.
    pub(crate) fn finish(mut self) -> Result<(), Fault> {
        let mut rest = [0; 1 << 12];
        while self.bytes <= self.size() {
            let read = self.read(&mut rest);
            if read.map_err(|error| Fault::at(self.start, error.to_string()))? == 0 {
                break;
            }
        }
        let (name, found, needed) = (excerpt(&self.entry.name), self.bytes, self.size());
        let reason = match found.cmp(&needed) {
            Ordering::Equal if self.sum.sum() == self.entry.sum => return Ok(()),
            Ordering::Equal => format!("damaged {name}: its checksum is not the one announced"),
            Ordering::Greater => {
                format!("{name} unpacks to more than the {needed} bytes announced")
            }
            Ordering::Less => format!("{name} unpacks to {found} bytes, {needed} are announced"),
        };
        Err(Fault::at(self.start, reason))
    }
}

impl Read for Member<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| {
            let reason = format!("damaged {}: {error}", excerpt(&self.entry.name));
            io::Error::new(error.kind(), reason)
        };
        let count = self.content.read(buffer).map_err(damaged)?;
        self.sum.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

/// What the list says of an entry.
struct Entry {
    name: String,
    method: u16,
    sum: u32,
    packed: u64,
    size: u64,
    /// Where its local header is.
    place: u64,
}

fn end_of(file: &mut impl Seek) -> Result<u64, Fault> {
    let end = file.seek(SeekFrom::End(0));
    end.map_err(|error| Fault::at(0_u64, error.to_string()))
}

/// The entries of an archive of `length` bytes.
fn entries(file: &mut (impl Read + Seek), length: u64) -> Result<Vec<Entry>, Fault> {
    let tail_at = length.saturating_sub(MOST_END);
    let tail = bytes_at(file, tail_at, length - tail_at)?;
    let end = tail.windows(4).rposition(|window| window == END);
    let end = end.filter(|end| tail.len() - end >= 22);
    let end = end.ok_or_else(|| Fault::at(length, "no zip archive: it has no end record"))?;
    let record = &tail[end..];
    let count = usize::from(u16_at(record, 10));
    let (size, place) = (u32_at(record, 12), u32_at(record, 16));
    let end_at = tail_at + end as u64;
    if count == 0xffff || size == ELSEWHERE || place == ELSEWHERE {
        let reason = "a zip archive of more than 4 GiB or 65,534 entries; save the arrays apart";
        return Err(Fault::at(end_at, reason));
    }
    if size > MOST_LIST || place + size > end_at {
        return Err(Fault::at(
            end_at,
            "the list of entries lies outside the archive",
        ));
    }
    let list = bytes_at(file, place, size)?;
    let mut entries = Vec::new();
    let mut rest = list.as_slice();
    while entries.len() < count {
        let at = place + (list.len() - rest.len()) as u64;
        let (entry, length) = entry(rest).map_err(|reason| Fault::at(at, reason))?;
        entries.push(entry);
        rest = &rest[length..];
    }
    Ok(entries)
}

/// The first entry of the list `bytes` and its length.
fn entry(bytes: &[u8]) -> Result<(Entry, usize), String> {
    if bytes.len() < 46 || bytes[..4] != ENTRY {
        return Err("no entry of a zip archive where one is announced".into());
    }
    if u16_at(bytes, 8) & 1 != 0 {
        return Err("an encrypted entry".into());
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(bytes, at)));
    let length = 46 + name + extra + comment;
    if bytes.len() < length {
        return Err("an entry that is cut short".into());
    }
    let (mut packed, mut size, mut place) =
        (u32_at(bytes, 20), u32_at(bytes, 24), u32_at(bytes, 42));
    let fields = [&mut size, &mut packed, &mut place];
    widen(&bytes[46 + name..46 + name + extra], fields)?;
    let entry = Entry {
        name: String::from_utf8_lossy(&bytes[46..46 + name]).into_owned(),
        method: u16_at(bytes, 10),
        sum: u32_at(bytes, 16) as u32,
        packed,
        size,
        place,
    };
    Ok((entry, length))
}

/// Replaces the fields that are elsewhere by what the extra field of 64 bits says, in their order.
fn widen(mut extra: &[u8], fields: [&mut u64; 3]) -> Result<(), String> {
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
                *field = u32_at(value, 0) | u32_at(value, 4) << 32;
            }
            return Ok(());
        }
        extra = &extra[4 + length..];
    }
    Ok(())
}

/// Where the content of `entry` begins.
fn content_start(file: &mut (impl Read + Seek), entry: &Entry) -> Result<u64, Fault> {
    let header = bytes_at(file, entry.place, 30)?;
    if header[..4] != LOCAL {
        return Err(Fault::at(
            entry.place,
            "no entry of a zip archive where one is announced",
        ));
    }
    let names = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
    Ok(entry.place + 30 + names)
}

/// Exactly `count` bytes from `place`.
fn bytes_at(file: &mut (impl Read + Seek), place: u64, count: u64) -> Result<Vec<u8>, Fault> {
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

fn seek(file: &mut impl Seek, place: u64) -> Result<(), Fault> {
    let sought = file.seek(SeekFrom::Start(place));
    sought
        .map(drop)
        .map_err(|error| Fault::at(place, error.to_string()))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16_at(bytes, at)) | u64::from(u16_at(bytes, at + 2)) << 16
}

#[cfg(any(test, feature = "seeds"))]
pub(crate) mod tests;
