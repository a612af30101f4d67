//! Tables of finished runs: their figures are those of the runs.

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::sandbox::Sandbox;

/// A finished sweep, and for each run, in its order, the last line of its records.
pub(crate) fn finished() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {algorithm.dfedavgm.learning_rate: [0.01, 0.2], topology: [ring, complete], seed: [1, 2, 3]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    let last = |run: &Value| {
        let records = sandbox.read(&format!(
            "{}/metrics.jsonl",
            run["folder"].as_str().unwrap()
        ));
        serde_json::from_str(records.lines().last().unwrap()).unwrap()
    };
    let records = runs.iter().map(last).collect();
    (sandbox, records)
}

/// The figure `name` of three runs that differ in their seeds: of rate `rate` on overlay `overlay`, by their places.
pub(crate) fn seeds(records: &[Value], [rate, overlay]: [usize; 2], name: &str) -> [f64; 3] {
    [0, 1, 2].map(|seed| {
        records[6 * rate + 3 * overlay + seed][name]["mean"]
            .as_f64()
            .unwrap()
    })
}

/// Mean, and the half of Student's 95 % interval of three values: 4.302653 standard errors.
pub(crate) fn interval(values: [f64; 3]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 3.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, 4.302_652_729_911_275 * (squares / 2.0 / 3.0).sqrt())
}

pub(crate) fn is(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
}

#[test]
fn rows_hold_mean_and_interval_over_seeds() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by learning_rate,topology --format json";
    let rows = sandbox.says(line).ended_with(0).json();
    assert_eq!(rows.len(), 4);
    for (place, row) in rows.iter().enumerate() {
        let (mean, half) = interval(seeds(&records, [place / 2, place % 2], "test_accuracy"));
        is(&row["mean"], mean);
        is(&row["low"], mean - half);
        is(&row["high"], mean + half);
        assert_eq!(row["n"], 3);
        assert_eq!(row["topology"], ["ring", "complete"][place % 2]);
        assert_eq!(row["learning_rate"], [0.01, 0.2][place / 2]);
    }
    let csv = sandbox.says(&line.replace("json", "csv")).ended_with(0).out;
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let early = sandbox.says(&format!("{line} --at round=0 --metric mean_model_accuracy"));
    assert_eq!(early.ended_with(0).json().len(), 4);
}

#[test]
fn rows_hold_median_and_quartiles_where_they_are_asked_for() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by topology --only learning_rate=0.2 --summary median";
    let rows = sandbox
        .says(&format!("{line} --format json"))
        .ended_with(0)
        .json();
    let mut ring = seeds(&records, [1, 0], "test_accuracy");
    ring.sort_by(f64::total_cmp);
    let [low, middle, high] = ring;
    assert_eq!(rows[0]["n"], 3);
    is(&rows[0]["median"], middle);
    is(&rows[0]["q1"], 0.5 * (low + middle));
    is(&rows[0]["q3"], 0.5 * (middle + high));
    let said = sandbox.says(line).ended_with(0).out;
    let cell = format!("{:.2} [", 100.0 * middle);
    assert!(said.contains(&cell), "{cell}: {said}");
    assert!(
        said.contains("median [lower quartile, upper quartile] over seed"),
        "{said}"
    );
    for option in ["--compare topology=ring", "--spread sd"] {
        let refused = sandbox.says(&format!("{line} {option}"));
        refused
            .ended_with(2)
            .complained_of(&[option.split(' ').next().unwrap(), "--summary median"]);
    }
}

#[test]
fn a_table_in_latex_has_the_caption_and_the_label_that_were_asked_for() {
    let (sandbox, _) = finished();
    let line = "table runs/tiny --by topology --only learning_rate=0.2 --label tab:overlays";
    let text = sandbox
        .says(&format!("{line} --caption Overlays. --format latex"))
        .ended_with(0)
        .out;
    assert!(
        text.contains("\\caption{Overlays. ") && text.contains("}\n\\label{tab:overlays}\n"),
        "{text}"
    );
    let refused = sandbox.says(line);
    refused.ended_with(2).complained_of(&["--label", ".tex"]);
}

#[test]
fn a_table_takes_only_the_runs_that_are_asked_for() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by topology --format json --only";
    let rows = sandbox.says(&format!("{line} learning_rate=0.2"));
    let rows = rows.ended_with(0).json();
    for (overlay, row) in rows.iter().enumerate() {
        let expected = seeds(&records, [1, overlay], "test_accuracy");
        is(&row["mean"], interval(expected).0);
    }
    let two = "learning_rate=0.2 --only topology=ring";
    let rows = sandbox.says(&format!("{line} {two}"));
    assert_eq!(rows.ended_with(0).json().len(), 1);
    sandbox
        .says(&format!("{line} topology=star"))
        .ended_with(2)
        .complained_of(&["star", "ring"]);
}

