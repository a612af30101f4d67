//! Overlays that cannot be built, or not be used.

use std::fs;

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

use crate::{YAML, expect, refused, with};

#[test]
fn overlays_that_cannot_be_built_point_at_their_setting() {
    let odd = YAML
        .replace("clients: 10", "clients: 9")
        .replace("topology: ring", "topology: {regular: {degree: 3}}");
    let seen = refused(&ExperimentSource::new("tiny.yaml", odd));
    assert_eq!((seen.line, seen.marked.as_str()), (4, "3"), "{seen:?}");
    assert!(
        seen.message
            .starts_with("regular.degree: found 3, needed an even degree for 9 nodes, such as 2"),
        "{seen:?}"
    );
    for (line, marked, message) in [
        (
            "topology: {ring: {hops: 6}}",
            "6",
            "ring.hops: found 6, needed a number from 1 to 5, half of the 10 nodes",
        ),
        (
            "topology: {erdos_renyi: {p: 0.01}}",
            "0.01",
            "erdos_renyi.p: found 0.01, and none of 1000 draws connected 10 nodes, needed more than ln N / N = 0.2303",
        ),
        (
            "topology: {erdos_renyi: {p: 2}}",
            "2",
            "erdos_renyi.p: found 2, needed a probability, from 0 to 1",
        ),
        (
            "topology: {watts_strogatz: {neighbours: 3, rewire: 0.1}}",
            "3",
            "watts_strogatz.neighbours: found 3, needed an even number from 2 on, below the 10 nodes",
        ),
        (
            "topology: {grid: {rows: 3}}",
            "3",
            "grid.rows: found 3, needed a divisor of 10, the number of nodes",
        ),
        (
            "topology: {base_graph: {degree: 0}}",
            "0",
            "base_graph.degree: found 0, needed at least one neighbour",
        ),
        (
            "topology: {equi_static: {links: 0}}",
            "0",
            "equi_static.links: found 0, needed a number from 1 to 1000000",
        ),
        (
            "topology: {redraw: {of: {equi_static: {links: 0}}}}",
            "0",
            "redraw.of: equi_static.links: found 0",
        ),
        (
            "topology: {equi_dyn: {eta: 1.5}}",
            "1.5",
            "equi_dyn.eta: found 1.5, needed a share above 0 and up to 1",
        ),
        (
            "topology: {matcha: {of: ring, budget: 0}}",
            "0",
            "matcha.budget: found 0, needed a share above 0 and up to 1",
        ),
        (
            "topology: {matcha: {of: {regular: {degree: 12}}}}",
            "12",
            "matcha.of: regular.degree: found 12, needed 2 to 9 in a connected overlay of 10 nodes",
        ),
        (
            "topology: {matcha: {of: random_matching}}",
            "random_matching",
            "matcha.of: found random_matching, needed an overlay that does not itself change over time",
        ),
        (
            "topology: {matcha: {of: {equi_static: {links: 2, directed: true}}}}",
            "of",
            "matcha.of: found equi_static links=2 directed, needed an overlay in which whoever sends to a node hears it as well",
        ),
        (
            "topology: {phases: [{rounds: 2, of: ring}, {of: base_graph}]}",
            "base_graph",
            "phases.1.of: found base_graph degree=1, needed an overlay that does not itself change over time",
        ),
        (
            "topology: ring\nweights: prescribed",
            "prescribed",
            "prescribed weights need an overlay that brings weights of its own",
        ),
        (
            "topology: {equi_static: {links: 2, directed: true}}\nweights: max_degree",
            "max_degree",
            "max_degree: these weights need undirected edges",
        ),
        (
            "topology: ring\nweights: {laplacian: {theta: 2}}",
            "2",
            "laplacian: theta = 2 must lie in 0..=1",
        ),
    ] {
        let seen = refused(&with("topology", line));
        assert_eq!(seen.marked, marked, "{seen:?}");
        assert!(seen.message.starts_with(message), "{seen:?}");
    }
}

