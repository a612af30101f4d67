//! What a plan warns of: values that will work but may not be meant.

use std::fs;

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

use crate::{YAML, one};

#[test]
fn schedules_that_do_not_connect_the_clients_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.edges"), "0 1\n2 3\n").unwrap();
    fs::write(folder.path().join("b.edges"), "1 2\n4 5\n").unwrap();
    let warnings = |topology: &str| {
        let yaml = YAML.replace("topology: ring", &format!("topology: {topology}"));
        let source = ExperimentSource::new(folder.path().join("e.yaml"), yaml);
        let mut planned = plan(&source, &DataFolder::new("nowhere")).unwrap();
        let warnings = planned.remove(0).warnings.into_iter();
        let of_columns = |warning: &String| warning.starts_with("the weights ");
        warnings
            .filter(|warning| !of_columns(warning))
            .collect::<Vec<_>>()
    };
    let many = format!(
        "{{periodic: [{}]}}",
        ["{edges: {file: a.edges}}"; 70].join(", ")
    );
    for (topology, message) in [
        (
            "{redraw: {nodes: {first: 5}, of: complete}}",
            "the overlays of all 5 rounds together do not connect the clients: nothing links client 5 with \
             client 0",
        ),
        (
            "{phases: [{rounds: 3, nodes: {first: 6}, of: ring}, {nodes: {first: 8}, of: ring}]}",
            "the overlays of all 5 rounds together do not connect the clients: nothing links client 8 with \
             client 0",
        ),
        (
            "{phases: [{rounds: 3, nodes: {first: 6}, of: ring}, {rounds: 2, of: ring}]}",
            "not every overlay of the schedule connects the clients; the first 4 rounds together do",
        ),
        (
            "{phases: [{rounds: 4, nodes: {first: 6}, of: ring}, {nodes: {first: 6}, of: star}]}",
            "the overlays of all 5 rounds together do not connect the clients: nothing links client 6 with \
             client 0",
        ),
        (
            "{periodic: [{edges: {file: a.edges}}, {edges: {file: b.edges}}]}",
            "the overlays of all 5 rounds together do not connect the clients: nothing links client 4 with \
             client 0",
        ),
        (
            "{periodic: [{edges: {file: a.edges}}, ring]}",
            "not every overlay of the schedule connects the clients; any 2 rounds in a row do. λ is per \
             exchange, over a whole period",
        ),
        (
            "{periodic: [{edges: {file: a.edges}}, {edges: {file: a.edges}}, {edges: {file: a.edges}}, {edges: {file: \
             a.edges}}, {edges: {file: a.edges}}, ring]}",
            "the overlays of the run's rounds, 5, do not connect the clients, not even all together: nothing links client 2 \
             with client 0; any 6 rounds in a row would",
        ),
        (
            &many,
            "the overlays of all 5 rounds together do not connect the clients: nothing links client 2 with \
             client 0",
        ),
    ] {
        assert_eq!(warnings(topology), [message], "{topology}");
    }
    let share = warnings("{redraw: {nodes: {share: 0.5}, of: complete}}");
    assert!(
        share.len() == 1 && share[0].contains("rounds together do"),
        "{share:?}"
    );
    for connected in [
        "{redraw: {of: {regular: {degree: 3}}}}",
        "{phases: [{rounds: 3, of: ring}, {of: star}]}",
        "{periodic: [ring, star]}",
    ] {
        assert_eq!(warnings(connected), [""; 0], "{connected}");
    }
}

#[test]
fn failures_that_hit_nothing_are_warned_of() {
    let warnings = |topology: &str, failures: &str| {
        let yaml = YAML.replace("topology: ring", &format!("topology: {topology}"));
        one(&format!("{yaml}failures: [{failures}]\n")).warnings
    };
    assert_eq!(
        warnings("ring", "{edges: {list: [[1, 0], [5, 0], [2, 4]]}}"),
        ["failures.0.edges.list names 2-4 and 1 more, which the overlay does not have"]
    );
    assert_eq!(
        warnings(
            "ring",
            "{edges: {list: [[1, 0]]}}, {clients: {count: 1}, from_round: 6}"
        ),
        ["failures.1 never happens: it begins in round 6, and the last round is 5"]
    );
    let some = "{edges: {list: [[0, 5]]}}, {clients: {count: 1}, from_round: 5}";
    assert_eq!(warnings("{periodic: [ring, complete]}", some), [""; 0]);
}

