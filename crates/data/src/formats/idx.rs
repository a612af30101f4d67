//! The idx format of MNIST: a magic number, the dimensions, then the elements.
//!
//! Big-endian throughout: `00 00 kk d` (elements of kind `kk`, `d` dimensions), `d` sizes of four bytes, then exactly the
//! product of the sizes in elements.
//!
//! # Source
//! Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", section "File formats".

use crate::files::fault::Fault;

/// The kinds of elements that the datasets use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// Unsigned bytes.
    Byte,
    /// Signed integers of four bytes.
    Int,
}

impl Element {
    /// The type code in the magic number.
    fn code(self) -> u8 {
        match self {
            Self::Byte => 0x08,
            Self::Int => 0x0c,
        }
    }

    /// Bytes of an element.
    fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Int => 4,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Byte => "unsigned bytes",
            Self::Int => "integers of four bytes",
        }
    }
}

/// A parsed idx header; the content follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdxHeader {
    /// Sizes of the dimensions, outermost first.
    pub(crate) dimensions: Vec<usize>,
    /// Bytes of the header, the offset of the first element.
    pub(crate) length: usize,
}

/// Parses the header of `file` and checks that the content has exactly the announced length.
///
/// # Errors
/// A [`Fault`] at the first byte that is wrong.
pub(crate) fn parse(file: &[u8], element: Element) -> Result<IdxHeader, Fault> {
    parse_beginning(file, file.len(), element)
}

/// [`parse`] of a file of `bytes` bytes that begins with `file`, which has all of a header.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_beginning(
    file: &[u8],
    bytes: usize,
    element: Element,
) -> Result<IdxHeader, Fault> {
    let &[zero_a, zero_b, kind, rank, ..] = file else {
        return fault(file.len(), "the file ends inside the magic number".into());
    };
    let code = element.code();
    if (zero_a, zero_b, kind) != (0, 0, code) {
        let found = format!("magic number {zero_a:02x}{zero_b:02x}{kind:02x}{rank:02x}");
        let name = element.name();
        return fault(
            0,
            format!("{found} found, 0000{code:02x}.. ({name}) needed"),
        );
    }
    let length = 4 + 4 * usize::from(rank);
    let Some(sizes) = file.get(4..length) else {
        return fault(
            file.len(),
            format!("the file ends inside its {rank} dimensions"),
        );
    };
    let dimensions: Vec<usize> = sizes
        .chunks_exact(4)
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .collect();
    let elements = dimensions
        .iter()
        .try_fold(element.size(), |product, &d| product.checked_mul(d));
    match elements.and_then(|count| count.checked_add(length)) {
        Some(needed) if needed == bytes => Ok(IdxHeader { dimensions, length }),
        Some(needed) if needed < bytes => fault(
            needed,
            format!("content goes on after the {needed} bytes that {dimensions:?} need"),
        ),
        Some(needed) => fault(
            bytes,
            format!("the file ends here but dimensions {dimensions:?} need {needed} bytes"),
        ),
        None => fault(4, format!("dimensions {dimensions:?} overflow")),
    }
}

/// The integers of the `elements` that follow a header.
pub(crate) fn integers(elements: &[u8]) -> impl Iterator<Item = i32> {
    let words = elements.chunks_exact(4);
    words.map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

fn fault(offset: usize, reason: String) -> Result<IdxHeader, Fault> {
    Err(Fault::at(offset, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dimensions: &[u32], content: usize) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
        bytes.extend(dimensions.iter().flat_map(|d| d.to_be_bytes()));
        bytes.resize(bytes.len() + content, 7);
        bytes
    }

    #[test]
    fn a_header_gives_sizes_and_the_start_of_the_content() {
        let header = parse(&file(&[3, 2, 5], 30), Element::Byte).unwrap();
        assert_eq!(header.dimensions, [3, 2, 5]);
        assert_eq!(header.length, 16);
        let integers = [0, 0, 12, 1, 0, 0, 0, 1, 0, 0, 1, 2];
        let header = parse(&integers, Element::Int).unwrap();
        let values: Vec<i32> = super::integers(&integers[header.length..]).collect();
        assert_eq!(values, [258]);
    }

    #[test]
    fn every_fault_says_where_it_lies() {
        let offset = |bytes: &[u8]| parse(bytes, Element::Byte).unwrap_err().offset;
        assert_eq!(offset(&[0, 0]), 2);
        assert_eq!(offset(&[31, 139, 8, 0, 0]), 0);
        assert_eq!(offset(&[0, 0, 13, 1, 0, 0, 0, 0]), 0);
        assert_eq!(offset(&[0, 0, 8, 3, 0, 0, 0, 1, 0]), 9);
        assert_eq!(offset(&file(&[3, 4], 11)), 12 + 11);
        assert_eq!(offset(&file(&[3, 4], 13)), 12 + 12);
        assert_eq!(offset(&file(&[u32::MAX, u32::MAX, u32::MAX], 0)), 4);
    }
}