#[test]
fn the_best_rate_of_each_overlay_is_chosen_by_its_mean() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by topology --best learning_rate";
    let rows = sandbox
        .says(&format!("{line} --format json"))
        .ended_with(0)
        .json();
    for (overlay, row) in rows.iter().enumerate() {
        let mean = |rate| interval(seeds(&records, [rate, overlay], "test_accuracy")).0;
        is(&row["mean"], f64::max(mean(0), mean(1)));
    }
    let said = sandbox.says(line).ended_with(0);
    assert!(said.out.contains("chosen by test accuracy"), "{}", said.out);
    sandbox.says(&format!("{line} -o table.tex")).ended_with(0);
    let latex = sandbox.read("table.tex");
    for part in ["\\toprule", "\\bottomrule", "complete"] {
        assert!(latex.contains(part), "{latex}");
    }
}

#[test]
fn settings_are_compared_over_the_same_seeds() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by topology,learning_rate --compare topology=ring --format json";
    let rows = sandbox.says(line).ended_with(0).json();
    let row = rows
        .iter()
        .find(|row| row["topology"] == "complete")
        .unwrap();
    let [a, b] = [[0, 1], [0, 0]].map(|of| seeds(&records, of, "test_accuracy"));
    let (mean, _) = interval([0, 1, 2].map(|seed| a[seed] - b[seed]));
    is(&row["difference_mean"], mean);
}

#[test]
fn values_of_a_setting_stand_side_by_side() {
    let (sandbox, records) = finished();
    let line = "table runs/tiny --by topology,learning_rate --across learning_rate";
    let said = sandbox.says(&format!("{line} -o wide.tex")).ended_with(0);
    assert_eq!(said.out, "");
    let latex = sandbox.read("wide.tex");
    let title = "topology & learning\\_rate=0.01 & learning\\_rate=0.2 \\\\";
    assert!(latex.contains(title), "{latex}");
    for (overlay, name) in ["ring", "complete"].into_iter().enumerate() {
        let cell = |rate| {
            let (mean, half) = interval(seeds(&records, [rate, overlay], "test_accuracy"));
            format!("{:.2} $\\pm$ {:.2} \\%", 100.0 * mean, 100.0 * half)
        };
        let row = latex
            .lines()
            .find(|row| row.starts_with(&format!("{name} & ")));
        let row = row.unwrap().replace("\\textbf{", "").replace('}', "");
        assert_eq!(row, format!("{name} & {} & {} \\\\", cell(0), cell(1)));
    }
    assert_eq!(latex.matches("\\textbf").count(), 2, "{latex}");
    assert!(latex.contains("3 runs in each cell"), "{latex}");
    let compared = sandbox.says(&format!("{line} --compare topology=ring"));
    let compared = compared.ended_with(0).out;
    let note = "differs from the mean of topology=ring and the same other settings (p < 0.05, paired t test over seed, two-sided, \
                corrected by Holm's method for 2 comparisons)";
    assert!(compared.contains(note), "{compared}");
    let both = "table runs/tiny --by topology --across learning_rate";
    sandbox
        .says(both)
        .ended_with(2)
        .complained_of(&["learning_rate", "--by"]);
}

#[test]
fn an_experiment_in_place_of_its_results_is_told_where_these_are() {
    let (sandbox, _) = finished();
    let said = sandbox.says("table sweep.yaml --by topology").ended_with(2);
    said.complained_of(&[
        "sweep.yaml: found a file, needed a folder with runs",
        "runs/<name>",
    ]);
    let said = sandbox.says("table runs --by topology").ended_with(2);
    said.complained_of(&[
        "runs: found folders of experiments, needed that of one, such as runs/tiny",
    ]);
}

#[test]
fn the_sign_of_the_interval_is_explained_where_it_stands() {
    let (sandbox, _) = finished();
    let line = "table runs/tiny --by topology,learning_rate";
    let several = sandbox.says(line).ended_with(0).out;
    assert!(
        several.contains("± is half of the 95 % interval"),
        "{several}"
    );
    let one = sandbox.says(&format!("{line} --only seed=1")).ended_with(0);
    assert!(!one.out.contains('±'), "{}", one.out);
}