#[test]
fn push_sum_is_warned_of_messages_that_are_lost() {
    let warnings = |algorithm: &str, topology: &str, failure: &str| {
        let yaml = YAML.replace(
            "dfedavgm: {local: {epochs: 2}, ",
            &format!("{algorithm}: {{"),
        );
        let yaml = yaml.replace("topology: ring", &format!("topology: {topology}"));
        assert!(
            yaml.contains(algorithm) && yaml.contains(topology),
            "{yaml}"
        );
        one(&format!("{yaml}failures: [{failure}]\n")).warnings
    };
    let lost = "{messages: {probability: 0.1}}";
    let found = warnings("push_sum", "ring", lost);
    let expected = "push_sum sends shares of a total, and messages that are lost take theirs along";
    assert!(
        found.len() == 1 && found[0].starts_with(expected),
        "{found:?}"
    );
    let none: [String; 0] = [];
    assert_eq!(
        warnings("push_sum", "ring", "{messages: {probability: 0}}"),
        none
    );
    assert_eq!(warnings("dsgd", "ring", lost), none);
    // The weights of what is lost go to the receiver on all overlays: a directed one is no case of its own.
    let [losing, sure] = [lost, ""].map(|failure| warnings("dsgd", "one_peer", failure));
    assert_eq!(losing, sure);
}

#[test]
fn failures_of_edges_between_servers_are_told_with_their_number() {
    let warnings = |topology: &str, failures: &str| {
        let yaml = YAML
            .replace("topology: ring", &format!("topology: {topology}"))
            .replace("dfedavgm: {", "p_fedavg: {servers: {count: 5}, ");
        one(&format!("{yaml}failures: [{failures}]\n")).warnings
    };
    assert_eq!(
        warnings("ring", "{edges: {share: 0.1}}"),
        [
            "failures.0: of the 5 edges between servers 1 fails, 20 %; links between clients and servers do not fail"
        ]
    );
    assert_eq!(
        warnings("path", "{clients: {count: 1}}, {edges: {count: 3}}"),
        [
            "failures.1: of the 4 edges between servers 3 fail, 75 %; links between clients and servers do not fail"
        ]
    );
    assert_eq!(warnings("ring", "{edges: {list: [[0, 1]]}}"), [""; 0]);
    let of_clients = one(&format!("{YAML}failures: [{{edges: {{share: 0.1}}}}]\n"));
    assert_eq!(of_clients.warnings, [""; 0]);
}

#[test]
fn methods_that_later_weights_make_unstable_are_warned_of() {
    let warnings = |algorithm: &str, topology: &str, failures: &str| {
        one(&format!(
            "name: tiny\ndataset: {{glyphs: {{train: 600, test: 100}}}}\npartition: {{iid: {{clients: 6}}}}\n\
             topology: {topology}\nmodel: logistic\nalgorithm: {algorithm}\nrounds: 9\nfailures: [{failures}]\n"
        ))
        .warnings
    };
    let d2 = "{d2: {batch_size: 20, learning_rate: 0.05}}";
    let decefl = |mu| format!("{{decefl: {{mu: {mu}, batch_size: 20, learning_rate: 0.05}}}}");
    // Without these edges of the complete graph, every one of nodes 0 to 2 hears of 3, 4 and 5 alone: λ_N = −1/2.
    let apart = "{edges: {list: [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]}, from_round: 4}";
    assert_eq!(
        warnings(d2, "complete", apart),
        [
            "in round 4 the weights of who is alive have λ_N = -0.5000, d2 converges only above -1/3: exact_diffusion has \
             no such limit"
        ]
    );
    let of_decefl = warnings(&decefl("0.6"), "complete", apart);
    assert!(
        of_decefl[0]
            .starts_with("in round 4 mu is 0.6 but the overlay's weights have λ_N = -0.5000"),
        "{of_decefl:?}"
    );
    assert_eq!(warnings(&decefl("0.5"), "complete", apart), [""; 0]);
    // λ_N of the ring of six is −1/3; that of the complete graph 0.
    let turns = "{periodic: [complete, complete, ring]}";
    let of_turns = warnings(&decefl("0.9"), turns, "");
    assert!(
        of_turns[0].starts_with("in round 3 mu is 0.9"),
        "{of_turns:?}"
    );
    let first = warnings(&decefl("0.9"), "ring", "");
    assert!(first[0].starts_with("mu is 0.9"), "{first:?}");
    assert_eq!(
        warnings(d2, "complete", "{edges: {list: [[0, 1]]}}"),
        [""; 0]
    );
    let diffusion = d2.replace("d2", "exact_diffusion");
    assert_eq!(warnings(&diffusion, "complete", apart), [""; 0]);
    let changes = warnings(&diffusion, "{periodic: [complete, ring]}", "");
    assert_eq!(
        changes,
        [
            "exact_diffusion is defined for an overlay that stays, and this one changes: differences between models may grow without \
             bound, at any learning rate; gradient_tracking stands it"
        ]
    );
    let edges = "edges: {share: 0.2}, redraw: each_round";
    let fails = warnings(&diffusion, "complete", &format!("{{{edges}}}"));
    assert!(
        fails[0].contains("and this one has links that fail for a time:"),
        "{fails:?}"
    );
}

