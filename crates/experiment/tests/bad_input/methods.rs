//! Methods, schedules, failures and networks that cannot be.

use std::fs;

use std::sync::Arc;

use meshfold_algorithms::{Dsgd, MethodSpec};
use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, Own, plan};

use crate::{Seen, YAML, refused};

/// The experiment with another method and topology, and further lines.
pub(crate) fn experiment(method: &str, topology: &str, more: &str) -> ExperimentSource {
    let (head, _) = YAML.split_once("topology:").unwrap();
    let topology = match topology {
        "" => String::new(),
        topology => format!("topology: {topology}\n"),
    };
    let text = format!(
        "{head}{topology}model: {{mlp: {{hidden: [20]}}}}\nalgorithm: {method}\nrounds: 5\n{more}\n"
    );
    ExperimentSource::new("tiny.yaml", text)
}

pub(crate) fn refusal(method: &str, topology: &str, more: &str) -> Seen {
    refused(&experiment(method, topology, more))
}

pub(crate) const SGD: &str = "batch_size: 20, learning_rate: 0.05";

/// Asserts that the words stand in the message and that the value is what is marked.
pub(crate) fn expect(seen: &Seen, marked: &str, words: &[&str]) {
    assert_eq!(seen.marked, marked, "{seen:?}");
    for word in words {
        assert!(seen.message.contains(word), "{word}: {seen:?}");
    }
}

#[test]
fn values_of_methods_point_at_themselves() {
    let cases = [
        (
            "dfedrw: {walkers: 5, hops: 0, ",
            "ring",
            "0",
            "a walk has at least one visit",
        ),
        (
            "dfedrw: {walkers: 0, hops: 5, ",
            "ring",
            "0",
            "at least one walker",
        ),
        (
            "dfedrw: {walkers: 11, hops: 5, ",
            "ring",
            "11",
            "distinct clients",
        ),
        (
            "fedavg: {participation: {clients: 11}, ",
            "",
            "participation",
            "no more can take part than there are",
        ),
        (
            "dfedrw: {walkers: 5, hops: 5, quantise: {bits: 1}, ",
            "ring",
            "1",
            "2 to 24 bits",
        ),
        (
            "dfedavgm: {quantise: {bits: 1}, ",
            "ring",
            "1",
            "2 to 24 bits",
        ),
        (
            "dfedavg: {aggregation: {neighbours: 0}, ",
            "ring",
            "0",
            "at least one model",
        ),
        (
            "p_fedavg: {servers: {count: 11}, ",
            "ring",
            "11",
            "every server needs a client",
        ),
        (
            "p_fedavg: {servers: {count: 0}, ",
            "ring",
            "0",
            "at least one server",
        ),
        (
            "p_fedavg: {servers: {count: 2}, participation: {per_server: 0}, ",
            "path",
            "0",
            "at least one client",
        ),
        (
            "hierfavg: {servers: {count: 11}, edge_rounds: 2, ",
            "",
            "11",
            "every server needs a client",
        ),
        (
            "hierfavg: {servers: {count: 2}, edge_rounds: 0, ",
            "",
            "0",
            "at least once",
        ),
        ("decefl: {mu: 0, ", "ring", "0", "positive"),
        ("fedprox: {mu: -1, ", "", "-1", "not negative"),
        (
            "scaffold: {momentum: 0.9, ",
            "",
            "0.9",
            "scaffold has no momentum",
        ),
        (
            "scaffold: {nesterov: true, ",
            "",
            "true",
            "scaffold has no momentum",
        ),
        (
            "dfedavg: {nesterov: true, ",
            "ring",
            "true",
            "dfedavg has no momentum: use dfedavgm",
        ),
        (
            "dsgd: {nesterov: true, ",
            "ring",
            "true",
            "nesterov is true, but `momentum` is 0: Nesterov's is a kind of momentum, so set one, such as `momentum: 0.9`",
        ),
        (
            "gradient_tracking: {nesterov: true, ",
            "ring",
            "true",
            "gradient_tracking cannot have `nesterov: true`: it is defined without momentum",
        ),
        (
            "d2: {nesterov: true, ",
            "complete",
            "true",
            "d2 cannot have `nesterov: true`",
        ),
        (
            "exact_diffusion: {nesterov: true, ",
            "ring",
            "true",
            "exact_diffusion cannot have `nesterov: true`",
        ),
        (
            "qg_dsgdm: {nesterov: true, ",
            "ring",
            "true",
            "qg_dsgdm cannot have `nesterov: true`",
        ),
        (
            "gradient_tracking: {local: {steps: 2}, ",
            "ring",
            "local",
            "exchanges after every step",
        ),
        (
            "d_cliques: {local: {epochs: 1}, ",
            "{d_cliques: {max_clique_size: 5}}",
            "local",
            "after every step",
        ),
    ];
    for (method, topology, marked, words) in cases {
        let seen = refusal(&format!("{{{method}{SGD}}}}}"), topology, "");
        expect(&seen, marked, &[words]);
    }
}

