//! The files of a user's own dataset.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::files::digest::Digest;
use crate::files::regular;

/// The files of a dataset of the user's own. Files with a manifest are not among them: they are verified when they are
/// fetched.
#[derive(Debug, Default)]
pub struct OwnFiles {
    paths: Vec<PathBuf>,
    digest: OnceLock<Option<String>>,
}

impl OwnFiles {
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            digest: OnceLock::new(),
        }
    }

    /// SHA-256 of the content of all files; `None` if there are none or one cannot be read. The files are read on first use.
    pub fn digest(&self) -> Option<&str> {
        let digest = self.digest.get_or_init(|| match self.paths.is_empty() {
            true => None,
            false => self.read().ok(),
        });
        digest.as_deref()
    }

    fn read(&self) -> io::Result<String> {
        let mut all = Digest::of("files");
        for path in &self.paths {
            all = all.content(regular::open(path)?)?;
        }
        Ok(all.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_content_counts_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let digest = |paths: Vec<PathBuf>| OwnFiles::new(paths).digest().map(str::to_owned);
        let (a, b) = (write("a", "1,2\n"), write("b", "1,2\n"));
        let one = digest(vec![a.clone()]);
        assert_eq!(one.as_deref().map(str::len), Some(64));
        assert_eq!(digest(vec![b.clone()]), one, "the name does not count");
        assert_ne!(digest(vec![a.clone(), b]), one);
        write("a", "1,3\n");
        assert_ne!(digest(vec![a]), one);
    }

    #[test]
    fn no_files_and_files_that_cannot_be_read_have_no_digest() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |paths| OwnFiles::new(paths).digest().map(str::to_owned);
        assert_eq!(digest(Vec::new()), None);
        assert_eq!(digest(vec![folder.path().to_owned()]), None);
        assert_eq!(digest(vec![folder.path().join("missing")]), None);
    }
}
