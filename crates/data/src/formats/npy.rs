//! The npy format of NumPy: a magic number, a header that is a Python dictionary, then the elements.
//!
//! Written here and not taken from `npyz`, whose errors name no place in the file, and which takes as much memory as a header
//! announces, up to 4 GiB, before it reads it (0.9).
//!
//! # Source
//! NumPy enhancement proposal 1, "A simple file format for NumPy arrays", versions 1.0 to 3.0.

use std::fmt;
use std::io::{BufReader, Read};

use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes that the dictionary may have; NumPy itself refuses more than 10,000.
const MOST_HEADER: usize = 10_000;
/// Dimensions that an array may have.
const MOST_DIMENSIONS: usize = 32;
/// Characters or bytes that a text may have.
const MOST_TEXT: usize = 1 << 16;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// The elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `i` integers with a sign, of this many bytes.
    Signed(usize),
    /// `u` integers without, of this many bytes.
    Unsigned(usize),
    /// `b` booleans of one byte.
    Boolean,
    /// `f` floating point, of this many bytes.
    Float(usize),
    /// `U` texts of up to this many characters, of four bytes each; shorter ones end in zeros.
    Text(usize),
    /// `S` texts of up to this many bytes; shorter ones end in zeros.
    Bytes(usize),
}

impl Kind {
    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Signed(size) | Self::Unsigned(size) | Self::Float(size) | Self::Bytes(size) => {
                size
            }
            Self::Boolean => 1,
            Self::Text(characters) => 4 * characters,
        }
    }

    /// Whether the elements are texts and not numbers.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::Bytes(_))
    }
}

/// As NumPy calls it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(size) => write!(f, "int{}", 8 * size),
            Self::Unsigned(size) => write!(f, "uint{}", 8 * size),
            Self::Boolean => f.write_str("bool"),
            Self::Float(size) => write!(f, "float{}", 8 * size),
            Self::Text(size) => write!(f, "U{size}"),
            Self::Bytes(size) => write!(f, "S{size}"),
        }
    }
}

/// A parsed header; the elements follow it, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// What the elements are.
    pub(crate) kind: Kind,
    /// Whether their most significant byte is the first.
    pub(crate) big_endian: bool,
    /// Sizes of the dimensions, outermost first.
    pub(crate) shape: Vec<usize>,
    /// Bytes before the first element.
    pub(crate) length: usize,
}

impl NpyHeader {
    /// Number of elements.
    pub(crate) fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// An array whose elements are read one after another.
pub(crate) struct NpyArray<R> {
    header: NpyHeader,
    content: BufReader<R>,
    /// Elements that were read.
    read: usize,
    piece: Vec<u8>,
}

impl<R: Read> NpyArray<R> {
    /// Reads the header of `content`, a file of `size` bytes, and checks that it announces elements of just that size.
    ///
    /// # Errors
    /// A [`Fault`] at what is wrong.
    pub(crate) fn begin(content: R, size: u64) -> Result<Self, Fault> {
        let mut content = BufReader::with_capacity(PIECE, content);
        let header = read_header(&mut content)?;
        check_length(&header, size)?;
        Ok(Self {
            header,
            content,
            read: 0,
            piece: Vec::new(),
        })
    }

    pub(crate) fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Gives `see` the next `count` elements as numbers. A fault of `see` names the element by its index.
    ///
    /// # Errors
    /// A [`Fault`] of `see`, or if the content cannot be read so far.
    pub(crate) fn each(
        &mut self,
        count: usize,
        mut see: impl FnMut(f64) -> Result<(), String>,
    ) -> Result<(), Fault> {
        let (kind, big_endian) = (self.header.kind, self.header.big_endian);
        self.each_element(count, |bytes| see(number(bytes, kind, big_endian)?))
    }

