//! Figures of partitions and overlays, which need no run.

use std::fs;

use crate::sandbox::Sandbox;

/// The text of the SVG that a command writes to `drawn.svg`, after it has said `line`.
fn drawn(sandbox: &Sandbox, arguments: &[&str], line: &str) -> String {
    let mut all = arguments.to_vec();
    all.extend(["-o", "drawn.svg"]);
    let said = sandbox.meshfold(&all).ended_with(0);
    assert_eq!(said.out, format!("drawn.svg: {line}\n"));
    fs::read_to_string(sandbox.path("drawn.svg")).unwrap()
}

fn has_text(svg: &str, text: &str) -> bool {
    svg.contains(&format!("\n{text}\n"))
}

#[test]
fn a_partition_has_a_dot_for_each_label_that_a_client_holds() {
    let sandbox = Sandbox::new();
    let skewed = "partition={dirichlet: {clients: 12, alpha: 0.3}}";
    let asked = ["partition", "tiny.yaml", "--set", skewed];
    let svg = drawn(&sandbox, &asked, "1 partition");
    let csv = sandbox
        .meshfold(&[&asked[..], &["--csv"]].concat())
        .ended_with(0)
        .out;
    let examples = csv
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap());
    let examples: Vec<u64> = examples.map(|number| number.parse().unwrap()).collect();
    let held = examples.iter().filter(|examples| **examples > 0).count();
    // The ground of the page and the legend are polygons, too.
    assert_eq!(svg.matches("<polygon").count(), held + 2);
    let largest = examples.iter().max().unwrap();
    for text in [&format!("{largest} examples"), "Client", "Label", "9"] {
        assert!(has_text(&svg, text), "{text}: {svg}");
    }
}

#[test]
fn partitions_that_differ_in_more_than_their_seed_have_a_panel_each() {
    let sandbox = Sandbox::new();
    let skewed = "partition={dirichlet: {clients: 12, alpha: 0.3}}";
    let grid = "sweep={grid: {partition.dirichlet.alpha: [0.5, 5], topology: [ring, star], seed: [1, 2, 3]}}";
    let asked = ["partition", "tiny.yaml", "--set", skewed, "--set", grid];
    let svg = drawn(&sandbox, &asked, "2 partitions");
    assert!(
        has_text(&svg, "alpha=0.5") && has_text(&svg, "alpha=5"),
        "{svg}"
    );
    let said = sandbox.meshfold(&[&asked[..], &["-o", "drawn.pdf"]].concat());
    said.complained_of(&["not drawn, as only their seed differs: 4 more of the partitions"]);
    assert!(
        fs::read(sandbox.path("drawn.pdf"))
            .unwrap()
            .starts_with(b"%PDF")
    );

    let values: Vec<String> = (1..=13).map(|value| value.to_string()).collect();
    let grid = format!(
        "sweep={{grid: {{partition.dirichlet.alpha: [{}]}}}}",
        values.join(", ")
    );
    sandbox
        .meshfold(&[
            "partition",
            "tiny.yaml",
            "--set",
            skewed,
            "--set",
            &grid,
            "-o",
            "many.svg",
        ])
        .ended_with(2)
        .complained_of(&["found 13 different partitions", "at most 12"]);
    assert!(!sandbox.path("many.svg").exists());
}

#[test]
fn titles_have_the_words_that_are_asked_for() {
    let sandbox = Sandbox::new();
    let skewed = "partition={dirichlet: {clients: 12, alpha: 0.3}}";
    let grid = "sweep={grid: {partition.dirichlet.alpha: [0.5, 5]}}";
    let asked = [
        "partition",
        "tiny.yaml",
        "--set",
        skewed,
        "--set",
        grid,
        "--name",
        "alpha=α",
        "--name",
        "5=none",
    ];
    let svg = drawn(&sandbox, &asked, "2 partitions");
    assert!(has_text(&svg, "α=0.5") && has_text(&svg, "none"), "{svg}");
    let grid = "sweep={grid: {topology: [ring, star], rounds: [2, 3]}}";
    let asked = ["overlay", "tiny.yaml", "--set", grid, "--name", "ring=Ring"];
    let svg = drawn(&sandbox, &asked, "2 overlays");
    assert!(has_text(&svg, "Ring") && has_text(&svg, "star"), "{svg}");
}

