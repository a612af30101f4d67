//! Manifests: which files a dataset consists of, and where to get them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::files::copies;
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::packing::{Packing, packed, unpacked};
use crate::files::payload;
use crate::files::payload::{gather_expected, in_pieces, sha256};
use crate::files::place::Place;
use crate::files::regular;
use crate::files::suggestion::nearest;
use crate::{DataError, DataFolder};

const SOURCES: [&str; 10] = [
    include_str!("../../../../datasets/mnist.toml"),
    include_str!("../../../../datasets/fashion_mnist.toml"),
    include_str!("../../../../datasets/cifar10.toml"),
    include_str!("../../../../datasets/cifar100.toml"),
    include_str!("../../../../datasets/qmnist.toml"),
    include_str!("../../../../datasets/femnist.toml"),
    include_str!("../../../../datasets/leukemia_a2.toml"),
    include_str!("../../../../datasets/shakespeare.toml"),
    include_str!("../../../../datasets/reddit.toml"),
    include_str!("../../../../datasets/cwru.toml"),
];

static MANIFESTS: LazyLock<Vec<Manifest>> = LazyLock::new(|| {
    let parse = |text: &&str| toml::from_str(text).expect("a test parses every embedded manifest");
    SOURCES.iter().map(parse).collect()
});

/// The manifests of all datasets that consist of files, embedded in the program.
pub fn manifests() -> &'static [Manifest] {
    &MANIFESTS
}

/// What a dataset's files must be: `datasets/<name>.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The dataset's name in configurations and on the command line.
    pub name: String,
    /// One line that says what it is.
    pub title: String,
    /// Folder of its files inside the data folder.
    pub folder: String,
    /// The makers' page.
    pub homepage: String,
    /// Terms of use, as far as they are known.
    pub licence: String,
    /// The work to cite.
    pub citation: String,
    /// Other datasets whose files are needed to read it; they are fetched and checked too.
    #[serde(default)]
    pub needs: Vec<String>,
    /// How a person gets the files that have no mirror.
    #[serde(default)]
    pub by_hand: Option<String>,
    /// Archives that are published in place of the files within.
    #[serde(default)]
    pub archives: Vec<Archive>,
    /// Optional files, whose checksums nobody knows.
    #[serde(default)]
    pub unlisted: Vec<UnlistedFile>,
    /// Its files; none if every user's are different.
    #[serde(default)]
    pub files: Vec<ManifestFile>,
}

/// A `.tar` file, packed or not, that holds files of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// File name.
    pub name: String,
    /// Size in bytes as fetched.
    pub bytes: u64,
    /// SHA-256 as fetched, lower-case hexadecimal.
    pub sha256: Option<String>,
    /// MD5 as fetched, lower-case hexadecimal, where the makers publish that.
    pub md5: Option<String>,
    /// Mirrors in the order in which they are tried.
    #[serde(default)]
    pub urls: Vec<String>,
}

/// A file that a dataset can do without, and that is read as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnlistedFile {
    /// Its name inside the dataset's folder.
    pub name: String,
    /// Where to get it, and what works without it.
    pub how: String,
}

/// One file of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Its name inside the dataset's folder as published, such as `a.bin`, `a.csv.gz` or `folder/a.mat`; the ending says
    /// how it is packed. It may lie there packed in any other way as well.
    pub name: String,
    /// Size in bytes as published; a longer download is cut off.
    pub bytes: u64,
    /// SHA-256 as published, lower-case hexadecimal.
    #[serde(default)]
    pub sha256: Option<String>,
    /// MD5 as published, lower-case hexadecimal, where the makers publish that.
    #[serde(default)]
    pub md5: Option<String>,
    /// Size of the content in bytes, if the file is packed; reading stops there.
    #[serde(default)]
    pub decompressed_bytes: Option<u64>,
    /// SHA-256 of the content, lower-case hexadecimal, if the file is packed.
    #[serde(default)]
    pub decompressed_sha256: Option<String>,
    /// Mirrors in the order in which they are tried.
    #[serde(default)]
    pub urls: Vec<String>,
    /// The archive that holds it.
    #[serde(default)]
    pub archive: Option<String>,
    /// Its name in that archive.
    #[serde(default)]
    pub member: Option<String>,
    /// Copies in circulation that differ from what was published, and are good enough to load.
    #[serde(default)]
    pub copies: Vec<KnownCopy>,
}

/// A copy of a file that is known to differ from the original, of the same size and form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownCopy {
    /// SHA-256 of the content, lower-case hexadecimal.
    pub sha256: String,
    /// In which way it differs.
    pub note: String,
}

