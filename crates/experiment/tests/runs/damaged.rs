//! Damaged files of an interrupted run: the run starts again and has the same results.

use std::fs;
use std::path::{Path, PathBuf};

use meshfold_experiment::Ending;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::tiny::{Case, copy_files, results};

const FILE: &str = "checkpoint.safetensors";

/// A run that was interrupted after round 4, and the results of the same run without interruption.
struct Broken {
    case: Case,
    whole: (Vec<String>, Vec<u8>),
    /// A copy of the folder after the interruption.
    left: TempDir,
    checkpoint: Vec<u8>,
}

impl Broken {
    fn new(overrides: &[&str]) -> Self {
        let overrides = [&["checkpoint={every: 2}"], overrides].concat();
        let (in_one_go, case) = (Case::new(&overrides), Case::new(&overrides));
        let whole = results(&in_one_go.run());
        case.run_until(4);
        let left = tempfile::tempdir().unwrap();
        copy_files(&case.folder(), left.path());
        Self {
            checkpoint: fs::read(case.folder().join(FILE)).unwrap(),
            whole,
            case,
            left,
        }
    }

    /// Applies `damage` to the folder and runs again. Expects the same results, from round 4 on if the run `resumes`, else from
    /// the beginning.
    #[track_caller]
    fn expect(&self, resumes: bool, what: &str, damage: impl FnOnce(&Path)) {
        copy_files(self.left.path(), &self.case.folder());
        damage(&self.case.folder());
        let report = self.case.run();
        assert!(matches!(report.ending, Ending::Finished), "{what}");
        assert_eq!(report.resumed_from, resumes.then_some(4), "{what}");
        assert!(results(&report) == self.whole, "{what}");
    }

    /// Expects the run to start again if `bytes` take the place of the checkpoint.
    #[track_caller]
    fn expect_ignored(&self, what: &str, bytes: &[u8]) {
        self.expect(false, what, |folder| {
            fs::write(folder.join(FILE), bytes).unwrap();
        });
    }
}

#[test]
fn a_checkpoint_with_other_bytes_is_ignored() {
    let broken = Broken::new(&[]);
    broken.expect(true, "as it was", |_| ());
    let bytes = &broken.checkpoint;
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let end = bytes.len();
    // Length, names, first and last value, state, checksum.
    for place in [
        0,
        7,
        10,
        header - 1,
        header,
        header + 5003,
        end - 400,
        end - 33,
        end - 1,
    ] {
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x10;
        broken.expect_ignored(&format!("a flipped bit in byte {place}"), &flipped);
    }
    for length in [0, 7, 8, header, end / 2, end - 32, end - 1] {
        broken.expect_ignored(&format!("{length} bytes"), &bytes[..length]);
    }
    broken.expect_ignored("a byte more", &[bytes.as_slice(), &[0]].concat());
    broken.expect_ignored("noise", &[0xff; 4096]);
    let renamed = String::from_utf8_lossy(&bytes[..header]).replace("models", "modles");
    broken.expect_ignored(
        "an altered name",
        &[renamed.as_bytes(), &bytes[header..]].concat(),
    );
    broken.expect(false, "a folder in its place", |folder| {
        fs::remove_file(folder.join(FILE)).unwrap();
        fs::create_dir(folder.join(FILE)).unwrap();
    });
}

