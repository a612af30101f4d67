//! The output of commands that run nothing.

use crate::sandbox::{Sandbox, keys};

const OVERLAY: [&str; 22] = [
    "nodes",
    "edges",
    "connected",
    "degree",
    "lambda2",
    "lambda_n",
    "lambda",
    "gap",
    "kappa",
    "p",
    "disagreement",
    "effective_neighbours",
    "theta",
    "c_lambda",
    "lambda_walk",
    "doubly_stochastic",
    "min_self_weight",
    "edge_connectivity",
    "diameter",
    "mean_distance",
    "clustering",
    "assortativity",
];

#[test]
fn a_plan_has_one_object_for_each_run() {
    let sandbox = Sandbox::new();
    let grid = "sweep={grid: {topology: [ring, complete], seed: [1, 2]}}";
    let said = sandbox
        .meshfold(&["plan", "tiny.yaml", "--json", "--set", grid])
        .ended_with(0);
    let plans = said.json();
    assert_eq!(plans.len(), 4);
    let expected = [
        "id",
        "label",
        "example_shape",
        "classes",
        "clients",
        "rows",
        "parameters",
        "memory_bytes",
        "local_steps_per_round",
        "bytes_per_round",
        "multiply_adds",
        "lambda",
        "overlay",
    ];
    for plan in &plans {
        assert_eq!(keys(plan), expected);
        assert_eq!(keys(&plan["overlay"]), OVERLAY);
        assert_eq!(
            (&plan["clients"], &plan["parameters"]),
            (&10.into(), &7_850.into())
        );
        assert_eq!(plan["local_steps_per_round"].as_f64(), Some(30.0));
        assert_eq!(plan["example_shape"].to_string(), "[1,28,28]");
        assert_eq!(plan["classes"], 10);
    }
    assert_eq!(plans[0]["bytes_per_round"], 20 * 4 * 7_850);
    assert_eq!(plans[1]["label"], "topology=ring, seed=2");
    assert_eq!(plans[2]["bytes_per_round"], 90 * 4 * 7_850);
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn a_plan_for_people_shows_every_value_that_is_not_written() {
    let sandbox = Sandbox::new();
    let out = sandbox.says("plan tiny.yaml").ended_with(0).out;
    for part in [
        "steps/round",
        "λ",
        "test examples of 1 × 28 × 28 numbers in 10 classes",
        "7,850",
        "628.00 kB",
        "momentum: 0.9",
        "metropolis_hastings",
        "every: 1",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    let warned = sandbox
        .meshfold(&[
            "plan",
            "tiny.yaml",
            "--set",
            "weights={laplacian: {theta: 0}}",
        ])
        .ended_with(0);
    assert!(warned.err.contains("warning"), "{}", warned.err);
}

#[test]
fn an_overlay_is_shown_from_a_file_and_from_the_command_line() {
    let sandbox = Sandbox::new();
    let of_file = sandbox
        .says("overlay tiny.yaml --json")
        .ended_with(0)
        .json();
    assert_eq!(of_file.len(), 1);
    let labelled = [&["label"], OVERLAY.as_slice()].concat();
    assert_eq!(keys(&of_file[0]), labelled);
    assert_eq!(of_file[0]["label"], "tiny");
    let given = sandbox
        .says("overlay --topology ring --nodes 10 --weights laplacian --json")
        .ended_with(0)
        .json();
    assert_eq!(keys(&given[0]), labelled);
    assert_eq!(given[0]["label"], "ring");
    assert!((given[0]["kappa"].as_f64().unwrap() - 10.472).abs() < 1e-3);
    assert!((given[0]["lambda"].as_f64().unwrap() - 0.8257).abs() < 1e-4);
    let one_way = sandbox
        .says("overlay --topology one_peer --nodes 8 --json")
        .ended_with(0)
        .json();
    assert_eq!(one_way[0]["directed"], true, "its weights suit it");
    let table = sandbox
        .says("overlay --topology ring --nodes 10")
        .ended_with(0)
        .out;
    assert!(
        table.contains("10.4721") && table.contains("edge connectivity"),
        "{table}"
    );
    sandbox.write("square.edges", "0 1\n1 2\n2 3\n3 0\n");
    let square = sandbox.meshfold(&[
        "overlay",
        "--topology",
        "{periodic: {list: [{edges: {file: square.edges}}, ring]}}",
        "--json",
    ]);
    let square = &square.ended_with(0).json()[0];
    assert_eq!((&square["nodes"], &square["edges"]), (&4.into(), &4.into()));
    // Neither pairing links all four, and one after the other they average exactly.
    sandbox.write("first.edges", "0 1\n2 3\n");
    sandbox.write("second.edges", "1 2\n3 0\n");
    let pairings = [
        "overlay",
        "--topology",
        "{periodic: [{edges: {file: first.edges}}, {edges: {file: second.edges}}]}",
    ];
    let table = sandbox.meshfold(&pairings).ended_with(0).out;
    let row = |name: &str| {
        let mut lines = table.lines().map(|line| line.trim_matches(['│', ' ']));
        let line = lines.find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {table}"))
            .trim()
    };
    let joint = ["λ ", "λ of a period", "gap 1 − λ of a period"].map(row);
    assert_eq!(joint, ["1.0000", "0.0000", "1.0000"]);
    let rounds = [
        "period of the overlays, rounds",
        "rounds until exact consensus",
        "rounds until all are linked",
    ]
    .map(row);
    assert_eq!(rounds, ["2", "2", "2"]);
    let json = [pairings.as_slice(), &["--json"]].concat();
    let schedule = &sandbox.meshfold(&json).ended_with(0).json()[0]["schedule"];
    assert_eq!(schedule["rounds_to_connect"], 2);
    assert_eq!(schedule["rounds_to_consensus"], 2);
    assert!(schedule["joint_lambda"].as_f64().unwrap() < 1e-9);
    let refused = sandbox.says("overlay --topology ring").ended_with(2).err;
    assert!(
        refused.contains("--nodes is missing: only a file of edges says how many there are"),
        "{refused}"
    );
    let random = |seed: &str| {
        let topology = "{erdos_renyi: {p: 0.3}}";
        let line = [
            "overlay",
            "--topology",
            topology,
            "--nodes",
            "40",
            "--seed",
            seed,
            "--json",
        ];
        sandbox.meshfold(&line).ended_with(0).out
    };
    assert_eq!(random("3"), random("3"));
    assert_ne!(random("3"), random("4"));
}

#[test]
fn an_overlay_of_cliques_is_shown_with_their_skew() {
    let sandbox = Sandbox::new();
    let cliques = "topology={d_cliques: {max_clique_size: 5}}";
    let line = ["overlay", "tiny.yaml", "--set", cliques];
    let shown = sandbox.meshfold(&line).ended_with(0).out;
    assert!(shown.contains("clique skew, mean"), "{shown}");
    let json = [line.as_slice(), &["--json"]].concat();
    let said = sandbox.meshfold(&json).ended_with(0).json();
    let cliques = &said[0]["cliques"];
    assert_eq!(keys(cliques), ["count", "size", "skew", "members"]);
    assert_eq!(cliques["count"], 2);
    assert_eq!(cliques["members"][1].as_array().unwrap().len(), 5);
    // Ten nodes of two or three labels each: five of them have more of some than the others.
    assert!(cliques["skew"][0].as_f64().unwrap() > 0.0);
    assert!(
        !sandbox
            .says("overlay tiny.yaml")
            .ended_with(0)
            .out
            .contains("clique")
    );
}

#[test]
fn a_plan_says_that_it_counts_neither_failures_nor_stragglers() {
    let sandbox = Sandbox::new();
    let nominal = "nobody fails or falls behind";
    let stragglers = ["plan", "tiny.yaml", "--set", "stragglers={share: 0.5}"];
    assert!(
        sandbox
            .meshfold(&stragglers)
            .ended_with(0)
            .out
            .contains(nominal)
    );
    assert!(
        !sandbox
            .says("plan tiny.yaml")
            .ended_with(0)
            .out
            .contains(nominal)
    );
}

#[test]
fn weights_that_are_drawn_are_drawn_from_the_seed() {
    let sandbox = Sandbox::new();
    let overlay = |seed: &str| {
        let given = ["overlay", "--topology", "ring", "--nodes", "7"];
        let drawn = ["--weights", "random", "--json", "--seed", seed];
        let line = [given.as_slice(), drawn.as_slice()].concat();
        sandbox.meshfold(&line).ended_with(0).out
    };
    assert_ne!(overlay("1"), overlay("2"));
    assert_eq!(overlay("2"), overlay("2"));
}

#[test]
fn an_overlay_that_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    let regular = [
        "overlay",
        "--nodes",
        "9",
        "--topology",
        "{regular: {degree: 3}}",
    ];
    sandbox
        .meshfold(&regular)
        .ended_with(2)
        .complained_of(&["9", "3"]);
    sandbox
        .says("overlay --nodes 9 --topology rnig")
        .ended_with(2)
        .complained_of(&["did you mean `ring`?"]);
    let server = "algorithm={fedavg: {batch_size: 20, learning_rate: 0.1}}";
    let line = [
        "overlay",
        "tiny.yaml",
        "--set",
        "topology=null",
        "--set",
        server,
    ];
    sandbox
        .meshfold(&line)
        .ended_with(2)
        .complained_of(&["exchanges over none"]);
}

#[test]
fn what_a_partition_leaves_to_nobody_is_told() {
    let sandbox = Sandbox::new();
    let line = |more: &[&str]| {
        let set = "partition={classes: {clients: 3, per_client: 1}}";
        let line = ["partition", "tiny.yaml", "--set", set];
        sandbox.meshfold(&[&line, more].concat()).ended_with(0)
    };
    let json = line(&["--json"]).json();
    let dealt = json[0]["examples"].as_u64().unwrap();
    assert_eq!(json[0]["undealt_examples"], 600 - dealt);
    assert_eq!(json[0]["untrained_labels"].as_array().unwrap().len(), 7);
    let table = line(&[]).out;
    for told in [
        format!("\n{} of the 600 examples are no client's\n", 600 - dealt),
        "\nno client has an example to train on of 7 of the 10 labels: ".to_owned(),
    ] {
        assert!(table.contains(&told), "{table}");
    }
}

#[test]
fn a_partition_is_printed_three_ways_that_agree() {
    let sandbox = Sandbox::new();
    let json = sandbox
        .says("partition tiny.yaml --json")
        .ended_with(0)
        .json();
    assert_eq!(
        keys(&json[0]),
        [
            "id",
            "label",
            "clients",
            "classes",
            "examples",
            "sizes",
            "histograms",
            "label_distance_mean",
            "label_distance_max",
            "size_gini"
        ]
    );
    assert_eq!(
        json[0]["sizes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|size| **size == 60)
            .count(),
        10
    );
    let csv = sandbox.says("partition tiny.yaml --csv").ended_with(0).out;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("client,label,examples"));
    for line in lines {
        let fields: Vec<usize> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        assert_eq!(json[0]["histograms"][fields[0]][fields[1]], fields[2]);
    }
    let table = sandbox.says("partition tiny.yaml").ended_with(0).out;
    assert!(
        table.contains("10 clients, 600 examples, 60 to 60 each"),
        "{table}"
    );
    let two = [
        "partition",
        "tiny.yaml",
        "--csv",
        "--set",
        "sweep={grid: {seed: [1, 2]}}",
    ];
    sandbox
        .meshfold(&two)
        .ended_with(2)
        .complained_of(&["2 different partitions"]);
}

#[test]
fn a_report_can_be_written_again_and_over_several_runs() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml -q").ended_with(0);
    sandbox
        .says("run tiny.yaml -q --set topology=complete")
        .ended_with(0);
    let [one, two] = sandbox.runs("tiny").try_into().unwrap();
    std::fs::remove_file(sandbox.path(&format!("{one}/report.html"))).unwrap();
    sandbox.says(&format!("report {one}")).ended_with(0);
    assert!(sandbox.path(&format!("{one}/report.html")).exists());
    sandbox
        .says(&format!("report {one} {two} --out both.html"))
        .ended_with(0);
    assert!(sandbox.read("both.html").contains("complete"));
    sandbox.write("empty/nothing", "");
    sandbox
        .says("report empty")
        .ended_with(2)
        .complained_of(&["empty", "runs/<name>/<id>"]);
    assert!(!sandbox.path("empty/report.html").exists());
}