#[test]
fn labels_are_called_by_their_names() {
    let sandbox = Sandbox::new();
    let rows = ["cat,1", "dog,2", "cat,3", "dog,4", "cat,5", "dog,6"];
    fs::write(
        sandbox.path("pets.csv"),
        format!("label,x\n{}\n", rows.join("\n")),
    )
    .unwrap();
    let pets = "dataset={csv: {file: pets.csv, label: label, test: {share: 0.34}}}";
    let asked = [
        "partition",
        "tiny.yaml",
        "--set",
        pets,
        "--set",
        "partition={iid: {clients: 2}}",
    ];
    let svg = drawn(&sandbox, &asked, "1 partition");
    for text in ["cat", "dog", "0", "1"] {
        assert!(has_text(&svg, text), "{text}: {svg}");
    }
}

#[test]
fn an_overlay_has_a_line_for_each_of_its_edges() {
    let sandbox = Sandbox::new();
    let grid = "sweep={grid: {topology: [ring, {regular: {degree: 4}}], seed: [1, 2]}}";
    let asked = ["overlay", "tiny.yaml", "--set", grid];
    let svg = drawn(&sandbox, &asked, "2 overlays");
    // Ten nodes each, and the ground.
    assert_eq!(svg.matches("<polyline").count(), 10 + 20);
    assert_eq!(svg.matches("<polygon").count(), 2 * 10 + 1);
    assert!(
        has_text(&svg, "ring") && has_text(&svg, "4-regular"),
        "{svg}"
    );
}

#[test]
fn an_overlay_that_changes_has_a_panel_for_each_round() {
    let sandbox = Sandbox::new();
    let one_peer = [
        "overlay",
        "--topology",
        "one_peer",
        "--nodes",
        "8",
        "--rounds",
        "3",
    ];
    let svg = drawn(&sandbox, &one_peer, "3 overlays");
    assert!((1..=3).all(|round| has_text(&svg, &format!("round {round}"))));
    assert_eq!(svg.matches("<polyline").count(), 3 * 8);
    // Nodes, the heads of arrows, and the ground.
    assert_eq!(svg.matches("<polygon").count(), 3 * (8 + 8) + 1);
    let ring = [
        "overlay",
        "--topology",
        "ring",
        "--nodes",
        "8",
        "--rounds",
        "3",
    ];
    let svg = drawn(&sandbox, &ring, "1 overlay");
    assert!(!has_text(&svg, "round 1"));
    let many = [
        "overlay",
        "--topology",
        "one_peer",
        "--nodes",
        "8",
        "--rounds",
        "1000000",
    ];
    let said = sandbox.meshfold(&[&many[..], &["-o", "many.svg"]].concat());
    said.ended_with(2)
        .complained_of(&["found 1000000 overlays, needed at most 12"]);
    let large = ["overlay", "--topology", "complete", "--nodes", "300"];
    let said = sandbox.meshfold(&[&large[..], &["-o", "large.png"]].concat());
    said.ended_with(0)
        .complained_of(&["of the 44,850 links of complete are drawn"]);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let sandbox = Sandbox::new();
    let served = "algorithm={fedavg: {batch_size: 10, learning_rate: 0.1}}";
    sandbox
        .meshfold(&[
            "overlay",
            "tiny.yaml",
            "--set",
            served,
            "--set",
            "topology=null",
            "-o",
            "a.svg",
        ])
        .ended_with(2)
        .complained_of(&["found no overlay"]);
    for (arguments, complaint) in [
        (["-o", "a.txt", "--width", "85mm"], ".svg, .pdf or .png"),
        (["-o", "a.svg", "--width", "10mm"], "no room for letters"),
        (
            ["-o", "a.svg", "--font-size", "300pt"],
            "a font size of 300 pt",
        ),
        (
            ["-o", "nowhere/a.svg", "--width", "85mm"],
            "nowhere/a.svg cannot be written",
        ),
    ] {
        for command in ["overlay", "partition"] {
            let said = sandbox.meshfold(&[&[command, "tiny.yaml"][..], &arguments].concat());
            said.complained_of(&[complaint]);
        }
    }
    let sweep = "sweep={grid: {topology: [ring, star]}}";
    let asked = ["overlay", "tiny.yaml", "--set", sweep, "-o", "a.svg"];
    sandbox
        .meshfold(&[&asked[..], &["--name", "rung=Ring"]].concat())
        .ended_with(2)
        .complained_of(&["--name rung", "values: ring, star"]);
    sandbox
        .meshfold(&["partition", "tiny.yaml", "--name", "a=b"])
        .ended_with(2)
        .complained_of(&["--out"]);
    let said = sandbox.meshfold(&["overlay", "tiny.yaml", "--rounds", "2"]);
    said.ended_with(2).complained_of(&["--edges", "--out"]);
}
