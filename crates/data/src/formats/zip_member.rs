//! One entry out of a zip archive, as NumPy writes them: stored or deflated, named without folders.
//!
//! Written here and not taken from the `zip` crate, whose errors name no place in the file (`InvalidArchive` of 9.8).
//!
//! # Source
//! PKWARE, "APPNOTE.TXT, .ZIP file format specification", sections 4.3.7 and 4.3.8.

use std::cmp::Ordering;
use std::io::{self, Read, Seek};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::files::excerpt::{excerpt, listed};
use crate::files::fault::Fault;
use crate::formats::zip_list::{Entry, List, bytes_at, seek, u16_at};

const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// Bytes that the list of entries may have.
const MOST_LIST: u64 = 1 << 24;
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
) -> Result<ZipMember<'f>, Fault> {
    let list = List::find(file)?;
    if list.size > MOST_LIST {
        let reason = format!(
            "a list of entries of {} bytes, at most {MOST_LIST} needed",
            list.size
        );
        return Err(Fault::at(list.archive, reason));
    }
    let entries = list.entries(&mut *file)?;
    let mut entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
    let Some(place) = entries.iter().position(|entry| entry.name == name) else {
        let mut names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
        names.sort_unstable();
        let reason = format!("no entry `{}` among {}", excerpt(name), listed(names));
        return Err(Fault::at(0_u64, reason));
    };
    let entry = entries.swap_remove(place);
    content(file, entry, list.archive, limit)
}

/// The content of `entry` of the zip archive `file`, which has `archive` bytes; as [`open`].
pub(crate) fn content<'f>(
    file: &'f mut (impl Read + Seek),
    entry: Entry,
    archive: u64,
    limit: u64,
) -> Result<ZipMember<'f>, Fault> {
    let refused = |reason| Fault::at(entry.place, reason);
    if entry.size > limit {
        let reason = format!(
            "{} unpacks to {} bytes, at most {limit} needed",
            excerpt(&entry.name),
            entry.size
        );
        return Err(refused(reason));
    }
    let start = content_start(file, &entry)?;
    let packed = entry.packed.min(archive.saturating_sub(start));
    let is_deflated = is_deflated(&entry, packed).map_err(refused)?;
    seek(file, start)?;
    let packed = file.take(packed);
    Ok(ZipMember {
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

/// The content of an entry, whose checksum is computed as it is read.
pub(crate) struct ZipMember<'f> {
    content: Box<dyn Read + 'f>,
    sum: Crc,
    /// Bytes read so far.
    bytes: u64,
    start: u64,
    entry: Entry,
}

impl ZipMember<'_> {
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

impl Read for ZipMember<'_> {
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

#[cfg(any(test, feature = "seeds"))]
pub(crate) mod tests;
