//! A small federation that every method can be run on, and the arithmetic of its transcriptions in double precision.
#![allow(
    dead_code,
    unused_macros,
    clippy::unwrap_used,
    reason = "every test program uses a part of it"
)]

pub(crate) mod plain;
pub(crate) mod quantiser;
pub(crate) mod random_walks;

use meshfold_algorithms::{
    Algorithm, Local, LostMessages, Method, OwnFigures, Policy, Round, SentModels, Setting,
    StragglerContext, Stragglers, Traffic,
};
use meshfold_data::{Examples, Partition, Scale, Shape, Splits};
use meshfold_engine::{
    BatchSize, Device, Draw, Learner, LearningRate, Mixing, Mlp, Model, Network, Stack, Start,
};
use meshfold_topology::{MixingMatrix, Overlay, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Models in double precision, one per row.
pub(crate) type Models = Vec<Vec<f64>>;

pub(crate) const SEED: u64 = 8;
pub(crate) const RATE: f32 = 0.1;
/// Examples of each client, unequal.
pub(crate) const SIZES: [usize; 5] = [4, 9, 2, 7, 5];
pub(crate) const FEATURES: usize = 6;

/// The keys that all methods share.
#[derive(Debug, Clone)]
pub(crate) struct Train {
    pub(crate) local: Local,
    pub(crate) batch_size: BatchSize,
    pub(crate) learning_rate: LearningRate,
    pub(crate) momentum: f32,
    pub(crate) nesterov: bool,
    pub(crate) weight_decay: f32,
}

/// `steps` steps on full batches, so that no draw of batches matters.
pub(crate) fn full(steps: u32) -> Train {
    Train {
        local: Local::Steps(steps),
        batch_size: BatchSize::Full,
        learning_rate: LearningRate::Constant(f64::from(RATE)),
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.0,
    }
}

impl Train {
    pub(crate) fn momentum(self, momentum: f32) -> Self {
        Self { momentum, ..self }
    }

    pub(crate) fn nesterov(self) -> Self {
        Self {
            nesterov: true,
            ..self
        }
    }

    pub(crate) fn weight_decay(self, weight_decay: f32) -> Self {
        Self {
            weight_decay,
            ..self
        }
    }

    pub(crate) fn rate(self, rate: LearningRate) -> Self {
        Self {
            learning_rate: rate,
            ..self
        }
    }
}

/// `method!(Dsgd { order: .. }, full(1))`: a method of its own keys and the shared ones.
macro_rules! method {
    ($variant:ident { $($field:ident: $value:expr),* $(,)? }, $train:expr) => {{
        let train: crate::support::Train = $train;
        meshfold_algorithms::Method::$variant(meshfold_algorithms::$variant {
            $($field: $value,)*
            local: train.local,
            batch_size: meshfold_algorithms::BatchSetting(train.batch_size),
            draw: crate::support::draw(),
            learning_rate: train.learning_rate,
            momentum: train.momentum,
            nesterov: train.nesterov,
            weight_decay: train.weight_decay,
            clip_norm: None,
        })
    }};
}

pub(crate) fn draw() -> Draw {
    Draw::Shuffled
}

/// Where a method is run: its overlay, whose rows are the clients or the servers, and who is alive when.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) sizes: Vec<usize>,
    pub(crate) model: Model,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) weights: Weights,
    /// Clients alive in the first rounds; the last entry goes on.
    pub(crate) alive: Vec<Vec<bool>>,
    /// Whether who is dead in the last entry never comes back.
    pub(crate) for_good: bool,
    pub(crate) start: Start,
    /// Who falls behind, and what the method makes of them.
    pub(crate) stragglers: Option<(Stragglers, Policy)>,
    /// The share of the deadline that a local step of each client takes, if there is a deadline.
    pub(crate) step_shares: Option<Vec<f64>>,
    /// Messages that are lost in every round, if there is the link: `(from, to)`.
    pub(crate) lost: Vec<(u32, u32)>,
    /// Those that the method is to lose itself.
    pub(crate) lost_messages: LostMessages,
}

/// An irregular overlay: a path with a chord.
pub(crate) fn chorded_path() -> Overlay {
    Overlay::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)]).unwrap()
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            sizes: SIZES.to_vec(),
            model: Model::Mlp(Mlp {
                hidden: vec![5],
                ..Mlp::default()
            }),
            overlay: Some(chorded_path()),
            weights: Weights::default(),
            alive: vec![vec![true; SIZES.len()]],
            for_good: false,
            start: Start::Independent,
            stragglers: None,
            step_shares: None,
            lost: Vec::new(),
            lost_messages: LostMessages::NONE,
        }
    }
}

impl Scene {
    /// Client 2 dies after the first round.
    pub(crate) fn with_a_death() -> Self {
        let left = vec![true, true, false, true, true];
        Self {
            alive: vec![vec![true; 5], left],
            ..Self::default()
        }
    }

