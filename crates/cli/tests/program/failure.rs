//! Runs that fail while others go on.

use crate::sandbox::Sandbox;

#[test]
fn a_model_that_is_not_finite_ends_its_run_and_no_other() {
    let sandbox = Sandbox::new();
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("model: logistic", "model: {mlp: {hidden: [8]}}");
    let sweep = "sweep: {grid: {algorithm.dfedavgm.learning_rate: [1.0e+30, 0.05]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let said = sandbox.says("run sweep.yaml --json").ended_with(1);
    let lines = said.json();
    assert_eq!(
        [&lines[0]["ending"], &lines[1]["ending"]],
        ["failed", "finished"]
    );
    let error = lines[0]["error"].as_str().unwrap();
    assert!(
        error.contains("row") && error.contains("round 1"),
        "{error}"
    );
    assert!(said.err.contains(error), "{}", said.err);

    let failed = lines[0]["folder"].as_str().unwrap();
    assert_eq!(sandbox.records(failed).len(), 1, "the start was recorded");
    assert_eq!(
        sandbox.json(&format!("{failed}/summary.json"))["status"],
        "failed"
    );
    assert!(!sandbox.path(&format!("{failed}/DONE")).exists());
    assert!(sandbox.path(&format!("{failed}/report.html")).exists());
    assert!(sandbox.path("runs/tiny/report.html").exists());

    let again = sandbox.says("run sweep.yaml --json").ended_with(1);
    assert_eq!(
        [&again.json()[0]["ending"], &again.json()[1]["ending"]],
        ["failed", "skipped"]
    );
}