#[test]
fn what_cannot_be_a_table_is_refused_with_what_there_is() {
    let (sandbox, _) = finished();
    for (line, parts) in [
        ("--by topolgy", ["topolgy", "topology"]),
        ("--by topology", ["differ in learning_rate", "--best"]),
        (
            "--by topology,learning_rate --metric acuracy",
            ["acuracy", "test_accuracy"],
        ),
        (
            "--by topology,learning_rate --compare topology=star",
            ["star", "ring"],
        ),
    ] {
        let said = sandbox.says(&format!("table runs/tiny {line}"));
        said.ended_with(2).complained_of(&parts);
    }
    for folders in ["nowhere", "runs/tiny nowhere"] {
        let said = sandbox.says(&format!("table {folders} --by topology"));
        said.ended_with(2)
            .complained_of(&["nowhere: there is no such folder"]);
    }
}

#[test]
fn a_missing_seed_is_named() {
    let (sandbox, _) = finished();
    let folder = sandbox.says("run sweep.yaml --json").json()[1]["folder"].clone();
    std::fs::remove_dir_all(sandbox.path(folder.as_str().unwrap())).unwrap();
    let said = sandbox
        .says("table runs/tiny --by topology,learning_rate")
        .ended_with(0);
    assert!(
        said.out.contains("seed 2 is missing (no run)"),
        "{}",
        said.out
    );
}

#[test]
fn what_repeats_a_row_may_be_a_choice_or_tell_rows_apart() {
    let (sandbox, _) = finished();
    let says = |line: &str| sandbox.says(&format!("table runs/tiny {line}"));
    let rows = says("--by learning_rate,seed --over topology --format json");
    let rows = rows.ended_with(0).json();
    assert!(
        rows.len() == 6 && rows.iter().all(|row| row["n"] == 2),
        "{rows:?}"
    );
    let each = says("--by topology,learning_rate,seed").ended_with(0).out;
    assert!(!each.contains("is missing"), "{each}");
    let best = says("--by topology --best seed").ended_with(2);
    best.complained_of(&["--best seed", "--over"]);
    let numbers = "--by topology --format json --only learning_rate=2e-1";
    let numbers = says(numbers).ended_with(0).json();
    assert!(numbers.iter().all(|row| row["n"] == 3), "{numbers:?}");
}

#[test]
fn a_sweep_over_seeds_ends_with_a_table_over_them() {
    let (sandbox, records) = finished();
    let said = sandbox.says("run sweep.yaml -q").ended_with(0).out;
    let (mean, half) = interval(seeds(&records, [1, 1], "test_accuracy"));
    let cell = format!("{:.2} ± {:.2} %", 100.0 * mean, 100.0 * half);
    assert!(said.contains(&cell), "{cell}: {said}");
    assert!(said.contains("Student's t"), "{said}");
    let summary = said.split("mean accuracy").last().unwrap();
    let frame = summary.lines().filter(|line| line.contains('│'));
    assert!(
        frame
            .map(|line| line.chars().count())
            .all(|width| width <= 130)
    );
    let bare = sandbox
        .says("run sweep.yaml -q --no-report")
        .ended_with(0)
        .out;
    assert!(!bare.contains("report:"), "{bare}");
    let one = sandbox.says("run tiny.yaml -q").ended_with(0).out;
    assert!(!one.contains("Student's t"), "{one}");
}

#[test]
fn the_values_of_a_sweep_are_fields() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {algorithm.dfedavgm.learning_rate: [0.01, 0.2], topology: [ring, {regular: {degree: 4}}]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    let expected = serde_json::json!({
        "algorithm.dfedavgm.learning_rate": 0.01,
        "topology": {"regular": {"degree": 4}},
    });
    assert_eq!(runs[1]["settings"], expected);
    assert_eq!(runs[1]["summary"]["settings"], expected);
    let folder = runs[1]["folder"].as_str().unwrap();
    assert_eq!(
        sandbox.json(&format!("{folder}/summary.json"))["settings"],
        expected
    );
}

