//! Runs whose launches are merged have the bits that they have alone.

use super::*;
use crate::backend::trainer::{GradientRows, Trainer};
use crate::device::Device;
use crate::network::Network;
use crate::network::model::{CharLstm, Judged, Mlp, Model};
use crate::stack::Stack;
use crate::stack::mixing::Mixing;
use crate::stacked::coalescing::shared_gpu::SharedGpu;
use crate::stacked::device::test_device::{gpu, numbers};
use crate::stacked::trainer::Stacked;
use crate::training::batches::ShardPass;
use crate::training::context::{Context, RowStates};
use crate::training::local_work::{Anchor, LocalWork, Velocity};
use crate::training::schedule::LearningRate;
use crate::training::score::{Score, Split};
use crate::training::tally::RowTally;
use crate::training::work::{Amount, BatchSize, Draw, RowWork, Sgd};
use meshfold_data::{Augment, Examples, Partition, Scale, Shape, Splits};
use meshfold_topology::MixingMatrix;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

const TOTAL: usize = 90;

/// What a run does beside plain steps.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Fresh,
    Kept,
    Pulled,
    Gradients,
    /// Mixes at the end of a round: some twice, some not at all; once no row steps before the next mixing.
    Mixed,
}

/// A run of a few rounds.
#[derive(Debug, Clone)]
struct Run {
    network: Network,
    splits: Splits,
    kind: Kind,
    sgd: Sgd,
    rows: usize,
    rounds: usize,
    seed: u64,
    augment: Option<Augment>,
    /// Most indices of a schedule.
    schedule: usize,
}

/// What a run leaves behind.
#[derive(Debug, PartialEq)]
struct Outcome {
    models: Vec<f32>,
    others: Vec<f32>,
    tallies: Vec<RowTally>,
    scores: Vec<Score>,
}

impl Run {
    fn new(network: &Network, splits: &Splits, seed: u64) -> Self {
        Self {
            network: network.clone(),
            splits: splits.clone(),
            kind: Kind::Fresh,
            sgd: Sgd {
                learning_rate: LearningRate::Constant(0.1 / seed as f64),
                momentum: 0.9,
                nesterov: false,
                weight_decay: 0.01,
                clip_norm: None,
                batch_size: BatchSize::Size(7),
                draw: Draw::Shuffled,
            },
            rows: 2 + seed as usize % 3,
            rounds: 3,
            seed,
            augment: None,
            schedule: 1 << 20,
        }
    }

    /// The examples, a share to each row.
    fn partition(&self) -> Partition {
        let shard = |row: usize| {
            (row..TOTAL)
                .step_by(self.rows)
                .map(|at| at as u32)
                .collect()
        };
        Partition::new((0..self.rows).map(shard).collect(), TOTAL).unwrap()
    }

    /// Each row with the next.
    fn mixing(&self) -> Mixing {
        let share = |row| match (row + 1) % self.rows as u32 {
            next if next > row => vec![(row, 0.3), (next, 0.7)],
            next => vec![(next, 0.7), (row, 0.3)],
        };
        let rows = (0..self.rows as u32).map(share).collect();
        Mixing::new(&MixingMatrix::from_rows(self.rows, rows).unwrap())
    }