/// `checkpoint` with a changed header and state, and a checksum that matches them.
fn resealed(checkpoint: &[u8], change: impl FnOnce(&mut Value, &mut Value)) -> Vec<u8> {
    let begin = 8 + u64::from_le_bytes(checkpoint[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&checkpoint[8..begin]).unwrap();
    let place = |header: &Value, end: usize| {
        header["state"]["data_offsets"][end].as_u64().unwrap() as usize
    };
    let (first, last) = (place(&header, 0), place(&header, 1));
    let mut state: Value =
        serde_json::from_slice(&checkpoint[begin + first..begin + last]).unwrap();
    change(&mut header, &mut state);
    let state = serde_json::to_vec(&state).unwrap();
    let last = first + state.len();
    header["state"]["shape"] = json!([state.len()]);
    header["state"]["data_offsets"] = json!([first, last]);
    header["sha256"]["data_offsets"] = json!([last, last + 32]);
    let header = serde_json::to_vec(&header).unwrap();
    let size = (header.len() as u64).to_le_bytes();
    let stacks = &checkpoint[begin..begin + first];
    let mut bytes = [size.as_slice(), &header, stacks, &state].concat();
    let sum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

#[test]
fn a_checkpoint_that_the_run_cannot_have_written_is_ignored() {
    let momentum = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1, momentum: 0.9}}";
    let broken = Broken::new(&[momentum]);
    let unchanged = resealed(&broken.checkpoint, |_, _| ());
    broken.expect(true, "sealed again", |folder| {
        fs::write(folder.join(FILE), unchanged).unwrap();
    });
    type Change = fn(&mut Value, &mut Value);
    let changes: [(&str, Change); 16] = [
        ("no positions", |_, state| {
            state["learner"]["positions"] = json!([])
        }),
        ("a client too many", |_, state| {
            state["learner"]["positions"][0]["client"] = json!(6);
        }),
        ("more taken than there is", |_, state| {
            state["learner"]["positions"][0]["taken"] = json!(40);
        }),
        ("taken of no pass", |_, state| {
            state["learner"]["positions"][0]["passes"] = json!(0);
            state["learner"]["positions"][0]["taken"] = json!(1);
        }),
        ("no losses", |_, state| {
            state["learner"]["losses"] = json!([])
        }),
        ("losses of a GPU", |_, state| {
            state["learner"]["on_device"] = json!({"words": [0], "seen": [], "round": 4});
        }),
        ("no round", |_, state| state["round"] = json!(0)),
        ("a round too many", |_, state| state["round"] = json!(8)),
        ("another round", |_, state| state["round"] = json!(3)),
        ("more records", |_, state| state["records"] = json!(6)),
        ("numbers of another method", |_, state| {
            state["numbers"]["weights"] = json!(vec![1.0; 6]);
        }),
        ("another run", |_, state| {
            state["origin"]["run"] = json!("0123456789ab")
        }),
        ("another version", |_, state| {
            state["origin"]["by"]["meshfold"] = json!("0.0.1")
        }),
        ("an unknown key", |_, state| state["more"] = json!(1)),
        ("another name", |header, _| {
            let stack = header
                .as_object_mut()
                .unwrap()
                .shift_remove("velocity")
                .unwrap();
            header["movement"] = stack;
        }),
        ("other rows", |header, _| {
            let shape = header["velocity"]["shape"].as_array().unwrap();
            let size = |at: usize| shape[at].as_u64().unwrap();
            header["velocity"]["shape"] = json!([2 * size(0), size(1) / 2]);
        }),
    ];
    for (what, change) in changes {
        broken.expect_ignored(what, &resealed(&broken.checkpoint, change));
    }
}

#[test]
fn what_a_method_keeps_is_checked_as_well() {
    let method =
        |method: &str| format!("algorithm={{{method}, batch_size: 7, learning_rate: 0.1}}}}");
    let push_sum = Broken::new(&[&method("push_sum: {momentum: 0")]);
    let fewer = |_: &mut Value, state: &mut Value| state["numbers"]["weights"] = json!([1.0]);
    push_sum.expect_ignored("fewer weights", &resealed(&push_sum.checkpoint, fewer));
    let walks = Broken::new(&[&method("dfedrw: {walkers: 2, hops: 2, restart: continue")]);
    for at in [json!([6.0, 0.0]), json!([0.0]), json!(["x", 1])] {
        let moved = |_: &mut Value, state: &mut Value| state["numbers"]["at"] = at;
        walks.expect_ignored("walkers elsewhere", &resealed(&walks.checkpoint, moved));
    }
}

#[test]
fn a_checkpoint_of_another_run_of_the_same_shape_is_ignored() {
    let broken = Broken::new(&[]);
    let exact = "algorithm={dfedavg: {local: {steps: 3}, batch_size: 7, learning_rate: 0.1}}";
    for other in [
        "seed=2",
        "topology=complete",
        exact,
        "algorithm.dfedavgm.momentum=0.5",
    ] {
        let other = Broken::new(&[other]);
        assert!(other.whole != broken.whole);
        broken.expect_ignored("of another run", &other.checkpoint);
    }
}

#[test]
fn a_run_starts_again_if_its_records_have_changed() {
    let broken = Broken::new(&[]);
    let change = |name: &'static str, old: &'static str, new: &'static str| {
        move |folder: &Path| {
            let path: PathBuf = folder.join(name);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(old));
            fs::write(&path, text.replacen(old, new, 1)).unwrap();
        }
    };
    let metrics = "metrics.jsonl";
    broken.expect(
        false,
        "a digit",
        change(metrics, "\"alive\":6", "\"alive\":5"),
    );
    broken.expect(
        false,
        "a line",
        change(metrics, "{\"round\":1", "{\"rnd\":1"),
    );
    broken.expect(false, "a score", |folder| {
        let path = folder.join("clients.spool");
        let mut scores = fs::read(&path).unwrap();
        scores[40] ^= 1;
        fs::write(path, scores).unwrap();
    });
    broken.expect(false, "no scores", |folder| {
        fs::remove_file(folder.join("clients.spool")).unwrap();
    });
}
