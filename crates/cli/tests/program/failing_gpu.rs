//! GPUs that are lost or run out of memory. A Vulkan layer makes the software driver fail so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::sandbox::{Said, Sandbox};

const LAYER: &str = "VK_LAYER_MESHFOLD_failing";

const MANIFEST: &str = r#"{
  "file_format_version": "1.0.0",
  "layer": {
    "name": "VK_LAYER_MESHFOLD_failing",
    "type": "GLOBAL",
    "library_path": "./libfailing_layer.so",
    "api_version": "1.3.0",
    "implementation_version": "1",
    "description": "makes a driver fail"
  }
}"#;

/// The folder of the layer. It is compiled once.
static COMPILED: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let source =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/program/driver/failing_layer.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]);
    compiler.arg(folder.path().join("libfailing_layer.so"));
    let output = compiler.arg(source).output().expect("a C compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    std::fs::write(folder.path().join("failing_layer.json"), MANIFEST).unwrap();
    folder
});

/// `more` besides what the variable `name` lists.
fn also(name: &str, more: impl Into<OsString>) -> OsString {
    let listed = std::env::var_os(name).unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(listed.chain([more.into().into()])).unwrap()
}

/// Runs the words of `line` with a driver that fails as the variables say.
fn says(sandbox: &Sandbox, line: &str, variables: &[(&str, String)]) -> Said {
    let mut command = sandbox.command(&line.split_whitespace().collect::<Vec<_>>());
    command.env("VK_LAYER_PATH", also("VK_LAYER_PATH", COMPILED.path()));
    command.env("VK_INSTANCE_LAYERS", also("VK_INSTANCE_LAYERS", LAYER));
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Four runs of some rounds, as many at once as `at_once` says, and the work that they give to the device.
struct Sweep {
    sandbox: Sandbox,
    line: String,
    /// The records of the runs as they are on a driver that does not fail.
    undisturbed: Vec<Vec<Value>>,
    submissions: usize,
}

impl Sweep {
    fn new(at_once: usize) -> Self {
        let sandbox = Sandbox::new();
        let tiny = sandbox.read("tiny.yaml").replace("rounds: 4", "rounds: 12");
        let sweep = "checkpoint: {every: 2}\nsweep: {grid: {seed: [1, 2, 3, 4]}}\n";
        sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
        let line = format!("run sweep.yaml --device wgpu --at-once {at_once} --json");
        let log = sandbox.path("submissions");
        let counting = [(
            "FAILING_LAYER_SUBMISSIONS",
            log.to_str().unwrap().to_owned(),
        )];
        let whole = says(&sandbox, &format!("{line} --results whole"), &counting).ended_with(0);
        Self {
            undisturbed: records(&sandbox, &whole),
            submissions: std::fs::read(log).unwrap().len(),
            sandbox,
            line,
        }
    }

    /// The sweep on a driver that loses the device when a part of all work was given to it.
    fn losing_at(&self, part: f64, more: &[(&str, String)]) -> Said {
        let at = (self.submissions as f64 * part) as usize;
        let mut variables = vec![("FAILING_LAYER_LOSE_AT", at.to_string())];
        variables.extend_from_slice(more);
        let said = says(&self.sandbox, &self.line, &variables).ended_with(1);
        assert!(!said.err.contains("bug"), "{}", said.err);
        said
    }

    /// Checks that `failed` runs of `said` have told of a lost device and kept the records that they had, and that the same
    /// command brings all to the records of a driver that does not fail.
    fn check(&self, said: &Said, failed: &[usize]) {
        let kept = records(&self.sandbox, said);
        for (run, line) in said.json().iter().enumerate() {
            let lost = failed.contains(&run);
            let ending = if lost { "failed" } else { "finished" };
            assert_eq!(line["ending"], ending, "run {run}: {}", said.err);
            assert!(self.undisturbed[run].starts_with(&kept[run]), "run {run}");
            if !lost {
                assert_eq!(kept[run], self.undisturbed[run], "run {run}");
                continue;
            }
            let error = line["error"].as_str().unwrap();
            assert!(error.contains("was lost"), "{error}");
            assert!(said.err.contains(error), "{}", said.err);
            let folder = line["folder"].as_str().unwrap();
            let summary = self.sandbox.json(&format!("{folder}/summary.json"));
            assert_eq!(summary["status"], "failed");
        }
        let again = self.sandbox.says(&self.line).ended_with(0);
        assert_eq!(records(&self.sandbox, &again), self.undisturbed);
    }
}

/// The records of every run, without the time that they took.
fn records(sandbox: &Sandbox, said: &Said) -> Vec<Vec<Value>> {
    let of_run = |line: &Value| sandbox.results(line["folder"].as_str().unwrap());
    said.json().iter().map(of_run).collect()
}

#[test]
#[ignore = "needs software Vulkan and a C compiler"]
fn a_lost_device_ends_one_run_and_is_opened_again_for_the_others() {
    let sweep = Sweep::new(1);
    let said = sweep.losing_at(0.4, &[]);
    let kept = records(&sweep.sandbox, &said)[1].len();
    assert!(kept > 1 && kept < 13, "{kept} records of the second run");
    sweep.check(&said, &[1]);
}

#[test]
#[ignore = "needs software Vulkan and a C compiler"]
fn every_run_that_is_left_is_told_of_a_device_that_stays_lost() {
    let sweep = Sweep::new(1);
    let for_good = [("FAILING_LAYER_FOR_GOOD", "1".to_owned())];
    let said = sweep.losing_at(0.4, &for_good);
    let lines = said.json();
    let told = |run: usize| lines[run]["error"].as_str().unwrap();
    assert!(told(2).contains("cannot be opened again"), "{}", told(2));
    assert_eq!(told(2), told(3));
    sweep.check(&said, &[1, 2, 3]);
}

#[test]
#[ignore = "needs software Vulkan and a C compiler"]
fn runs_side_by_side_lose_their_device_together_and_none_waits_for_another() {
    let sweep = Sweep::new(2);
    let said = sweep.losing_at(0.25, &[]);
    sweep.check(&said, &[0, 1]);
}

/// Runs side by side share the memory and the queue of the device: a small one may fail with the large one, and is done when
/// it is started again.
#[test]
#[ignore = "needs software Vulkan and a C compiler"]
fn a_driver_without_memory_fails_the_run_that_is_too_large() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let large = tiny.replace("model: logistic", "model: {mlp: {hidden: [1500]}}");
    let sweep = "sweep: {grid: {model: [{mlp: {hidden: [1500]}}, logistic]}}\n";
    sandbox.write("sweep.yaml", &format!("{large}{sweep}"));
    for at_once in [1, 2] {
        let start = |at_once: u32, results: u32| {
            let line = format!(
                "run sweep.yaml --device wgpu --json --at-once {at_once} --results at-once-{results}"
            );
            let bytes = [("FAILING_LAYER_BYTES", (64 << 20).to_string())];
            says(&sandbox, &line, &bytes).ended_with(1)
        };
        let said = start(at_once, at_once);
        assert!(!said.err.contains("bug"), "{}", said.err);
        let without_memory = |line: &Value| {
            let error = line["error"].as_str().unwrap_or_default();
            line["ending"] == "failed" && error.contains("has no memory left")
        };
        let lines = said.json();
        assert!(without_memory(&lines[0]), "{}", said.err);
        if at_once > 1 && without_memory(&lines[1]) {
            let again = start(1, at_once);
            assert!(without_memory(&again.json()[0]), "{}", again.err);
            assert_eq!(again.json()[1]["ending"], "finished", "{}", again.err);
            assert_eq!(records(&sandbox, &again)[1].len(), 5);
            continue;
        }
        assert_eq!(lines[1]["ending"], "finished", "{}", said.err);
        assert_eq!(records(&sandbox, &said)[1].len(), 5);
    }
}
