//! Where the tests of parsers find published files.

use std::path::PathBuf;

/// The file `name` of the data folder that `MESHFOLD_DATA` names, or `None` with a printed reason.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(crate::DATA_FOLDER_VARIABLE).map(PathBuf::from);
    let path = folder
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file());
    if path.is_none() {
        println!(
            "skipped: no {name} in the folder that {} names",
            crate::DATA_FOLDER_VARIABLE
        );
    }
    path
}
