//! What is larger than the machine, or has no end, is refused before it fills the memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Said, Sandbox, TINY};

/// Models of two megabytes: about 280 MiB in all.
const WIDE: &str = "\
name: wide
dataset: {glyphs: {train: 1200, test: 100}}
partition: {shards: {clients: 60, per_client: 2}}
topology: {regular: {degree: 4}}
model: {mlp: {hidden: [600]}}
algorithm: {dsgd: {batch_size: 10, learning_rate: 0.05}}
rounds: 1
";

/// Runs the words of `line` in a shell that has set a limit of so many mebibytes by `ulimit` with `option`.
fn limited(sandbox: &Sandbox, option: &str, mebibytes: u64, line: &str) -> Said {
    let kilobytes = mebibytes * 1024;
    let program = env!("CARGO_BIN_EXE_meshfold");
    let script = format!("ulimit {option} {kilobytes}; exec {program} {line}");
    said(sandbox, &script)
}

/// Runs a script of the shell in the folder of the sandbox.
fn said(sandbox: &Sandbox, script: &str) -> Said {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(sandbox.path(""));
    command.env("MESHFOLD_DATA", sandbox.path("data"));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "this system does not tell what limits a process has"
)]
fn runs_beyond_the_limits_of_the_process_are_refused_before_they_start() {
    let sandbox = Sandbox::new();
    sandbox.write("wide.yaml", WIDE);
    let parts = [
        "wide.yaml:5",
        "needs about",
        "are available",
        "take fewer clients",
    ];
    for (option, mebibytes) in [("-v", 500), ("-d", 250)] {
        limited(&sandbox, option, mebibytes, "run -q wide.yaml")
            .ended_with(2)
            .complained_of(&parts);
        assert!(
            !sandbox.path("runs").exists(),
            "ulimit {option} {mebibytes}"
        );
    }
    // Whatever the limit is, the run ends well or is refused: it is never broken off for want of memory.
    for (option, file, most) in [
        ("-v", "wide.yaml", 14),
        ("-d", "wide.yaml", 8),
        ("-v", "tiny.yaml", 5),
    ] {
        // A program with support for GPUs does not even load below 200 MiB.
        let least = if cfg!(feature = "gpu") { 2 } else { 1 };
        for step in least..=most {
            let line = format!("run -q {file} --results results{option}{file}{step}");
            let said = limited(&sandbox, option, 100 * step, &line);
            let words = ["are available", "cannot be started"];
            let refused = said.code == Some(2) && words.iter().any(|word| said.err.contains(word));
            assert!(
                refused || said.code == Some(0),
                "ulimit {option} {step}00 MiB: {said:?}"
            );
            assert!(!refused || step < most, "{option} {step}00 MiB is refused");
        }
    }
}

#[test]
fn overlays_beyond_the_memory_are_refused_at_once() {
    let sandbox = Sandbox::new();
    for topology in [
        "path",
        "ring",
        "grid",
        "torus",
        "complete",
        "star",
        "balanced_tree",
        "{barbell: {m1: 1000000000, m2: 0}}",
        "{erdos_renyi: {p: 0.5}}",
        "{regular: {degree: 4}}",
        "ring_plus_matching",
        "{virtual_rings: {spaces: 3}}",
        "exponential",
        "one_peer",
        "{watts_strogatz: {neighbours: 4, rewire: 0.1}}",
        "hypercube",
        "{barabasi_albert: {links: 2}}",
        "{stochastic_block: {blocks: 2, within: 0.5, between: 0.1}}",
        "{random_geometric: {radius: 0.5}}",
        "{random_waypoint: {radius: 0.5, speed: 0.1}}",
        "{d_cliques: {max_clique_size: 5}}",
        "{redraw: {of: complete}}",
        "{phases: [{of: star}]}",
        "{periodic: [ring, star]}",
    ] {
        for nodes in ["2000000000", "4294967295"] {
            let begun = Instant::now();
            let arguments = ["overlay", "--topology", topology, "--nodes", nodes];
            let said = sandbox.meshfold(&arguments).ended_with(2);
            said.complained_of(&["nodes", "edges needs about", "take fewer nodes"]);
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{topology} of {nodes}"
            );
        }
    }
    let drawn = ["--nodes", "1000000", "--weights", "random"];
    sandbox
        .meshfold(&[&["overlay", "--topology", "complete"], &drawn[..]].concat())
        .ended_with(2)
        .complained_of(&["499999500000 edges", "are available"]);
    sandbox
        .meshfold(&[
            "speedup",
            "--topology",
            "{erdos_renyi: {p: 0.9}}",
            "--servers",
            "100000",
            "--participants",
            "100000",
        ])
        .ended_with(2)
        .complained_of(&["100000 nodes", "are available"]);
    sandbox.write(
        "tiny.yaml",
        &TINY.replace("topology: ring", "topology: {ring: {hops: 2}}"),
    );
    let clients = "partition={iid: {clients: 600}}";
    sandbox
        .meshfold(&["plan", "tiny.yaml", "--set", clients])
        .ended_with(0);
}

