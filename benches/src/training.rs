//! The training workloads: local steps of every client, then one product with the mixing matrix.

use crate::BenchError;
use crate::case::Case;
use crate::clock::{Protocol, Timing, peak_rss_mib, rounded};
use crate::over_ranks::Count;
use crate::synthetic;
use meshfold_data::Splits;
use meshfold_engine::{
    Amount, BatchSize, Device, Draw, Learner, LearningRate, LocalWork, Mixing, Network, RowWork,
    Sgd, Split, Stack, Start, Velocity,
};
use meshfold_topology::{MetropolisHastings, Regular, Topology, Weights};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes of training examples that ranks deal at once.
const PIECE: usize = 16 << 20;

/// The Metropolis weights of a random regular overlay; no exchange if `degree` is 0.
pub(crate) fn regular_mixing(nodes: usize, degree: usize) -> Result<Mixing, BenchError> {
    if degree == 0 {
        return Ok(Mixing::identity(nodes));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let overlay = Topology::Regular(Regular { degree }).build(nodes, &mut rng)?;
    Ok(Mixing::new(
        &Weights::MetropolisHastings(MetropolisHastings {}).matrix(&overlay)?,
    ))
}

/// The workload's model for the examples of `splits`.
pub(crate) fn network(case: &Case, splits: &Splits) -> Result<Network, BenchError> {
    let network = Network::new(&case.model, splits.train.input(), splits.train.classes())?;
    Ok(network.with_precision(case.precision)?)
}

/// Examples and a trainer of the workload's model on `device`.
pub(crate) fn learner(case: &Case, device: &Device, tests: usize) -> Result<Learner, BenchError> {
    let (splits, partition) = synthetic::splits(case, tests)?;
    let network = network(case, &splits)?;
    // Over ranks, each keeps the examples of its own clients.
    let mut all = Some(splits);
    let splits = device.deal(&partition, &mut |see| {
        let all = all.take().expect("examples are read once");
        Some(all.in_pieces(PIECE, see))
    });
    let splits = splits.expect("who reads has examples");
    Ok(Learner::upload(
        device,
        network,
        splits,
        Arc::new(partition),
        0,
    )?)
}

/// How the workload makes a local step.
pub(crate) fn sgd(case: &Case) -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(case.rate),
        momentum: case.momentum,
        nesterov: false,
        weight_decay: 0.0,
        clip_norm: None,
        batch_size: BatchSize::Size(case.batch),
        draw: Draw::WithReplacement,
    }
}

/// The local steps of every client.
pub(crate) fn rows(case: &Case) -> Vec<RowWork> {
    let row = |client| RowWork {
        client,
        amount: Amount::Steps(case.steps),
    };
    (0..case.clients as u32).map(row).collect()
}

/// The models of all clients, and how they go on from round to round.
pub(crate) struct Rounds<'a> {
    pub(crate) models: Stack,
    velocity: Option<Stack>,
    mixing: &'a Mixing,
    sgd: Sgd,
    rows: Vec<RowWork>,
    count: usize,
    round: usize,
}

impl<'a> Rounds<'a> {
    /// Before the first round.
    pub(crate) fn new(
        case: &Case,
        device: &Device,
        learner: &Learner,
        mixing: &'a Mixing,
    ) -> Result<Self, BenchError> {
        let models = learner.initial(case.clients, Start::Same)?;
        let zeros = || Stack::zeros(device, models.layout(), models.rows());
        Ok(Self {
            velocity: case.keeps_velocity.then(zeros),
            models,
            mixing,
            sgd: sgd(case),
            rows: rows(case),
            count: case.rounds,
            round: 0,
        })
    }

    /// As many further rounds as the workload has; gives their loss.
    pub(crate) fn train(&mut self, learner: &mut Learner) -> Result<f64, BenchError> {
        for _ in 0..self.count {
            self.round += 1;
            let work = LocalWork::new(self.round, &self.rows, &self.sgd);
            let velocity = match &mut self.velocity {
                Some(kept) => Velocity::Kept(kept),
                None => Velocity::Fresh,
            };
            learner.train(&mut self.models, velocity, &work)?;
            self.models.mix(self.mixing)?;
        }
        // Reading the losses waits for the device.
        Ok(learner.tally().train_loss.unwrap_or(f64::NAN))
    }
}

