//! Where the tests of parsers find published files.

use std::path::PathBuf;

/// The file `name` of the data folder that `MESHFOLD_DATA` names, or `None` with a printed reason. Where `MESHFOLD_CI` is
/// set it must be there.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(crate::DATA_FOLDER_VARIABLE).map(PathBuf::from);
    let path = folder
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file());
    if path.is_none() {
        let variable = crate::DATA_FOLDER_VARIABLE;
        let reason = format!("no {name} in the folder that {variable} names");
        assert!(std::env::var_os("MESHFOLD_CI").is_none(), "{reason}");
        println!("skipped: {reason}");
    }
    path
}