#[test]
fn weights_that_an_overlay_brings_in_vain_are_warned_of() {
    let warnings = |method: &str, topology: &str| {
        let yaml = YAML
            .replace("topology: ring", &format!("topology: {topology}"))
            .replace("dfedavgm: {", &format!("{method}: {{"));
        one(&yaml).warnings
    };
    let equi = "{equi_static: {links: 2}}";
    assert_eq!(
        warnings("push_sum", equi),
        [
            "push_sum has weights of its own, which it makes of the edges: those that the overlay brings do not count"
        ]
    );
    assert_eq!(warnings("dsgd", equi), [""; 0]);
    assert_eq!(warnings("push_sum", "ring"), [""; 0]);
}

#[test]
fn an_overlay_that_changes_after_the_last_round_is_warned_of() {
    let warnings = |topology: &str| {
        let yaml = YAML.replace("topology: ring", &format!("topology: {topology}"));
        one(&yaml).warnings
    };
    let never =
        "the overlay stays as it is in round 1: `topology` changes it after the last round, 5";
    assert_eq!(
        warnings("{redraw: {of: {regular: {degree: 2}}, every: 5}}"),
        [never]
    );
    assert_eq!(
        warnings("{phases: [{rounds: 5, of: ring}, {of: complete}]}"),
        [never]
    );
    for topology in [
        "{redraw: {of: {regular: {degree: 2}}, every: 4}}",
        "{phases: [{rounds: 4, of: ring}, {of: complete}]}",
        "{periodic: [ring, complete]}",
        "{periodic: [ring]}",
    ] {
        assert_eq!(warnings(topology), [""; 0], "{topology}");
    }
}

#[test]
fn deadlines_that_nobody_meets_or_misses_are_warned_of() {
    // 60 examples are 3 batches, twice: 6 steps.
    let warnings = |seconds_per_step: f64, deadline: f64, policy: &str| {
        one(&format!(
            "{YAML}network: {{links: {{fixed: {{bytes_per_second: 1.0e6}}}}, compute: {{seconds_per_step: \
             {seconds_per_step}}}}}\nstragglers: {{deadline_seconds: {deadline}, policy: {policy}}}\n"
        ))
        .warnings
    };
    assert_eq!(
        warnings(0.5, 2.9, "isolate"),
        [
            "no client meets the deadline of 2.9 seconds: the fastest needs 3.0000 seconds for its local work; in \
             each round one client, drawn at random, counts all the same; raise `stragglers.deadline_seconds`"
        ]
    );
    assert_eq!(
        warnings(0.5, 3.0, "isolate"),
        ["no client ever misses the deadline of 3 seconds: all are in time"]
    );
    assert_eq!(warnings(0.5, 1.5, "partial"), [""; 0], "an epoch is done");
    assert_eq!(warnings(0.5, 1.4, "partial").len(), 1);
    assert_eq!(
        warnings(0.0, 1.0, "isolate"),
        ["no client ever misses the deadline: local steps take no time"]
    );
}

