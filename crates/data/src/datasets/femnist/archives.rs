//! The archives of NIST's Special Database 19, in which every image lies twice: by its class and by its writer.
//!
//! Neither the list of entries nor more than one image is held. Kept are the MD5 and class of each image of
//! `by_class.zip`, and the writer of each image of `by_write.zip` with its place in the list.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};

use super::{MOST_IMAGES, NAME};
use crate::DataError;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::regular;
use crate::formats::zip_list::{Entry, List, entry_at};
use crate::formats::zip_member;

/// Bytes that the file of one image may have; NIST's have about 2,000.
const MOST_BYTES: u64 = 1 << 20;

/// The MD5 of an image's file, which is the same in both archives.
pub(super) type Sum = [u8; 16];

pub(super) fn sum(content: &[u8]) -> Sum {
    Md5::digest(content).into()
}

/// The class of each image.
#[derive(Default)]
pub(super) struct ImageClasses {
    pub(super) of: HashMap<Sum, u8>,
    /// Files whose image appeared before in another class.
    pub(super) ambiguous: usize,
}

/// One of the archives.
pub(super) struct ImageArchive {
    path: PathBuf,
    file: BufReader<File>,
    list: List,
}

impl ImageArchive {
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let file = regular::open(path).map_err(DataError::io("read", path))?;
        let mut file = BufReader::new(file);
        Ok(Self {
            list: List::find(&mut file).map_err(|fault| fault.of(NAME, path))?,
            path: path.to_owned(),
            file,
        })
    }

    /// Gives `see` what the archive lists, with the share of the list that is read by then.
    fn entries(
        &self,
        mut see: impl FnMut(Entry, f64) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let file = regular::open(&self.path).map_err(DataError::io("read", &self.path))?;
        let refused = |fault: Fault| fault.of(NAME, &self.path);
        for entry in self.list.entries(file).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let share = self.list.share_before(&entry);
            see(entry, share)?;
        }
        Ok(())
    }

    /// The classes of the images, if this is `by_class.zip`; `progress` is told the share that is read.
    pub(super) fn classes(
        mut self,
        progress: &mut dyn FnMut(f64),
    ) -> Result<ImageClasses, DataError> {
        let mut classes = ImageClasses::default();
        let mut other = None;
        let lister = Self::open(&self.path)?;
        let mut content = Vec::new();
        lister.entries(|entry, share| {
            let Some(class) = class(&entry.name) else {
                other.get_or_insert(entry.name);
                return Ok(());
            };
            self.read(entry, &mut content)?;
            let first = *classes.of.entry(sum(&content)).or_insert(class);
            classes.ambiguous += usize::from(first != class);
            self.check_count(classes.of.len())?;
            progress(share);
            Ok(())
        })?;
        match classes.of.is_empty() {
            true => Err(self.wrong("by_class/CLASS/hsf_PART/IMAGE.png", other)),
            false => Ok(classes),
        }
    }

    /// The images by their writers, if this is `by_write.zip`.
    pub(super) fn writers(&self) -> Result<Vec<WrittenImage>, DataError> {
        let (mut numbers, mut images, mut other) = (BTreeMap::new(), Vec::new(), None);
        self.entries(|entry, _| {
            let Some(writer) = writer(&entry.name) else {
                other.get_or_insert(entry.name);
                return Ok(());
            };
            let writer = match numbers.get(writer) {
                Some(number) => *number,
                None => {
                    let number = numbers.len() as u32;
                    numbers.insert(writer.to_owned(), number);
                    number
                }
            };
            images.push(WrittenImage {
                writer,
                listed: entry.listed,
            });
            self.check_count(images.len())
        })?;
        if images.is_empty() {
            return Err(self.wrong("by_write/PART/WRITER/KIND/IMAGE.png", other));
        }
        let mut ranks = vec![0; numbers.len()];
        for (rank, number) in numbers.into_values().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        for image in &mut images {
            image.writer = ranks[image.writer as usize];
        }
        images.sort_unstable_by_key(|image| (image.writer, image.listed));
        Ok(images)
    }

    /// Reads the file of `image`. Returns the path that messages show for it.
    pub(super) fn image(
        &mut self,
        image: &WrittenImage,
        content: &mut Vec<u8>,
    ) -> Result<PathBuf, DataError> {
        let entry = entry_at(&mut self.file, image.listed);
        let entry = entry.map_err(|fault| fault.of(NAME, &self.path))?;
        let path = self.path.join(excerpt(&entry.name));
        self.read(entry, content)?;
        Ok(path)
    }

    /// Reads the content of `entry` in place of what `content` has.
    fn read(&mut self, entry: Entry, content: &mut Vec<u8>) -> Result<(), DataError> {
        let refused = |fault: Fault| fault.of(NAME, &self.path);
        let archive = self.list.archive;
        let member = zip_member::content(&mut self.file, entry, archive, MOST_BYTES);
        let mut member = member.map_err(refused)?;
        let size = member.size();
        content.clear();
        let read = member.by_ref().take(size).read_to_end(content);
        read.map_err(DataError::io("read", &self.path))?;
        member.finish().map_err(refused)
    }

    fn check_count(&self, found: usize) -> Result<(), DataError> {
        match found <= MOST_IMAGES {
            true => Ok(()),
            false => {
                let reason = format!("more than {MOST_IMAGES} images");
                Err(Fault::at(0_u64, reason).of(NAME, &self.path))
            }
        }
    }

    /// What is wrong with an archive without images at `places`, which has the entry `other`.
    fn wrong(&self, places: &str, other: Option<String>) -> DataError {
        let found = other.map_or("nothing".into(), |name| format!("`{}`", excerpt(&name)));
        let reason = format!("no images {places} but {found}; is it the right archive?");
        Fault::at(0_u64, reason).of(NAME, &self.path)
    }
}

