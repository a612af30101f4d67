//! What is printed of overlays that change over the rounds.

use crate::sandbox::Sandbox;

const RINGS: &str = "topology: [ring, {periodic: {list: [ring, ring]}}, {periodic: {list: [ring, ring, ring, ring]}}]";
/// Below a table whose overlays take turns.
const PER_EXCHANGE: &str = "λ is per exchange; where overlays take turns, it is the factor by which differences shrink in the long run";
const OF_ROUND_1: &str = "λ of a period is not known, λ is that of the overlay in round 1";

/// `meshfold COMMAND tiny.yaml` with a sweep over topologies.
fn sweep<'a>(command: &'a str, set: &'a str) -> [&'a str; 4] {
    [command, "tiny.yaml", "--set", set]
}

#[test]
fn the_same_overlay_in_turn_has_the_same_lambda() {
    let sandbox = Sandbox::new();
    let grid = format!("sweep={{grid: {{{RINGS}}}}}");
    let table = sandbox.meshfold(&sweep("plan", &grid)).ended_with(0).out;
    assert_eq!(table.matches(" 0.8727 ").count(), 3, "{table}");
    assert!(table.contains(PER_EXCHANGE), "{table}");
    assert!(
        !table.contains(OF_ROUND_1) && !table.contains("the mean"),
        "{table}"
    );
    let json = [sweep("plan", &grid).as_slice(), &["--json"]].concat();
    let plans = sandbox.meshfold(&json).ended_with(0).json();
    let figure = |run: usize, key: &str| plans[run][key].as_f64();
    let ring = figure(0, "lambda").unwrap();
    assert_eq!(figure(0, "lambda_of_period"), None);
    for (run, period) in [(1, 2), (2, 4)] {
        assert!((figure(run, "lambda").unwrap() - ring).abs() < 1e-8);
        let together = figure(run, "lambda_of_period").unwrap();
        assert!((together - ring.powi(period)).abs() < 1e-8, "{together}");
    }
    let done = sandbox.meshfold(&sweep("run", &grid)).ended_with(0).out;
    assert_eq!(done.matches(" 0.8727 ").count(), 3, "{done}");
    assert!(done.contains(PER_EXCHANGE), "{done}");
}

#[test]
fn the_lambda_of_a_plan_and_of_its_json_agree() {
    let sandbox = Sandbox::new();
    for (topology, printed) in [
        ("topology={periodic: {list: [ring, star]}}", None),
        ("topology=one_peer", None),
        (
            "topology={phases: {list: [{rounds: 1, of: ring}, {of: complete}]}}",
            Some(0.8727),
        ),
    ] {
        let table = sandbox.meshfold(&sweep("plan", topology)).ended_with(0).out;
        let json = [sweep("plan", topology).as_slice(), &["--json"]].concat();
        let plan = &sandbox.meshfold(&json).ended_with(0).json()[0];
        let lambda = plan["lambda"].as_f64().unwrap();
        assert!(
            table.contains(&format!(" {lambda:.4} ")),
            "{topology}: {lambda} {table}"
        );
        assert_eq!(table.contains(OF_ROUND_1), printed.is_some(), "{table}");
        let of_round_1 = plan["overlay"]["lambda"].as_f64().unwrap();
        match printed {
            Some(known) => assert!((lambda - known).abs() < 1e-4 && of_round_1 == lambda),
            None => assert!((lambda - of_round_1).abs() > 0.01, "{topology}: {lambda}"),
        }
    }
}

#[test]
fn exchanges_that_take_the_mean_together_are_called_so() {
    let sandbox = Sandbox::new();
    let eight = [
        "plan",
        "tiny.yaml",
        "--set",
        "topology=one_peer",
        "--set",
        "partition={iid: {clients: 8}}",
    ];
    let table = sandbox.meshfold(&eight).ended_with(0).out;
    assert!(table.contains(" 0.0000 "), "{table}");
    let words = "it is 0 where the exchanges of one period together give every client the mean";
    assert!(table.contains(words), "{table}");
    let json = [eight.as_slice(), &["--json"]].concat();
    assert_eq!(
        sandbox.meshfold(&json).ended_with(0).json()[0]["lambda"],
        0.0
    );
}

