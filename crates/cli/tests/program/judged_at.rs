//! Tables of runs that are judged at a place: after so many rounds or bytes, or where they reach a target.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::table::{finished, interval, is, seeds};

#[test]
fn between_two_evaluations_a_figure_lies_on_a_straight_line() {
    let (sandbox, _) = finished();
    let runs = sandbox.says("run sweep.yaml --json").json();
    let records: Vec<Vec<Value>> = runs[..3]
        .iter()
        .map(|run| sandbox.records(run["folder"].as_str().unwrap()))
        .collect();
    let bytes = |round: usize| records[0][round]["bytes_total"].as_f64().unwrap();
    let place = bytes(1) + 0.25 * (bytes(2) - bytes(1));
    let values = [0, 1, 2].map(|seed| {
        let [before, after] = [1, 2].map(|round: usize| {
            let accuracy = &records[seed][round]["test_accuracy"]["mean"];
            accuracy.as_f64().unwrap()
        });
        before + 0.25 * (after - before)
    });
    let line = "table runs/tiny --by topology --only learning_rate=0.01 --format json --at";
    let said = sandbox.says(&format!("{line} bytes={place}")).ended_with(0);
    let note = format!(
        "figures at bytes={place}; between two evaluations of a run they lie on a straight line"
    );
    assert!(said.err.contains(&note), "{}", said.err);
    is(&said.json()[0]["mean"], interval(values).0);
    let said = sandbox.says(&format!("{line} round=2")).ended_with(0);
    assert!(!said.err.contains("straight line"), "{}", said.err);
}

#[test]
fn the_last_evaluations_count_by_their_mean() {
    let (sandbox, _) = finished();
    let runs = sandbox.says("run sweep.yaml --json").json();
    let values = [0, 1, 2].map(|seed: usize| {
        let records = sandbox.records(runs[seed]["folder"].as_str().unwrap());
        let last = records[records.len() - 2..].iter();
        let accuracies = last.map(|record| record["test_accuracy"]["mean"].as_f64().unwrap());
        accuracies.sum::<f64>() / 2.0
    });
    let line = "table runs/tiny --by topology --only learning_rate=0.01 --format json --at";
    let said = sandbox.says(&format!("{line} last=2")).ended_with(0);
    let note = "figures are means of the last 2 evaluations of each run";
    assert!(
        said.err.contains(note) && !said.err.contains("fewer"),
        "{}",
        said.err
    );
    is(&said.json()[0]["mean"], interval(values).0);
    let said = sandbox.says(&format!("{line} last=99")).ended_with(0);
    assert!(
        said.err.contains("or of all where there are fewer"),
        "{}",
        said.err
    );
    let refused = sandbox.says(&format!("{line} last=0"));
    refused.complained_of(&["--at", "at least 1"]);
}

#[test]
fn runs_that_never_reach_the_target_are_named() {
    let (sandbox, records) = finished();
    let ends = seeds(&records, [1, 1], "test_accuracy");
    let best = ends.iter().copied().fold(0.0, f64::max);
    let missed: Vec<String> = (1..=3)
        .filter(|seed| ends[seed - 1] < best)
        .map(|seed| seed.to_string())
        .collect();
    // No evaluation before the last may be better, or the others may have reached it.
    let line =
        "table runs/tiny --by topology --only learning_rate=0.2 --only topology=complete --at";
    let said = sandbox.says(&format!("{line} target={best}")).ended_with(0);
    let note = format!(
        "complete: seed {} never reached target={best}; the means are",
        missed.join(", ")
    );
    assert!(
        !missed.is_empty() && said.out.contains(&note),
        "{note}: {}",
        said.out
    );
    let said = sandbox.says(&format!("{line} target=0")).ended_with(0);
    assert!(!said.out.contains("never reached"), "{}", said.out);
    for (target, metric, code) in [("50", "test_accuracy", 2), ("50", "test_loss", 0)] {
        let said = sandbox.says(&format!("{line} target={target} --metric {metric}"));
        assert_eq!(said.code, Some(code), "{}", said.err);
    }
    sandbox
        .says(&format!("{line} target=50"))
        .complained_of(&["--at target=50", "up to 1"]);
}

#[test]
fn a_last_evaluation_on_other_test_examples_reaches_no_target() {
    let reached = |last: &str| {
        let sandbox = Sandbox::new();
        let tiny = sandbox.read("tiny.yaml");
        let evaluate = format!("evaluate: {{every: 4, examples: 50, last: {last}}}");
        let sweep = "sweep: {grid: {seed: [1, 2]}}";
        sandbox.write("two.yaml", &format!("{tiny}{evaluate}\n{sweep}\n"));
        let runs = sandbox.says("run two.yaml --json").ended_with(0).json();
        let of = |run: &Value| run["summary"]["last"]["test_accuracy"]["mean"].as_f64();
        assert!(runs.iter().all(|run| of(run).unwrap() > 0.25), "{runs:?}");
        let line = "table runs/tiny --by topology --at target=0.25";
        sandbox.says(line).ended_with(0).out
    };
    let (other, same) = (reached("all"), reached("50"));
    assert!(other.contains("0 of 2"), "{other}");
    assert!(same.contains("2 of 2"), "{same}");
}

#[test]
fn of_unfinished_runs_those_count_that_have_reached_the_target() {
    let (sandbox, _) = finished();
    let folder = sandbox.says("run sweep.yaml --json").json()[0]["folder"].clone();
    let done = format!("{}/DONE", folder.as_str().unwrap());
    std::fs::remove_file(sandbox.path(&done)).unwrap();
    let says = |target: &str| {
        let line = "table runs/tiny --by topology --only learning_rate=0.01 --at";
        sandbox
            .says(&format!("{line} target={target}"))
            .ended_with(0)
            .out
    };
    let reached = says("0");
    assert!(
        reached.contains("3 of 3") && !reached.contains("is missing"),
        "{reached}"
    );
    let open = says("1");
    assert!(
        open.contains("0 of 2") && open.contains("seed 1 is missing"),
        "{open}"
    );
}