#[test]
fn clients_that_are_late_in_every_round_are_named() {
    let warnings = |slow: &str, policy: &str| {
        one(&format!(
            "{YAML}network: {{links: {{fixed: {{bytes_per_second: 1.0e6}}}}, compute: {{seconds_per_step: 0.5, slowdown: \
             {{list: [1, {slow}, 1, 1]}}}}}}\nstragglers: {{deadline_seconds: 3, policy: {policy}}}\n"
        ))
        .warnings
    };
    assert_eq!(
        warnings("1, 1, 1, 1, 1.5, 1, 3", "isolate"),
        [
            "clients 5, 7 miss the deadline of 3 seconds in every round: that local work never counts, and models are judged all the \
             same; `policy: partial` counts a part of it"
        ]
    );
    assert_eq!(
        warnings("1, 1, 1, 1, 1.5, 1, 3", "partial"),
        [
            "client 7 misses the deadline of 3 seconds in every round: not even the first part of that local work counts"
        ]
    );
    let many = warnings("2, 2, 2, 2, 2, 2, 2", "receive");
    assert!(
        many[0].starts_with("7 clients (1, 2, 3, 4, 5, ...) miss"),
        "{many:?}"
    );
}

#[test]
fn a_share_of_late_clients_is_said_to_cost_no_simulated_time() {
    let network =
        "network: {links: {fixed: {bytes_per_second: 1.0e6}}, compute: {seconds_per_step: 0.1}}\n";
    let warnings = |rest: &str| one(&format!("{YAML}{rest}")).warnings;
    let share = "stragglers: {share: 0.5}\n";
    let said = warnings(&format!("{network}{share}"));
    assert_eq!(
        said,
        [
            "the late clients of `stragglers.share` cost no simulated time: they are drawn without regard to their speed, and \
             nobody waits for them; with `stragglers.deadline_seconds` in its place the slow clients are late, and the others \
             wait until the deadline"
        ]
    );
    let nobody = format!("{network}stragglers: {{share: 0}}\n");
    for silent in [share, network, &nobody] {
        assert_eq!(warnings(silent), [""; 0], "{silent}");
    }
}

#[test]
fn clients_that_fail_for_a_time_are_said_to_cost_no_simulated_time() {
    let network = "network: {links: {fixed: {bytes_per_second: 1.0e6}}}\n";
    let said = |failure: &str, network: &str| {
        one(&format!("{YAML}{network}failures: [{{{failure}}}]\n")).warnings
    };
    let some = "clients: {share: 0.5}";
    for failure in [
        format!("{some}, redraw: each_round"),
        format!("{some}, until_round: 2"),
    ] {
        let warnings = said(&failure, network);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("the clients that fail by `failures` cost no simulated time"),
            "{warnings:?}"
        );
        assert_eq!(said(&failure, ""), [""; 0]);
    }
    assert_eq!(said("clients: {list: [0]}", network), [""; 0]);
}

#[test]
fn stragglers_that_take_models_and_give_none_are_said_to_move_the_mean() {
    let said = |stragglers: &str| one(&format!("{YAML}stragglers: {stragglers}\n")).warnings;
    let moved = said("{share: 0.5, policy: receive}");
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(
        moved[0].contains("`policy: receive` do not preserve the plain mean"),
        "{moved:?}"
    );
    assert_eq!(said("{share: 0.5, policy: isolate}"), [""; 0]);
    assert_eq!(said("{share: 0, policy: receive}"), [""; 0]);
}

#[test]
fn what_takes_links_from_a_directed_overlay_is_said_to_move_the_mean() {
    let said = |topology: &str, rest: &str| {
        let yaml = YAML.replace("topology: ring", &format!("topology: {topology}"));
        let warnings = one(&format!("{yaml}{rest}\n")).warnings;
        let of_mean = |warning: &&String| warning.contains("on a directed overlay");
        warnings.iter().filter(of_mean).cloned().collect::<Vec<_>>()
    };
    let fail = "failures: [{edges: {share: 0.3}, redraw: each_round}]";
    let late = "stragglers: {share: 0.5, policy: isolate}";
    assert!(said("one_peer", fail)[0].starts_with("on a directed overlay failures do not"));
    assert!(said("one_peer", late)[0].starts_with("on a directed overlay late clients do not"));
    let inputs = "failures: [{clients: {share: 0.3}, loses: inputs}]";
    for (topology, rest) in [("ring", fail), ("one_peer", inputs), ("one_peer", "")] {
        assert_eq!(said(topology, rest), [""; 0], "{topology} {rest}");
    }
}

