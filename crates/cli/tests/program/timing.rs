//! `meshfold plan FILE --time` measures what runs take, and writes nothing.

use serde_json::Value;

use crate::sandbox::Sandbox;

#[test]
fn times_of_runs_follow_from_their_rounds_and_evaluations() {
    let sandbox = Sandbox::new();
    let sweep = "sweep={grid: {seed: [1, 2], rounds: [4, 40]}}";
    let line = ["plan", "tiny.yaml", "--time=1", "--json", "--set", sweep];
    let said = sandbox.meshfold(&line).ended_with(0);
    let runs = said.json();
    assert_eq!(runs.len(), 4);
    let figure = |run: &Value, name: &str| run["time"][name].as_f64().unwrap();
    for (run, rounds) in runs.iter().zip([4.0, 40.0, 4.0, 40.0]) {
        let round = figure(run, "round_seconds");
        assert!(round > 0.0, "{run}");
        // Each round is judged, and so is the start.
        let judged = (1.0 + rounds) * figure(run, "evaluation_seconds");
        let parts = figure(run, "start_seconds") + rounds * round + judged;
        let whole = figure(run, "seconds");
        assert!((whole - parts).abs() < 1e-9 * whole, "{run}");
        assert_eq!(
            run["time"]["round_seconds"],
            runs[0]["time"]["round_seconds"]
        );
    }
    assert!(
        said.err.contains("first rounds of a run for 1.0 s"),
        "{}",
        said.err
    );
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn what_is_left_when_the_time_is_over_is_estimated() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "long.yaml",
        &crate::sandbox::TINY.replace("rounds: 4", "rounds: 100000"),
    );
    // A round of the first run is 140 billion multiply-adds, which no core does in a second.
    let wide = "model={mlp: {hidden: [1000]}}";
    let sweep = "sweep={grid: {algorithm.dfedavgm.local.steps: [300, 3, 6]}}";
    let said = sandbox.meshfold(&[
        "plan",
        "long.yaml",
        "--time=1",
        "--set",
        wide,
        "--set",
        sweep,
    ]);
    let said = said.ended_with(0);
    let lines: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains("steps="))
        .collect();
    assert_eq!(lines.len(), 3, "{}", said.out);
    assert!(!lines[0].contains('~'), "{}", said.out);
    assert!(
        lines[1].contains('~') && lines[2].contains('~'),
        "{}",
        said.out
    );
    assert!(said.out.contains("all 3 runs take"), "{}", said.out);
    assert!(
        said.out.contains("estimated from the runs that were"),
        "{}",
        said.out
    );
}

#[test]
fn a_run_that_fails_in_its_first_rounds_is_named() {
    let sandbox = Sandbox::new();
    let rate = "algorithm.dfedavgm.learning_rate=1e38";
    let line = ["plan", "tiny.yaml", "--time=1", "--set", rate];
    let said = sandbox.meshfold(&line).ended_with(1);
    said.complained_of(&["tiny: ", "infinite or NaN in round 1"]);
}

#[test]
fn a_time_needs_data_and_one_process() {
    let sandbox = Sandbox::new();
    for other in [["--without-data", "--json"], ["--ranks", "2"]] {
        let line = [&["plan", "tiny.yaml", "--time"][..], &other].concat();
        sandbox
            .meshfold(&line)
            .ended_with(2)
            .complained_of(&["--time", "cannot be used with"]);
    }
    let line = ["plan", "tiny.yaml", "--time=0"];
    sandbox
        .meshfold(&line)
        .ended_with(2)
        .complained_of(&["--time"]);
}