#[test]
fn large_overlays_that_a_plan_asks_for_are_refused_at_their_line() {
    let sandbox = Sandbox::new();
    let many = TINY
        .replace("train: 600", "train: 2000000")
        .replace(
            "{shards: {clients: 10, per_client: 2}}",
            "{iid: {clients: 2000000}}",
        )
        .replace("topology: ring", "topology: {erdos_renyi: {p: 0.5}}");
    sandbox.write("tiny.yaml", &many);
    for command in ["plan", "run"] {
        sandbox
            .says(&format!("{command} tiny.yaml"))
            .ended_with(2)
            .complained_of(&["tiny.yaml:5", "2000000 nodes", "are available"]);
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "this system has no /dev/zero")]
fn files_without_an_end_are_read_up_to_a_limit() {
    let sandbox = Sandbox::new();
    let limit = ["/dev/zero", "bytes", "are read"];
    for line in ["run /dev/zero", "plan /dev/zero", "churn /dev/zero"] {
        limited(&sandbox, "-v", 2000, line)
            .ended_with(2)
            .complained_of(&limit);
    }
    let edges = "topology={edges: {file: /dev/zero}}";
    let trace = "network={links: {trace: {file: /dev/zero}}}";
    for value in [edges, trace] {
        let begun = Instant::now();
        sandbox
            .meshfold(&["plan", "tiny.yaml", "--set", value])
            .ended_with(2)
            .complained_of(&limit);
        assert!(begun.elapsed() < Duration::from_secs(20), "{value}");
    }
    let topology = "{edges: {file: /dev/zero}}";
    sandbox
        .meshfold(&["overlay", "--topology", topology, "--nodes", "4"])
        .ended_with(2)
        .complained_of(&limit);
}

#[test]
fn folders_are_no_experiments() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox
        .says("run folder")
        .ended_with(2)
        .complained_of(&["cannot read folder", "found a folder, needed a file"]);
}

#[cfg(unix)]
#[test]
fn pipes_are_read_and_those_without_a_writer_are_refused() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_meshfold");
    let planned = |script: &str| {
        let said = said(&sandbox, script).ended_with(0);
        assert_eq!(said.json()[0]["clients"], 10, "{script}");
    };
    planned(&format!("cat tiny.yaml | {program} plan --json /dev/stdin"));
    planned(&format!("{program} plan --json /dev/stdin < tiny.yaml"));
    planned(&format!(
        "mkfifo pipe; cat tiny.yaml > pipe & sleep 0.2; {program} plan --json pipe"
    ));
    // Files that are named in what is piped lie where the program is started.
    sandbox.write("w.edges", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 8\n8 9\n");
    let edges = "topology={edges: {file: w.edges}}";
    planned(&format!(
        "cat tiny.yaml | {program} plan --json /dev/stdin --set '{edges}'"
    ));

    said(&sandbox, "mkfifo lonely").ended_with(0);
    let begun = Instant::now();
    let mut command = sandbox.command(&["run", "lonely"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("found a pipe that no program has opened to write"),
        "{told}"
    );
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn messages_repeat_nothing_of_files_of_another_kind() {
    let sandbox = Sandbox::new();
    let secret = "root:$6$salt$0hash0:19000:0:99999:7:::\nprivate: line\n";
    sandbox.write("secret", secret);
    let told = |said: Said, parts: &[&str]| {
        let said = said.ended_with(2).complained_of(parts);
        for word in ["root", "salt", "hash", "99999", "private"] {
            assert!(!said.err.contains(word), "{word} is in\n{}", said.err);
        }
    };
    let set = |value: &str| sandbox.meshfold(&["plan", "tiny.yaml", "--set", value]);
    let edges = "topology={edges: {file: secret}}";
    told(
        set(edges),
        &["secret: line 1, column 1:", "found text of 38 characters"],
    );
    let trace = "network={links: {trace: {file: secret}}}";
    told(
        set(trace),
        &["secret: line 1:", "found a column of another name"],
    );
    let topology = "{edges: {file: secret}}";
    let arguments = ["overlay", "--topology", topology, "--nodes", "4"];
    told(sandbox.meshfold(&arguments), &["secret: line 1, column 1:"]);
    sandbox.write("secret", &format!("seconds,bytes_per_second\n0,{secret}"));
    told(
        set(trace),
        &["secret: line 2: found bytes_per_second text of 38 characters"],
    );
}