#[test]
fn methods_that_treat_stragglers_differently_are_warned_of() {
    let said = |stragglers: &str| {
        let yaml = format!(
            "{YAML}stragglers: {stragglers}\nsweep:\n  cases:\n    - {{algorithm.dfedavgm.momentum: 0}}\n    - {{algorithm: \
             {{dfedrw: {{walkers: 5, hops: 4, local: {{epochs: 1}}, batch_size: 20, learning_rate: 0.05}}}}}}\n"
        );
        let said = meshfold_experiment::warnings(&crate::plans(&yaml));
        let of_policy = |warning: &&String| warning.contains("`stragglers.policy` is not set");
        said.iter().filter(of_policy).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        said("{share: 0.5}"),
        [
            "`stragglers.policy` is not set, so late clients are not treated alike under every method: `isolate` under \
             dfedavgm; `partial` under dfedrw. Set `stragglers.policy` to compare the methods under the same one"
        ]
    );
    assert_eq!(said("{share: 0.5, policy: partial}"), [""; 0]);
    assert_eq!(said("{share: 0}"), [""; 0]);
}

#[test]
fn weights_that_may_surprise_are_warned_of() {
    let warnings = |topology: &str, weights: &str| {
        one(&YAML.replace(
            "topology: ring",
            &format!("topology: {topology}\nweights: {weights}"),
        ))
        .warnings
    };
    let negative = warnings("star", "laplacian");
    let says = |warnings: &[String], part| warnings.iter().any(|warning| warning.contains(part));
    let remedy = "a negative share; a larger theta avoids it";
    assert!(says(&negative, remedy), "{negative:?}");
    let fastest = warnings("star", "{fastest: {nonnegative: false}}");
    let remedy = "a negative share; `fastest: {nonnegative: true}` avoids it";
    assert!(says(&fastest, remedy), "{fastest:?}");
    let irregular = warnings("star", "uniform");
    assert!(
        irregular
            .iter()
            .any(|warning| warning.contains("do not preserve the plain mean")),
        "{irregular:?}"
    );
    assert!(warnings("star", "metropolis_hastings").is_empty());
}

#[test]
fn weights_that_no_model_is_mixed_by_are_warned_of() {
    let warnings = |weights: &str, algorithm: &str| {
        one(&YAML
            .replace("ring", &format!("star\nweights: {weights}"))
            .replace("dfedavgm: {local: {epochs: 2}", algorithm))
        .warnings
    };
    let walks = "dfedrw: {walkers: 2, hops: 2";
    let some = "dsgd: {aggregation: {neighbours: 2}";
    for (method, algorithm) in [("dfedrw", walks), ("dsgd with `aggregation`", some)] {
        let said = format!(
            "`weights` changes nothing: {method} averages models in its own way, and has of the overlay its edges alone"
        );
        assert_eq!(warnings("laplacian", algorithm), [said], "{method}");
        assert_eq!(warnings("metropolis_hastings", algorithm), [""; 0]);
    }
}

#[test]
fn servers_that_are_to_choose_more_clients_than_they_have_are_warned_of() {
    let warnings = |topology: &str, method: &str, participation: &str| {
        let algorithm = format!("{method}servers: {{count: 5}}, participation: {participation}");
        one(&YAML
            .replace("topology: ring\n", topology)
            .replace("dfedavgm: {local: {epochs: 2}", &algorithm))
        .warnings
    };
    let methods = [
        ("topology: ring\n", "p_fedavg: {"),
        ("", "hierfavg: {edge_rounds: 1, "),
    ];
    for (topology, method) in methods {
        let many = warnings(topology, method, "{per_server: 3}");
        assert_eq!(many.len(), 1, "{many:?}");
        assert!(many[0].contains("more than any server has"), "{many:?}");
        for fits in ["{per_server: 2}", "{per_server: 3, replacement: true}"] {
            assert_eq!(warnings(topology, method, fits), [""; 0], "{fits}");
        }
    }
}

#[test]
fn figures_of_models_that_no_client_holds_are_said_not_to_be_recorded() {
    let served = YAML
        .replace("topology: ring\n", "")
        .replace("dfedavgm", "fedavg");
    let asked = "evaluate: {train: true, theory: [inexactness]}\n";
    let warnings = one(&format!("{served}{asked}")).warnings;
    let of = |key| {
        format!(
            "evaluate: {key} is not recorded, as it needs models of clients; in fedavg each model belongs to a server"
        )
    };
    assert_eq!(warnings, [of("`theory: inexactness`"), of("`train`")]);
    assert!(one(&format!("{YAML}{asked}")).warnings.is_empty());
}

