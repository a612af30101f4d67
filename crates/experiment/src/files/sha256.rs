//! SHA-256 in lower-case hexadecimal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes`, in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Most bytes that are read at once.
const PIECE: u64 = 1 << 16;

/// SHA-256 of the content of the file at `path`, which is read in pieces.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    // Most files of a run are small, and a sweep has many: they get no larger piece than they need, which is cleared first.
    let length = file.metadata()?.len();
    let mut piece = vec![0; length.clamp(512, PIECE) as usize];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hexadecimal(&digest.finalize())),
            length => digest.update(&piece[..length]),
        }
    }
}

/// SHA-256 of pairs of numbers, eight bytes each, in lower-case hexadecimal.
pub fn sha256_of_pairs(pairs: impl Iterator<Item = (u32, u32)>) -> String {
    let mut digest = Sha256::new();
    for (a, b) in pairs {
        digest.update((u64::from(a) << 32 | u64::from(b)).to_be_bytes());
    }
    hexadecimal(&digest.finalize())
}

/// Bytes in lower-case hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let text = String::with_capacity(2 * bytes.len());
    bytes.iter().fold(text, |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes any text");
        text
    })
}