    pub(crate) fn over(overlay: Overlay) -> Self {
        Self {
            overlay: Some(overlay),
            ..Self::default()
        }
    }

    pub(crate) fn without_overlay(self) -> Self {
        Self {
            overlay: None,
            ..self
        }
    }

    pub(crate) fn of_sizes(self, sizes: &[usize]) -> Self {
        Self {
            sizes: sizes.to_vec(),
            alive: vec![vec![true; sizes.len()]],
            ..self
        }
    }

    pub(crate) fn clients(&self) -> usize {
        self.sizes.len()
    }

    /// Clients alive in `round`, counted from 1.
    pub(crate) fn alive(&self, round: usize) -> Vec<bool> {
        self.alive[(round - 1).min(self.alive.len() - 1)].clone()
    }

    /// Clients that never come back, in `round`.
    pub(crate) fn gone(&self, round: usize) -> Vec<bool> {
        let last = round >= self.alive.len() && self.for_good;
        let lives = self.alive(round);
        lives.into_iter().map(|lives| last && !lives).collect()
    }

    /// What is left of the overlay in `round`.
    pub(crate) fn overlay(&self, round: usize) -> Overlay {
        let overlay = self.overlay.as_ref().unwrap();
        if overlay.nodes() == self.clients() {
            overlay.surviving(&self.alive(round), &[])
        } else {
            overlay.clone()
        }
    }

    /// The weights of `round`, those of the clients alive.
    pub(crate) fn matrix(&self, round: usize) -> MixingMatrix {
        self.weights.matrix(&self.overlay(round)).unwrap()
    }

    /// Who falls behind in `round`.
    pub(crate) fn straggler_context(&self, round: usize) -> Option<StragglerContext<'_>> {
        self.stragglers
            .as_ref()
            .map(|(stragglers, policy)| StragglerContext {
                stragglers,
                policy: *policy,
                step_shares: self.step_shares.as_deref(),
                seed: SEED,
                round,
            })
    }

    /// A learner whose examples are drawn once and for all.
    pub(crate) fn learner(&self) -> Learner {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let total: usize = self.sizes.iter().sum();
        let pixels = (0..total * FEATURES).map(|_| rng.random()).collect();
        let labels = (0..total).map(|_| rng.random_range(0..3)).collect();
        let shape = Shape {
            channels: 1,
            height: 2,
            width: 3,
        };
        let scale = Scale {
            multiply: 1.0 / 128.0,
            add: -1.0,
        };
        let examples = Examples::new(pixels, labels, shape, 3, scale).unwrap();
        learner_on(examples, &self.model, &self.sizes)
    }

    pub(crate) fn setting(&self, learner: &Learner) -> Setting {
        let labels = learner.splits().train.labels();
        let partition = learner.partition();
        let first = |client| labels[partition.shard(client)[0] as usize];
        Setting {
            clients: self.clients(),
            shard_sizes: self.sizes.clone(),
            first_labels: (0..self.clients()).map(first).collect(),
            seed: SEED,
            rounds: 1000,
            layout: Arc::clone(learner.network().layout()),
        }
    }
}

/// A learner on `examples`, dealt in their order to clients of `sizes`.
pub(crate) fn learner_on(examples: Examples, model: &Model, sizes: &[usize]) -> Learner {
    let network = Network::new(model, examples.input(), examples.classes()).unwrap();
    let examples = Arc::new(examples);
    let mut next = 0;
    let shards = sizes.iter().map(|size| {
        next += *size as u32;
        (next - *size as u32..next).collect()
    });
    let partition = Partition::new(shards.collect(), examples.len()).unwrap();
    let splits = Splits {
        train: examples.clone(),
        test: examples,
        validation: None,
    };
    let device = Device::cpu().unwrap();
    Learner::upload(&device, network, splits, Arc::new(partition), SEED).unwrap()
}

/// A method in the middle of a run.
pub(crate) struct MethodRun {
    pub(crate) scene: Scene,
    pub(crate) method: Method,
    pub(crate) setting: Setting,
    pub(crate) learner: Learner,
    pub(crate) algorithm: Box<dyn Algorithm>,
    pub(crate) stack: Stack,
    pub(crate) start: Models,
    /// Of each round.
    pub(crate) traffic: Vec<Traffic>,
}

impl MethodRun {
    pub(crate) fn new(method: &Method, scene: &Scene) -> Self {
        Self::with_learner(method, scene, scene.learner())
    }

    pub(crate) fn with_learner(method: &Method, scene: &Scene, learner: Learner) -> Self {
        let setting = scene.setting(&learner);
        let algorithm = method.build(&setting).unwrap();
        let stack = learner
            .initial(method.rows(scene.clients()).count, scene.start)
            .unwrap();
        Self {
            start: models_of(&stack),
            scene: scene.clone(),
            method: method.clone(),
            setting,
            learner,
            algorithm,
            stack,
            traffic: Vec::new(),
        }
    }

