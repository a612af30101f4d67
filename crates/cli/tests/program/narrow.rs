//! Tables in a terminal of 80 columns.

use std::process::{Command, Stdio};

use crate::sandbox::Sandbox;

/// What `line` prints to a terminal of 80 columns, line by line.
fn in_terminal(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_meshfold");
    let line = format!("stty rows 24 cols 80 && exec {program} {line} 2>/dev/null");
    let script = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(sandbox.path(""))
        .stdin(Stdio::null())
        .output();
    let output = script.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The lines of tables.
fn drawn(lines: &[String]) -> Vec<&String> {
    let is_drawn = |line: &&String| line.starts_with(['┌', '│', '╞', '└']);
    lines.iter().filter(is_drawn).collect()
}

#[test]
fn tables_fit_a_terminal_and_lose_nothing() {
    let sandbox = Sandbox::new();
    let sweep = "sweep: {grid: {topology: [ring, {d_cliques: {max_clique_size: 5}}], \
                 algorithm.dfedavgm.learning_rate: [0.05, 0.01], rounds: [1]}}\n";
    sandbox.write(
        "sweep.yaml",
        &format!("{}{sweep}", sandbox.read("tiny.yaml")),
    );
    sandbox.says("run sweep.yaml -q").ended_with(0);
    let id = sandbox.runs("tiny")[0]
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    for line in [
        "plan sweep.yaml",
        "run sweep.yaml -q",
        "runs",
        "table runs/tiny --by topology,learning_rate",
        "overlay sweep.yaml",
        "partition tiny.yaml",
        "data list",
    ] {
        let lines = in_terminal(&sandbox, line);
        let drawn = drawn(&lines);
        assert!(drawn.len() > 4, "{line}: {lines:#?}");
        let width = |line: &&String| line.chars().count();
        let widest = drawn.iter().map(width).max();
        assert!(
            widest.is_some_and(|widest| widest <= 80),
            "{line}: {lines:#?}"
        );
    }
    let plan = in_terminal(&sandbox, "plan sweep.yaml").join("\n");
    let free = sandbox.says("plan sweep.yaml").ended_with(0).out;
    for part in [&id, "7,850", "λ", "rounds=1"] {
        assert!(plan.contains(part), "{part} is not in\n{plan}");
        assert!(free.contains(part), "{part} is not in\n{free}");
    }
    // What is no terminal gets whole lines.
    assert!(free.lines().next().unwrap().chars().count() > 80, "{free}");
    assert_eq!(free.matches(&id).count(), 1);
}
