//! Where the tables of `csv` and `npz` may lie, and how large they may be.

use std::path::{Component, Path, PathBuf};

use crate::files::excerpt::excerpt;
use crate::files::regular;
use crate::{DataError, DataFolder};

/// Numbers that one file may hold: 8 GiB of them.
pub(crate) const MOST_NUMBERS: usize = 1 << 31;
/// Bytes that the name of a user's file may have, folders included; no system takes longer ones.
const MOST_NAME: usize = 4096;

/// The path of the user's file `name`, which has to be inside the folder of the experiment's file or the data folder.
///
/// The name alone may not lead out of these folders, so that an experiment of somebody else reads nothing but data. A link
/// in the data folder may, and is followed: only the owner of the folder can have put it there, as nothing that is
/// downloaded or unpacked makes links.
///
/// # Errors
/// [`DataError::Setting`] if the name leads out of the folder, [`DataError::NoTable`] if there is no such file,
/// [`DataError::Io`] if it cannot be looked at or is no regular file.
pub(crate) fn inside(
    dataset: &'static str,
    setting: &'static str,
    name: &str,
    folder: &DataFolder,
) -> Result<PathBuf, DataError> {
    let within = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = Path::new(name);
    let is_short = (1..=MOST_NAME).contains(&name.len());
    if !is_short || path.file_name().is_none() || !path.components().all(within) {
        let found = format!("`{}`", excerpt(name));
        let needed = "the name of a file beside the experiment or inside the data folder";
        return Err(DataError::setting(dataset, setting, found, needed));
    }
    match regular::first(folder.own_file(name))? {
        Some(path) => Ok(path),
        None => Err(DataError::NoTable {
            dataset,
            setting,
            places: folder.own_file(name).collect(),
            origin: folder.origin(),
        }),
    }
}

/// The settings that name the user's files, in the order of [`files`].
pub(crate) const FILE_SETTINGS: [&str; 2] = ["file", "test.file"];

/// The paths of the user's table `file` and, if it has one of its own, of the `test` examples, both [`inside`] the folders.
pub(crate) fn files(
    dataset: &'static str,
    file: &str,
    test: Option<&str>,
    folder: &DataFolder,
) -> Result<Vec<PathBuf>, DataError> {
    let names = [file].into_iter().chain(test);
    let all = FILE_SETTINGS.into_iter().zip(names);
    all.map(|(setting, name)| inside(dataset, setting, name, folder))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let place = DataFolder::new(folder.path());
        for name in [
            "../secret",
            "/etc/passwd",
            "",
            "a/../../b",
            ".",
            "./",
            "./../b",
        ] {
            let refusal = inside("csv", "file", name, &place);
            assert!(matches!(refusal, Err(DataError::Setting { .. })), "{name}");
        }
        let absent = inside("csv", "file", "a/b.csv", &place).unwrap_err();
        assert!(absent.to_string().contains("b.csv"), "{absent}");
        let long = inside("csv", "file", &"a".repeat(10_000_000), &place).unwrap_err();
        assert!(long.to_string().len() < 300, "{long}");
    }

    #[test]
    fn a_file_beside_the_experiment_goes_before_one_in_the_data_folder() {
        let (data, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = DataFolder::new(data.path()).beside(beside.path());
        let found = || inside("csv", "file", "a.csv", &place);
        let told = found().unwrap_err().to_string();
        let places = [beside.path(), data.path()].map(|folder| folder.join("a.csv"));
        for path in &places {
            assert!(told.contains(&path.display().to_string()), "{told}");
        }
        std::fs::write(&places[1], b"1,2").unwrap();
        assert_eq!(found().unwrap(), places[1]);
        std::fs::write(&places[0], b"1,2").unwrap();
        assert_eq!(found().unwrap(), places[0]);
        let with_dot = inside("csv", "file", "./a.csv", &place).unwrap();
        assert_eq!(with_dot, places[0]);
    }

    #[test]
    fn links_that_a_user_makes_in_the_folder_are_followed_to_files() {
        use std::os::unix::fs::symlink;
        let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = DataFolder::new(folder.path());
        std::fs::write(store.path().join("a.csv"), b"1,2").unwrap();
        symlink(store.path().join("a.csv"), folder.path().join("b.csv")).unwrap();
        symlink(store.path(), folder.path().join("store")).unwrap();
        symlink("/dev/zero", folder.path().join("zero.csv")).unwrap();
        for name in ["b.csv", "store/a.csv"] {
            let path = inside("csv", "file", name, &place).unwrap();
            assert_eq!(path, folder.path().join(name));
        }
        let refusal = inside("csv", "file", "zero.csv", &place).unwrap_err();
        let told = "zero.csv: it is a device, not a file";
        assert!(refusal.to_string().ends_with(told), "{refusal}");
    }
}