    /// `rounds` further rounds.
    pub(crate) fn advance(mut self, rounds: usize) -> Self {
        for _ in 0..rounds {
            let number = self.traffic.len() + 1;
            let links = self.scene.overlay.is_some();
            let links = links.then(|| (self.scene.overlay(number), self.scene.matrix(number)));
            self.step(links);
        }
        self
    }

    /// A further round over `links`.
    pub(crate) fn step(&mut self, links: Option<(Overlay, MixingMatrix)>) {
        let number = self.traffic.len() + 1;
        let (links, sent_over) = match links {
            Some((overlay, matrix)) if !self.scene.lost.is_empty() => {
                let arcs = overlay.arcs();
                let lost: Vec<_> = arcs.filter(|arc| self.scene.lost.contains(arc)).collect();
                let heard = overlay.without_arcs(&lost);
                let matrix = matrix.surviving(&overlay, &heard).unwrap();
                (Some((heard, matrix)), Some(overlay))
            }
            links => (links, None),
        };
        let mixing = links.as_ref().map(|(_, matrix)| Mixing::new(matrix));
        let mut traffic = Traffic::default();
        let mut round = Round {
            number,
            learner: &mut self.learner,
            overlay: links.as_ref().map(|(overlay, _)| overlay),
            sent_over: sent_over.as_ref(),
            lost_messages: self.scene.lost_messages,
            mixing: mixing.as_ref(),
            alive: &self.scene.alive(number),
            gone: &self.scene.gone(number),
            straggler_context: self.scene.straggler_context(number),
            seed: SEED,
            is_recorded: true,
            times_steps: false,
            network: None,
            traffic: &mut traffic,
            figures: &mut OwnFigures::new(self.stack.rows()),
            sent: &mut SentModels::default(),
        };
        self.algorithm.round(&mut self.stack, &mut round).unwrap();
        self.traffic.push(traffic);
    }

    /// The stack that the method keeps under `name`.
    pub(crate) fn kept(&self, name: &str) -> Models {
        let mut kept = self.algorithm.kept().iter();
        let kept = kept.find(|kept| kept.name() == name).unwrap();
        models_of(kept.get().unwrap())
    }

    /// The same run taken up by a method and a learner built anew from what a checkpoint holds.
    pub(crate) fn resumed(self) -> Self {
        let mut fresh = Self::new(&self.method, &self.scene);
        let names = |run: &Self| -> Vec<_> {
            let kept = run.algorithm.kept().iter();
            kept.map(|kept| (kept.name().to_owned(), kept.rows()))
                .collect()
        };
        assert_eq!(names(&fresh), names(&self));
        let kept = self.algorithm.kept().iter();
        for (to, from) in fresh.algorithm.kept_mut().iter_mut().zip(kept) {
            if let Some(stack) = from.get() {
                assert_eq!(stack.rows(), from.rows(), "{}", from.name());
                to.replace(stack.duplicate());
            }
        }
        for (name, numbers) in self.algorithm.numbers() {
            assert!(fresh.algorithm.may_keep(&name, &numbers), "{name}");
            fresh.algorithm.restore_numbers(&name, numbers);
        }
        fresh.learner.resume(&self.learner.state());
        fresh.stack = self.stack.duplicate();
        fresh.traffic = self.traffic;
        fresh
    }

    pub(crate) fn models(&self) -> Models {
        models_of(self.algorithm.deployed(&self.stack))
    }

    /// Models sent in the last round, in bytes of a model in f32.
    pub(crate) fn models_sent(&self) -> f64 {
        let bytes = self.traffic.last().unwrap().bytes_total();
        bytes as f64 / self.setting.model_bytes() as f64
    }
}

/// The models after `rounds` rounds.
pub(crate) fn run(method: &Method, scene: &Scene, rounds: usize) -> MethodRun {
    MethodRun::new(method, scene).advance(rounds)
}

pub(crate) fn models_of(stack: &Stack) -> Models {
    stack
        .to_host()
        .chunks(stack.layout().width())
        .map(|row| row.iter().map(|w| f64::from(*w)).collect())
        .collect()
}

/// Largest difference of two equally many models.
pub(crate) fn difference(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    pairs.fold(0.0, |most, (a, b)| f64::max(most, (a - b).abs()))
}

/// Some rounds of a few f32 steps on weights up to 1, whose rounding is 6e-8 each: 50 roundings one way.
pub(crate) const TOLERANCE: f64 = 3e-6;

#[track_caller]
pub(crate) fn expect_close(found: &[Vec<f64>], expected: &[Vec<f64>]) {
    let most = difference(found, expected);
    assert!(most < TOLERANCE, "off by {most:e}");
}