    /// Carries it out on `gpu`, calling `begun` when it has its place there.
    fn on(&self, gpu: &SharedGpu, begun: impl Fn()) -> Outcome {
        let (partition, device) = (self.partition(), Device::of(gpu.clone()));
        let trainer = Stacked::upload(gpu, &self.network, &self.splits).unwrap();
        let mut trainer = trainer.in_schedules(self.schedule);
        begun();
        let context = Context {
            network: &self.network,
            train: &self.splits.train,
            test: &self.splits.test,
            validation: None,
            partition: &partition,
            seed: self.seed,
            augment: self.augment,
            rows: None,
            largest_batch: 0,
        };
        let mixing = self.mixing();
        let layout = self.network.layout();
        let start = |seed| {
            let row = |row| self.network.initialise(seed, row).unwrap();
            let values = (0..self.rows as u32).flat_map(row).collect();
            Stack::from_host(&device, layout, values).unwrap()
        };
        let (mut models, mut other) = (start(self.seed), start(self.seed + 100));
        let mut passes = vec![ShardPass::default(); self.rows];
        let mut tallies = vec![RowTally::default(); self.rows];
        for round in 1..=self.rounds {
            let row = |client: u32| RowWork {
                client,
                amount: match (client as usize + round) % 3 {
                    _ if self.kind == Kind::Mixed && round == 4 => Amount::Idle,
                    0 => Amount::Idle,
                    1 => Amount::Epochs(1),
                    _ => Amount::Steps(2),
                },
            };
            let rows: Vec<RowWork> = (0..self.rows as u32).map(row).collect();
            let states = RowStates {
                passes: &mut passes,
                tallies: &mut tallies,
            };
            let kept = other.duplicate();
            let mut work = LocalWork::new(round, &rows, &self.sgd);
            let velocity = match self.kind {
                Kind::Kept => Velocity::Kept(&mut other),
                _ => Velocity::Fresh,
            };
            if self.kind == Kind::Pulled {
                work.correction = Some(&kept);
                work.anchor = Some(Anchor {
                    models: &kept,
                    mu: 0.3,
                });
            }
            if self.kind == Kind::Gradients {
                let mut found = Stack::zeros(&device, layout, self.rows);
                let rows = GradientRows {
                    models: models.storage(),
                    gradients: found.storage_mut(),
                };
                let taken = trainer.gradients(context, states, rows, &work.tasks());
                taken.unwrap();
                models.add_scaled(&found, &vec![-0.1; self.rows]).unwrap();
                other = found;
            } else {
                let rows = work.rows_of(&mut models, velocity);
                let trained = trainer.train(context, states, rows, &work.tasks());
                trained.unwrap();
            }
            if self.kind == Kind::Mixed {
                let times = match (round, self.seed) {
                    (2, seed) => seed as usize % 2,
                    (3, 1) => 2,
                    _ => 1,
                };
                (0..times).for_each(|_| models.mix(&mixing).unwrap());
            }
        }
        trainer.collect(&mut tallies);
        let half: Vec<u32> = (0..TOTAL as u32 / 2).collect();
        let clients: Vec<u32> = (0..self.rows as u32).rev().collect();
        let mut scores = Vec::new();
        for (split, subset) in [
            (Split::Test, None),
            (Split::Train, Some(half.as_slice())),
            (Split::Shards(&clients), None),
        ] {
            let judged = trainer.evaluate(context, models.storage(), split, subset);
            scores.extend(judged.unwrap());
        }
        Outcome {
            models: models.to_host(),
            others: other.to_host(),
            tallies,
            scores,
        }
    }
}

/// Carries out `runs` at the same time.
fn side_by_side(gpu: &SharedGpu, runs: &[Run]) -> Vec<Outcome> {
    let (next, begun) = (AtomicUsize::new(0), Barrier::new(runs.len()));
    let outcomes = Mutex::new(BTreeMap::new());
    gpu.run_side_by_side(runs.len(), |gpu| {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let outcome = runs[index].on(&gpu, || {
            begun.wait();
        });
        outcomes.lock().unwrap().insert(index, outcome);
    });
    outcomes.into_inner().unwrap().into_values().collect()
}

fn expect_the_bits_of_runs_alone(runs: &[Run]) {
    let gpu = SharedGpu::from(gpu());
    let together = side_by_side(&gpu, runs);
    assert_eq!(together.len(), runs.len());
    for (index, (run, found)) in runs.iter().zip(together).enumerate() {
        assert!(found == run.on(&gpu, || {}), "run {index}, {:?}", run.kind);
    }
}

fn images() -> Splits {
    let shape = Shape {
        channels: 1,
        height: 3,
        width: 6,
    };
    let byte = |value: &f32| (value * 127.0 + 127.0) as u8;
    let pixels = numbers(TOTAL * shape.features(), 1);
    let pixels: Vec<u8> = pixels.iter().map(byte).collect();
    let examples = pixels.chunks_exact(shape.features());
    let labels = examples.map(|example| u16::from(example[0] / 86)).collect();
    let examples = Arc::new(Examples::new(pixels, labels, shape, 3, Scale::UNIT).unwrap());
    Splits {
        train: examples.clone(),
        test: examples,
        validation: None,
    }
}