impl Manifest {
    /// The manifest of the dataset `name`.
    ///
    /// # Errors
    /// [`DataError::UnknownDataset`] with the nearest name.
    pub fn by_name(name: &str) -> Result<&'static Self, DataError> {
        let found = manifests().iter().find(|manifest| manifest.name == name);
        found.ok_or_else(|| DataError::UnknownDataset {
            name: excerpt(name),
            nearest: nearest(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }

    /// This manifest and those of the datasets that it needs.
    pub fn with_needed(&self) -> impl Iterator<Item = &Self> {
        let needed = self
            .needs
            .iter()
            .filter_map(|name| Self::by_name(name).ok());
        std::iter::once(self).chain(needed)
    }

    /// Bytes to fetch when no file is there yet, those of needed datasets not counted.
    pub fn bytes(&self) -> u64 {
        let archives = self.archives.iter().map(|archive| archive.bytes);
        let loose = self.files.iter().filter(|file| file.archive.is_none());
        archives.chain(loose.map(|file| file.bytes)).sum()
    }

    /// Whether there is a mirror for any of it.
    pub fn is_fetchable(&self) -> bool {
        let files = self.files.iter().map(|file| &file.urls);
        let archives = self.archives.iter().map(|archive| &archive.urls);
        files.chain(archives).any(|urls| !urls.is_empty())
    }

    /// How many of its files are in `folder`, in any form, right or wrong.
    ///
    /// # Errors
    /// [`DataError::Io`] if the folder does not let anybody see.
    pub fn present(&self, folder: &DataFolder) -> Result<usize, DataError> {
        let mut present = 0;
        for file in &self.files {
            match self.locate(file, folder) {
                Ok(_) => present += 1,
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(present)
    }

    /// The folder that [`fetch`](crate::fetch()) puts the files into.
    pub fn folder(&self, folder: &DataFolder) -> PathBuf {
        folder.path().join(&self.folder)
    }

    /// The entry of the file `name`.
    ///
    /// # Panics
    /// If there is none: loaders and manifests are written together.
    pub(crate) fn file(&self, name: &str) -> &ManifestFile {
        let found = self.files.iter().find(|file| file.name == name);
        found.unwrap_or_else(|| panic!("manifest {} lacks {name}", self.name))
    }

    /// The entry of the optional file at `path`, if it is one.
    pub(crate) fn unlisted(&self, path: &Path) -> Option<&UnlistedFile> {
        self.unlisted.iter().find(|file| path.ends_with(&file.name))
    }

    /// The archive that holds `file`, if one does.
    pub(crate) fn archive_of(&self, file: &ManifestFile) -> Option<&Archive> {
        let name = file.archive.as_ref()?;
        let found = self.archives.iter().find(|archive| archive.name == *name);
        Some(found.unwrap_or_else(|| panic!("manifest {} lacks {name}", self.name)))
    }

    /// Where `file` lies: as published, plain, packed in some way, or in its archive.
    pub(crate) fn locate(
        &self,
        file: &ManifestFile,
        folder: &DataFolder,
    ) -> Result<Place, DataError> {
        let home = self.folder(folder);
        let published = home.join(&file.name);
        let plain = unpacked(&published);
        let mut places = vec![published];
        if !places.contains(&plain) {
            places.push(plain.clone());
        }
        let found = regular::first(places.iter().cloned().chain(packed(&plain)));
        if let Ok(Some(path)) = found {
            return Ok(Place::File(path));
        }
        if let (Some(archive), Some(member)) = (self.archive_of(file), &file.member) {
            let archive = home.join(&archive.name);
            if regular::is_there(&archive).is_ok_and(|is_there| is_there) {
                let member = member.clone();
                return Ok(Place::Member { archive, member });
            }
            places.push(archive);
        }
        found?;
        if let Some(broken) = regular::broken_link(&home) {
            return Err(DataError::io("read", home)(broken));
        }
        Err(DataError::Missing {
            dataset: self.name.clone(),
            file: file.name.clone(),
            looked: places,
            origin: folder.origin(),
        })
    }

    /// The whole content of `file`, verified against its size and checksum.
    ///
    /// # Errors
    /// [`DataError::Missing`], [`DataError::Io`], or [`DataError::Malformed`] if it is not what was published, nor a
    /// known copy of it.
    pub(crate) fn read(
        &self,
        file: &ManifestFile,
        folder: &DataFolder,
    ) -> Result<Vec<u8>, DataError> {
        let place = self.locate(file, folder)?;
        let limit = file.content_bytes();
        let damage = |error| place.fault(&self.name, 0, error);
        let content = place.content(limit).map_err(damage)?;
        let content = gather_expected(content, limit).map_err(damage)?;
        self.expect_length(file, &place, content.len() as u64)?;
        self.verify(file, &place, &sha256(&content))?;
        Ok(content)
    }

    /// As [`read`](Self::read), without holding the content: calls `see` with the place and the content of one piece of
    /// `length` bytes after another. What was seen counts only if this succeeds.
    ///
    /// # Errors
    /// As [`read`](Self::read), and the first fault that `see` finds in a content that is as long as it should be.
    pub(crate) fn read_in_pieces(
        &self,
        file: &ManifestFile,
        folder: &DataFolder,
        length: usize,
        mut see: impl FnMut(usize, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), DataError> {
        let place = self.locate(file, folder)?;
        let limit = file.content_bytes();
        let damage = |error| place.fault(&self.name, 0, error);
        let mut seen = Ok(());
        let content = place.content(limit).map_err(damage)?;
        let (found, sum) = in_pieces(content, limit, length, |place, piece| {
            // What goes on after the limit is no piece of the content.
            if seen.is_ok() && (place * length + piece.len()) as u64 <= limit {
                seen = see(place, piece);
            }
        })
        .map_err(damage)?;
        self.expect_length(file, &place, found)?;
        self.verify(file, &place, &sum)?;
        seen.map_err(|fault| fault.of(&self.name, place.path()))
    }

    /// Compares the length of `file`'s content, found at `place`.
    pub(crate) fn expect_length(
        &self,
        file: &ManifestFile,
        place: &Place,
        found: u64,
    ) -> Result<(), DataError> {
        let limit = file.content_bytes();
        let malformed =
            |offset: u64, reason| Err(Fault::at(offset, reason).of(&self.name, place.path()));
        match (found.cmp(&limit), place.packing()) {
            (Ordering::Equal, _) => Ok(()),
            (Ordering::Greater, packing) => malformed(limit, payload::overlong(packing, limit)),
            (Ordering::Less, Packing::Plain) => {
                malformed(found, format!("the file ends here, {limit} bytes needed"))
            }
            (Ordering::Less, _) => {
                let reason = format!("the file unpacks to {found} bytes, {limit} needed");
                malformed(found, reason)
            }
        }
    }

    /// Compares the SHA-256 `sum` of `file`'s whole content, found at `place`; a known copy is warned of.
    pub(crate) fn verify(
        &self,
        file: &ManifestFile,
        place: &Place,
        sum: &str,
    ) -> Result<(), DataError> {
        match file.judge(sum) {
            Content::Published | Content::Uncompared => Ok(()),
            Content::Copy(note) => {
                copies::tell(&self.name, &place.path(), &note);
                Ok(())
            }
            Content::Other { found, needed } => {
                let reason = format!("content has SHA-256 {found}, {needed} needed");
                Err(Fault::at(0_u64, reason).of(&self.name, place.path()))
            }
        }
    }
}

/// What a checksum says of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Exactly what was published.
    Published,
    /// No checksum of it is known.
    Uncompared,
    /// A known copy, which differs as the note says.
    Copy(String),
    /// None of these.
    Other {
        /// SHA-256 found.
        found: String,
        /// SHA-256 of what was published.
        needed: String,
    },
}

impl ManifestFile {
    /// Size of the content in bytes.
    pub fn content_bytes(&self) -> u64 {
        self.decompressed_bytes.unwrap_or(self.bytes)
    }

    /// SHA-256 of the content, where it is known.
    pub fn content_sha256(&self) -> Option<&str> {
        let plain = Packing::of(Path::new(&self.name)) == Packing::Plain;
        let of_file = self.sha256.as_deref().filter(|_| plain);
        self.decompressed_sha256.as_deref().or(of_file)
    }

    /// Whether a person has to bring it.
    pub fn is_by_hand(&self) -> bool {
        self.urls.is_empty() && self.archive.is_none()
    }

    /// What the SHA-256 `found` says of a content.
    pub(crate) fn judge(&self, found: &str) -> Content {
        if let Some(copy) = self.copies.iter().find(|copy| copy.sha256 == found) {
            return Content::Copy(copy.note.clone());
        }
        match self.content_sha256() {
            None => Content::Uncompared,
            Some(needed) if needed == found => Content::Published,
            Some(needed) => Content::Other {
                found: found.into(),
                needed: needed.into(),
            },
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    manifests().iter().map(|manifest| manifest.name.as_str())
}

#[cfg(test)]
mod tests;
