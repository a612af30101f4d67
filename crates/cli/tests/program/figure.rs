//! Figures of finished runs: their curves are those of the runs.

use std::fs;

use serde_json::Value;

use crate::pages::Page;
use crate::sandbox::Sandbox;

/// A finished sweep called `first`: two overlays under two seeds.
pub(crate) fn finished() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("name: tiny", "name: first");
    let sweep = "sweep: {grid: {topology: [ring, complete], seed: [1, 2]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let runs = sandbox.says("run sweep.yaml --json").ended_with(0).json();
    (sandbox, runs)
}

/// The points of the curves of an SVG: lines of 1.2 points inside the frame.
fn curves(svg: &str) -> Vec<Vec<[f64; 2]>> {
    let inside = svg.split("clip-path=").nth(1).unwrap();
    let inside = inside.split("</g>").next().unwrap();
    let lines = inside.split("<polyline").skip(1);
    let points = lines.map(|line| line.split("points=\"").nth(1).unwrap());
    let points = points.map(|line| line.split('"').next().unwrap());
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',').unwrap();
        [x, y].map(|number| number.parse().unwrap())
    };
    points
        .map(|line| line.split(' ').map(pair).collect())
        .collect()
}

/// The mean over the seeds of `name` at each evaluation of the runs `of`.
fn means(sandbox: &Sandbox, runs: &[Value], of: [usize; 2], name: &str) -> Vec<f64> {
    let [one, other] = of.map(|run| {
        let folder = runs[run]["folder"].as_str().unwrap();
        let records = sandbox.read(&format!("{folder}/metrics.jsonl"));
        let value = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            record[name]["mean"].as_f64().unwrap()
        };
        records.lines().map(value).collect::<Vec<f64>>()
    });
    one.iter().zip(&other).map(|(a, b)| 0.5 * (a + b)).collect()
}

#[test]
fn curves_are_the_means_of_the_runs() {
    let (sandbox, runs) = finished();
    let line = "figure runs/first --by topology --band none -o figure.svg";
    sandbox.says(line).ended_with(0);
    let curves = curves(&sandbox.read("figure.svg"));
    assert_eq!(curves.len(), 2);
    let expected = [[0, 1], [2, 3]].map(|of| means(&sandbox, &runs, of, "test_accuracy"));
    // Heights on the page are a linear function of the figures: find it from two points, and hold it against all.
    let pairs: Vec<(f64, f64)> = curves
        .iter()
        .zip(&expected)
        .flat_map(|(curve, means)| {
            assert_eq!(curve.len(), means.len());
            means.iter().zip(curve).map(|(mean, [_, y])| (*mean, *y))
        })
        .collect();
    let low = pairs
        .iter()
        .copied()
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap();
    let high = pairs
        .iter()
        .copied()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap();
    assert!(high.0 > low.0 && high.1 < low.1, "{pairs:?}");
    let slope = (high.1 - low.1) / (high.0 - low.0);
    for (mean, y) in pairs {
        let line = low.1 + slope * (mean - low.0);
        assert!((y - line).abs() < 0.03, "{mean} is at {y}, not at {line}");
    }
}

#[test]
fn every_axis_and_band_draws_each_setting() {
    let (sandbox, _) = finished();
    // Clients on the complete overlay hold the same model after each exchange, so only seeds make a band of it.
    for (options, bands) in [
        ("--x rounds --band interval", 2),
        ("--x epochs --band quantiles --only topology=ring", 1),
        ("--x examples --y test_loss --band interval", 2),
        ("--x bytes --y test_loss", 2),
        ("--x steps --band range --only topology=ring", 1),
        ("--only topology=ring,complete --y test_loss --log y", 2),
    ] {
        let line = format!("figure runs/first --by topology {options} -o figure.svg");
        sandbox.says(&line).ended_with(0);
        let svg = sandbox.read("figure.svg");
        assert_eq!(curves(&svg).len(), bands, "{options}");
        assert_eq!(svg.matches("fill-opacity").count(), bands, "{options}");
    }
    let svg = sandbox.read("figure.svg");
    assert!(svg.contains("ring") && svg.contains("topology:"), "{svg}");
    let line = "figure runs/first --by seed --over topology --only topology=ring -o one.svg";
    let said = sandbox.says(line).ended_with(0);
    assert!(
        said.err.contains("a curve of one topology has no spread"),
        "{}",
        said.err
    );
}

