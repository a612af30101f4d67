//! One soak test: its cases, what failed, and how to repeat it.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::dice::Dice;

/// What is wrong in a case.
#[derive(Clone, Debug)]
pub(crate) struct Complaint {
    /// The kind of failure, in the same words for every case that fails in this way.
    pub(crate) what: String,
    /// What was found in this case.
    pub(crate) detail: String,
}

/// Whether a case went well.
pub(crate) type CaseResult = Result<(), Complaint>;

/// A complaint of the kind `what`.
pub(crate) fn complaint(what: impl Into<String>, detail: impl Into<String>) -> Complaint {
    Complaint {
        what: what.into(),
        detail: detail.into(),
    }
}

/// One case: its draws, and a folder of its own, which is removed unless the case fails.
pub(crate) struct Case {
    pub(crate) number: u64,
    pub(crate) dice: Dice,
    folder: TempDir,
    /// What is no failure, to be counted and told in the end.
    pub(crate) notes: Vec<String>,
}

impl Case {
    /// The folder of the case.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a note.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }
}

/// How often a kind of failure came up, and where first.
struct Failure {
    times: u64,
    first: u64,
    detail: String,
    folder: PathBuf,
}

/// The value of the environment variable `name`, if it is set.
pub(crate) fn setting(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={text}: needed a whole number")))
}

/// What all cases are drawn from.
pub(crate) fn seed() -> u64 {
    setting("MESHFOLD_SOAK_SEED").unwrap_or(1)
}

/// Where the folders of cases lie.
pub(crate) fn scratch() -> PathBuf {
    env::var_os("MESHFOLD_SOAK_FOLDER").map_or_else(env::temp_dir, PathBuf::from)
}

/// A test in progress.
pub(crate) struct Session {
    test: &'static str,
    began: Instant,
    cases: u64,
    failures: BTreeMap<String, Failure>,
    notes: BTreeMap<String, u64>,
}

impl Session {
    pub(crate) fn new(test: &'static str) -> Self {
        Self {
            test,
            began: Instant::now(),
            cases: 0,
            failures: BTreeMap::new(),
            notes: BTreeMap::new(),
        }
    }

    /// The number of the next case; none once the time or the number of cases is used up.
    pub(crate) fn next(&mut self) -> Option<u64> {
        if let Some(only) = setting("MESHFOLD_SOAK_CASE") {
            self.cases += 1;
            return (self.cases == 1).then_some(only);
        }
        let seconds = setting("MESHFOLD_SOAK_SECONDS").unwrap_or(8);
        let is_over = self.began.elapsed() >= Duration::from_secs(seconds);
        let most = setting("MESHFOLD_SOAK_CASES").unwrap_or(u64::MAX);
        if self.cases > 0 && is_over || self.cases >= most {
            return None;
        }
        self.cases += 1;
        Some(self.cases - 1)
    }

    /// The case `number`, with an empty folder.
    pub(crate) fn case(&self, number: u64) -> Case {
        let name = format!("soak-{}-{}-{number}-", self.test, seed());
        let folder = tempfile::Builder::new().prefix(&name).tempdir_in(scratch());
        Case {
            number,
            dice: Dice::new(seed(), self.test, number),
            folder: folder.expect("temporary folders can be made"),
            notes: Vec::new(),
        }
    }

    /// Counts something that is no failure, to be told in the end.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        *self.notes.entry(what.into()).or_insert(0) += 1;
    }

    /// Puts down how `case` went. Of every kind of failure the first folder is kept.
    pub(crate) fn put_down(&mut self, case: Case, verdict: CaseResult) {
        for note in case.notes {
            self.note(note);
        }
        let Err(Complaint { what, detail }) = verdict else {
            return;
        };
        if let Some(known) = self.failures.get_mut(&what) {
            known.times += 1;
            return;
        }
        println!(
            "soak-failure {} case {}: {what}\n{detail}",
            self.test, case.number
        );
        let failure = Failure {
            times: 1,
            first: case.number,
            detail,
            folder: case.folder.keep(),
        };
        self.failures.insert(what, failure);
    }

    /// Prints what came of it, for people and for `.ci/soak`.
    ///
    /// # Panics
    /// If a case failed.
    pub(crate) fn end(self) {
        let failures = self.failures.iter().map(|(what, failure)| {
            json!({"what": what, "times": failure.times, "case": failure.first, "folder": failure.folder})
        });
        let (test, seed, cases) = (self.test, seed(), self.cases);
        let seconds = self.began.elapsed().as_secs();
        let line = json!({
            "test": test, "seed": seed, "cases": cases, "seconds": seconds, "notes": self.notes,
            "failures": failures.collect::<Vec<_>>(),
        });
        println!("\nsoak-result {line}");
        let said: String = self
            .failures
            .iter()
            .map(|(what, failure)| self.told(what, failure))
            .collect();
        assert!(
            said.is_empty(),
            "{cases} cases of {test} with seed {seed}:\n{said}"
        );
    }

    fn told(&self, what: &str, failure: &Failure) -> String {
        let Failure {
            times,
            first,
            detail,
            folder,
        } = failure;
        let (test, seed, folder) = (self.test, seed(), folder.display());
        format!(
            "- {what}: {times} times, first in case {first}, kept in {folder}\n  repeat it with MESHFOLD_SOAK_SEED={seed} \
             MESHFOLD_SOAK_CASE={first} cargo test --release -p meshfold --test soak {test}::\n{detail}\n"
        )
    }
}

/// Examines cases of `test` until the time is over. A panic in a case is a failure like any other.
///
/// # Panics
/// If a case failed.
pub(crate) fn soak(test: &'static str, examine: impl Fn(&mut Case) -> CaseResult) {
    let mut session = Session::new(test);
    while let Some(number) = session.next() {
        let mut case = session.case(number);
        let verdict = catch_unwind(AssertUnwindSafe(|| examine(&mut case)));
        let verdict = verdict.unwrap_or_else(|panic| {
            let reason = panic_message(&*panic);
            Err(complaint("the test itself panicked", reason))
        });
        session.put_down(case, verdict);
    }
    session.end();
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