#[test]
fn runs_that_end_before_the_place_or_are_not_there_are_named() {
    let (sandbox, _) = finished();
    let says = |line: &str| {
        sandbox
            .says(&format!("table runs/tiny {line}"))
            .ended_with(0)
            .out
    };
    let early = says("--by topology,learning_rate --at round=1000");
    let expected = "ring, 0.01; complete, 0.01; ring, 0.2; complete, 0.2: seed 1, 2, 3 ended before round=1000; the last \
                    evaluation counts\n";
    assert!(early.contains(expected), "{early}");
    let whole = says("--by topology,learning_rate");
    assert!(
        !whole.contains("ended before") && !whole.contains("not begun"),
        "{whole}"
    );
    // Of the six rows of rate 0.2 one loses a seed, and no row has seed 3 of the other rate.
    let runs = sandbox.says("run sweep.yaml --json").json();
    for gone in [6, 2, 5] {
        let folder = runs[gone]["folder"].as_str().unwrap();
        std::fs::remove_dir_all(sandbox.path(folder)).unwrap();
    }
    let less = says("--by topology --best learning_rate");
    assert!(
        less.contains("runs/tiny: 3 runs of its sweeps have not begun or were removed"),
        "{less}"
    );
    let counts = "ring: the values of learning_rate do not have the same number of runs over seed (0.01: 2, 0.2: 2)";
    assert!(!less.contains(counts), "{less}");
    let uneven = "complete: the values of learning_rate do not have the same number of runs over seed (0.01: 2, 0.2: 3)";
    assert!(less.contains(uneven), "{less}");
}

#[test]
fn what_it_takes_to_reach_a_target_is_a_figure_as_others_are() {
    let (sandbox, records) = finished();
    let best = seeds(&records, [1, 1], "test_accuracy")
        .into_iter()
        .fold(0.0, f64::max);
    let line = "table runs/tiny --by topology,learning_rate --format json";
    let reached = sandbox
        .says(&format!("{line} --at target={best}"))
        .ended_with(0)
        .json();
    let costs = format!("{line} --metric rounds_to={best},bytes_to={best}");
    let costs = sandbox.says(&costs).ended_with(0);
    assert!(
        costs.err.contains("never reached a test accuracy of"),
        "{}",
        costs.err
    );
    let of = |row: &Value, name: &str| row[name].as_f64();
    let mut some = 0;
    for (target, cost) in reached.iter().zip(costs.json()) {
        let names = [
            ("reached", format!("rounds_to={best}_n")),
            ("rounds_mean", format!("rounds_to={best}_mean")),
            ("bytes_mean", format!("bytes_to={best}_mean")),
        ];
        for (known, name) in names {
            let known = of(target, known);
            assert_eq!(
                known.filter(|value| *value > 0.0),
                of(&cost, &name).filter(|value| *value > 0.0),
                "{name}"
            );
            some += usize::from(known.is_some_and(|value| value > 0.0));
        }
    }
    assert!(some > 0);
    let across = format!(
        "table runs/tiny --by topology,learning_rate --across learning_rate --metric rounds_to={best}"
    );
    assert!(
        sandbox
            .says(&across)
            .ended_with(0)
            .out
            .contains("learning_rate=0.2")
    );
    let bars = format!(
        "figure runs/tiny --by topology,learning_rate --bars --y bytes_to={best} -o bars.svg"
    );
    sandbox.says(&bars).ended_with(0);
    assert!(sandbox.read("bars.svg").contains("% test accuracy"));
    for (metric, word) in [
        ("rounds_to=90", "as a fraction"),
        ("rounds_to=1", "no run has reached"),
    ] {
        let line = format!("table runs/tiny --by topology,learning_rate --metric {metric}");
        sandbox.says(&line).complained_of(&[metric, word]);
    }
    let line = format!(
        "table runs/tiny --by topology,learning_rate --metric rounds_to={best} --at round=1"
    );
    sandbox.says(&line).complained_of(&["--at round=1"]);
}

#[test]
fn what_stands_behind_a_mean_is_chosen() {
    let (sandbox, records) = finished();
    let values = seeds(&records, [0, 0], "test_accuracy");
    let mean = values.iter().sum::<f64>() / 3.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let sd = (squares / 2.0).sqrt();
    let line = "table runs/tiny --by topology,learning_rate --spread";
    for (spread, half, words) in [
        ("sd", sd, "the standard deviation"),
        ("se", sd / 3.0f64.sqrt(), "the standard error"),
    ] {
        let said = sandbox.says(&format!("{line} {spread}")).ended_with(0).out;
        let cell = format!("{:.2} ± {:.2} %", 100.0 * mean, 100.0 * half);
        assert!(
            said.contains(&cell) && said.contains(words),
            "{cell}: {said}"
        );
        assert!(!said.contains("      sd "), "{said}");
    }
    let bars = "figure runs/tiny --by topology,learning_rate --bars --band";
    let drawn = |band: &str| {
        sandbox
            .says(&format!("{bars} {band} -o bars.svg"))
            .ended_with(0);
        sandbox.read("bars.svg")
    };
    assert_ne!(drawn("sd"), drawn("se"));
    assert!(!drawn("none").contains("stroke-width=\"0.8\""));
}