#[test]
fn rates_that_count_what_a_client_has_done_need_all_clients() {
    let keys = |method: &str, local: &str, per: &str| {
        let rate = format!("{{inverse_time: {{initial: 0.2, scale: 3, {per}}}}}");
        format!("{{{method}, local: {local}, batch_size: 20, learning_rate: {rate}}}}}")
    };
    let some = "fedavg: {participation: {clients: 3}";
    let of_servers = "p_fedavg: {servers: {count: 2}, participation: {per_server: 2}";
    for (local, per) in [("{epochs: 2}", "per: step"), ("{steps: 2}", "per: epoch")] {
        let seen = refusal(&keys(some, local, per), "", "");
        assert!(seen.message.contains("`per: round`"), "{seen:?}");
        let seen = refusal(&keys(of_servers, local, per), "ring", "");
        assert!(seen.message.contains("`restart: round`"), "{seen:?}");
    }
    let taken = [
        (some, "{epochs: 2}", "per: step, restart: round"),
        (some, "{epochs: 2}", "per: epoch"),
        (some, "{steps: 2}", "per: step"),
        (
            "fedavg: {participation: {clients: 10}",
            "{epochs: 2}",
            "per: step",
        ),
    ];
    for (method, local, per) in taken {
        let source = experiment(&keys(method, local, per), "", "");
        plan(&source, &DataFolder::new("nowhere")).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn overlays_that_a_method_cannot_use_are_refused_with_the_reason() {
    let cliques = refusal(&format!("{{d_cliques: {{{SGD}}}}}"), "ring", "");
    expect(
        &cliques,
        "ring",
        &["d_cliques needs a topology with cliques"],
    );
    // Weights I − L/(d_max + 1) of a star have an eigenvalue of 1 − N/N; of a path of two 1 − 2/2: above −1/3.
    let even = "{complete: {}}\nweights: {laplacian: {theta: 0.1}}";
    let d2 = refusal(&format!("{{d2: {{{SGD}}}}}"), even, "");
    assert!(
        d2.message.contains("exact_diffusion has no such limit"),
        "{d2:?}"
    );
    let varying = "{redraw: {of: {erdos_renyi: {p: 0.8}}}}";
    for (topology, needed) in [(varying, "links stay"), ("one_peer", "go both ways")] {
        let d2 = refusal(&format!("{{d2: {{{SGD}}}}}"), topology, "");
        assert!(d2.message.contains(needed), "{d2:?}");
    }
    let walks = format!("{{dfedrw: {{walkers: 2, hops: 3, {SGD}}}}}");
    let seen = refusal(&walks, "one_peer", "");
    assert!(seen.message.contains("go both ways"), "{seen:?}");
    let weighted = refusal(
        &format!("{{push_sum: {{{SGD}}}}}"),
        "ring",
        "weights: fastest",
    );
    expect(&weighted, "fastest", &["push_sum has weights of its own"]);
    let servers = format!("{{p_fedavg: {{servers: {{count: 4}}, {SGD}}}}}");
    let frozen = "{redraw: {of: complete, nodes: {first: 3}, outside: frozen}}";
    let seen = refusal(&servers, frozen, "");
    expect(&seen, "frozen", &["servers outside the overlay go on"]);
    let swarm = refusal(&format!("{{swarm: {{{SGD}}}}}"), "ring", "");
    assert_eq!(swarm.marked, "ring", "{swarm:?}");
    let without = refusal(&format!("{{decefl: {{{SGD}}}}}"), "", "");
    assert!(without.message.contains("decefl"), "{without:?}");
}

#[test]
fn cliques_that_cannot_be_point_at_their_setting() {
    let d_cliques = |size: &str| {
        let topology = format!("{{d_cliques: {{max_clique_size: {size}}}}}");
        refusal(&format!("{{d_cliques: {{{SGD}}}}}"), &topology, "")
    };
    expect(&d_cliques("0"), "0", &[]);
    expect(&d_cliques("11"), "11", &["10"]);
    expect(&d_cliques("2, leaders: {view: 3}"), "3", &["4 to 100"]);
}

#[test]
fn failures_and_stragglers_point_at_their_value() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let cases = [
        ("failures: [{clients: {share: 1}}]", "1"),
        (
            "failures: [{edges: {share: 0.1}}, {clients: {share: 1.5}}]",
            "1.5",
        ),
        ("failures: [{clients: {list: [3, 10]}}]", "list"),
        ("failures: [{clients: {share: 0.1}, from_round: 0}]", "0"),
        (
            "failures: [{clients: {share: 0.1}, repair: protocol}]",
            "protocol",
        ),
        ("failures: [{edges: {share: 0.1}, loses: inputs}]", "inputs"),
        ("failures: [{messages: {probability: 1.5}}]", "1.5"),
        (
            "failures: [{messages: {probability: 0.1}, redraw: each_round}]",
            "each_round",
        ),
        ("stragglers: {share: 1}", "1"),
        ("stragglers: {share: 0.5, policy: partial}", "partial"),
    ];
    for (more, marked) in cases {
        expect(&refusal(&dsgd, "ring", more), marked, &[]);
    }
    let second = "failures: [{edges: {share: 0.1}}, {clients: {share: 1.5}}]";
    expect(
        &refusal(&dsgd, "ring", second),
        "1.5",
        &["failures.1.clients.share"],
    );
    let fedavg = format!("{{fedavg: {{participation: {{share: 0.5}}, {SGD}}}}}");
    let nowhere = refusal(&fedavg, "", "failures: [{edges: {share: 0.1}}]");
    expect(
        &nowhere,
        "edges",
        &["failures.0.edges", "`clients`: fedavg"],
    );
    let without = refusal(&dsgd, "ring", "stragglers: {deadline_seconds: 3}");
    assert!(without.message.contains("network"), "{without:?}");
    let masked = "failures: [{clients: {share: 0.1}, loses: inputs}]";
    let seen = refusal(&fedavg, "", masked);
    expect(
        &seen,
        "inputs",
        &["failures.0.loses", "`everything`: in fedavg a client"],
    );
    let lost = "failures: [{clients: {share: 0.1}}, {messages: {probability: 0.1}}]";
    for (method, topology, keys) in [
        ("fedavg", "", "steps_from: own, "),
        ("one_peer", "", ""),
        ("gradient_tracking", "ring", ""),
        ("dfedrw", "ring", "walkers: 2, hops: 2, "),
        ("dsgd", "ring", "aggregation: {neighbours: 1}, "),
        ("dfedavg", "ring", "quantise: {bits: 4}, "),
    ] {
        let seen = refusal(&format!("{{{method}: {{{keys}{SGD}}}}}"), topology, lost);
        let words = [
            &format!("failures.1.messages: found {method}"),
            "such as dsgd or dfedavgm",
        ];
        expect(&seen, "messages", &words);
    }
    for method in ["gradient_tracking", "d2", "exact_diffusion"] {
        let method = format!("{{{method}: {{{SGD}}}}}");
        let seen = refusal(&method, "ring", masked);
        expect(&seen, "inputs", &["`everything`"]);
        let seen = refusal(&method, "ring", "stragglers: {share: 0.5, policy: receive}");
        expect(&seen, "receive", &["`isolate`"]);
    }
    let links =
        "network: {links: {fixed: {bytes_per_second: 1}}}\nstragglers: {deadline_seconds: 3}";
    let timeless = refusal(&dsgd, "ring", links);
    expect(&timeless, "3", &["`network.compute`", "nobody is late"]);
    let walks = format!("{{dfedrw: {{walkers: 2, hops: 3, {SGD}}}}}");
    let seen = refusal(&walks, "ring", "stragglers: {share: 0.5, policy: isolate}");
    expect(&seen, "isolate", &["walks that are cut short count"]);
}

#[test]
fn failures_that_together_leave_nobody_are_refused() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let halves = |from: usize, until: usize| {
        format!(
            "failures: [{{edges: {{count: 1}}}}, {{clients: {{list: [0, 1, 2, 3, 4]}}, until_round: {until}}}, \
             {{clients: {{list: [5, 6, 7, 8, 9]}}, from_round: {from}}}]"
        )
    };
    let seen = refusal(&dsgd, "ring", &halves(3, 4));
    let words =
        "failures.2.clients: found nobody left in round 3 after this failure and those before it";
    assert!(seen.message.starts_with(words), "{seen:?}");
    let fedavg = format!("{{fedavg: {{participation: {{share: 0.5}}, {SGD}}}}}");
    let served = halves(3, 4).replace("{edges: {count: 1}}", "{clients: {count: 0}}");
    let plans = plan(
        &experiment(&fedavg, "", &served),
        &DataFolder::new("nowhere"),
    )
    .unwrap();
    assert_eq!(
        plans[0].warnings,
        ["no client is alive in round 3 after failures.2 and those before it: nobody trains"]
    );
    let planned = |more: &str| {
        let source = experiment(&dsgd, "ring", more);
        let planned = plan(&source, &DataFolder::new("nowhere"));
        planned.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(planned(&halves(4, 4)), Ok(()), "the others are back");
    assert_eq!(planned(&halves(6, 9)), Ok(()), "the last round is 5");
    let nine = "{clients: {count: 9}}";
    let seen = planned(&format!("failures: [{nine}, {nine}]"));
    assert!(seen.unwrap_err().contains("failures.1.clients"));
    // Three draws spare the same one of 10 clients in one round of a hundred.
    let each = "{clients: {count: 9}, redraw: each_round}";
    let seen = planned(&format!("failures: [{each}, {each}, {each}]"));
    assert!(seen.unwrap_err().contains("nobody left in round"));
}

#[test]
fn numbers_that_do_not_suit_the_clients_say_how_many_there_are() {
    let p_fedavg = format!("{{p_fedavg: {{servers: {{count: 11}}, {SGD}}}}}");
    let seen = refusal(&p_fedavg, "ring", "");
    expect(
        &seen,
        "11",
        &["servers.count is 11 for 10 clients, but every server needs"],
    );
    let walks = format!("{{dfedrw: {{walkers: 12, hops: 3, {SGD}}}}}");
    let seen = refusal(&walks, "ring", "");
    expect(
        &seen,
        "12",
        &["walkers is 12 for 10 clients, but walks begin at distinct"],
    );
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let seen = refusal(&dsgd, "ring", "failures: [{clients: {list: [10]}}]");
    expect(
        &seen,
        "list",
        &["found client 10, needed numbers of clients from 0 to 9"],
    );
}

#[test]
fn networks_point_at_their_value() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let fixed = "network: {links: {fixed: {bytes_per_second: -2}}}";
    expect(
        &refusal(&dsgd, "ring", fixed),
        "-2",
        &["links.fixed.bytes_per_second"],
    );
    let slow = "network: {links: {fixed: {bytes_per_second: 1}}, compute: {seconds_per_step: -1}}";
    expect(&refusal(&dsgd, "ring", slow), "-1", &["seconds_per_step"]);
}

