//! Figures over the clients in tables and figures: they are those of `clients.parquet`.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// A finished sweep of two overlays and two seeds that records what clients have on their own examples and by label.
fn finished() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "evaluate: {clients: [own, labels]}\nsweep: {grid: {topology: [ring, complete], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    (sandbox, runs)
}

/// What the clients of `run` have in `column` after `round` rounds, ascending.
fn clients(sandbox: &Sandbox, run: &Value, column: &str, round: i32) -> Vec<f64> {
    let folder = run["folder"].as_str().unwrap();
    let path = sandbox.path(&format!("{folder}/clients.parquet"));
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let at = |name: &str| {
        fields
            .iter()
            .position(|field| field.name() == name)
            .unwrap()
    };
    let (of, rounds) = (at(column), at("round"));
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let rows = rows.filter(|row| row.get_int(rounds).unwrap() == round);
    let mut values: Vec<f64> = rows.map(|row| row.get_double(of).unwrap()).collect();
    values.sort_by(f64::total_cmp);
    assert_eq!(values.len(), 10);
    values
}

/// The means in the rows of a table about the overlays.
fn means(sandbox: &Sandbox, options: &str) -> Vec<f64> {
    let line = format!("table runs/tiny --by topology --format json {options}");
    let rows = sandbox.says(&line).ended_with(0).json();
    rows.iter()
        .map(|row| row["mean"].as_f64().unwrap())
        .collect()
}

/// Requires that the row of each overlay has the mean over its seeds of what `of` makes of its clients.
fn expect(found: &[f64], values: impl Fn(usize) -> f64) {
    assert_eq!(found.len(), 2);
    for (overlay, found) in found.iter().enumerate() {
        let expected = 0.5 * (values(2 * overlay) + values(2 * overlay + 1));
        assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
    }
}

#[test]
fn quantiles_and_means_of_the_worst_are_those_of_the_clients() {
    let (sandbox, runs) = finished();
    let of = |run: usize, column: &str| clients(&sandbox, &runs[run], column, 4);
    // Of ten clients the quantile of 10 % lies nine tenths of the way from the least to the next.
    let found = means(&sandbox, "--metric test_accuracy.p10");
    expect(&found, |run| {
        let values = of(run, "accuracy");
        values[0] + 0.9 * (values[1] - values[0])
    });
    let found = means(&sandbox, "--metric test_accuracy.worst25");
    expect(&found, |run| {
        0.5 * of(run, "accuracy")[..2].iter().sum::<f64>()
    });
    let found = means(&sandbox, "--metric test_loss.worst1");
    expect(&found, |run| of(run, "loss")[9]);
    let found = means(&sandbox, "--metric own_loss.worst20");
    expect(&found, |run| {
        0.5 * of(run, "own_loss")[8..].iter().sum::<f64>()
    });
    let found = means(&sandbox, "--metric label_3_accuracy.max");
    expect(&found, |run| of(run, "label_3_accuracy")[9]);
    let found = means(&sandbox, "--metric own_accuracy");
    expect(&found, |run| {
        of(run, "own_accuracy").iter().sum::<f64>() / 10.0
    });
    let found = means(&sandbox, "--metric test_accuracy.p100 --at round=2");
    expect(&found, |run| {
        clients(&sandbox, &runs[run], "accuracy", 2)[9]
    });
    // What records have is taken from them.
    let found = means(&sandbox, "--metric own_labels_accuracy.min");
    expect(&found, |run| of(run, "own_labels_accuracy")[0]);
}

#[test]
fn they_choose_compare_and_stand_side_by_side() {
    let (sandbox, _) = finished();
    let says = |options: &str| {
        let line = format!("table runs/tiny {options}");
        sandbox.says(&line).ended_with(0).out
    };
    let chosen = says("--best topology --on test_accuracy.worst10");
    for part in [
        "topology is the value with the best mean of test_accuracy.worst10 over seed",
        "so the same test examples chose",
        "test_accuracy.worst10: the mean of the worst 10 % of the clients of each run",
    ] {
        assert!(chosen.contains(part), "{part}: {chosen}");
    }
    let metric = "--by topology --metric test_accuracy.p5";
    let rows = sandbox.says(&format!(
        "table runs/tiny {metric} --compare topology=ring --format json"
    ));
    let rows = rows.ended_with(0).json();
    let number = |row: usize, name: &str| rows[row][name].as_f64().unwrap();
    let difference = number(1, "mean") - number(0, "mean");
    assert!((number(1, "difference_mean") - difference).abs() < 1e-9);
    let wide = says(&format!("{metric} --across topology"));
    assert!(
        wide.contains("test_accuracy.p5: the mean of 2 runs in each cell"),
        "{wide}"
    );
    assert!(
        wide.contains("the 5 % quantile of the clients of each run"),
        "{wide}"
    );
    let reached = says("--by topology --metric test_accuracy.worst10 --at target=0.05");
    assert!(reached.contains("2 of 2"), "{reached}");
}