#[test]
fn what_a_run_never_sees_of_its_learning_rate_is_warned_of() {
    let warnings = |rate: &str, rounds: usize| {
        let yaml = YAML
            .replace("learning_rate: 0.05", &format!("learning_rate: {rate}"))
            .replace("rounds: 5", &format!("rounds: {rounds}"));
        one(&yaml).warnings
    };
    for (rate, warning) in [
        (
            "{milestones: {initial: 0.1, factor: 0.5, at: [50, 100]}}",
            "the learning rate stays at its first value: the first milestone is 50, and the run has 50 rounds",
        ),
        (
            "{step: {initial: 0.1, factor: 0.5, every: 60}}",
            "the learning rate stays at its first value: `every` is 60, and the run has 50 rounds",
        ),
        (
            "{cosine: {initial: 0.1, length: 51}}",
            "the learning rate does not come down to its last value: `length` is 51, and the run has 50 rounds",
        ),
        (
            "{constant: {rate: 0.1, warmup: 50}}",
            "the learning rate never gets as high as its formula: `warmup` is 50, and the run has 50 rounds",
        ),
    ] {
        assert_eq!(warnings(rate, 50), [warning], "{rate}");
        assert_eq!(warnings(rate, 61), [""; 0], "{rate}");
    }
    let per_step = "{milestones: {initial: 0.1, factor: 0.5, at: [50], per: step}}";
    assert_eq!(warnings(per_step, 50), [""; 0]);
    let restarts = "{milestones: {initial: 0.1, factor: 0.5, at: [50], per: step, restart: round}}";
    assert_eq!(warnings(restarts, 5), [""; 0]);
}

#[test]
fn momentum_that_begins_anew_before_every_step_is_warned_of() {
    let of_keys = |method: &str, steps: u32, more: &str| {
        let method = format!(
            "algorithm: {{{method}: {{local: {{steps: {steps}}}, batch_size: 20, learning_rate: 0.1, momentum: 0.5{more}}}}}"
        );
        let kept = YAML.lines().filter(|line| !line.starts_with("algorithm"));
        one(&kept.chain([method.as_str()]).collect::<Vec<_>>().join("\n")).warnings
    };
    let warnings = |method, steps| of_keys(method, steps, "");
    for method in ["dfedavgm", "push_sum"] {
        assert_eq!(
            warnings(method, 1),
            [format!(
                "`momentum` has no effect: {method} begins it anew in each round, and a round has one local step"
            )]
        );
        assert_eq!(warnings(method, 2), [""; 0], "{method}");
    }
    assert_eq!(warnings("dsgd", 1), [""; 0]);
    assert_eq!(
        of_keys("dfedavgm", 1, ", nesterov: true"),
        [
            "`momentum` only makes steps 1.5 times as large: dfedavgm begins it anew in each round, and a round has one local step"
        ]
    );
    assert_eq!(of_keys("dfedavgm", 2, ", nesterov: true"), [""; 0]);
}

#[test]
fn labels_that_are_tested_and_dealt_to_nobody_are_warned_of() {
    let warnings =
        |partition: &str| one(&YAML.replace("{shards: {clients: 10}}", partition)).warnings;
    let said = warnings("{classes: {clients: 3, per_client: 1}}");
    let told =
        "clients have nothing to train on of 7 of the 10 labels, though test examples have them: ";
    assert!(
        matches!(&said[..], [only] if only.starts_with(told)),
        "{said:?}"
    );
    assert_eq!(warnings("{classes: {clients: 5, per_client: 2}}"), [""; 0]);
}

#[test]
fn failures_that_split_the_overlay_for_good_are_warned_of() {
    let warnings = |failures: &str| one(&format!("{YAML}failures: [{failures}]\n")).warnings;
    assert_eq!(
        warnings("{clients: {list: [0, 3]}, from_round: 2}"),
        [
            "failures leave the overlay in 2 parts from round 2 on, which never hear from each other again: their models differ for good"
        ]
    );
    for failures in [
        "{clients: {list: [0]}}",
        "{clients: {list: [0, 1]}}",
        "{edges: {share: 0.3}, redraw: each_round}",
        "{clients: {share: 0.3}, redraw: each_round}",
    ] {
        assert_eq!(warnings(failures), [""; 0], "{failures}");
    }
}

#[test]
fn a_share_of_less_than_half_a_client_is_nobody() {
    let warnings = one(&format!("{YAML}stragglers: {{share: 0.04}}\n")).warnings;
    assert!(warnings[0].starts_with("nobody is late: `stragglers.share` of 10 clients"));
}