#[test]
fn traces_with_gaps_negative_rates_or_times_that_go_back_name_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let gap = "seconds,bytes_per_second\n0,5\n1,5\n2,5\n500,5\n501,5\n";
    for (content, words) in [
        ("seconds,bytes_per_second\n0,5\n1,-5\n2,5\n", "line 3"),
        ("seconds,bytes_per_second\n0,5\n2,5\n1,5\n", "line 4"),
        (gap, "4g.csv: line 5: found a gap from 2 to 500 seconds"),
    ] {
        let file = folder.path().join("4g.csv");
        fs::write(&file, content).unwrap();
        let more = format!(
            "network: {{links: {{trace: {{file: '{}'}}}}}}",
            file.display()
        );
        let seen = refusal(&dsgd, "ring", &more);
        assert!(seen.message.contains(words), "{seen:?}");
    }
    let more = format!(
        "network: {{links: {{trace: {{file: '{}', hold: true}}}}}}",
        folder.path().join("4g.csv").display()
    );
    let source = experiment(&dsgd, "ring", &more);
    plan(&source, &DataFolder::new("nowhere")).unwrap();
}

/// 10 clients; servers are the nodes from 10 on.
#[test]
fn every_edge_that_messages_may_go_over_needs_a_bandwidth() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.csv");
    let network = format!(
        "network: {{links: {{trace: {{file: '{}'}}}}}}",
        file.display()
    );
    let write = |edges: &mut dyn Iterator<Item = (u32, u32)>| {
        let rows: Vec<String> = edges.map(|(a, b)| format!("{a},{b},0,5\n")).collect();
        let text = format!("from,to,seconds,bytes_per_second\n{}", rows.concat());
        fs::write(&file, text).unwrap();
    };
    let dfedrw = |more: &str| format!("{{dfedrw: {{walkers: 2, hops: 3{more}, {SGD}}}}}");
    let one = |method: &str, more: &str| format!("{{{method}: {{{more}{SGD}}}}}");
    let p_fedavg = one("p_fedavg", "servers: {count: 3}, ");
    let hierfavg = one("hierfavg", "servers: {count: 2}, edge_rounds: 2, ");
    let regular = "{redraw: {of: {regular: {degree: 3}}}}";
    let star = |ring: u32| format!("{{phases: [{{rounds: {ring}, of: ring}}, {{of: star}}]}}");
    for (method, topology, servers, missing) in [
        (one("dsgd", ""), "ring", 0, None),
        (dfedrw(""), "ring", 0, None),
        (one("alone", ""), "", 0, None),
        (one("dsgd", ""), "{periodic: [ring, path]}", 0, None),
        (one("dsgd", ""), &star(5), 0, None),
        (one("dsgd", ""), &star(4), 0, Some("0,2")),
        (one("dsgd", ""), "complete", 0, Some("0,2")),
        (
            one("dsgd", ""),
            "{periodic: [ring, path, star]}",
            0,
            Some("0,2"),
        ),
        (one("dsgd", ""), regular, 0, Some("")),
        (dfedrw(", from: visited"), "ring", 0, Some("0,2")),
        (one("swarm", ""), "", 0, Some("0,2")),
        (one("one_peer", ""), "", 0, Some("8,0")),
        (one("fedavg", ""), "", 1, Some("10,0")),
        (p_fedavg, "ring", 3, Some("10,")),
        (hierfavg, "", 3, Some("10,")),
    ] {
        let found = || {
            let source = experiment(&method, topology, &network);
            let planned = plan(&source, &DataFolder::new("nowhere"));
            planned.map(|_| ()).map_err(|error| error.to_string())
        };
        write(&mut (0..10).map(|node| (node, (node + 1) % 10)));
        match missing {
            None => assert_eq!(found(), Ok(()), "{method} {topology}"),
            Some(edge) => {
                let error = found().unwrap_err();
                let words = format!("edges.csv: found no bandwidths of the edge {edge}");
                assert!(error.contains(&words), "{method} {topology}: {error}");
            }
        }
        let nodes = 10 + servers;
        write(&mut (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))));
        assert_eq!(found(), Ok(()), "{method} {topology}");
    }
}