/// An image of `by_write.zip`.
pub(super) struct WrittenImage {
    /// The rank of the writer's folder by its name.
    pub(super) writer: u32,
    listed: u64,
}

/// The class of the image `name` of `by_class.zip`; `None` outside of the folders that LEAF reads.
fn class(name: &str) -> Option<u8> {
    let folders: Vec<&str> = name.split('/').collect();
    let ["by_class", class, part, image] = folders[..] else {
        return None;
    };
    if !is_png(image) || !part.contains("hsf") || part.contains("mit") {
        return None;
    }
    match u8::from_str_radix(class, 16).ok()? {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        capital @ b'A'..=b'Z' => Some(capital - b'A' + 10),
        small @ b'a'..=b'z' => Some(small - b'a' + 36),
        _ => None,
    }
}

/// The folder of the writer of the image `name` of `by_write.zip`.
fn writer(name: &str) -> Option<&str> {
    let within = name.strip_prefix("by_write/")?;
    let (folders, image) = within.rsplit_once('/')?;
    let (writer, kind) = folders.rsplit_once('/')?;
    let is_writer = writer.split('/').count() == 2 && !kind.is_empty();
    (is_writer && is_png(image)).then_some(writer)
}

fn is_png(image: &str) -> bool {
    Path::new(image).extension().is_some_and(|e| e == "png")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_as_leaf_does() {
        let of = |folder: &str| class(&format!("by_class/{folder}/a.png"));
        let found = [
            "30/hsf_0", "39/hsf_4", "41/hsf_1", "5a/hsf_7", "61/hsf_0", "7a/hsf_0",
        ];
        let classes = [0, 9, 10, 35, 36, 61];
        assert_eq!(found.map(of), classes.map(Some));
        for folder in [
            "4a/train_4a",
            "4a/hsf_0.mit",
            "40/hsf_0",
            "4a",
            "4a/hsf_0/b",
        ] {
            assert_eq!(of(folder), None, "{folder}");
        }
        assert_eq!(class("by_class/4a/hsf_0/a.txt"), None);
        assert_eq!(class("by_write/4a/hsf_0/a.png"), None);
    }

    #[test]
    fn writers_are_known_by_their_folders() {
        let of = |folder: &str| writer(folder).map(str::to_owned);
        let found = of("by_write/hsf_0/f0000_14/c0000_14/c0000_14_00000.png");
        assert_eq!(found.as_deref(), Some("hsf_0/f0000_14"));
        for name in [
            "by_write/hsf_0/f0000_14/c0000_14/",
            "by_write/hsf_0/f0000_14/a.png",
            "by_write/hsf_0/f0000_14/c/d/a.png",
            "by_write/hsf_0/f0000_14/c/a.mit",
            "by_class/hsf_0/f0000_14/c/a.png",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