/// The rows of a Parquet file as texts, and the description of a column.
fn parquet(sandbox: &Sandbox, file: &str, column: &str) -> (Vec<String>, String) {
    let file = std::fs::File::open(sandbox.path(file)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let rows = rows.map(|row| row.unwrap().to_string()).collect();
    let about = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    let about = about.iter().find(|pair| pair.key == column).unwrap();
    (rows, about.value.clone().unwrap())
}

#[test]
fn the_tables_of_an_experiment_hold_every_run_with_its_settings() {
    let (sandbox, records) = finished();
    let (metrics, about) = parquet(&sandbox, "runs/tiny/metrics.parquet", "bytes_total");
    assert_eq!(
        about,
        "Bytes sent since the start, each message counted once."
    );
    // Twelve runs, evaluated at the start and after each of four rounds, or as their records say.
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    let evaluations = sandbox.records(runs[0]["folder"].as_str().unwrap()).len();
    assert_eq!(metrics.len(), 12 * evaluations);
    let id = runs[7]["id"].as_str().unwrap();
    let last = metrics.iter().rfind(|row| row.contains(id)).unwrap();
    let bytes = records[7]["bytes_total"].as_u64().unwrap();
    for part in [
        "algorithm.dfedavgm.learning_rate: 0.2".to_owned(),
        "topology: \"ring\"".to_owned(),
        "seed: 2".to_owned(),
        "clients: 10".to_owned(),
        format!("bytes_total: {bytes},"),
    ] {
        assert!(last.contains(&part), "{part}: {last}");
    }
    let (clients, about) = parquet(&sandbox, "runs/tiny/clients.parquet", "seed");
    assert_eq!(about, "A setting, by its path in the configuration.");
    assert_eq!(clients.len(), 12 * 10 * evaluations);
    assert!(clients[0].contains("examples: 60"), "{}", clients[0]);
    let before = ["metrics", "clients"].map(|name| {
        let path = sandbox.path(&format!("runs/tiny/{name}.parquet"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (path, bytes)
    });
    sandbox.says("report runs/tiny").ended_with(0);
    for (path, bytes) in before {
        assert!(std::fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
}

#[test]
fn validation_examples_choose_and_test_examples_measure() {
    let sandbox = Sandbox::new();
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("test: 100}", "test: 100, validation: 90}");
    let sweep = "sweep: {grid: {algorithm.dfedavgm.learning_rate: [0.0001, 0.05], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    for record in sandbox.records(runs[0]["folder"].as_str().unwrap()) {
        let accuracy = record["validation_accuracy"]["mean"].as_f64().unwrap();
        // Whole numbers of 90 examples in the mean of ten clients.
        let right = 900.0 * accuracy;
        assert!((right - right.round()).abs() < 1e-6, "{accuracy}");
        assert!(record["validation_loss"]["max"].as_f64().unwrap() > 0.0);
    }
    for on in ["", " --on validation", " --on validation_accuracy"] {
        let line = format!("table runs/tiny --best learning_rate{on}");
        let said = sandbox.says(&line).ended_with(0);
        assert!(said.out.contains("0.05"), "{}", said.out);
        assert!(
            said.out
                .contains("best mean of validation_accuracy over seed\n"),
            "{}",
            said.out
        );
    }
    let by_test = "table runs/tiny --best learning_rate --on test_accuracy";
    let said = sandbox.says(by_test).ended_with(0);
    assert!(
        said.out.contains("the same test examples chose"),
        "{}",
        said.out
    );
    // Fewer examples, and none.
    let few = sandbox.says(
        "run tiny.yaml --set dataset.glyphs.validation=90 --set evaluate.validation=0 --json",
    );
    let few = few.ended_with(0).json();
    let records = sandbox.records(few[0]["folder"].as_str().unwrap());
    assert!(
        records
            .iter()
            .all(|record| record.get("validation_loss").is_none())
    );
    sandbox
        .says("run tiny.yaml --set evaluate.validation=20")
        .ended_with(2)
        .complained_of(&["evaluate.validation", "`validation` of the dataset"]);
}

#[test]
fn a_value_within_a_list_tells_runs_apart() {
    let sandbox = Sandbox::new();
    sandbox.write("failing.yaml", FAILING);
    sandbox.says("run failing.yaml -q").ended_with(0);
    for by in ["share", "failures.0.clients.share"] {
        sandbox
            .says(&format!("table runs/failing --by {by} -o table.csv"))
            .ended_with(0);
        let csv = sandbox.read("table.csv");
        let first: Vec<&str> = csv
            .lines()
            .map(|line| line.split(',').next().unwrap())
            .collect();
        assert_eq!(first, [by, "0.0", "0.5"], "{csv}");
    }
    sandbox
        .says("figure runs/failing --x share -o figure.svg")
        .ended_with(0);
    let svg = sandbox.read("figure.svg");
    assert!(svg.contains("\n0.5\n"), "{svg}");
}

const FAILING: &str = "\
name: failing
dataset: {glyphs: {train: 120, test: 40}}
partition: {iid: {clients: 6}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}
rounds: 2
failures: [{clients: {share: 0.1}}]
sweep: {grid: {failures.0.clients.share: [0, 0.5], seed: [1, 2]}}
";