#[test]
fn schedules_within_schedules_are_refused_and_ones_that_never_connect_are_warned_of() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let nested = "{redraw: {of: {periodic: [ring]}}}";
    let seen = refusal(&dsgd, nested, "");
    assert!(seen.line == 4, "{seen:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, edges: &str| {
        let file = folder.path().join(name);
        fs::write(&file, edges).unwrap();
        format!("{{edges: {{file: '{}'}}}}", file.display())
    };
    let even = path("even", "0 1\n2 3\n4 5\n6 7\n8 9\n");
    let odd = path("odd", "1 2\n3 4\n5 6\n7 8\n9 0\n");
    let warnings = |list: &str| {
        let source = experiment(&dsgd, &format!("{{periodic: [{list}]}}"), "");
        plan(&source, &DataFolder::new("nowhere"))
            .map(|plans| plans[0].warnings.join(" "))
            .unwrap_or_else(|error| error.to_string())
    };
    let joined = warnings(&format!("{even}, {odd}"));
    assert!(joined.contains("any 2 rounds in a row do"), "{joined}");
    let never = warnings(&format!("{even}, {even}"));
    assert!(
        never.contains("rounds together do not connect the clients"),
        "{never}"
    );
}

#[test]
fn more_participants_than_memory_holds_are_refused_however_many() {
    let servers =
        "servers: {count: 2}, participation: {per_server: 9223372036854775808, replacement: true}";
    let methods = [
        ("p_fedavg: {", "complete"),
        ("hierfavg: {edge_rounds: 2, ", ""),
    ];
    for (method, topology) in methods {
        let method = format!("{{{method}{servers}, {SGD}}}}}");
        let seen = refusal(&method, topology, "");
        assert!(seen.message.contains("needs"), "{seen:?}");
    }
}

#[test]
fn a_method_of_ones_own_has_no_key_that_all_methods_have() {
    let dsgd = || serde_json::from_str::<Dsgd>(r#"{"batch_size": 20, "learning_rate": 0.1}"#);
    let own = Own::new().method_read_by("mine", move |_, _| {
        let method: Arc<dyn MethodSpec> = Arc::new(dsgd().unwrap());
        let keys = serde_json::from_str(r#"{"momentum": 0.9}"#).unwrap();
        Ok((method, keys))
    });
    let source = experiment(&format!("{{own: {{name: mine, {SGD}}}}}"), "ring", "");
    let seen = refused(&source.with_own(own));
    assert!(
        seen.message
            .contains("the method has a key `momentum` of its own"),
        "{seen:?}"
    );
}
