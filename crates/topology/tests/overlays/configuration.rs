//! How configuration files name overlays and weights.

use meshfold_topology::{
    DCliques, Edges, ErdosRenyi, FailureRedraw, Failures, Fastest, Grid, Laplacian, Overlay,
    OverlaySummary, Probability, Repair, Ring, Target, Topology, Weights,
};

fn topology(text: &str) -> Result<Topology, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn every_topology_is_read_by_its_name() {
    for (text, label) in [
        (r#"{"path": {}}"#, "path"),
        (r#"{"ring": {}}"#, "ring"),
        (r#"{"ring": {"hops": 2}}"#, "ring hops=2"),
        (r#"{"grid": {}}"#, "grid"),
        (r#"{"grid": {"rows": 2}}"#, "grid rows=2"),
        (r#"{"torus": {}}"#, "torus"),
        (r#"{"complete": {}}"#, "complete"),
        (r#"{"star": {}}"#, "star"),
        (r#"{"balanced_tree": {}}"#, "balanced_tree branching=2"),
        (r#"{"barbell": {"m1": 3, "m2": 3}}"#, "barbell m1=3 m2=3"),
        (r#"{"erdos_renyi": {"p": 0.5}}"#, "erdos_renyi p=0.5"),
        (r#"{"erdos_renyi": {"p": 1}}"#, "erdos_renyi p=1"),
        (r#"{"erdos_renyi": {"p": "log"}}"#, "erdos_renyi p=log"),
        (r#"{"regular": {"degree": 3}}"#, "3-regular"),
        (r#"{"ring_plus_matching": {}}"#, "ring_plus_matching"),
        (
            r#"{"virtual_rings": {"spaces": 2}}"#,
            "virtual_rings spaces=2",
        ),
        (r#"{"exponential": {}}"#, "exponential"),
        (
            r#"{"watts_strogatz": {"neighbours": 4, "rewire": 0.1}}"#,
            "watts_strogatz neighbours=4 rewire=0.1",
        ),
        (r#"{"hypercube": {}}"#, "hypercube"),
        (
            r#"{"barabasi_albert": {"links": 2}}"#,
            "barabasi_albert links=2",
        ),
        (
            r#"{"stochastic_block": {"blocks": 4, "within": 0.5, "between": 0.01}}"#,
            "stochastic_block blocks=4 within=0.5 between=0.01",
        ),
        (
            r#"{"random_geometric": {"radius": 0.2}}"#,
            "random_geometric radius=0.2",
        ),
        (
            r#"{"random_waypoint": {"radius": 0.2, "speed": 0.05}}"#,
            "random_waypoint radius=0.2 speed=0.05",
        ),
        (
            r#"{"random_waypoint": {"radius": 0.2, "speed": 0.05, "pause": 2}}"#,
            "random_waypoint radius=0.2 speed=0.05 pause=2",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 10}}"#,
            "d_cliques max_clique_size=10",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 10, "swaps": 1000, "inter": "small_world"}}"#,
            "d_cliques max_clique_size=10 inter=small_world",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 10, "inter": {"small_world": {"c": 3}}, "removed_edges": 5}}"#,
            "d_cliques max_clique_size=10 inter=small_world c=3 removed_edges=5",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 5, "leaders": {"view": 4}, "noise": {"epsilon": 1}}}"#,
            "d_cliques max_clique_size=5 leaders view=4 epsilon=1",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 5, "swaps": 0, "inter": "ring", "noise": {"epsilon": 1}}}"#,
            "d_cliques max_clique_size=5 inter=ring swaps=0 epsilon=1",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 5, "inter": "fractal", "noise": {"epsilon": 0.5, "scale": "mechanism"}}}"#,
            "d_cliques max_clique_size=5 inter=fractal epsilon=0.5 scale=mechanism",
        ),
        (
            r#"{"d_cliques": {"max_clique_size": 5, "inter": {"small_world": {}}}}"#,
            "d_cliques max_clique_size=5 inter=small_world",
        ),
        (r#"{"edges": {"file": "lists/w1.edges"}}"#, "edges w1.edges"),
        (r#"{"one_peer": {}}"#, "one_peer"),
        (r#"{"base_graph": {"degree": 2}}"#, "base_graph degree=2"),
        (r#"{"equi_static": {"links": 5}}"#, "equi_static links=5"),
        (
            r#"{"equi_static": {"links": 5, "directed": true}}"#,
            "equi_static links=5 directed",
        ),
        (r#"{"equi_dyn": {}}"#, "equi_dyn"),
        (
            r#"{"equi_dyn": {"directed": true, "eta": 0.53}}"#,
            "equi_dyn directed eta=0.53",
        ),
        (r#"{"matcha": {"of": {"ring": {}}}}"#, "matcha ring"),
        (
            r#"{"matcha": {"of": {"star": {}}, "budget": 0.3}}"#,
            "matcha star budget=0.3",
        ),
        (
            r#"{"phases": [{"rounds": 300, "nodes": {"first": 6}, "of": {"erdos_renyi": {"p": 0.5}}}, {"of": {"ring": {}}}]}"#,
            "phases [300 x erdos_renyi p=0.5 first=6; ring]",
        ),
        (
            r#"{"phases": {"list": [{"nodes": "all", "of": {"path": {}}}], "outside": "frozen"}}"#,
            "phases [path] outside=frozen",
        ),
        (
            r#"{"periodic": [{"ring": {}}, {"edges": {"file": "w2.edges"}}]}"#,
            "periodic [ring; edges w2.edges]",
        ),
        (
            r#"{"periodic": {"list": [{"star": {}}], "outside": "alone"}}"#,
            "periodic [star]",
        ),
        (
            r#"{"redraw": {"nodes": {"share": 0.5}, "of": {"erdos_renyi": {"p": 0.3}}, "outside": "frozen"}}"#,
            "redraw erdos_renyi p=0.3 share=0.5 outside=frozen",
        ),
        (
            r#"{"redraw": {"every": 5, "nodes": {"list": [2, 0, 1]}, "of": {"path": {}}}}"#,
            "redraw path list=2,0,1 every=5",
        ),
    ] {
        let read = topology(text).unwrap();
        assert_eq!(read.label(), label);
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(topology(&written).unwrap(), read, "{written}");
    }
}

#[test]
fn absent_options_are_not_written() {
    let write = |topology: Topology| serde_json::to_string(&topology).unwrap();
    assert_eq!(
        write(Topology::Ring(Ring::default())),
        r#"{"ring":{"hops":1}}"#
    );
    assert_eq!(write(Topology::Grid(Grid::default())), r#"{"grid":{}}"#);
    assert_eq!(
        write(Topology::DCliques(DCliques::new(10))),
        r#"{"d_cliques":{"max_clique_size":10,"swaps":1000,"inter":"fully_connected","removed_edges":0}}"#
    );
    let erdos_renyi = ErdosRenyi {
        p: Probability::Log,
    };
    assert_eq!(
        write(Topology::ErdosRenyi(erdos_renyi)),
        r#"{"erdos_renyi":{"p":"log"}}"#
    );
    let edges = Edges {
        file: "a.edges".into(),
        sha256: None,
        pairs: vec![(0, 1)],
    };
    assert_eq!(
        write(Topology::Edges(edges)),
        r#"{"edges":{"file":"a.edges"}}"#
    );
}

#[test]
fn unknown_names_and_fields_are_refused() {
    assert!(
        topology(r#"{"rings": {}}"#)
            .unwrap_err()
            .contains("unknown variant `rings`")
    );
    assert!(
        topology(r#"{"ring": {"hop": 2}}"#)
            .unwrap_err()
            .contains("unknown field `hop`, expected `hops`")
    );
    assert!(
        topology(r#"{"path": {"hops": 2}}"#)
            .unwrap_err()
            .contains("unknown field `hops`")
    );
    assert!(
        topology(r#"{"regular": {}}"#)
            .unwrap_err()
            .contains("missing field `degree`")
    );
    assert!(
        topology(r#"{"edges": {"file": "a", "pairs": []}}"#)
            .unwrap_err()
            .contains("unknown field `pairs`")
    );
    assert!(
        topology(r#"{"phases": {"outside": "alone"}}"#)
            .unwrap_err()
            .contains("missing field `list`")
    );
    assert!(
        topology(r#"{"phases": [{"round": 3, "of": {"ring": {}}}]}"#)
            .unwrap_err()
            .contains("unknown field `round`")
    );
    assert!(
        topology(r#"{"periodic": {"list": [], "inside": "alone"}}"#)
            .unwrap_err()
            .contains("unknown field `inside`")
    );
    assert!(
        topology(r#"{"periodic": 3}"#)
            .unwrap_err()
            .contains("expected a list, or `list` and `outside`")
    );
    assert!(
        topology(r#"{"redraw": {"every": 2}}"#)
            .unwrap_err()
            .contains("missing field `of`")
    );
    let d_cliques = |settings: &str| topology(&format!(r#"{{"d_cliques": {{{settings}}}}}"#));
    for (settings, message) in [
        (r#""swaps": 10"#, "missing field `max_clique_size`"),
        (
            r#""max_clique_size": 5, "inter": "star""#,
            "unknown variant `star`, expected one of `ring`, `fractal`, `small_world`, `fully_connected`",
        ),
        (
            r#""max_clique_size": 5, "inter": {"small_world": {"k": 2}}"#,
            "unknown field `k`, expected `c`",
        ),
        (
            r#""max_clique_size": 5, "inter": 3"#,
            "expected ring, fractal, small_world or fully_connected",
        ),
        (
            r#""max_clique_size": 5, "noise": {}"#,
            "missing field `epsilon`",
        ),
    ] {
        let error = d_cliques(settings).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let wrong = topology(r#"{"erdos_renyi": {"p": "ln"}}"#).unwrap_err();
    assert!(
        wrong.contains("expected a probability in 0..=1 or `log` for ln N / N"),
        "{wrong}"
    );
}

#[test]
fn failures_are_read_and_written_with_their_defaults() {
    let read =
        |text: &str| serde_json::from_str::<Failures>(text).map_err(|error| error.to_string());
    let failures = read(
        r#"[{"clients": {"share": 0.2}, "from_round": 10, "redraw": "never"},
            {"edges": {"share": 0.1}, "redraw": "each_round"},
            {"clients": {"list": [3, 5]}, "repair": "protocol"},
            {"edges": {"list": [[0, 1]]}, "until_round": 7}, {"clients": {"count": 3}}]"#,
    )
    .unwrap();
    assert_eq!(failures.0[1].redraw, FailureRedraw::EachRound);
    assert_eq!(failures.0[2].repair, Repair::Protocol);
    assert_eq!(failures.0[3].edges, Some(Target::List(vec![(0, 1)])));
    let written = serde_json::to_string(&failures).unwrap();
    assert_eq!(read(&written), Ok(failures));
    assert!(
        written.ends_with(
            r#"{"clients":{"count":3},"from_round":1,"redraw":"never","repair":"none"}]"#
        )
    );
    for (text, expected) in [
        (r#"[{"client": {"share": 0.2}}]"#, "unknown field `client`"),
        (r#"[{"clients": {"half": 0.2}}]"#, "unknown variant `half`"),
        (
            r#"[{"clients": {"count": 1}, "redraw": "often"}]"#,
            "unknown variant `often`",
        ),
    ] {
        assert!(read(text).unwrap_err().contains(expected), "{text}");
    }
}

#[test]
fn weights_are_read_by_their_names() {
    for (text, label) in [
        (r#"{"metropolis_hastings": {}}"#, "metropolis_hastings"),
        (r#"{"max_degree": {}}"#, "max_degree"),
        (r#"{"laplacian": {}}"#, "laplacian"),
        (r#"{"laplacian": {"theta": 0.25}}"#, "laplacian theta=0.25"),
        (r#"{"uniform": {}}"#, "uniform"),
        (r#"{"by_examples": {}}"#, "by_examples"),
        (r#"{"random": {}}"#, "random"),
        (r#"{"fastest": {"nonnegative": true}}"#, "fastest"),
        (
            r#"{"fastest": {"nonnegative": false}}"#,
            "fastest nonnegative=false",
        ),
    ] {
        let read: Weights = serde_json::from_str(text).unwrap();
        assert_eq!(read.label(), label);
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            text.replace(": ", ":")
        );
    }
    assert_eq!(Weights::default().label(), "metropolis_hastings");
    let read = |text: &str| serde_json::from_str::<Weights>(text);
    assert_eq!(
        read(r#"{"fastest": {}}"#).unwrap(),
        Weights::Fastest(Fastest { nonnegative: true })
    );
    let error = read(r#"{"fastest": {"negative": true}}"#).unwrap_err();
    assert!(
        error.to_string().contains("unknown field `negative`"),
        "{error}"
    );
}

#[test]
fn the_summary_has_the_keys_of_overlay_json_in_order() {
    let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
    let weights = Weights::Laplacian(Laplacian::default());
    let matrix = weights.matrix(&path).unwrap();
    let (summary, _) = OverlaySummary::new(&path, &weights, &matrix).unwrap();
    let value = serde_json::to_value(&summary).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "nodes edges connected degree lambda2 lambda_n lambda gap kappa p disagreement \
                    effective_neighbours theta c_lambda \
                    lambda_walk doubly_stochastic min_self_weight edge_connectivity diameter mean_distance clustering assortativity";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(
        serde_json::to_string(&value["degree"]).unwrap(),
        r#"{"min":1,"mean":1.3333333333333333,"max":2}"#
    );
    assert_eq!(
        (
            value["edge_connectivity"].as_u64(),
            value["doubly_stochastic"].as_bool()
        ),
        (Some(1), Some(true))
    );
    assert_eq!(
        serde_json::from_value::<OverlaySummary>(value).unwrap(),
        summary
    );
}

#[test]
fn undefined_figures_are_null() {
    let apart = Overlay::from_edges(3, [(0, 1)]).unwrap();
    let matrix = Weights::default().matrix(&apart).unwrap();
    let (summary, _) = OverlaySummary::new(&apart, &Weights::default(), &matrix).unwrap();
    let value = serde_json::to_value(&summary).unwrap();
    assert!(
        value["kappa"].is_null() && value["c_lambda"].is_null() && value["disagreement"].is_null()
    );
    assert_eq!(value["lambda"], 1.0);
}
