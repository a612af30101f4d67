//! The json files of a folder, as LEAF's scripts leave them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::DataError;
use crate::files::{packing, regular};

/// The `.json` files in `folder`, packed or not, in the order of their names; none without such a folder. If a file is
/// there both packed and plain, the plain one is listed. Names that begin with a dot are left out: macOS keeps notes
/// about other files in them.
pub(crate) fn json_files(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(DataError::io("list", folder)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(DataError::io("list", folder))?.path();
        let plain = packing::unpacked(&path);
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || plain.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        match regular::is_there(&path) {
            Ok(true) => files.push((plain, path)),
            Ok(false) => {}
            Err(_) if path.is_dir() => {}
            Err(error) => return Err(DataError::io("read", path)(error)),
        }
    }
    // A plain name is shorter than a packed one, and so goes before it.
    files.sort();
    files.dedup_by(|(next, _), (kept, _)| next == kept);
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_folders_are_none_of_them() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["b.json", "b.json.gz", "a.json.gz", "c.txt", "._b.json"] {
            fs::write(at(name), b"").unwrap();
        }
        fs::create_dir(at("x.json")).unwrap();
        let found = json_files(home.path()).unwrap();
        assert_eq!(found, [at("a.json.gz"), at("b.json")]);
        assert!(json_files(&at("absent")).unwrap().is_empty());
    }
}