#[test]
fn edge_lists_name_their_line_and_the_experiments_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    let text = YAML.replace("topology: ring", "topology: {edges: {file: w.edges}}");
    let source = ExperimentSource::new(&path, text);
    let ring: String = (0..10)
        .map(|node| format!("{node} {}\n", (node + 1) % 10))
        .collect();
    let list = |text: &str| fs::write(folder.path().join("w.edges"), text).unwrap();

    let seen = refused(&source);
    assert!(seen.message.contains("w.edges: "), "{seen:?}");
    for (edges, message) in [
        (
            format!("{ring}3 10\n"),
            "w.edges: line 11: edge 3-10 leaves the overlay, whose 10 nodes are numbered from 0",
        ),
        (
            format!("# ring\n{ring}4 4\n"),
            "w.edges: line 12: edge 4-4 is a self-loop",
        ),
        (
            "0 1 2\n".to_owned(),
            "w.edges: line 1, column 3: expected two node numbers",
        ),
        (
            "0 1\n".to_owned(),
            "edges w.edges: 10 nodes fall into 9 components, an overlay must be connected",
        ),
        (
            "# none\n".to_owned(),
            "edges: nothing was read from w.edges",
        ),
    ] {
        list(&edges);
        let seen = refused(&source);
        assert!(seen.message.contains(message), "{seen:?}");
        assert_eq!(
            (seen.line, seen.marked.as_str()),
            (4, "w.edges"),
            "{seen:?}"
        );
    }
    list(&ring);
    let plans = plan(&source, &DataFolder::new("nowhere")).unwrap();
    assert_eq!(plans[0].overlay.as_ref().unwrap().overlay.edge_count(), 10);
    let yaml = plans[0].config.to_yaml();
    assert!(
        yaml.contains("sha256: ") && yaml.contains("file: w.edges"),
        "{yaml}"
    );
}

#[test]
fn overlay_and_method_must_fit_each_other() {
    let fedavg = |rest: &str| {
        let text = YAML
            .replace("dfedavgm", "fedavg")
            .replace("topology: ring\n", rest);
        ExperimentSource::new("tiny.yaml", text)
    };
    let refused_overlay = "fedavg does not exchange over an overlay, but one is given";
    expect(
        &fedavg("topology: ring\n"),
        refused_overlay,
        4,
        "ring",
        "leave `topology` out",
    );
    let weights = "weights are given for an overlay that is not there";
    expect(
        &fedavg("weights: uniform\n"),
        weights,
        4,
        "uniform",
        "leave `weights` out",
    );
    assert_eq!(
        plan(&fedavg(""), &DataFolder::new("nowhere")).unwrap()[0]
            .rows
            .count,
        1
    );
    let source = ExperimentSource::new("tiny.yaml", YAML.replace("topology: ring\n", ""));
    let needed = "dfedavgm exchanges over an overlay, but none is given";
    expect(&source, needed, 5, "algorithm", "add a topology");
}

#[test]
fn outside_beside_a_schedule_is_told_where_it_goes() {
    for (schedule, list) in [
        (
            "phases",
            "[{rounds: 2, nodes: {first: 5}, of: ring}, {of: ring}]",
        ),
        ("periodic", "[ring, star]"),
    ] {
        let help = format!("write `{{{schedule}: {{list: [..], outside: alone}}}}`");
        for text in [
            format!("{{{schedule}: {list}, outside: frozen}}"),
            format!("{{outside: frozen, {schedule}: {list}}}"),
        ] {
            let seen = refused(&with("topology", &format!("topology: {text}")));
            assert!(seen.help.starts_with(&help), "{seen:?}");
            assert!(
                seen.help.ends_with("`outside` goes beside `list`"),
                "{seen:?}"
            );
        }
        let right = format!("topology: {{{schedule}: {{list: {list}, outside: frozen}}}}");
        plan(&with("topology", &right), &DataFolder::new("nowhere")).unwrap();
    }
}

#[test]
fn every_entry_of_a_schedule_is_built_before_the_run() {
    let regular = "{regular: {degree: 3}}";
    let phases =
        format!("{{phases: [{{rounds: 2, of: ring}}, {{nodes: {{first: 7}}, of: {regular}}}]}}");
    let seen = refused(&with("topology", &format!("topology: {phases}")));
    assert_eq!((seen.line, seen.marked.as_str()), (4, "3"), "{seen:?}");
    assert!(
        seen.message
            .contains("regular.degree: found 3, needed an even degree for 7 nodes"),
        "{seen:?}"
    );
}