#[test]
fn an_overlay_that_changes_is_shown_as_it_is_in_round_1() {
    let sandbox = Sandbox::new();
    let shown = |topology: &str| {
        let line = ["overlay", "--nodes", "10", "--topology", topology];
        sandbox.meshfold(&line).ended_with(0).out
    };
    let alone = "Where overlays change, the figures are those of the overlay in round 1.";
    assert!(shown("{phases: {list: [{rounds: 1, of: ring}, {of: complete}]}}").contains(alone));
    assert!(shown("{redraw: {of: {regular: {degree: 3}}}}").contains(alone));
    let in_turn = shown("{periodic: {list: [ring, star]}}");
    let above = "Where overlays change, the rows above `period of the overlays` are about the one in round 1.";
    assert!(in_turn.contains(above), "{in_turn}");
    assert!(
        in_turn.contains("λ per exchange, in the long run"),
        "{in_turn}"
    );
    assert!(!shown("ring").contains("round 1"));
}

#[test]
fn an_overlay_that_is_drawn_in_each_round_has_the_lambda_of_its_draws() {
    let sandbox = Sandbox::new();
    let line = ["overlay", "--nodes", "10", "--topology", "random_matching"];
    let shown = sandbox.meshfold(&line).ended_with(0).out;
    // √(8/18), and 1 less its square.
    for (row, figure) in [
        ("λ per exchange, over all draws", "0.6667"),
        ("p over all draws, 1 − λ²", "0.5556"),
    ] {
        let mut lines = shown.lines();
        let line = lines.find(|line| line.starts_with(&format!("│ {row} ")));
        let line = line.unwrap_or_else(|| panic!("{row}: {shown}"));
        assert!(line.ends_with(&format!(" {figure} │")), "{line}");
    }
    let note = "the rows above `λ per exchange, over all draws` are about the one in round 1";
    assert!(shown.contains(note), "{shown}");
    let plan = [
        sweep("plan", "topology=random_matching").as_slice(),
        &["--json"],
    ]
    .concat();
    let plan = &sandbox.meshfold(&plan).ended_with(0).json()[0];
    let nodes = plan["overlay"]["nodes"].as_f64().unwrap();
    let expected = (1.0 - nodes / (2.0 * (nodes - 1.0))).sqrt();
    assert!(
        (plan["lambda"].as_f64().unwrap() - expected).abs() < 1e-12,
        "{nodes}"
    );
    let done = sandbox.meshfold(&sweep("run", "topology=random_matching"));
    let done = done.ended_with(0).out;
    assert!(
        !done.contains(OF_ROUND_1) && done.contains("in the mean square"),
        "{done}"
    );
}

#[test]
fn the_edges_of_each_round_are_written_with_their_weights() {
    let sandbox = Sandbox::new();
    let line = "overlay tiny.yaml --set topology=random_matching --edges edges.csv --rounds 3";
    let said = sandbox.says(line).ended_with(0).out;
    let plan = "plan tiny.yaml --set topology=random_matching --json";
    let plan = &sandbox.says(plan).json()[0];
    let (id, nodes) = (
        &plan["id"],
        plan["overlay"]["nodes"].as_u64().unwrap() as usize,
    );
    assert!(nodes.is_multiple_of(2));
    assert!(
        said.contains("edges.csv: ") && said.contains(" messages of 1 runs"),
        "{said}"
    );
    let table = sandbox.read("edges.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("run,round,sender,receiver,weight"));
    let mut of_round = [const { Vec::new() }; 3];
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [run, round, sender, receiver, weight] = cells.try_into().unwrap();
        assert_eq!((id.as_str(), weight), (Some(run), "0.5"));
        let number = |cell: &str| cell.parse::<usize>().unwrap();
        of_round[number(round) - 1].push((number(sender), number(receiver)));
    }
    for pairs in &of_round {
        assert_eq!(pairs.len(), nodes, "each node hears one other");
        assert!(pairs.iter().all(|&(a, b)| pairs.contains(&(b, a))));
    }
    assert_ne!(of_round[0], of_round[1]);
    let refused = sandbox.says("overlay tiny.yaml --edges nowhere/edges.csv");
    refused
        .ended_with(1)
        .complained_of(&["nowhere/edges.csv cannot be written"]);
}
