//! What tells from outside that the files of a run have changed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::results::run_folder::{DONE, SEALED};

/// Size and time of the last change of every file that is read of a run. Asking for them costs next to nothing, and takes no
/// lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStates(Vec<Option<FileState>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    written: SystemTime,
}

impl FileStates {
    /// The files of the run in `folder` as they are.
    pub fn of(folder: &Path) -> Self {
        let state = |name| {
            let found = fs::metadata(folder.join(name)).ok()?;
            Some(FileState {
                bytes: found.len(),
                written: found.modified().ok()?,
            })
        };
        Self(SEALED.into_iter().chain([DONE]).map(state).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_line_and_a_new_file_show_and_a_checkpoint_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let mut states = vec![FileStates::of(folder.path())];
        for (name, text) in [
            ("metrics.jsonl", "{}\n"),
            ("metrics.jsonl", "{}\n{}\n"),
            (DONE, ""),
        ] {
            write(name, text);
            let state = FileStates::of(folder.path());
            assert_ne!(states.last(), Some(&state), "{name}");
            states.push(state);
        }
        write("checkpoint.safetensors", "weights");
        assert_eq!(states.last(), Some(&FileStates::of(folder.path())));
    }
}