fn windows() -> Splits {
    let symbol = |value: &f32| (value * 1.49 + 1.5) as u16;
    let text: Vec<u16> = numbers(TOTAL + 5, 2).iter().map(symbol).collect();
    let starts = (0..TOTAL as u32).collect();
    let examples = Arc::new(Examples::windows(Arc::new(text), starts, 5, 3).unwrap());
    Splits {
        train: examples.clone(),
        test: examples,
        validation: None,
    }
}

fn mlp(dropout: f32) -> Model {
    Model::Mlp(Mlp {
        hidden: vec![24, 7],
        dropout,
        ..Mlp::default()
    })
}

fn of(model: &Model, splits: &Splits) -> Network {
    Network::new(model, splits.train.input(), 3).unwrap()
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn runs_side_by_side_have_the_bits_of_runs_alone() {
    let splits = images();
    for (kind, clip_norm) in [
        (Kind::Fresh, None),
        (Kind::Fresh, Some(0.4)),
        (Kind::Kept, None),
        (Kind::Pulled, None),
        (Kind::Gradients, Some(0.4)),
    ] {
        let network = of(&mlp(0.2), &splits);
        let run = |seed| {
            let mut run = Run::new(&network, &splits, seed);
            run.kind = kind;
            run.sgd.clip_norm = clip_norm;
            run
        };
        expect_the_bits_of_runs_alone(&[1, 2, 3, 4].map(run));
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn runs_that_mix_have_the_bits_of_runs_alone() {
    let splits = images();
    let network = of(&mlp(0.0), &splits);
    // More of them than a launch takes.
    let run = |seed| Run {
        kind: Kind::Mixed,
        rounds: 6,
        ..Run::new(&network, &splits, seed)
    };
    let runs: Vec<Run> = (1..=19).map(run).collect();
    expect_the_bits_of_runs_alone(&runs);
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn so_have_runs_with_augmented_images_among_them() {
    let splits = images();
    let network = of(&mlp(0.0), &splits);
    let run = |seed| Run {
        augment: (seed != 2).then_some(Augment {
            crop_padding: 2,
            horizontal_flip: seed == 1,
        }),
        ..Run::new(&network, &splits, seed)
    };
    expect_the_bits_of_runs_alone(&[1, 2, 3, 4].map(run));
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn so_have_runs_of_texts() {
    let splits = windows();
    let network = of(
        &Model::CharLstm(CharLstm {
            embedding: 3,
            hidden: 5,
            layers: 1,
            loss: Judged::EveryPosition,
        }),
        &splits,
    );
    expect_the_bits_of_runs_alone(&[1, 2, 3].map(|seed| Run::new(&network, &splits, seed)));
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn velocities_are_carried_over_from_sheet_to_sheet() {
    let splits = images();
    let network = of(&mlp(0.0), &splits);
    let run = |seed| Run {
        schedule: 30,
        ..Run::new(&network, &splits, seed)
    };
    let gpu = SharedGpu::from(gpu());
    // One schedule for all steps, and one for each.
    let whole = Run::new(&network, &splits, 2).on(&gpu, || {});
    assert!(run(2).on(&gpu, || {}) == whole);
    expect_the_bits_of_runs_alone(&[1, 2, 3].map(run));
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn runs_that_are_not_alike_or_end_earlier_do_not_disturb_the_others() {
    let (splits, others) = (images(), images());
    let (network, deep) = (of(&mlp(0.0), &splits), of(&Model::Logistic, &splits));
    let mut runs = [1, 2, 3, 4, 5, 6, 7].map(|seed| Run::new(&network, &splits, seed));
    runs[1].network = deep.clone();
    runs[2].rounds = 1;
    runs[3].sgd.momentum = 0.0;
    runs[3].rounds = 7;
    runs[4].splits = others;
    runs[5].sgd.batch_size = BatchSize::Full;
    runs[6].sgd.nesterov = true;
    expect_the_bits_of_runs_alone(&runs);
}
