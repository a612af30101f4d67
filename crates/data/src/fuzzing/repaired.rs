//! Repairs checksums: a fuzzer cannot guess them, and the parsers behind them must be tested as well.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Bytes of the header of a MATLAB file, and the type of a compressed element.
const MAT5_HEADER: usize = 128;
const MAT5_COMPRESSED: u8 = 15;

/// `archive` with the sum of every whole block of 512 bytes that is not empty where a tar header has it.
pub(super) fn tar(archive: &[u8]) -> Vec<u8> {
    let mut archive = archive.to_vec();
    for block in archive.as_chunks_mut::<512>().0 {
        if block.iter().any(|byte| *byte != 0) {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    archive
}

/// `stream` with the sums of the header, of the first block's header, of the index and of the footer of an xz stream.
pub(super) fn xz(stream: &[u8]) -> Vec<u8> {
    let mut stream = stream.to_vec();
    let length = stream.len();
    set_sum(&mut stream, 6, 8, 8);
    // A size of zero is that of the index: a stream without blocks.
    if let Some(size @ 1..) = stream.get(12).copied() {
        let end = 12 + usize::from(size) * 4;
        set_sum(&mut stream, 12, end, end);
    }
    if let Some(footer) = length.checked_sub(12) {
        set_sum(&mut stream, footer + 4, footer + 10, footer);
        let size = stream[footer + 4..].first_chunk().copied();
        let index = size.map_or(0, u32::from_le_bytes) as usize;
        let begin = index
            .checked_mul(4)
            .and_then(|index| footer.checked_sub(index + 4));
        if let Some(begin) = begin {
            set_sum(&mut stream, begin, footer - 4, footer - 4);
        }
    }
    stream
}

/// Puts the CRC-32 of the bytes from `from` to `to` at `place`, if all of them are there.
fn set_sum(bytes: &mut [u8], from: usize, to: usize, place: usize) {
    let mut sum = Crc::new();
    sum.update(bytes.get(from..to).unwrap_or_default());
    if let Some(field) = bytes.get_mut(place..place + 4) {
        field.copy_from_slice(&sum.sum().to_le_bytes());
    }
}

/// `file` with what follows the header in one compressed element.
pub(super) fn mat5(file: &[u8]) -> Vec<u8> {
    let (header, content) = file.split_at(file.len().min(MAT5_HEADER));
    let mut to = ZlibEncoder::new(Vec::new(), Compression::none());
    let packed = to.write_all(content).and_then(|()| to.finish());
    let packed = packed.expect("writing to memory does not fail");
    let mut tag = [MAT5_COMPRESSED, 0, 0, 0];
    let mut size = (packed.len() as u32).to_le_bytes();
    if header.ends_with(b"MI") {
        tag.reverse();
        size.reverse();
    }
    [header, &tag, &size, &packed].concat()
}
