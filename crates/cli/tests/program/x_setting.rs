//! Figures over a setting or a figure of the overlays: a point for each value, which is that of the table.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A finished sweep called `tiny`: three learning rates, not in the order of numbers, two overlays and two seeds.
fn finished() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {topology: [ring, complete], algorithm.dfedavgm.learning_rate: [0.05, 0.2, 0.01], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json --no-report");
    (sandbox, runs.ended_with(0).json())
}

/// What is drawn in the first frame of an SVG by strokes of this width, each as its points.
fn strokes(svg: &str, width: &str) -> Vec<Vec<[f64; 2]>> {
    let inside = svg.split("clip-path=").nth(1).unwrap();
    let inside = inside.split("</g>").next().unwrap();
    let width = format!("stroke-width=\"{width}\"");
    let lines = inside.split("<polyline").skip(1);
    let lines = lines.map(|line| line.split("/>").next().unwrap());
    let points = lines.filter(|line| line.contains(&width)).map(|line| {
        let points = line.split("points=\"").nth(1).unwrap();
        points.split('"').next().unwrap()
    });
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',').unwrap();
        [x, y].map(|number| number.parse().unwrap())
    };
    points
        .map(|line| line.split(' ').map(pair).collect())
        .collect()
}

/// The texts below the axes of an SVG, and what stands along them.
fn middles(svg: &str) -> Vec<String> {
    let texts = svg.split("<text").skip(1);
    let texts = texts.filter(|text| text.contains("text-anchor=\"middle\""));
    let content = texts.map(|text| text.split('>').nth(1).unwrap());
    content
        .map(|text| text.split('<').next().unwrap().trim().to_owned())
        .collect()
}

/// The figure of the runs `tiny` with these options, and what was said.
fn drawn(sandbox: &Sandbox, options: &str) -> (String, String) {
    let line = format!("figure runs/tiny {options} -o figure.svg");
    let said = sandbox.says(&line).ended_with(0);
    (sandbox.read("figure.svg"), said.err)
}

/// The numbers called `name` of the rows of a table.
fn of(rows: &[Value], name: &str) -> Vec<f64> {
    let values = rows.iter().map(|row| row[name].as_f64().unwrap());
    values.collect()
}

/// Requires that `heights` on the page are a linear function of `values`.
fn expect_heights(heights: &[f64], values: &[f64]) {
    let pairs = || values.iter().copied().zip(heights.iter().copied());
    let low = pairs().min_by(|one, other| one.0.total_cmp(&other.0));
    let high = pairs().max_by(|one, other| one.0.total_cmp(&other.0));
    let (low, high) = (low.unwrap(), high.unwrap());
    assert!(high.0 > low.0 && high.1 < low.1, "{values:?}: {heights:?}");
    let slope = (high.1 - low.1) / (high.0 - low.0);
    for (value, y) in pairs() {
        let line = low.1 + slope * (value - low.0);
        assert!((y - line).abs() < 0.05, "{value} is at {y}, not at {line}");
    }
}

#[test]
fn points_and_error_bars_are_those_of_the_table_in_the_order_of_numbers() {
    let (sandbox, _) = finished();
    for place in ["", "--at round=2"] {
        let line = format!("table runs/tiny --by topology,learning_rate --format json {place}");
        let mut rows = sandbox.says(&line).ended_with(0).json();
        rows.sort_by(|one, other| {
            let key = |row: &Value| (row["topology"] == "complete", row["learning_rate"].as_f64());
            key(one).partial_cmp(&key(other)).unwrap()
        });
        let options = format!("--x learning_rate --by topology {place}");
        let (svg, said) = drawn(&sandbox, &options);
        assert!(!said.contains("learning_rate"), "{said}");
        let lines = strokes(&svg, "1.2");
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        let heights: Vec<f64> = lines.iter().flatten().map(|point| point[1]).collect();
        expect_heights(&heights, &of(&rows, "mean"));
        // An error bar has three strokes, and the first one goes from its lower to its upper end.
        let errors = strokes(&svg, "0.8");
        // Seeds that agree have none.
        rows.retain(|row| row["low"] != row["high"]);
        assert_eq!(errors.len(), 3 * rows.len());
        let ends = |end: usize| errors.iter().step_by(3).map(move |stroke| stroke[end][1]);
        let heights: Vec<f64> = ends(0).chain(ends(1)).collect();
        expect_heights(&heights, &[of(&rows, "low"), of(&rows, "high")].concat());
        let (bare, _) = drawn(&sandbox, &format!("{options} --band none"));
        assert!(strokes(&bare, "0.8").is_empty());
    }
}

