//! When checkpoints are written, and that a resumed run has the bits of an uninterrupted one.

use std::fs;
use std::path::{Path, PathBuf};

use meshfold_experiment::{Ending, Observer, RoundProgress, RunReport};
use serde_json::{Map, Value, json};

use crate::tiny::{Case, results, rounds};

/// Checkpoints every three rounds of seven, with an evaluation after the last alone.
const BETWEEN: [&str; 2] = ["checkpoint={every: 3}", "evaluate.every=100000"];

/// Compares an uninterrupted run with runs that are interrupted between two evaluations: one is asked to stop after round 4,
/// one is killed in round 5, when its last checkpoint is that of round 3. A third one goes on from a run of four rounds.
#[track_caller]
fn assert_resumes(folder: &Path, overrides: &[&str]) {
    let overrides = [overrides, &BETWEEN].concat();
    let case = || Case::with_data(folder, &overrides);
    let in_one_go = case();
    let whole = in_one_go.run();
    assert_eq!(rounds(&whole), [0, 7], "{overrides:?}");
    assert!(whole.last.as_ref().unwrap().train_loss.is_some());

    let stopped = case();
    let broken = stopped.run_until(4);
    assert!(matches!(broken.ending, Ending::Interrupted));
    assert_eq!((rounds(&broken), broken.checkpoint), (vec![0], Some(4)));
    let expect_same = |resumed: &RunReport, from| {
        assert!(matches!(resumed.ending, Ending::Finished));
        assert_eq!(resumed.resumed_from, Some(from), "{overrides:?}");
        assert!(results(resumed) == results(&whole), "{overrides:?}");
    };
    expect_same(&stopped.run(), 4);
    expect_same(&case().killed_in(5).run(), 3);
    let shorter = [&overrides[..], &["rounds=4", "checkpoint.keep=true"]].concat();
    let shorter = Case::with_data(folder, &shorter);
    shorter.run();
    expect_same(&case().beside(shorter).run(), 4);
}

#[track_caller]
fn assert_method_resumes(method: &str, overrides: &[&str]) {
    let method = format!("algorithm={{{method}, batch_size: 7, learning_rate: 0.1}}}}");
    let overrides = [&[method.as_str()], overrides].concat();
    assert_resumes(Path::new("unused"), &overrides);
}

const FAILURES: &str = "failures=[{clients: {share: 0.2}, from_round: 2, redraw: each_round}]";
const GONE: &str = "failures=[{clients: {list: [3]}, from_round: 3}]";
const NETWORK: &str =
    "network={links: {fixed: {bytes_per_second: 1000}}, compute: {seconds_per_step: 0.1}}";
const LOCAL_BARRIER: &str = "network={links: {fixed: {bytes_per_second: 1000}}, \
     compute: {seconds_per_step: 0.1, each_round: {exponential: {mean: 1}}}, barrier: local}";

#[test]
fn averaging_methods_resume_between_evaluations() {
    let none = Path::new("unused");
    assert_resumes(none, &[]);
    assert_resumes(none, &["algorithm.dfedavgm.draw=with_replacement", NETWORK]);
    assert_resumes(none, &[LOCAL_BARRIER]);
    assert_resumes(
        none,
        &["algorithm.dfedavgm.quantise={bits: 4, norm: layer}"],
    );
    assert_resumes(
        none,
        &[
            "algorithm.dfedavgm.local={epochs: 2}",
            "evaluate.train=true",
        ],
    );
    assert_resumes(none, &["model={mlp: {hidden: [8, 8], dropout: 0.3}}"]);
    assert_resumes(none, &["augment={crop_padding: 4, horizontal_flip: true}"]);
    let theory = "evaluate.theory=[averaged_iterates, inexactness, dissimilarity]";
    assert_resumes(none, &[theory, "stragglers={share: 0.5}"]);
    let redraw = "topology={redraw: {every: 2, of: {erdos_renyi: {p: 0.6}}}}";
    assert_method_resumes("dsgd: {momentum: 0.9", &[redraw, FAILURES]);
    for topology in [
        "{base_graph: {degree: 2}}",
        "{equi_static: {links: 2}}",
        "{equi_dyn: {}}",
        "{matcha: {of: {regular: {degree: 4}}}}",
        "{periodic: [{equi_static: {links: 1}}, ring]}",
    ] {
        let topology = format!("topology={topology}");
        assert_method_resumes("dsgd: {momentum: 0.9", &[&topology, FAILURES]);
    }
    let directed = "topology={equi_dyn: {directed: true}}";
    assert_method_resumes("push_sum: {momentum: 0.9", &[directed, FAILURES]);
    let cliques = "topology={d_cliques: {max_clique_size: 3, swaps: 10}}";
    assert_method_resumes("d_cliques: {momentum: 0.9", &[cliques]);
}

