//! The MATLAB 5 file format: arrays of real numbers by name.
//!
//! A file is a header of 128 bytes and elements. An element is a tag (a type and a size of four bytes each, or both in
//! four bytes if the data has at most four), the data, and padding to a multiple of eight bytes. An array is an element
//! whose data are elements: flags, dimensions, name and real part. A compressed element is a zlib stream of another.
//!
//! # Source
//! The MathWorks, "MAT-File Format", chapter 1, "Level 5 MAT-File Format".

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::files::fault::Fault;

/// Bytes of the header.
const HEADER: usize = 128;
/// The most bytes that the compressed elements of a file may have together, decompressed.
const MOST_DECOMPRESSED: u64 = 256 << 20;
/// The most numbers that the wanted arrays of a file may have together.
const MOST_NUMBERS: usize = 1 << 25;
/// The most elements of a file.
const MOST_ELEMENTS: usize = 4096;
/// The most dimensions of an array.
const MOST_DIMENSIONS: usize = 32;

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// Classes of arrays from double to 32-bit integers; the others are text, structures and 64-bit integers.
const REAL_CLASSES: std::ops::RangeInclusive<u32> = 6..=13;
const COMPLEX_FLAG: u32 = 0x0800;

/// An array of real numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatArray {
    pub(crate) name: String,
    /// Sizes, the fastest first.
    pub(crate) dimensions: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

type Found<T> = Result<T, Fault>;

/// The arrays of `file` whose name is `wanted`, in the order of the file.
///
/// # Errors
/// A [`Fault`] at the first element that is wrong, or at an array that is wanted and does not hold real numbers; in a compressed
/// element, at the first byte of that.
pub(crate) fn arrays(file: &[u8], wanted: impl Fn(&str) -> bool) -> Found<Vec<MatArray>> {
    let order = byte_order(file)?;
    let mut elements = Elements::new(
        Cursor {
            order,
            base: HEADER,
        },
        &file[HEADER..],
    );
    let mut arrays = Vec::new();
    let mut room = Room {
        decompressed: MOST_DECOMPRESSED,
        numbers: MOST_NUMBERS,
    };
    let mut count = 0;
    while let Some(element) = elements.next()? {
        count += 1;
        if count > MOST_ELEMENTS {
            return fault(
                element.offset,
                format!("more than {MOST_ELEMENTS} elements"),
            );
        }
        let found = match element.kind {
            MATRIX => array(order, &element, &wanted, &mut room),
            COMPRESSED => compressed(order, &element, &wanted, &mut room),
            _ => Ok(None),
        };
        arrays.extend(found?);
    }
    Ok(arrays)
}

/// What the rest of a file may still use.
struct Room {
    /// Bytes that come from compressed elements.
    decompressed: u64,
    /// Numbers of wanted arrays.
    numbers: usize,
}

/// Which end of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

fn byte_order(file: &[u8]) -> Found<ByteOrder> {
    let Some(header) = file.get(..HEADER) else {
        let bytes = file.len();
        return fault(
            bytes,
            format!("the file ends here, inside its header of {HEADER} bytes"),
        );
    };
    let order = match &header[126..] {
        b"IM" => ByteOrder::Little,
        b"MI" => ByteOrder::Big,
        other => {
            let found = other.escape_ascii();
            return fault(
                126,
                format!("byte order \"{found}\" found, \"IM\" or \"MI\" of MATLAB 5 needed"),
            );
        }
    };
    let version = match order {
        ByteOrder::Little => header[125],
        ByteOrder::Big => header[124],
    };
    match version {
        1 => Ok(order),
        _ => fault(
            124,
            format!("version {version} found, 1 of MATLAB 5 needed"),
        ),
    }
}

/// Where data lie in the file, and how their numbers are written.
#[derive(Clone, Copy)]
struct Cursor {
    order: ByteOrder,
    /// Offset of the data in the file; of decompressed data that of the compressed element.
    base: usize,
}

