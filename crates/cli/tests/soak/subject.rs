//! Runs to be disturbed: tiny, of every method, with everything that can happen in a round mixed in.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

use crate::dice::Dice;

/// What a method exchanges over.
#[derive(Clone, Copy)]
enum Over {
    Clients,
    Servers,
    Cliques,
    Matching,
    Nothing,
}

/// Every method with a state of its own, `ALL` standing for the keys of local work.
const METHODS: [(&str, Over); 29] = [
    ("{dsgd: {ALL}}", Over::Clients),
    (
        "{dsgd: {order: mix_then_step, aggregation: {neighbours: 2}, ALL}}",
        Over::Clients,
    ),
    ("{dfedavg: {ALL}}", Over::Clients),
    ("{dfedavg: {quantise: {bits: 8}, ALL}}", Over::Clients),
    ("{dfedavgm: {ALL}}", Over::Clients),
    (
        "{dfedavgm: {quantise: {bits: 4, norm: layer, aggregate: replica}, ALL}}",
        Over::Clients,
    ),
    (
        "{dfedavgm: {quantise: {bits: 6, aggregate: printed}, ALL}}",
        Over::Clients,
    ),
    (
        "{p_fedavg: {servers: {count: 3, assign: random}, participation: {per_server: 2, replacement: false}, ALL}}",
        Over::Servers,
    ),
    (
        "{p_fedavg: {servers: {count: 3, assign: by_label}, participation: {per_server: 2, replacement: true}, weighting: uniform, ALL}}",
        Over::Servers,
    ),
    ("{d_cliques: {clique_averaging: true, ALL}}", Over::Cliques),
    (
        "{d_cliques: {clique_averaging: false, momentum: 0.9, ALL}}",
        Over::Cliques,
    ),
    ("{dfedrw: {walkers: 3, hops: 4, ALL}}", Over::Clients),
    (
        "{dfedrw: {walkers: 2, hops: 3, restart: continue, neighbours: 2, ALL}}",
        Over::Clients,
    ),
    (
        "{dfedrw: {walkers: 3, hops: 2, restart: continue, aggregators: walk_ends, from: walk_ends, rows: walkers, ALL}}",
        Over::Clients,
    ),
    (
        "{dfedrw: {walkers: 3, hops: 3, aggregators: {share: 0.5}, from: visited, quantise: {bits: 8}, ALL}}",
        Over::Clients,
    ),
    (
        "{decefl: {mu: 1.0, gradient_weight: examples, ALL}}",
        Over::Clients,
    ),
    (
        "{fedavg: {participation: {share: 0.5}, ALL}}",
        Over::Nothing,
    ),
    (
        "{hierfavg: {servers: {count: 2}, participation: {per_server: 2, replacement: true}, edge_rounds: 2, ALL}}",
        Over::Nothing,
    ),
    ("{swarm: {ALL}}", Over::Nothing),
    ("{centralised: {ALL}}", Over::Nothing),
    (
        "{fedprox: {mu: 0.1, participation: {clients: 3}, ALL}}",
        Over::Nothing,
    ),
    (
        "{scaffold: {participation: {share: 0.5}, ALL}}",
        Over::Nothing,
    ),
    ("{gradient_tracking: {ALL}}", Over::Clients),
    ("{d2: {ALL}}", Over::Clients),
    ("{exact_diffusion: {ALL}}", Over::Clients),
    (
        "{qg_dsgdm: {momentum: 0.9, memory: 0.8, ALL}}",
        Over::Clients,
    ),
    ("{push_sum: {ALL}}", Over::Clients),
    ("{one_peer: {ALL}}", Over::Matching),
    ("{alone: {ALL}}", Over::Nothing),
];

const OVERLAYS: [&str; 25] = [
    "ring",
    "complete",
    "star",
    "path",
    "torus",
    "exponential",
    "ring_plus_matching",
    "one_peer",
    "{regular: {degree: 3}}",
    "{erdos_renyi: {p: 0.6}}",
    "{watts_strogatz: {neighbours: 2, rewire: 0.3}}",
    "{virtual_rings: {spaces: 2}}",
    "{barabasi_albert: {links: 2}}",
    "{stochastic_block: {blocks: 2, within: 0.8, between: 0.4}}",
    "{random_geometric: {radius: 0.8}}",
    "{random_waypoint: {radius: 0.5, speed: 0.3, pause: 0.5}}",
    "{redraw: {every: 1, nodes: {share: 0.7}, of: {erdos_renyi: {p: 0.7}}, outside: alone}}",
    "{redraw: {every: 3, of: {regular: {degree: 3}}}}",
    "{phases: {list: [{rounds: 7, nodes: {first: 4}, of: complete}, {of: ring}], outside: frozen}}",
    "{periodic: {list: [ring, star, path]}}",
    "{base_graph: {degree: 1}}",
    "{equi_static: {links: 2, directed: false}}",
    "{equi_dyn: {directed: false}}",
    "random_matching",
    "{redraw: {every: 2, of: {virtual_rings: {spaces: 2}}}}",
];