#[test]
fn methods_with_a_state_of_their_own_resume_between_evaluations() {
    for (method, topology) in [
        ("gradient_tracking", "topology=ring"),
        ("d2", "topology=complete"),
        ("exact_diffusion", "topology=ring"),
    ] {
        let decay = format!("{method}: {{weight_decay: 0.01");
        assert_method_resumes(&decay, &[topology, GONE, NETWORK]);
    }
    for method in ["qg_dsgdm", "push_sum", "one_peer"] {
        let topology = match method {
            "one_peer" => "topology=null",
            _ => "topology={erdos_renyi: {p: 0.7}}",
        };
        assert_method_resumes(&format!("{method}: {{momentum: 0.9"), &[FAILURES, topology]);
    }
    let walks = "dfedrw: {walkers: 3, hops: 3, restart: continue, quantise: {bits: 6}";
    assert_method_resumes(walks, &["stragglers={share: 0.5}", FAILURES]);
    let walkers = "dfedrw: {walkers: 2, hops: 3, rows: walkers, from: walk_ends, aggregators: walk_ends, restart: continue";
    assert_method_resumes(walkers, &[]);
}

#[test]
fn methods_with_servers_resume_between_evaluations() {
    let alone = "topology=null";
    let scaffold = "scaffold: {participation: {clients: 2}";
    assert_method_resumes(
        scaffold,
        &[alone, FAILURES, "evaluate.theory=[averaged_iterates]"],
    );
    let fedprox = "fedprox: {mu: 0.1, participation: {clients: 3}, local: {steps: 3}";
    assert_method_resumes(fedprox, &[alone, "stragglers={share: 0.5}"]);
    let servers =
        "p_fedavg: {servers: {count: 3}, participation: {per_server: 1}, local: {steps: 2}";
    assert_method_resumes(servers, &["topology=complete"]);
    assert_method_resumes("swarm: {local: {epochs: 1}", &[alone]);
    assert_method_resumes("alone: {momentum: 0.9", &[alone]);
    assert_method_resumes("centralised: {momentum: 0.9", &[alone]);
}

/// Comments of four users in LEAF's JSON; each user has an order of words of their own.
fn comments() -> String {
    let words = [
        "the", "night", "my", "dog", "sings", "ends", "every", "river",
    ];
    let users = ["ada", "ben", "cleo", "dan"];
    let data = users.iter().enumerate().map(|(user, name)| {
        let comment = |first: usize| {
            let words = (0..8).map(|at| words[(first + at * (2 * user + 1)) % words.len()]);
            words.collect::<Vec<_>>().join(" ")
        };
        let comments: Vec<String> = (0..6).map(comment).collect();
        ((*name).to_owned(), json!({"x": comments, "y": []}))
    });
    let data: Map<String, Value> = data.collect();
    json!({"users": users, "num_samples": [6, 6, 6, 6], "user_data": data}).to_string()
}

#[test]
fn recurrent_models_resume_between_evaluations() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["train", "test"] {
        let place = folder.path().join("reddit").join(part);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("comments.json"), comments()).unwrap();
    }
    let overrides = [
        "dataset={reddit: {source: leaf, vocabulary: 20, window: 5}}",
        "partition={by_user: {clients: 4}}",
        "model={word_lstm: {embedding: 4, hidden: 8, layers: 1}}",
        "evaluate.examples=50",
    ];
    assert_resumes(folder.path(), &overrides);
}

/// Notes after which rounds there was a checkpoint.
struct Seen {
    file: PathBuf,
    rounds: Vec<usize>,
}

impl Observer for Seen {
    fn round(&mut self, progress: &RoundProgress) {
        if self.file.exists() {
            self.rounds.push(progress.round);
        }
    }
}

#[test]
fn checkpoints_do_not_wait_for_evaluations_and_are_deleted_in_the_end() {
    for (keep, every) in [(false, 3), (true, 3), (false, 7), (true, 100)] {
        let checkpoint = format!("checkpoint={{every: {every}, keep: {keep}}}");
        let case = Case::new(&[&checkpoint, "evaluate.every=4"]);
        let file = case.folder().join("checkpoint.safetensors");
        let mut seen = Seen {
            file: file.clone(),
            rounds: Vec::new(),
        };
        let report = case.run_watched(&mut seen);
        let expected: Vec<usize> = (every + 1..=7).collect();
        assert_eq!(seen.rounds, expected, "{checkpoint}");
        assert_eq!(file.exists(), keep, "{checkpoint}");
        assert_eq!(report.checkpoint, keep.then_some(7));
        assert_eq!(case.folder().join("clients.spool").exists(), keep);
    }
}

#[test]
fn the_report_of_a_run_names_the_checkpoint_that_it_left() {
    let left = |overrides: &[&str], rounds| Case::new(overrides).run_until(rounds).checkpoint;
    assert_eq!(left(&["checkpoint={every: 100}"], 2), Some(2));
    assert_eq!(left(&[], 2), None);
    let case = Case::new(&["checkpoint={every: 100}"]);
    case.run_until(2);
    let at_once = case.run_until(0);
    assert_eq!(
        (at_once.resumed_from, at_once.checkpoint),
        (Some(2), Some(3))
    );
}
