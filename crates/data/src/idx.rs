//! The idx format of MNIST: a magic number, the dimensions, then the bytes.
//!
//! Big-endian throughout: `00 00 08 d` (unsigned bytes, `d` dimensions), `d` sizes of four bytes,
//! then exactly the product of the sizes in bytes.
//!
//! # Source
//! Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", section "File formats".

/// Type code of unsigned bytes, the one kind that the image datasets use.
const UNSIGNED_BYTE: u8 = 8;

/// A parsed idx header; the content follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Sizes of the dimensions, outermost first.
    pub(crate) dimensions: Vec<usize>,
    /// Bytes of the header, the offset of the first element.
    pub(crate) length: usize,
}

/// A fault in an idx file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The byte at which it lies.
    pub(crate) offset: u64,
    /// What was found and what was needed.
    pub(crate) reason: String,
}

/// Parses the header of `file` and checks that the content has exactly the announced length.
///
/// # Errors
/// A [`Fault`] at the first byte that is wrong.
pub(crate) fn parse(file: &[u8]) -> Result<Header, Fault> {
    let &[zero_a, zero_b, kind, rank, ..] = file else {
        return fault(file.len(), "the file ends inside the magic number".into());
    };
    if (zero_a, zero_b, kind) != (0, 0, UNSIGNED_BYTE) {
        let found = format!("magic number {zero_a:02x}{zero_b:02x}{kind:02x}{rank:02x}");
        return fault(
            0,
            format!("{found} found, 000008.. (unsigned bytes) needed"),
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
        .try_fold(1_usize, |product, &d| product.checked_mul(d));
    match elements.and_then(|count| count.checked_add(length)) {
        Some(needed) if needed == file.len() => Ok(Header { dimensions, length }),
        Some(needed) if needed < file.len() => fault(
            needed,
            format!("content goes on after the {needed} bytes that {dimensions:?} need"),
        ),
        Some(needed) => fault(
            file.len(),
            format!("the file ends here but dimensions {dimensions:?} need {needed} bytes"),
        ),
        None => fault(4, format!("dimensions {dimensions:?} overflow")),
    }
}

fn fault(offset: usize, reason: String) -> Result<Header, Fault> {
    Err(Fault {
        offset: offset as u64,
        reason,
    })
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
        let header = parse(&file(&[3, 2, 5], 30)).unwrap();
        assert_eq!(header.dimensions, [3, 2, 5]);
        assert_eq!(header.length, 16);
    }

    #[test]
    fn every_fault_says_where_it_lies() {
        let offset = |bytes: &[u8]| parse(bytes).unwrap_err().offset;
        assert_eq!(offset(&[0, 0]), 2);
        assert_eq!(offset(&[31, 139, 8, 0, 0]), 0);
        assert_eq!(offset(&[0, 0, 13, 1, 0, 0, 0, 0]), 0);
        assert_eq!(offset(&[0, 0, 8, 3, 0, 0, 0, 1, 0]), 9);
        assert_eq!(offset(&file(&[3, 4], 11)), 12 + 11);
        assert_eq!(offset(&file(&[3, 4], 13)), 12 + 12);
        assert_eq!(offset(&file(&[u32::MAX, u32::MAX, u32::MAX], 0)), 4);
    }
}
