//! Figures with a panel for each value of a setting, and figures over any measure of progress.

use crate::figure;
use crate::sandbox::Sandbox;

/// The texts of an SVG with these anchors, in their order.
fn texts(svg: &str, anchor: &str) -> Vec<String> {
    let anchor = format!("text-anchor=\"{anchor}\"");
    let texts = svg.split("<text").skip(1);
    let texts = texts.filter(|text| text.contains(&anchor));
    let content = texts.map(|text| text.split('>').nth(1).unwrap());
    content
        .map(|text| text.split('<').next().unwrap().trim().to_owned())
        .collect()
}

fn drawn(sandbox: &Sandbox, options: &str) -> String {
    let line = format!("figure runs/first {options} -o figure.svg");
    sandbox.says(&line).ended_with(0);
    sandbox.read("figure.svg")
}

#[test]
fn each_value_has_a_panel_with_its_curves() {
    let (sandbox, _) = figure::finished();
    let options = "--by topology,seed --over rounds --panels topology --band none";
    let svg = drawn(&sandbox, options);
    assert_eq!(svg.matches("<clipPath").count(), 2);
    // Two curves in each panel, and a line for each seed in the one legend.
    let [_, first, second] = svg.split("clip-path=").collect::<Vec<_>>()[..] else {
        panic!("{svg}");
    };
    let count = |part: &str| {
        let inside = part.split("</g>").next().unwrap();
        inside.matches("<polyline").count()
    };
    assert_eq!((count(first), count(second)), (2, 2));
    assert_eq!(svg.matches("stroke-width=\"1.2\"").count(), 6);
    assert_eq!(svg.matches("\nseed:\n").count(), 1);
    let middle = texts(&svg, "middle");
    for once in ["ring", "complete", "Rounds", "Test accuracy (%)"] {
        let found = middle.iter().filter(|text| *text == once).count();
        assert_eq!(found, 1, "{once}: {middle:?}");
    }
    // The panel to the right has no numbers of its own at the vertical axis.
    let mut numbers = texts(&svg, "end");
    let all = numbers.len();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), all);
    let turned = drawn(&sandbox, "--by topology,seed --over rounds --panels seed");
    let middle = texts(&turned, "middle");
    assert!(middle.contains(&"seed=1".to_owned()), "{middle:?}");
}

#[test]
fn a_method_without_an_overlay_stands_in_the_panels_of_all_overlays() {
    let sandbox = Sandbox::new();
    let yaml = "name: first\ndataset: {glyphs: {train: 200, test: 50}}\npartition: {iid: {clients: 4}}\nmodel: logistic\n\
                algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\nrounds: 2\nsweep:\n  cases:\n    - {topology: ring}\n    \
                - {topology: complete}\n    - {algorithm: {fedavg: {batch_size: 10, learning_rate: 0.1}}}\n";
    sandbox.write("first.yaml", yaml);
    sandbox.says("run first.yaml").ended_with(0);
    for bars in ["", " --bars"] {
        let by = "--by topology,algorithm --panels topology";
        let line = format!("figure runs/first {by}{bars} -o figure.svg");
        let said = sandbox.says(&line).ended_with(0);
        let note = "what has no topology stands in all panels";
        assert!(said.err.contains(note), "{}", said.err);
        let svg = sandbox.read("figure.svg");
        let middle = texts(&svg, "middle");
        let titles: Vec<&String> = middle
            .iter()
            .filter(|text| ["ring", "complete", "topology=–"].contains(&text.as_str()))
            .collect();
        assert_eq!(titles, ["ring", "complete"], "{middle:?}");
    }
    // FedAvg and D-SGD in each panel.
    let svg = drawn(
        &sandbox,
        "--by topology,algorithm --panels topology --band none",
    );
    let parts: Vec<&str> = svg.split("clip-path=").skip(1).collect();
    let curves = |part: &&str| {
        part.split("</g>")
            .next()
            .unwrap()
            .matches("<polyline")
            .count()
    };
    assert_eq!(parts.iter().map(curves).collect::<Vec<_>>(), [2, 2]);
    let alone = drawn(
        &sandbox,
        "--by topology,algorithm --panels topology --only algorithm=fedavg",
    );
    assert!(texts(&alone, "middle").contains(&"topology=–".to_owned()));
}

#[test]
fn files_with_panels_are_the_same_each_time() {
    let (sandbox, _) = figure::finished();
    for file in ["a.svg", "a.pdf", "a.png"] {
        let line = format!("figure runs/first --by topology --panels topology --dpi 100 -o {file}");
        let [first, second] = [0, 1].map(|_| {
            sandbox.says(&line).ended_with(0);
            std::fs::read(sandbox.path(file)).unwrap()
        });
        assert!(first == second, "{file}");
    }
}

