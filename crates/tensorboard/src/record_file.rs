//! The framing of TFRecord files: each record has its length before it, and a checksum after the length and after itself.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A new file to which records are appended.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
}

impl RecordFile {
    /// Makes the file.
    ///
    /// # Errors
    /// What the system says, such as that there is one of this name.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create_new(path)?,
        })
    }

    /// Appends `records` in one write, so that a reader meets none of them torn unless the machine fails.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn append(&mut self, records: &[Vec<u8>]) -> io::Result<()> {
        self.file.write_all(&framed(records))
    }
}

/// `records` with their frames, one after the other.
fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        let length = (record.len() as u64).to_le_bytes();
        bytes.extend(length);
        bytes.extend(checksum(&length));
        bytes.extend(record);
        bytes.extend(checksum(record));
    }
    bytes
}

/// The masked CRC-32C of `bytes`: checksums that are stored among the bytes that they cover are rotated by 15 bits, and a
/// constant is added.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    const MASK: u32 = 0xa282_ead8;
    let masked = crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK);
    masked.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard_masked() {
        // RFC 3720, B.4: 32 bytes of zeros have the CRC-32C 0x8a9136aa.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(checksum(&[0; 32]), 0x0fd7_fffa_u32.to_le_bytes());
    }

    #[test]
    fn a_record_is_framed_as_tensorboard_frames_it() {
        // What RecordWriter of TensorBoard 2.21 makes of it.
        let expected = [
            13, 0, 0, 0, 0, 0, 0, 0, 60, 55, 184, 52, 98, 114, 97, 105, 110, 46, 69, 118, 101, 110,
            116, 58, 50, 238, 1, 6, 124,
        ];
        assert_eq!(framed(&[b"brain.Event:2".to_vec()]), expected);
    }

    #[test]
    fn records_follow_one_another_and_no_file_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let mut file = RecordFile::create(&path).unwrap();
        file.append(&[vec![1], vec![2, 3]]).unwrap();
        file.append(&[vec![4]]).unwrap();
        let expected = framed(&[vec![1], vec![2, 3], vec![4]]);
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        let error = RecordFile::create(&path).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    }
}
