//! Manifests: which files a dataset consists of, and where to get them.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::{DataError, DataFolder};

const SOURCES: [&str; 2] = [
    include_str!("../../../datasets/mnist.toml"),
    include_str!("../../../datasets/fashion_mnist.toml"),
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    /// Its files.
    pub files: Vec<ManifestFile>,
}

/// One gzip file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// File name, ending in `.gz`.
    pub name: String,
    /// Size in bytes as fetched; a longer download is cut off.
    pub bytes: u64,
    /// SHA-256 as fetched, lower-case hexadecimal.
    pub sha256: String,
    /// Size of the content in bytes; decompression stops there.
    pub decompressed_bytes: u64,
    /// SHA-256 of the content, lower-case hexadecimal.
    pub decompressed_sha256: String,
    /// Mirrors in the order in which they are tried.
    pub urls: Vec<String>,
}

impl Manifest {
    /// The manifest of the dataset `name`.
    ///
    /// # Errors
    /// [`DataError::UnknownDataset`] with the nearest name.
    pub fn by_name(name: &str) -> Result<&'static Self, DataError> {
        let found = manifests().iter().find(|manifest| manifest.name == name);
        found.ok_or_else(|| DataError::UnknownDataset {
            name: name.into(),
            nearest: nearest(name),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }

    /// Bytes to fetch when no file is there yet.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The folder that [`fetch`](crate::fetch) puts the files into.
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

    /// Where `file` may lie: as fetched, or decompressed.
    pub(crate) fn places(&self, file: &ManifestFile, folder: &DataFolder) -> Vec<PathBuf> {
        let packed = self.folder(folder).join(&file.name);
        let raw = packed.with_extension("");
        vec![packed, raw]
    }

    /// The first of the [`places`](Self::places) that is a file.
    pub(crate) fn locate(
        &self,
        file: &ManifestFile,
        folder: &DataFolder,
    ) -> Result<PathBuf, DataError> {
        let places = self.places(file, folder);
        match places.iter().find(|path| path.is_file()) {
            Some(path) => Ok(path.clone()),
            None => Err(DataError::Missing {
                dataset: self.name.clone(),
                file: file.name.clone(),
                looked: places,
                origin: folder.origin(),
            }),
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    manifests().iter().map(|manifest| manifest.name.as_str())
}

/// The known name closest to `name`, if it is close at all.
fn nearest(name: &str) -> Option<&'static str> {
    let similarity = |known: &&str| strsim::jaro_winkler(&name.to_lowercase(), known);
    names()
        .filter(|known| similarity(known) > 0.7)
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Component, Path};

    #[test]
    fn every_embedded_manifest_parses_and_is_complete() {
        for (source, manifest) in SOURCES.iter().zip(manifests()) {
            assert_eq!(&toml::from_str::<Manifest>(source).unwrap(), manifest);
            for file in &manifest.files {
                assert!(file.name.ends_with(".gz"), "{}", file.name);
                assert!(file.urls.len() >= 2, "{} has no second mirror", file.name);
                assert!(file.urls.iter().all(|url| url.starts_with("https://")));
                for sum in [&file.sha256, &file.decompressed_sha256] {
                    assert_eq!(sum.len(), 64);
                    assert!(sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
                }
            }
        }
    }

    #[test]
    fn no_manifest_leaves_its_folder() {
        for manifest in manifests() {
            let names = manifest.files.iter().map(|file| &file.name);
            for name in names.chain([&manifest.folder]) {
                let parts: Vec<_> = Path::new(name).components().collect();
                assert!(matches!(parts[..], [Component::Normal(_)]), "{name}");
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = Manifest::by_name("fashion-mnist").unwrap_err().to_string();
        assert_eq!(
            error,
            "no dataset to fetch is called `fashion-mnist`, there are mnist, fashion_mnist; \
             did you mean `fashion_mnist`?"
        );
        assert!(
            !Manifest::by_name("cwru")
                .unwrap_err()
                .to_string()
                .contains("did you mean")
        );
    }
}
