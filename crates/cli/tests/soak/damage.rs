//! Ways in which a file can be damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dice::Dice;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Nothing is left of its content.
    Emptied,
    /// The second half is lost.
    Halved,
    /// The last byte is lost.
    Shortened,
    /// One bit is turned over.
    BitFlipped,
    /// The content comes twice.
    Doubled,
    /// Bytes of noise are added.
    Extended,
    /// A digit is another one.
    DigitChanged,
    /// One word is another one.
    LetterChanged,
    /// A line is lost.
    LineLost,
    /// The same file of another run lies in its place.
    OfAnotherRun,
    /// A folder lies in its place.
    Folder,
    /// A link that leads nowhere lies in its place.
    Link,
    /// It is lost.
    Lost,
}

/// All kinds of damage.
pub(crate) const DAMAGES: [Damage; 13] = [
    Damage::Emptied,
    Damage::Halved,
    Damage::Shortened,
    Damage::BitFlipped,
    Damage::Doubled,
    Damage::Extended,
    Damage::DigitChanged,
    Damage::LetterChanged,
    Damage::LineLost,
    Damage::OfAnotherRun,
    Damage::Folder,
    Damage::Link,
    Damage::Lost,
];

impl Damage {
    /// Damages the file at `path`; `other` is the same file of another run. Returns whether anything has changed.
    pub(crate) fn strike(self, path: &Path, other: Option<&Path>, dice: &mut Dice) -> bool {
        match self {
            Self::Folder => {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
                return true;
            }
            Self::Link => {
                fs::remove_file(path).unwrap();
                std::os::unix::fs::symlink("nowhere", path).unwrap();
                return true;
            }
            Self::Lost => {
                fs::remove_file(path).unwrap();
                return true;
            }
            _ => {}
        }
        let before = fs::read(path).unwrap();
        let after = match (self, other) {
            (Self::OfAnotherRun, Some(other)) => fs::read(other).ok(),
            _ => self.changed(&before, dice),
        };
        match after {
            Some(after) if after != before => {
                fs::write(path, after).unwrap();
                true
            }
            _ => false,
        }
    }

    /// The damaged content, if this damage can come to it.
    fn changed(self, content: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
        let length = content.len();
        let mut after = content.to_vec();
        match self {
            Self::Emptied => after.clear(),
            Self::Halved => after.truncate(length / 2),
            Self::Shortened => after.truncate(length.saturating_sub(1)),
            Self::BitFlipped if length > 0 => {
                after[dice.within(0..=length - 1)] ^= 1 << dice.within(0..=7);
            }
            Self::Doubled => after.extend_from_slice(content),
            Self::Extended => {
                after.extend((0..dice.within(1..=100)).map(|_| dice.within(0..=u8::MAX)));
            }
            Self::DigitChanged => {
                let place = one_of(content, u8::is_ascii_digit, dice)?;
                after[place] = b'0' + (after[place] - b'0' + dice.within(1..=9)) % 10;
            }
            Self::LetterChanged => {
                let place = one_of(content, u8::is_ascii_lowercase, dice)?;
                after[place] = b'a' + (after[place] - b'a' + dice.within(1..=25)) % 26;
            }
            Self::LineLost => {
                let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
                let lost = dice.within(0..=lines.len().checked_sub(1)?);
                let kept = lines.iter().enumerate().filter(|(line, _)| *line != lost);
                after = kept.flat_map(|(_, line)| line.to_vec()).collect();
            }
            _ => return None,
        }
        Some(after)
    }
}

/// A random place whose byte is as asked for.
fn one_of(content: &[u8], is_right: fn(&u8) -> bool, dice: &mut Dice) -> Option<usize> {
    let right = |(place, byte): (usize, &u8)| is_right(byte).then_some(place);
    let places: Vec<usize> = content.iter().enumerate().filter_map(right).collect();
    (!places.is_empty()).then(|| *dice.pick(&places))
}

/// The files below `folder`, by their paths from there.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let entry = entry.unwrap();
            let path = inner.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// Copies the folder `from` with all that is in it to `to`, which need not exist.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files_below(from) {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&file), target).unwrap();
    }
}