#[test]
fn values_far_apart_have_a_logarithmic_axis_unless_it_is_to_be_linear() {
    let (sandbox, _) = finished();
    let share = |options: &str| {
        let (svg, _) = drawn(
            &sandbox,
            &format!("--by topology --x learning_rate {options}"),
        );
        let line = &strokes(&svg, "1.2")[0];
        let [first, middle, last] = [0, 1, 2].map(|place| line[place][0]);
        ((middle - first) / (last - first), middles(&svg))
    };
    let by_size = |low: f64, middle: f64, high: f64| (middle - low) / (high - low);
    let logarithmic = by_size(0.01_f64.ln(), 0.05_f64.ln(), 0.2_f64.ln());
    let (found, texts) = share("");
    assert!((found - logarithmic).abs() < 0.01, "{found}");
    let expected = ["0.01", "0.05", "0.2", "learning rate", "Test accuracy (%)"];
    assert_eq!(texts, expected);
    let (found, _) = share("--linear x");
    assert!((found - by_size(0.01, 0.05, 0.2)).abs() < 0.01, "{found}");
    let options = "--by topology --x learning_rate --only learning_rate=0.01,0.05 --log x";
    let (svg, _) = drawn(&sandbox, &format!("{options} --name learning_rate=Rate"));
    assert_eq!(middles(&svg)[..3], ["0.01", "0.05", "Rate"]);
    let both = format!("figure runs/tiny {options} --linear x -o none.svg");
    let said = sandbox.says(&both).ended_with(2);
    said.complained_of(&["--log x and --linear x"]);
}

#[test]
fn panels_and_the_best_value_of_a_setting_go_with_it() {
    let (sandbox, _) = finished();
    let options = "--by topology --x learning_rate --panels topology";
    let (svg, _) = drawn(&sandbox, options);
    assert_eq!(svg.matches("<clipPath").count(), 2);
    assert_eq!(strokes(&svg, "1.2").len(), 1);
    let texts = middles(&svg);
    for text in ["ring", "complete", "learning rate"] {
        let count = texts.iter().filter(|found| *found == text).count();
        assert_eq!(count, 1, "{text}: {texts:?}");
    }
    let table = "table runs/tiny --by seed --over rounds --best learning_rate --only topology=ring --format json";
    let rows = sandbox.says(table).ended_with(0).json();
    let options = "--x seed --over rounds --best learning_rate --only topology=ring";
    let (svg, said) = drawn(&sandbox, options);
    for row in &rows {
        let taken = format!("{} ({})", row["learning_rate"], row["seed"]);
        assert!(said.contains(&taken), "{taken}: {said}");
    }
    let note = "a point of one rounds has no interval and is drawn without an error bar";
    assert!(said.contains(note), "{said}");
    assert!(strokes(&svg, "0.8").is_empty());
}

#[test]
fn a_seed_that_is_missing_and_runs_without_the_setting_are_told() {
    let sandbox = Sandbox::new();
    let yaml = "name: tiny\ndataset: {glyphs: {train: 200, test: 50}}\nmodel: logistic\ntopology: ring\n\
                algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\nrounds: 2\nsweep:\n  grid: {seed: [1, 2]}\n  cases:\n    \
                - {partition: {iid: {clients: 4}}}\n    - {partition: {dirichlet: {clients: 4, alpha: 1}}}\n    \
                - {partition: {dirichlet: {clients: 4, alpha: 0.5}}}\n";
    sandbox.write("sweep.yaml", yaml);
    let runs = sandbox.says("run sweep.yaml --json --no-report");
    let runs = runs.ended_with(0).json();
    let (svg, said) = drawn(&sandbox, "--x alpha");
    let note = "2 runs have no alpha and are not drawn\n";
    assert!(said.contains(note) && !said.contains("missing"), "{said}");
    assert_eq!(strokes(&svg, "1.2")[0].len(), 2);
    assert_eq!(middles(&svg)[..3], ["0.5", "1", "alpha"]);
    let (_, said) = drawn(&sandbox, "--x alpha --by partition");
    assert!(said.contains("are not drawn: iid\n"), "{said}");
    let folder = |run: &Value| run["folder"].as_str().unwrap().to_owned();
    let has_alpha = |folder: &String| {
        let config = sandbox.read(&format!("{folder}/config.yaml"));
        config.contains("alpha: 0.5") && config.contains("seed: 2")
    };
    let gone = runs.iter().map(folder).find(has_alpha).unwrap();
    std::fs::remove_dir_all(sandbox.path(&gone)).unwrap();
    let (svg, said) = drawn(&sandbox, "--x alpha");
    assert!(said.contains("0.5: seed 2 is missing (no run)"), "{said}");
    assert!(
        said.contains("a point of one seed has no interval"),
        "{said}"
    );
    assert_eq!(strokes(&svg, "0.8").len(), 3);
    let line = "figure runs/tiny --x alpha --only partition=iid -o none.svg";
    let said = sandbox.says(line).ended_with(2);
    said.complained_of(&["--x alpha: no run that is to be drawn has this setting"]);
}