#[test]
fn panels_that_cannot_be_drawn_are_refused() {
    let sandbox = Sandbox::new();
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("name: tiny", "name: first");
    let seeds: Vec<String> = (1..=13).map(|seed| seed.to_string()).collect();
    let sweep = format!("sweep: {{grid: {{seed: [{}]}}}}\n", seeds.join(", "));
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}rounds: 1\n{sweep}").replace("rounds: 4\n", ""),
    );
    sandbox.says("run sweep.yaml -q --no-report").ended_with(0);
    let says = |options: &str| {
        let line = format!("figure runs/first --over rounds {options} -o a.svg");
        sandbox.says(&line)
    };
    let many = says("--by seed --panels seed").ended_with(2);
    many.complained_of(&[
        "--panels seed: it has 13 values",
        "at most 12",
        "--only seed=",
    ]);
    let other = says("--by seed --panels topology").ended_with(2);
    other.complained_of(&["not told apart by `topology`", "--by"]);
    let bars = says("--by seed --bars --width 12mm --height 12mm --font-size 2pt").ended_with(2);
    bars.complained_of(&["13 bars do not fit side by side on 12 mm"]);
    says("--by seed --panels seed --only seed=1,2,3,4,5,6,7,8,9,10,11,12").ended_with(0);
    let svg = sandbox.read("a.svg");
    assert_eq!(svg.matches("<clipPath").count(), 12);
    // On a page of 85 mm two panels stand side by side, and the page is as high as six rows of them need.
    assert_eq!(
        texts(&svg, "middle")
            .iter()
            .filter(|text| text.starts_with("seed="))
            .count(),
        12
    );
}

#[test]
fn curves_go_over_any_figure_that_never_decreases() {
    let (sandbox, runs) = figure::finished();
    let svg = drawn(&sandbox, "--by topology --x wall_seconds");
    // A fast machine's axis counts in powers of ten: `Wall time (10⁻³ s)`.
    assert!(svg.contains("\nWall time ("), "{svg}");
    let svg = drawn(&sandbox, "--by topology --x bytes_busiest_node");
    assert!(svg.contains("Bytes busiest node ("), "{svg}");
    let [one, other] =
        ["bytes", "bytes_total"].map(|x| drawn(&sandbox, &format!("--by topology --x {x}")));
    assert_eq!(one, other);
    for (options, parts) in [
        (
            "--x hours",
            ["--x hours: needed rounds, steps, epochs", "wall_seconds"],
        ),
        (
            "--x test_loss",
            [
                "--x test_loss: in the run ring, seed 1 it falls from",
                "never decreases",
            ],
        ),
        ("--x seconds", ["simulated_seconds", "no `network`"]),
    ] {
        let line = format!("figure runs/first --by topology {options} -o none.svg");
        sandbox.says(&line).ended_with(2).complained_of(&parts);
    }
    let folder = runs[0]["folder"].as_str().unwrap();
    assert!(
        sandbox.records(folder).len() > 2,
        "there is something to fall"
    );
}

#[test]
fn being_without_a_setting_is_a_value_where_the_same_runs_have_it() {
    let sandbox = Sandbox::new();
    let yaml = "name: first\ndataset: {glyphs: {train: 200, test: 50}}\npartition: {iid: {clients: 4}}\nmodel: logistic\n\
                algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\ntopology: ring\nrounds: 2\n\
                sweep: {grid: {stragglers: [null, {share: 0.5}], algorithm.dsgd.learning_rate: [0.1, 0.2]}}\n";
    sandbox.write("first.yaml", yaml);
    sandbox.says("run first.yaml").ended_with(0);
    for bars in ["", " --bars"] {
        let line = format!(
            "figure runs/first --by stragglers,learning_rate --panels stragglers{bars} -o figure.svg"
        );
        let said = sandbox.says(&line).ended_with(0);
        assert!(!said.err.contains("in all panels"), "{}", said.err);
        assert_eq!(sandbox.read("figure.svg").matches("<clipPath").count(), 2);
    }
}

#[test]
fn curves_that_a_logarithmic_axis_cannot_show_are_named() {
    let sandbox = Sandbox::new();
    let yaml = "name: first\ndataset: {glyphs: {train: 200, test: 50}}\npartition: {iid: {clients: 4}}\nmodel: logistic\n\
                algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\nrounds: 2\nsweep: {grid: {topology: [ring, star, complete]}}\n";
    sandbox.write("first.yaml", yaml);
    sandbox.says("run first.yaml").ended_with(0);
    let line = "figure runs/first --by topology --y consensus_distance --log y -o figure.svg";
    let said = sandbox.says(line).ended_with(0);
    // On the complete overlay all models are the mean.
    assert!(
        said.err.contains("complete: no value is above 0"),
        "{}",
        said.err
    );
    for other in ["ring", "star"] {
        assert!(!said.err.contains(other), "{}", said.err);
    }
    let plain = "figure runs/first --by topology --y consensus_distance -o figure.svg";
    let said = sandbox.says(plain).ended_with(0);
    assert!(!said.err.contains("no value is above 0"), "{}", said.err);
}