#[test]
fn completions_know_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox
            .says(&format!("completions {shell}"))
            .ended_with(0)
            .out;
        assert!(
            script.contains("partition") && script.contains("data-dir"),
            "{shell}"
        );
    }
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let sandbox = Sandbox::new();
    for line in [
        "partition tiny.yaml --csv",
        "plan tiny.yaml",
        "completions bash",
        "devices --json",
        "--help",
    ] {
        let mut child = sandbox.start(line);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(0), ""),
            "{line}"
        );
    }
}

#[test]
fn methods_that_do_unequal_work_in_a_round_are_named_once() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let methods = "sweep: {grid: {algorithm: [{dsgd: {batch_size: 20, learning_rate: 0.1}}, {dfedavgm: {local: {steps: 5}, batch_size: 20, learning_rate: 0.1}}]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{methods}"));
    let said = sandbox.says("plan sweep.yaml").ended_with(0);
    let parts = "a round is not the same work under every method: dfedavgm ";
    assert_eq!(said.err.matches(parts).count(), 1, "{}", said.err);
    assert!(said.err.contains("; dsgd "), "{}", said.err);
    let alike = methods.replace("local: {steps: 5}", "local: {steps: 1}");
    sandbox.write("sweep.yaml", &format!("{tiny}{alike}"));
    let said = sandbox.says("plan sweep.yaml").ended_with(0);
    assert!(!said.err.contains("not the same work"), "{}", said.err);
}