/// A piece of data with its type.
struct Element<'a> {
    kind: u32,
    data: &'a [u8],
    /// Offset of the tag in the file.
    offset: usize,
}

/// Reads one element after another.
struct Elements<'a> {
    cursor: Cursor,
    data: &'a [u8],
    at: usize,
    /// Whether the data come from a compressed element, whose inside has no offset in the file.
    unpacked: bool,
}

impl<'a> Elements<'a> {
    fn new(cursor: Cursor, data: &'a [u8]) -> Self {
        Self {
            cursor,
            data,
            at: 0,
            unpacked: false,
        }
    }

    fn offset(&self) -> usize {
        match self.unpacked {
            true => self.cursor.base,
            false => self.cursor.base + self.at,
        }
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at + 4)?;
        Some(
            self.cursor
                .order
                .u32([bytes[0], bytes[1], bytes[2], bytes[3]]),
        )
    }

    /// The next element, nothing at the end.
    fn next(&mut self) -> Found<Option<Element<'a>>> {
        if self.at == self.data.len() {
            return Ok(None);
        }
        let offset = self.offset();
        let Some(first) = self.word(self.at) else {
            return fault(offset, "the data end inside the tag of an element".into());
        };
        let (kind, size, begin, room) = match first >> 16 {
            0 => {
                let Some(size) = self.word(self.at + 4) else {
                    return fault(offset, "the data end inside the tag of an element".into());
                };
                let size = size as usize;
                let padded = match first {
                    COMPRESSED => size,
                    _ => size.saturating_add(7) / 8 * 8,
                };
                (first, size, self.at + 8, padded)
            }
            // Data of at most four bytes stand in the tag itself, whose upper half is their size.
            size if size <= 4 => (first & 0xffff, size as usize, self.at + 4, 4),
            size => {
                return fault(
                    offset,
                    format!("a short element of {size} bytes, at most 4 fit"),
                );
            }
        };
        let end = begin.checked_add(size);
        let Some(data) = end.and_then(|end| self.data.get(begin..end)) else {
            let left = self.data.len().saturating_sub(begin);
            return fault(
                offset,
                format!("an element of {size} bytes where {left} bytes are left"),
            );
        };
        // Padding may be missing at the very end.
        self.at = begin.saturating_add(room).min(self.data.len());
        Ok(Some(Element { kind, data, offset }))
    }

    /// The next element, which is `what` of an array.
    fn part(&mut self, what: &str) -> Found<Element<'a>> {
        let offset = self.offset();
        match self.next()? {
            Some(element) => Ok(element),
            None => fault(offset, format!("the array ends before its {what}")),
        }
    }
}

/// The array inside a compressed element.
fn compressed(
    order: ByteOrder,
    element: &Element<'_>,
    wanted: &impl Fn(&str) -> bool,
    room: &mut Room,
) -> Found<Option<MatArray>> {
    let mut content = Vec::new();
    let decoder = ZlibDecoder::new(element.data);
    if let Err(error) = decoder
        .take(room.decompressed + 1)
        .read_to_end(&mut content)
    {
        return fault(element.offset, format!("damaged compressed data: {error}"));
    }
    let Some(left) = room.decompressed.checked_sub(content.len() as u64) else {
        let reason = format!("compressed data that unpack to more than {MOST_DECOMPRESSED} bytes");
        return fault(element.offset, reason);
    };
    room.decompressed = left;
    let base = element.offset;
    let mut elements = Elements::new(Cursor { order, base }, &content);
    elements.unpacked = true;
    match elements.next()? {
        Some(inner) if inner.kind == MATRIX => array_in(order, &inner, wanted, true, room),
        Some(inner) if inner.kind == COMPRESSED => {
            fault(base, "compressed data within compressed data".into())
        }
        _ => Ok(None),
    }
}