const RATES: [&str; 7] = [
    "0.02",
    "{step: {initial: 0.05, factor: 0.5, every: 5, per: round}}",
    "{inverse_time: {initial: 0.05, scale: 10, per: step}}",
    "{cosine: {initial: 0.1, length: 6, per: epoch, warmup: 2}}",
    "{power: {r: 20, q: 0.499, per: epoch, restart: never}}",
    "{power: {r: 20, q: 0.499, per: step, restart: round}}",
    "{harmonic: {delta: 1, gamma: 20, per: round}}",
];

const STRAGGLERS: [&str; 6] = [
    "{share: 0.5}",
    "{share: 0.4, policy: isolate}",
    "{share: 0.4, policy: receive}",
    "{share: 0.6, policy: partial}",
    "{deadline_seconds: 0.05}",
    "{deadline_seconds: 0.05, policy: partial}",
];

const FAILURES: [&str; 7] = [
    "[{clients: {share: 0.2}, from_round: 5}]",
    "[{clients: {list: [1]}, from_round: 3, until_round: 30}, {clients: {count: 2}, from_round: 40}]",
    "[{clients: {share: 0.3}, redraw: each_round}]",
    "[{edges: {share: 0.2}, redraw: each_round}]",
    "[{edges: {count: 2}, from_round: 10, until_round: 20}]",
    "[{clients: {count: 2}, from_round: 9, repair: protocol}]",
    "[{messages: {probability: 0.2}, from_round: 4}, {clients: {share: 0.2}, from_round: 20}]",
];

const NETWORKS: [&str; 5] = [
    "{links: {fixed: {bytes_per_second: 2.0e6}}, compute: {seconds_per_step: 0.02, slowdown: {uniform: [1.0, 4.0]}}}",
    "{links: {edge_capacitated: {bytes_per_second: {lognormal: {median: 1.0e6, sigma: 0.5}}, latency_seconds: 0.01, redraw: each_round}}, compute: {seconds_per_step: 0.02}}",
    "{links: {node_capacitated: {upload: 1.0e6, download: {uniform: [1.0e6, 4.0e6]}}}, compute: {seconds_per_step: 0.02}}",
    "{links: {fixed: {bytes_per_second: 1.0e5, latency_seconds: 0.1}}}",
    "{links: {fixed: {bytes_per_second: 1.0e5}}, compute: {seconds_per_step: {uniform: [0.01, 0.03]}}}",
];

const QUANTITIES: [&str; 6] = [
    "dissimilarity",
    "inexactness",
    "gradient_norm",
    "mean_model_loss",
    "averaged_iterates",
    "clique_skew",
];

const DATA: [(&str, &str); 6] = [
    (
        "{glyphs: {train: 240, test: 40}}",
        "{shards: {clients: 6, per_client: 2}}",
    ),
    ("{glyphs: {train: 240, test: 40}}", "{iid: {clients: 8}}"),
    (
        "{glyphs: {train: 200, test: 30}}",
        "{dirichlet: {clients: 7, alpha: 0.5}}",
    ),
    (
        "{glyphs: {train: 200, test: 30}}",
        "{quantity: {clients: 9, sigma: 0.7}}",
    ),
    (
        "{glyphs: {train: 240, test: 40}}",
        "{explicit: {sizes: [0.3, 0.3, 0.2, 0.1], ratios: [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]], order: shuffled}}",
    ),
    ("{consensus: {examples: 8}}", "{iid: {clients: 8}}"),
];

const MODELS: [&str; 5] = [
    "logistic",
    "{mlp: {hidden: [8]}}",
    "{mlp: {hidden: [9, 5], dropout: 0.3}}",
    "{linear: {targets: one_hot}}",
    "{linear: {targets: value}}",
];

/// A run, or a sweep of runs, to be disturbed.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The experiment, which is called `subject`.
    pub(crate) yaml: String,
    /// Whether a finished run keeps its checkpoint.
    pub(crate) keeps_checkpoint: bool,
}

impl Subject {
    /// Draws an experiment of one run that can be planned. Over as many numbers as there are methods, each comes once.
    ///
    /// # Panics
    /// If no draw can be planned.
    pub(crate) fn draw(dice: &mut Dice, number: u64, rounds: u64) -> Self {
        Self::draw_sweep(dice, number, rounds, 1)
    }

    /// Draws an experiment whose runs, as many as `seeds`, differ in their seed.
    ///
    /// # Panics
    /// If no draw can be planned.
    pub(crate) fn draw_sweep(dice: &mut Dice, number: u64, rounds: u64, seeds: u64) -> Self {
        let (algorithm, over) = METHODS[(number % METHODS.len() as u64) as usize];
        let mut refusal = String::new();
        for _ in 0..500 {
            let keeps_checkpoint = dice.chance(0.2);
            let mut yaml = experiment(dice, algorithm, over, rounds);
            if let Some(every) = checkpoints(dice) {
                yaml += &checkpoint(every, keeps_checkpoint);
            }
            if seeds > 1 {
                yaml += &sweep(seeds);
            }
            match plan(
                &ExperimentSource::new("subject.yaml", yaml.clone()),
                &DataFolder::new("nowhere"),
            ) {
                Ok(_) => {
                    return Self {
                        yaml,
                        keeps_checkpoint,
                    };
                }
                Err(error) => refusal = format!("{error}\n{yaml}"),
            }
        }
        panic!("no draw of {algorithm} can be planned: {refusal}");
    }