#[test]
fn weights_of_ones_own_come_from_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("path.edges", "0 1\n1 2\n");
    sandbox.write("w.csv", "0,1,0.25\n1,2,0.5\n");
    let overlay = [
        "overlay",
        "--topology",
        "{edges: {file: path.edges}}",
        "--weights",
        "{edges: {file: w.csv}}",
        "--json",
    ];
    let shown = sandbox.meshfold(&overlay).ended_with(0).json();
    // The eigenvalues of [[3, 1, 0], [1, 1, 2], [0, 2, 2]] / 4 are 1 and (1 ± √3) / 4.
    let lambda = shown[0]["lambda"].as_f64().unwrap();
    assert!((lambda - 0.683_012_7).abs() < 1e-6, "{lambda}");
    let ring: String = (0..10)
        .map(|node| format!("{node} {} 0.3\n", (node + 1) % 10))
        .collect();
    sandbox.write("ring.w", &ring);
    let line = "run tiny.yaml --set topology=ring --set weights.edges.file=ring.w --json";
    let runs = sandbox.says(line).ended_with(0).json();
    let config = sandbox.read(&format!(
        "{}/config.yaml",
        runs[0]["folder"].as_str().unwrap()
    ));
    assert!(
        config.contains("file: ring.w") && config.contains("sha256:"),
        "{config}"
    );
    // 1 - 2 · .3 (1 - cos 36°)
    let lambda = runs[0]["summary"]["overlay"]["lambda"].as_f64().unwrap();
    assert!((lambda - 0.885_410_2).abs() < 1e-6, "{lambda}");
    for (text, settings, reason) in [
        (
            ring.replace("3 4 0.3\n", ""),
            "topology=ring",
            "edge 3-4 of the overlay has no weight",
        ),
        (
            ring.replace("3 4 0.3", "3 4 x"),
            "topology=ring",
            "line 4: expected two node numbers and a weight",
        ),
        (
            ring.clone(),
            "topology={periodic: [ring, star]}",
            "needed an overlay that stays the same",
        ),
    ] {
        sandbox.write("ring.w", &text);
        let weights = "weights.edges.file=ring.w";
        sandbox
            .meshfold(&["plan", "tiny.yaml", "--set", settings, "--set", weights])
            .ended_with(2)
            .complained_of(&[reason]);
    }
}