fn array(
    order: ByteOrder,
    element: &Element<'_>,
    wanted: &impl Fn(&str) -> bool,
    room: &mut Room,
) -> Found<Option<MatArray>> {
    array_in(order, element, wanted, false, room)
}

/// The array of `element` if its name is wanted.
fn array_in(
    order: ByteOrder,
    element: &Element<'_>,
    wanted: &impl Fn(&str) -> bool,
    unpacked: bool,
    room: &mut Room,
) -> Found<Option<MatArray>> {
    let base = match unpacked {
        true => element.offset,
        false => element.offset + 8,
    };
    let mut parts = Elements::new(Cursor { order, base }, element.data);
    parts.unpacked = unpacked;
    let flags = parts.part("flags")?;
    let Some(&[a, b, c, d]) = flags.data.first_chunk() else {
        return fault(flags.offset, "array flags of less than 4 bytes".into());
    };
    let flags = order.u32([a, b, c, d]);
    let sizes = parts.part("dimensions")?;
    let dimensions = dimensions(order, &sizes)?;
    let name = String::from_utf8_lossy(parts.part("name")?.data).into_owned();
    if !wanted(&name) {
        return Ok(None);
    }
    let class = flags & 0xff;
    if !REAL_CLASSES.contains(&class) || flags & COMPLEX_FLAG != 0 {
        return fault(
            element.offset,
            format!("array {name} does not hold real numbers"),
        );
    }
    let real = parts.part("numbers")?;
    let values = numbers(order, &real, room.numbers)?;
    room.numbers -= values.len();
    let needed = dimensions
        .iter()
        .try_fold(1_usize, |product, size| product.checked_mul(*size));
    if needed != Some(values.len()) {
        let found = values.len();
        return fault(
            real.offset,
            format!("array {name} of {dimensions:?} has {found} numbers"),
        );
    }
    Ok(Some(MatArray {
        name,
        dimensions,
        values,
    }))
}

fn dimensions(order: ByteOrder, element: &Element<'_>) -> Found<Vec<usize>> {
    let count = element.data.len() / 4;
    if !(1..=MOST_DIMENSIONS).contains(&count) {
        return fault(element.offset, format!("an array of {count} dimensions"));
    }
    let sizes = element.data.as_chunks().0.iter();
    Ok(sizes.map(|bytes| order.u32(*bytes) as usize).collect())
}

/// The numbers of `element`, whatever they are stored as, at most `most`.
fn numbers(order: ByteOrder, element: &Element<'_>, most: usize) -> Found<Vec<f64>> {
    macro_rules! read {
        ($number:ty) => {
            chunks(element.data, most, |bytes| match order {
                ByteOrder::Little => <$number>::from_le_bytes(bytes) as f64,
                ByteOrder::Big => <$number>::from_be_bytes(bytes) as f64,
            })
        };
    }
    let numbers = match element.kind {
        1 => read!(i8),
        2 => read!(u8),
        3 => read!(i16),
        4 => read!(u16),
        5 => read!(i32),
        6 => read!(u32),
        7 => read!(f32),
        9 => read!(f64),
        12 => read!(i64),
        13 => read!(u64),
        other => return fault(element.offset, format!("numbers of type {other}")),
    };
    match numbers {
        Some(numbers) => Ok(numbers),
        None => fault(element.offset, format!("more than {MOST_NUMBERS} numbers")),
    }
}

/// What `number` makes of every `BYTES` bytes of `data`, nothing if these are more than `most`.
fn chunks<const BYTES: usize>(
    data: &[u8],
    most: usize,
    number: impl Fn([u8; BYTES]) -> f64,
) -> Option<Vec<f64>> {
    let chunks = data.as_chunks().0;
    (chunks.len() <= most).then(|| chunks.iter().map(|bytes| number(*bytes)).collect())
}

fn fault<T>(offset: usize, reason: String) -> Found<T> {
    Err(Fault::at(offset, reason))
}

#[cfg(any(test, feature = "seeds"))]
pub(crate) mod tests;