#[test]
fn what_cannot_be_drawn_over_a_setting_is_refused() {
    let (sandbox, _) = finished();
    let rates = "--by topology --x learning_rate";
    for (options, parts) in [
        (
            "--x topology --by learning_rate".to_owned(),
            ["they are ring, complete;", "draw them by --bars"],
        ),
        (
            "--x learning_rte".to_owned(),
            [
                "did you mean `learning_rate`?",
                "or a setting whose values are numbers, of: algorithm.dfedavgm.learning_rate, seed",
            ],
        ),
        (
            "--x learning_rate".to_owned(),
            ["differ in topology", "name it in --by"],
        ),
        (
            "--x learning_rate --by topology,algorithm.dfedavgm.learning_rate".to_owned(),
            ["leave `algorithm.dfedavgm.learning_rate` out", "--by"],
        ),
        (
            "--x rate".to_owned(),
            ["--x rate", "needed rounds, steps, epochs"],
        ),
        (
            format!("{rates} --at target=0.5"),
            ["found target=", "needed round="],
        ),
        (
            format!("{rates} --band range"),
            ["--band range", "needed interval, sd, se or none"],
        ),
        (
            format!("{rates} --x-limits 3,4"),
            ["x limits 3,4", "nothing is drawn there"],
        ),
        (
            format!("{rates} --log x --x-limits 0,1"),
            ["cannot begin at 0", "more than 0"],
        ),
    ] {
        let line = format!("figure runs/tiny {options} -o none.svg");
        sandbox.says(&line).ended_with(2).complained_of(&parts);
    }
    assert!(!sandbox.path("none.svg").exists());
}

#[test]
fn points_over_a_figure_of_overlays_are_where_the_means_of_the_seeds_are() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {topology: [ring, complete, {erdos_renyi: {p: 0.6}}, {regular: {degree: 3}}], \
                 algorithm.dfedavgm.learning_rate: [0.05, 0.2], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    sandbox.says("run sweep.yaml --no-report").ended_with(0);
    let line = "table runs/tiny --by learning_rate,topology --metric test_accuracy,gap,diameter --format json";
    let mut rows = sandbox.says(line).ended_with(0).json();
    let gap = |row: &Value| row["gap_mean"].as_f64().unwrap();
    rows.sort_by(|one, other| {
        let key = |row: &Value| (row["learning_rate"].as_f64(), gap(row));
        key(one).partial_cmp(&key(other)).unwrap()
    });
    let (svg, said) = drawn(&sandbox, "--x gap --by learning_rate --linear x");
    assert!(!said.contains("round 1"), "{said}");
    let lines = strokes(&svg, "1.2");
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    let heights: Vec<f64> = lines.iter().flatten().map(|point| point[1]).collect();
    expect_heights(&heights, &of(&rows, "test_accuracy_mean"));
    // Places grow to the right, heights downwards. Lines are drawn a little apart, so each is looked at by itself.
    for (line, rows) in lines.iter().zip(rows.chunks(4)) {
        let mirrored: Vec<f64> = line.iter().map(|point| -point[0]).collect();
        expect_heights(&mirrored, &rows.iter().map(gap).collect::<Vec<_>>());
    }
    assert!(middles(&svg).contains(&"Spectral gap 1 − λ".to_owned()));
    let (svg, _) = drawn(
        &sandbox,
        "--x diameter --by topology --only learning_rate=0.2",
    );
    let lines = strokes(&svg, "1.2");
    assert!(
        lines.iter().all(|line| line.len() < 2),
        "an overlay of each kind is a point: {lines:?}"
    );
    let degrees = "sweep={grid: {topology: [{regular: {degree: 3}}, {regular: {degree: 4}}, ring], seed: [1, 2]}}";
    let degrees = [
        "run",
        "tiny.yaml",
        "--results",
        "degrees",
        "--no-report",
        "--set",
        degrees,
    ];
    sandbox.meshfold(&degrees).ended_with(0);
    let line = "figure degrees/tiny --x gap --by topology --linear x -o figure.svg";
    sandbox.says(line).ended_with(0);
    let lines = strokes(&sandbox.read("figure.svg"), "1.2");
    assert_eq!(
        lines.iter().map(Vec::len).collect::<Vec<_>>(),
        [2, 1],
        "one line joins the degrees"
    );
    let mixed = "figure runs/tiny --x gap -o none.svg";
    sandbox
        .says(mixed)
        .ended_with(2)
        .complained_of(&["learning_rate"]);
}