#[test]
fn missing_runs_are_named_as_in_tables() {
    let (sandbox, runs) = finished();
    let line = "figure runs/first --by topology -o figure.svg";
    let whole = sandbox.says(line).ended_with(0).err;
    assert!(
        !whole.contains("is missing") && !whole.contains("not begun"),
        "{whole}"
    );
    std::fs::remove_dir_all(sandbox.path(runs[1]["folder"].as_str().unwrap())).unwrap();
    sandbox.says(line).ended_with(0).complained_of(&[
        "ring: seed 2 is missing (no run)",
        "runs/first: 1 run of its sweeps has not begun or was removed",
    ]);
}

#[test]
fn losses_have_the_unit_of_the_model() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {model: [linear, logistic], algorithm.dfedavgm.learning_rate: [0.001, 0.002]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    sandbox.says("run sweep.yaml -q --no-report").ended_with(0);
    let title = |only: &str| {
        let line = "figure runs/tiny --by model,learning_rate --y test_loss -o loss.svg";
        sandbox.says(&format!("{line} {only}")).ended_with(0);
        let svg = sandbox.read("loss.svg");
        let mut lines = svg.lines();
        lines
            .find(|line| line.starts_with("Test loss"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(title("--only model=linear"), "Test loss (½ squared error)");
    assert_eq!(title("--only model=logistic"), "Test loss (nats)");
    assert_eq!(title(""), "Test loss");
}

/// The colours of the curves of an SVG.
fn colours(svg: &str) -> Vec<String> {
    let inside = svg.split("clip-path=").nth(1).unwrap();
    let inside = inside.split("</g>").next().unwrap();
    let lines = inside.split("<polyline").skip(1);
    let colours = lines.map(|line| line.split("stroke=\"").nth(1).unwrap());
    colours
        .map(|colour| colour.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_value_keeps_its_colour_when_others_are_left_out() {
    let (sandbox, _) = finished();
    let drawn = |options: &str| {
        let line = format!("figure runs/first --by topology --band none {options} -o figure.svg");
        sandbox.says(&line).ended_with(0);
        colours(&sandbox.read("figure.svg"))
    };
    let both = drawn("");
    assert!(both.len() == 2 && both[0] != both[1], "{both:?}");
    assert_eq!(drawn("--only topology=complete"), both[1..]);
}

#[test]
fn a_figure_that_would_be_empty_is_refused() {
    let (sandbox, _) = finished();
    for (options, parts) in [
        ("--x-limits 2000,3000", ["x limits 2000,3000", "from 0 to"]),
        ("--y-limits 2,3", ["y limits 2,3", "nothing is drawn there"]),
    ] {
        let line = format!("figure runs/first --by topology {options} -o none.svg");
        sandbox.says(&line).ended_with(2).complained_of(&parts);
        assert!(!sandbox.path("none.svg").exists());
    }
}

#[test]
fn epochs_are_examples_over_those_that_clients_hold() {
    let (sandbox, runs) = finished();
    for x in ["examples", "epochs"] {
        let line = format!("figure runs/first --by topology --x {x} -o {x}.svg");
        sandbox.says(&line).ended_with(0);
    }
    // The unit differs, so the curves are the same.
    let [examples, epochs] = ["examples.svg", "epochs.svg"].map(|file| sandbox.read(file));
    let x = |svg: &str| {
        curves(svg)[0]
            .iter()
            .map(|place| place[0])
            .collect::<Vec<_>>()
    };
    let (one, other) = (x(&examples), x(&epochs));
    assert_eq!(one.len(), other.len());
    let share = |x: &[f64], at: usize| (x[at] - x[0]) / (x[x.len() - 1] - x[0]);
    assert!((0..one.len()).all(|at| (share(&one, at) - share(&other, at)).abs() < 1e-3));
    // The last label of the axis is at most the epochs of the run.
    let folder = runs[0]["folder"].as_str().unwrap();
    let partition = sandbox.read(&format!("{folder}/partition.csv"));
    let examples = partition
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap());
    let held: f64 = examples.map(|count| count.parse::<f64>().unwrap()).sum();
    let records = sandbox.read(&format!("{folder}/metrics.jsonl"));
    let last: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    let done = last["examples_seen"].as_f64().unwrap() / held;
    let ticks = labels_below(&epochs);
    let most = ticks.iter().copied().fold(0.0, f64::max);
    assert!(
        most <= done * 1.000_001 && most > 0.5 * done,
        "{most} of {done}"
    );
}

/// The numbers at the horizontal axis: those in the middle of their places that are not turned.
fn labels_below(svg: &str) -> Vec<f64> {
    let texts = svg.split("<text").skip(1);
    let texts = texts.filter(|text| text.contains("text-anchor=\"middle\""));
    let content = texts.filter_map(|text| text.split('>').nth(1)?.split('<').next());
    content
        .filter_map(|text| text.trim().parse().ok())
        .collect()
}

#[test]
fn files_are_what_their_names_say_and_the_same_each_time() {
    let (sandbox, _) = finished();
    for (file, start) in [
        ("a.svg", b"<svg ".as_slice()),
        ("a.pdf", b"%PDF-".as_slice()),
        ("a.PNG", b"\x89PNG".as_slice()),
    ] {
        let line = format!("figure runs/first --by topology --width 60mm --dpi 100 -o {file}");
        sandbox.says(&line).ended_with(0);
        let first = std::fs::read(sandbox.path(file)).unwrap();
        assert!(first.starts_with(start), "{file}");
        sandbox.says(&line).ended_with(0);
        assert_eq!(first, std::fs::read(sandbox.path(file)).unwrap(), "{file}");
    }
    let png = std::fs::read(sandbox.path("a.PNG")).unwrap();
    // 60 mm at 100 pixels an inch.
    assert_eq!(png[16..20], 236_u32.to_be_bytes());
}

#[test]
fn what_cannot_be_drawn_is_refused_with_what_there_is() {
    let (sandbox, _) = finished();
    for (line, parts) in [
        ("-o figure.gif", ["figure.gif", ".svg, .pdf or .png"]),
        (
            "-o a.svg",
            [
                "the curve of all runs mixes runs that differ in topology",
                "in --by or --over, or",
            ],
        ),
        (
            "--by topology --y acuracy -o a.svg",
            ["acuracy", "test_accuracy"],
        ),
        (
            "--by topology --x seconds -o a.svg",
            ["simulated_seconds", "no `network`"],
        ),
        (
            "--by topology --only topology=star -o a.svg",
            ["star", "ring"],
        ),
        (
            "--by topology --y consensus_distance --band quantiles -o a.svg",
            ["consensus_distance", "test_loss"],
        ),
        ("--by topology --width 85 -o a.svg", ["85", "85mm"]),
        (
            "--by topology --width 20mm -o a.svg",
            ["20 × 14 mm", "smaller font size"],
        ),
        (
            "--by topology --y-limits 1,0 -o a.svg",
            ["1,0", "the smaller one first"],
        ),
        (
            "--by topology --log y --y-limits 0,1 -o a.svg",
            ["cannot begin at 0", "more than 0"],
        ),
    ] {
        let said = sandbox.says(&format!("figure runs/first {line}"));
        said.ended_with(2).complained_of(&parts);
    }
    assert!(!sandbox.path("a.svg").exists());
    sandbox.says("figure nowhere -o a.svg").ended_with(2);
    sandbox
        .says("figure runs/first --by topology -o nowhere/a.svg")
        .ended_with(1)
        .complained_of(&["nowhere/a.svg"]);
}

#[test]
fn the_commands_of_the_guide_work() {
    let (sandbox, _) = finished();
    fs::copy(sandbox.path("tiny.yaml"), sandbox.path("experiment.yaml")).unwrap();
    let steps = Page::read("docs/figures.md").steps();
    let commands: Vec<String> = steps.into_iter().flat_map(|step| step.commands).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        sandbox.says(&command).ended_with(0);
        let file = command.split(' ').next_back().unwrap();
        assert!(sandbox.path(file).is_file(), "{command}");
    }
}