#[test]
fn validation_examples_choose_where_there_are_some() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let tiny = tiny.replace("test: 100}", "test: 100, validation: 90}");
    let sweep = "sweep: {grid: {topology: [ring, complete], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    sandbox.says("run sweep.yaml -q --no-report").ended_with(0);
    let line = "table runs/tiny --best topology --metric test_accuracy.p10";
    let said = sandbox.says(line).ended_with(0).out;
    let note = "best mean of validation_accuracy over seed\n";
    assert!(said.contains(note), "{said}");
    let line = "table runs/tiny --by topology --metric own_accuracy";
    let said = sandbox.says(line).ended_with(2);
    said.complained_of(&[
        "`own_accuracy` is not known of each client",
        "clients: [own, labels]",
    ]);
}

#[test]
fn they_are_drawn_with_words_that_say_what_they_are() {
    let (sandbox, _) = finished();
    for (options, words) in [
        ("--y test_accuracy.worst10", "Test accuracy, worst 10 % (%)"),
        ("--y own_loss.p50 --x bytes", "Own loss, median (nats)"),
        ("--y own_accuracy --band quantiles", "Own accuracy (%)"),
        ("--y own_accuracy --band range", "Own accuracy (%)"),
    ] {
        let line = format!("figure runs/tiny --by topology {options} -o figure.svg");
        sandbox.says(&line).ended_with(0);
        let svg = sandbox.read("figure.svg");
        assert!(svg.contains(&format!("\n{words}\n")), "{words}: {svg}");
        assert_eq!(svg.matches("fill-opacity").count(), 2, "{options}");
    }
}

#[test]
fn those_that_there_are_not_are_refused_with_those_that_there_are() {
    let (sandbox, runs) = finished();
    for (metric, parts) in [
        (
            "test_accuracy.p101",
            ["`test_accuracy.p101`: of the clients", ".p0 to .p100"],
        ),
        (
            "own_loss.worst0",
            ["`own_loss.worst0`", ".worst1 to .worst100"],
        ),
        (
            "test_accuracy.p2.5",
            ["test_accuracy.p2.5", "whole per cents"],
        ),
        (
            "consensus_distance.p10",
            [
                "`consensus_distance` is not known of each client",
                "label_9_accuracy",
            ],
        ),
        (
            "tets_accuracy",
            ["no figure is called `tets_accuracy`", "of label_0_accuracy"],
        ),
    ] {
        let said = sandbox.says(&format!("table runs/tiny --by topology --metric {metric}"));
        said.ended_with(2).complained_of(&parts);
    }
    let band = "figure runs/tiny --by topology --y test_accuracy.p10 --band quantiles -o a.svg";
    let said = sandbox.says(band).ended_with(2);
    said.complained_of(&["`test_accuracy.p10` is not known of each client"]);
    for run in &runs {
        let folder = run["folder"].as_str().unwrap();
        let table = sandbox.path(&format!("{folder}/clients.parquet"));
        std::fs::remove_file(table).unwrap();
        std::fs::remove_file(sandbox.path(&format!("{folder}/DONE"))).unwrap();
    }
    let line = "table runs/tiny --by topology --metric test_accuracy.p10";
    let said = sandbox.says(line).ended_with(2);
    said.complained_of(&["`test_accuracy.p10` is not known yet", "clients.parquet"]);
}

#[test]
fn a_figure_over_the_clients_goes_through_their_values() {
    let (sandbox, _) = finished();
    let line = "figure runs/tiny --by topology --x share_of_clients";
    let said = sandbox
        .says(&format!("{line} --y own_loss --at round=2 -o clients.svg"))
        .ended_with(0);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("", "figures at round=2\n")
    );
    let one_seed = sandbox.says(&format!("{line} --only seed=1 -o one.svg"));
    let note = "a curve of one seed has no spread and is drawn without a band\n";
    assert_eq!(one_seed.ended_with(0).err, note);
    let svg = sandbox.read("clients.svg");
    for text in ["Share of clients (%)", "Own loss (nats)", "complete"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
    }
    let curves = svg
        .lines()
        .filter(|line| line.contains("stroke-width=\"1.2\""));
    let points = curves.map(|line| line.matches(',').count());
    assert_eq!(points.filter(|count| *count == 101).count(), 2);
    for (options, words) in [
        ("--y consensus_distance", "is not known of each client"),
        ("--y test_accuracy.p10", "is not known of each client"),
        ("--band quantiles", "show how the runs spread"),
        ("--at target=0.5", "found target="),
    ] {
        sandbox
            .says(&format!("{line} {options} -o a.svg"))
            .ended_with(2)
            .complained_of(&[words]);
    }
}