    /// Gives `see` the next `count` elements as texts. A fault of `see` names the element by its index.
    ///
    /// # Errors
    /// A [`Fault`] of `see`, or if the content cannot be read so far.
    pub(crate) fn each_text(
        &mut self,
        count: usize,
        mut see: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<(), Fault> {
        let (kind, big_endian) = (self.header.kind, self.header.big_endian);
        self.each_element(count, |bytes| see(&text(bytes, kind, big_endian)?))
    }

    /// Gives `see` the bytes of the next `count` elements.
    fn each_element(
        &mut self,
        count: usize,
        mut see: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Fault> {
        let kind = self.header.kind;
        let mut left = count;
        while left > 0 {
            let elements = left.min(PIECE / kind.size()).max(1);
            self.piece.resize(elements * kind.size(), 0);
            let read = self.content.read_exact(&mut self.piece);
            read.map_err(|error| self.fault(error.to_string()))?;
            for bytes in self.piece.chunks_exact(kind.size()) {
                see(bytes).map_err(|reason| self.fault(format!("{}: {reason}", self.place())))?;
                self.read += 1;
            }
            left -= elements;
        }
        Ok(())
    }

    /// Appends the next `count` elements, which are of one byte each, to `bytes`.
    ///
    /// # Errors
    /// A [`Fault`] if the content cannot be read so far.
    pub(crate) fn append(&mut self, count: usize, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let before = bytes.len();
        bytes.resize(before + count, 0);
        let read = self.content.read_exact(&mut bytes[before..]);
        read.map_err(|error| self.fault(error.to_string()))?;
        self.read += count;
        Ok(())
    }

    /// What it was read from.
    pub(crate) fn into_content(self) -> R {
        self.content.into_inner()
    }

    /// What messages call the next element, counted from 0 as in NumPy.
    fn place(&self) -> String {
        let shape = &self.header.shape;
        let mut index = vec![0; shape.len()];
        let mut rest = self.read;
        for (place, size) in index.iter_mut().zip(shape).rev() {
            (rest, *place) = (rest / size, rest % size);
        }
        match shape.len() {
            0 | 1 => format!("element {}", self.read),
            _ => format!("element {}, at {index:?} of shape {shape:?}", self.read),
        }
    }

    /// The fault `reason` at the next element.
    fn fault(&self, reason: String) -> Fault {
        Fault::at(
            self.header.length + self.read * self.header.kind.size(),
            reason,
        )
    }
}

fn number(bytes: &[u8], kind: Kind, big_endian: bool) -> Result<f64, String> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    if big_endian {
        wide[..bytes.len()].reverse();
    }
    let bits = u64::from_le_bytes(wide);
    Ok(match kind {
        Kind::Unsigned(_) => bits as f64,
        Kind::Boolean => f64::from(u8::from(bits != 0)),
        Kind::Signed(size) => {
            let unused = 64 - 8 * size as u32;
            ((bits << unused) as i64 >> unused) as f64
        }
        Kind::Float(4) => f64::from(f32::from_bits(bits as u32)),
        Kind::Float(_) => f64::from_bits(bits),
        Kind::Text(_) | Kind::Bytes(_) => return Err("a text found, a number needed".into()),
    })
}

/// The text of an element, without the zeros at its end.
fn text(bytes: &[u8], kind: Kind, big_endian: bool) -> Result<String, String> {
    let text = match kind {
        Kind::Text(_) => {
            let (characters, _) = bytes.as_chunks::<4>();
            let code = |four: &[u8; 4]| match big_endian {
                true => u32::from_be_bytes(*four),
                false => u32::from_le_bytes(*four),
            };
            let characters = characters.iter().map(|four| char::from_u32(code(four)));
            characters.collect::<Option<String>>()
        }
        _ => String::from_utf8(bytes.to_vec()).ok(),
    };
    let text = text.ok_or("a text that is no Unicode (UTF-8 in arrays of bytes)")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Reads the header at the beginning of `content`.
fn read_header(content: &mut impl Read) -> Result<NpyHeader, Fault> {
    let mut bytes = Vec::new();
    let mut read_to = |length: usize, bytes: &mut Vec<u8>| {
        let more = (length - bytes.len()) as u64;
        let read = content.by_ref().take(more).read_to_end(bytes);
        read.map_err(|error| Fault::at(bytes.len(), error.to_string()))?;
        if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
            let reason = "no npy array: it does not begin with \\x93NUMPY";
            return Err(Fault::at(0_u64, reason));
        }
        match bytes.len() == length {
            true => Ok(()),
            false => Err(Fault::at(bytes.len(), "the file ends inside the header")),
        }
    };
    read_to(8, &mut bytes)?;
    let start = match bytes[6] {
        1 => 10,
        2 | 3 => 12,
        other => {
            let reason = format!("version {other} of the npy format found, 1 to 3 needed");
            return Err(Fault::at(6_u64, reason));
        }
    };
    read_to(start, &mut bytes)?;
    let mut size = [0; 4];
    size[..start - 8].copy_from_slice(&bytes[8..]);
    let size = u32::from_le_bytes(size) as usize;
    if size > MOST_HEADER {
        let reason = format!("a header of {size} bytes found, at most {MOST_HEADER} needed");
        return Err(Fault::at(8_u64, reason));
    }
    read_to(start + size, &mut bytes)?;
    let text = str::from_utf8(&bytes[start..]);
    let text = text.map_err(|_| Fault::at(start, "a header that is no text"))?;
    let mut header = dictionary(text).map_err(|reason| Fault::at(start, reason))?;
    header.length = bytes.len();
    Ok(header)
}

fn check_length(header: &NpyHeader, found: u64) -> Result<(), Fault> {
    let (shape, size) = (&header.shape, header.kind.size());
    let bytes = shape
        .iter()
        .try_fold(size, |bytes, d| bytes.checked_mul(*d));
    let bytes = bytes.and_then(|bytes| bytes.checked_add(header.length));
    match bytes.map(|bytes| bytes as u64) {
        Some(needed) if needed == found => Ok(()),
        Some(needed) if needed < found => {
            let reason =
                format!("content goes on after the {needed} bytes that shape {shape:?} needs");
            Err(Fault::at(needed, reason))
        }
        Some(needed) => {
            let reason = format!("the file ends here but shape {shape:?} needs {needed} bytes");
            Err(Fault::at(found, reason))
        }
        None => Err(Fault::at(
            header.length,
            format!("shape {shape:?} overflows"),
        )),
    }
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
fn dictionary(text: &str) -> Result<NpyHeader, String> {
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut rest = inner.ok_or("a header that is no dictionary")?.trim();
    let (mut kind, mut fortran, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = quoted(rest)?;
        let after = after
            .trim_start()
            .strip_prefix(':')
            .ok_or("a key without a value")?;
        let after = after.trim_start();
        rest = match key {
            "descr" => {
                let (descr, after) = quoted(after)?;
                kind = Some(kind_of(descr)?);
                after
            }
            "fortran_order" => {
                let value = [("True", true), ("False", false)];
                let found = value.iter().find(|(word, _)| after.starts_with(word));
                let (word, value) = found.ok_or("fortran_order is neither True nor False")?;
                fortran = Some(*value);
                &after[word.len()..]
            }
            "shape" => {
                let inner = after.strip_prefix('(').ok_or("a shape that is no tuple")?;
                let (inner, after) = inner.split_once(')').ok_or("a shape without an end")?;
                shape = Some(sizes(inner)?);
                after
            }
            other => return Err(format!("an unknown key `{}`", excerpt(other))),
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    let (kind, big_endian) = kind.ok_or("a header without descr")?;
    let shape: Vec<usize> = shape.ok_or("a header without shape")?;
    if fortran.ok_or("a header without fortran_order")? && shape.len() > 1 {
        return Err("an array in Fortran order; save it with numpy.ascontiguousarray".into());
    }
    Ok(NpyHeader {
        kind,
        big_endian,
        shape,
        length: 0,
    })
}

/// The text between the quotation marks that `text` begins with, and what follows them.
fn quoted(text: &str) -> Result<(&str, &str), String> {
    let mark = text
        .chars()
        .next()
        .filter(|mark| matches!(mark, '\'' | '"'));
    let mark = mark.ok_or("a word without quotation marks")?;
    text[1..]
        .split_once(mark)
        .ok_or_else(|| "an open quotation mark".into())
}

fn kind_of(descr: &str) -> Result<(Kind, bool), String> {
    let shown = excerpt(descr);
    let refusal = || {
        let hint = match descr.get(1..) {
            Some("f2") => "; save them with `x.astype(numpy.float32)`",
            _ => "",
        };
        format!(
            "elements `{shown}` found, integers, booleans, f4 or f8, or texts (U or S) needed{hint}"
        )
    };
    let (order, kind) = descr.split_at_checked(1).ok_or_else(refusal)?;
    let length = |digits: &str| {
        digits
            .parse()
            .ok()
            .filter(|length| (1..=MOST_TEXT).contains(length))
    };
    let kind = match kind {
        "b1" => Kind::Boolean,
        "u1" => Kind::Unsigned(1),
        "u2" => Kind::Unsigned(2),
        "u4" => Kind::Unsigned(4),
        "u8" => Kind::Unsigned(8),
        "i1" => Kind::Signed(1),
        "i2" => Kind::Signed(2),
        "i4" => Kind::Signed(4),
        "i8" => Kind::Signed(8),
        "f4" => Kind::Float(4),
        "f8" => Kind::Float(8),
        _ => match kind.split_at_checked(1) {
            Some(("U", digits)) => Kind::Text(length(digits).ok_or_else(refusal)?),
            Some(("S", digits)) => Kind::Bytes(length(digits).ok_or_else(refusal)?),
            _ => return Err(refusal()),
        },
    };
    match order {
        "<" | "|" | "=" => Ok((kind, false)),
        ">" => Ok((kind, true)),
        _ => Err(refusal()),
    }
}

fn sizes(inner: &str) -> Result<Vec<usize>, String> {
    let parts = inner
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let sizes: Result<Vec<usize>, String> = parts
        .map(|part| {
            part.parse()
                .map_err(|_| format!("a size `{}` of the shape", excerpt(part)))
        })
        .collect();
    match sizes? {
        sizes if sizes.len() > MOST_DIMENSIONS => Err(format!("{} dimensions", sizes.len())),
        sizes => Ok(sizes),
    }
}

#[cfg(any(test, feature = "seeds"))]
pub(crate) mod tests;