/// Times a training workload.
pub(crate) fn run(case: &Case, device: &Device, protocol: Protocol) -> Result<Value, BenchError> {
    let mut learner = learner(case, device, 1)?;
    let mixing = regular_mixing(case.clients, case.degree)?;
    let mut rounds = Rounds::new(case, device, &learner, &mixing)?;
    let count_sent = Count::begin(device);
    let timing = protocol.time(|| rounds.train(&mut learner))?;
    let models = &rounds.models;
    let flop = learner.network().flop_per_step(case.batch as usize);
    let count = (case.clients * case.steps as usize * case.rounds) as f64;
    let mut record = record(
        case,
        device,
        &timing,
        learner.network().layout().parameters(),
        count,
    );
    let [median, _, _] = timing.spread();
    record["samples_per_s"] = rounded(count * f64::from(case.batch) / median).into();
    record["gflop_per_client_step"] = rounded(flop / 1e9).into();
    record["gflops"] = rounded(count * flop / median / 1e9).into();
    let stack = models.rows() * models.layout().width() * size_of::<f32>();
    record["models_mib"] = rounded(stack as f64 / f64::from(1 << 20)).into();
    record["loss_first"] = rounded(timing.losses[0]).into();
    record["loss_last"] = rounded(timing.losses[timing.losses.len() - 1]).into();
    count_sent.end(&mut record, protocol.repeats() * case.rounds);
    Ok(record)
}

/// Times the judging of every client's model on 10,000 images.
pub(crate) fn evaluate(
    case: &Case,
    device: &Device,
    protocol: Protocol,
) -> Result<Value, BenchError> {
    const TESTS: usize = 10_000;
    let mut learner = learner(case, device, TESTS)?;
    let models = learner.initial(case.clients, Start::Independent)?;
    let timing = protocol.time(|| {
        let scores = learner.evaluate(&models, Split::Test, None)?;
        Ok::<f64, BenchError>(
            scores.iter().map(|score| score.loss).sum::<f64>() / scores.len() as f64,
        )
    })?;
    let parameters = learner.network().layout().parameters();
    let mut record = record(case, device, &timing, parameters, 0.0);
    let flop: usize = learner
        .network()
        .layout()
        .blocks()
        .iter()
        .filter(|b| b.inputs > 1)
        .map(|b| 2 * b.size())
        .sum();
    let [median, _, _] = timing.spread();
    record["gflops"] = rounded((case.clients * TESTS * flop) as f64 / median / 1e9).into();
    Ok(record)
}

/// The keys that all records share.
pub(crate) fn record(
    case: &Case,
    device: &Device,
    timing: &Timing,
    parameters: usize,
    count: f64,
) -> Value {
    let [median, least, most] = timing.spread();
    let mut record = json!({
        "case": case.name, "impl": "meshfold", "framework": "meshfold", "version": env!("CARGO_PKG_VERSION"),
        "device": device.kind_in(case.precision), "precision": case.precision, "threads": 0, "clients": case.clients, "batch": case.batch, "steps": case.steps,
        "degree": case.degree, "margin": case.margin, "rounds": case.rounds, "repeat": timing.seconds.len(), "params": parameters,
        "seconds": {"median": rounded(median), "min": rounded(least), "max": rounded(most)},
    });
    if count > 0.0 {
        record["client_steps_per_s"] = json!({
            "median": rounded(count / median), "min": rounded(count / most), "max": rounded(count / least)
        });
        record["client_steps_per_cpu_s"] = rounded(count / timing.cpu_seconds[0].max(1e-9)).into();
    }
    record["cpu_s"] = rounded(timing.cpu_seconds[0]).into();
    record["peak_rss_mib"] = peak_rss_mib().into();
    record
}
