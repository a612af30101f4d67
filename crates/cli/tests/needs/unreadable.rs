//! A folder that the user may not read. An administrator may read everything.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use meshfold_test_needs::{Test, test};

use crate::sandbox::Sandbox;

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    let everything = may_read_everything().then_some("no ordinary user");
    vec![test!(a_folder_that_may_not_be_read_is_not_called_empty).unless(everything)]
}

fn may_read_everything() -> bool {
    let folder = tempfile::tempdir().unwrap();
    allow(&folder, 0o000);
    fs::read_dir(&folder).is_ok()
}

fn allow(path: impl AsRef<std::path::Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn a_folder_that_may_not_be_read_is_not_called_empty() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("data/mnist")).unwrap();
    allow(sandbox.path("data"), 0o000);
    sandbox
        .says("plan tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&["cannot read ", "Permission denied"]);
    allow(sandbox.path("data"), 0o755);
}