    /// The same experiment with a checkpoint every so many rounds, which is not kept in the end.
    pub(crate) fn saved(self, every: u64) -> Self {
        let lines = self.yaml.lines();
        let others = lines.filter(|line| !line.starts_with("checkpoint: "));
        let yaml: String = others.map(|line| format!("{line}\n")).collect();
        Self {
            yaml: yaml + &checkpoint(every, false),
            keeps_checkpoint: false,
        }
    }
}

/// An experiment without checkpoints.
fn experiment(dice: &mut Dice, algorithm: &str, over: Over, rounds: u64) -> String {
    let (dataset, partition) = *dice.pick(&DATA);
    let mut yaml = format!(
        "name: subject\nseed: {}\ndataset: {dataset}\npartition: {partition}\nmodel: {}\nrounds: {rounds}\nalgorithm: {}\n",
        dice.within(1..=1000),
        dice.pick(&MODELS),
        algorithm.replace("ALL", &local_work(dice)),
    );
    let overlay = match over {
        Over::Clients => Some(*dice.pick(&OVERLAYS)),
        Over::Servers => Some(*dice.pick(&["ring", "complete", "path"])),
        Over::Cliques => Some(*dice.pick(&[
            "{d_cliques: {max_clique_size: 3, swaps: 50}}",
            "{d_cliques: {max_clique_size: 2, swaps: 50, inter: ring}}",
        ])),
        Over::Matching => Some(*dice.pick(&OVERLAYS)).filter(|_| dice.chance(0.5)),
        Over::Nothing => None,
    };
    if let Some(overlay) = overlay {
        yaml += &format!("topology: {overlay}\n");
    }
    if dice.chance(0.3) {
        yaml += "start: independent\n";
    }
    for (key, choices) in [
        ("stragglers", &STRAGGLERS[..]),
        ("failures", &FAILURES),
        ("network", &NETWORKS),
    ] {
        if dice.chance(0.3) {
            yaml += &format!("{key}: {}\n", dice.pick(choices));
        }
    }
    yaml + &evaluation(dice)
}

/// The keys of local work.
fn local_work(dice: &mut Dice) -> String {
    let batch = *dice.pick(&["5", "10", "full"]);
    let mut keys = vec![
        format!("batch_size: {batch}"),
        format!("learning_rate: {}", dice.pick(&RATES)),
    ];
    for (key, choices) in [
        ("local", &["{steps: 1}", "{steps: 3}", "{epochs: 1}"][..]),
        ("draw", &["with_replacement"]),
        ("weight_decay", &["1.0e-3"]),
        ("clip_norm", &["1.0"]),
    ] {
        if dice.chance(0.4) {
            keys.push(format!("{key}: {}", dice.pick(choices)));
        }
    }
    keys.join(", ")
}

/// When and on what the models are judged: often in every round, sometimes in the last alone.
fn evaluation(dice: &mut Dice) -> String {
    let mut keys = vec![format!(
        "every: {}",
        dice.pick(&[1, 1, 2, 5, 13, 1_000_000])
    )];
    for (key, choices) in [
        ("examples", &["7"][..]),
        ("last", &["all", "5"]),
        ("train", &["true"]),
        ("targets", &["[0.15, 0.9]"]),
        ("local_test", &["0.25"]),
        (
            "membership",
            &[
                "{examples: 3}",
                "{models: sent}",
                "{non_members: local_test}",
            ],
        ),
    ] {
        if dice.chance(0.3) {
            keys.push(format!("{key}: {}", dice.pick(choices)));
        }
    }
    if dice.chance(0.3) {
        let count = dice.within(1..=QUANTITIES.len());
        let asked: Vec<&str> = dice
            .order(count)
            .iter()
            .map(|place| QUANTITIES[*place])
            .collect();
        keys.push(format!("theory: [{}]", asked.join(", ")));
    }
    format!("evaluate: {{{}}}\n", keys.join(", "))
}

/// How often checkpoints are taken, if at all.
fn checkpoints(dice: &mut Dice) -> Option<u64> {
    let every = *dice.pick(&[1, 2, 3, 7, 20, 1_000_000]);
    dice.chance(0.95).then_some(every)
}

fn checkpoint(every: u64, keeps: bool) -> String {
    let keep = if keeps { ", keep: true" } else { "" };
    format!("checkpoint: {{every: {every}{keep}}}\n")
}

/// Runs that differ in their seed.
fn sweep(seeds: u64) -> String {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    format!("sweep: {{grid: {{seed: [{}]}}}}\n", seeds.join(", "))
}

#[test]
fn every_method_can_be_drawn() {
    for number in 0..METHODS.len() as u64 {
        let mut dice = Dice::new(1, "subject", number);
        Subject::draw(&mut dice, number, 10);
    }
}
