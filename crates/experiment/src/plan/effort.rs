//! Estimates the work of a run and the time that it takes.
//!
//! These are rough figures, to tell minutes from years before a run begins: they may be wrong by a factor of ten, and
//! say nothing of whatever else the machine has to do.

use meshfold_algorithms::Forecast;
use meshfold_engine::{Device, Instructions, Network, Sgd};
use meshfold_topology::{Nodes, SlowPart, Topology};

use crate::config::fine_tune::FineTune;
use crate::config::quantity::Quantity;
use crate::config::run_config::RunConfig;
use crate::plan::population::Population;

/// Seconds of a day: what takes longer is warned of.
pub(super) const DAY: f64 = 86_400.0;

/// Multiply-adds per second and thread with vectors of 16 floats: half to twice as many were measured, small models being
/// slower than large ones.
const WIDE: f64 = 2.5e10;
/// With vectors of 4 or 8 floats.
const NARROW: f64 = 1.5e10;
/// Without instructions for vectors.
const PORTABLE: f64 = 2.5e9;
/// Of a GPU.
const GPU: f64 = 2e12;
/// Seconds that a local step takes on a thread, however small the model is.
const STEP: f64 = 1e-6;
/// Seconds that a round takes on the processor, however little there is to do.
const ROUND: f64 = 1e-5;
/// Seconds that a round takes on a GPU, where it is a number of launches.
const GPU_ROUND: f64 = 1e-3;

/// What the work of a run is estimated from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) network: &'a Network,
    pub(crate) population: &'a Population,
    pub(crate) forecast: Forecast,
    /// Rows of the stack of models.
    pub(crate) rows: usize,
    /// Weights of the mixing matrix.
    pub(crate) mixing_weights: usize,
    /// Test examples.
    pub(crate) tests: usize,
    /// Examples in all local test sets.
    pub(crate) local_tests: usize,
    /// Examples kept apart for validation.
    pub(crate) validation: usize,
}

/// The work of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Multiply-adds of all rounds: those of training, of mixing and of judging the models.
    pub(crate) multiply_adds: f64,
    /// Local steps of all rounds and rows.
    local_steps: f64,
    rounds: f64,
}

impl Effort {
    /// The work of `load`, if nobody fails or falls behind.
    pub(crate) fn of(load: &Workload<'_>) -> Self {
        let rounds = load.config.rounds as f64;
        let local_steps = rounds * load.forecast.local_steps;
        let mixed = load.mixing_weights as f64 * load.network.layout().parameters() as f64;
        let step = load.step(&load.config.algorithm.training().sgd);
        Self {
            multiply_adds: local_steps * step + rounds * mixed + load.judging(),
            local_steps,
            rounds,
        }
    }

    /// About how many seconds it takes at `speed`.
    pub(crate) fn seconds(&self, speed: &DeviceSpeed) -> f64 {
        let of_threads = self.multiply_adds / speed.rate + self.local_steps * speed.step;
        of_threads / speed.threads.unwrap_or(1) as f64 + self.rounds * speed.round
    }
}

/// How fast a device is, roughly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSpeed {
    /// Multiply-adds per second of a thread, or of a GPU.
    rate: f64,
    /// Threads of the processor; `None` for a GPU.
    threads: Option<usize>,
    /// Seconds that a local step takes, however small the model is.
    step: f64,
    /// Seconds that a round takes, however little there is to do.
    round: f64,
}

impl DeviceSpeed {
    /// The speed of `device`, of the processor with all its cores if absent.
    pub(crate) fn of(device: Option<&Device>) -> Self {
        let instructions =
            device.map_or_else(|| Some(Instructions::detect()), Device::instructions);
        let Some(instructions) = instructions else {
            return Self {
                rate: GPU,
                threads: None,
                step: 0.0,
                round: GPU_ROUND,
            };
        };
        let rate = match instructions.to_string().as_str() {
            "amx-bf16" | "avx512-bf16" | "avx512" => WIDE,
            "portable" => PORTABLE,
            _ => NARROW,
        };
        Self {
            rate,
            threads: Some(threads(device)),
            step: STEP,
            round: ROUND,
        }
    }
}

/// Threads of the processor that a run on `device` has.
pub(crate) fn threads(device: Option<&Device>) -> usize {
    device
        .and_then(Device::threads)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Workload<'_> {
    /// Multiply-adds of a local step of a client in the middle.
    fn step(&self, sgd: &Sgd) -> f64 {
        let sizes = &self.population.setting.shard_sizes;
        let mean = self.population.setting.examples() / sizes.len().max(1);
        self.network.flop_per_step(sgd.batch_on(mean.max(1))) / 2.0
    }

    /// Multiply-adds of the local steps that all clients make before they are judged once more.
    fn fine_tuning(&self) -> f64 {
        let tuning = self.config.evaluate.fine_tune.as_ref();
        let training = tuning.map(FineTune::training);
        training.map_or(0.0, |training| {
            training.steps_of_all(&self.population.setting) * self.step(&training.sgd)
        })
    }

    /// Multiply-adds of all evaluations: the models on the test examples and, if that is asked for, on their own; and the
    /// gradients over all examples that some bounds need.
    fn judging(&self) -> f64 {
        let (evaluate, examples) = (&self.config.evaluate, self.population.setting.examples());
        let times = 1.0 + (self.config.rounds as f64 / evaluate.every.max(1) as f64).ceil();
        let held_out =
            evaluate.most_examples(self.tests) + evaluate.most_validation(self.validation);
        // Accuracies by label judge the test examples once more.
        let again = match evaluate.clients.is_empty() {
            true => 0,
            false => evaluate.most_examples(self.tests),
        };
        let tests = (held_out + again) as f64 * self.rows as f64;
        // The mean of the models is judged on the test examples as well.
        let mean = evaluate.most_examples(self.tests) as f64;
        let bound = evaluate.theory.contains(&Quantity::Bound);
        let of_mean = evaluate.theory.contains(&Quantity::MeanModelLoss);
        let passes = [evaluate.judges_shards(), bound, of_mean];
        let passes = passes.into_iter().filter(|passes| *passes).count() as f64;
        let judged = f64::from(1 + u8::from(evaluate.fine_tune.is_some()));
        let own = passes * examples as f64 + judged * self.local_tests as f64;
        // Members and as many non-members.
        let guessed = evaluate.membership.map_or(0, |asked| {
            let of_client = |size: &usize| asked.examples.count().unwrap_or(*size).min(*size);
            let members = self.population.setting.shard_sizes.iter().map(of_client);
            2 * members.sum::<usize>()
        });
        let own = own + guessed as f64;
        let has_gradients = |quantity: &&Quantity| {
            matches!(
                quantity,
                Quantity::Dissimilarity | Quantity::Inexactness | Quantity::GradientNorm
            )
        };
        let gradients = evaluate.theory.iter().filter(has_gradients).count();
        let step = self.network.flop_per_step(1) / 2.0;
        let forward = self.network.flop_of_judging(1) / 2.0;
        let gradients = step * (gradients * examples) as f64;
        times * (forward * (tests + mean + own) + gradients + self.fine_tuning())
    }
}

/// What is said of a topology that takes more than a minute to make, which happens before the run begins.
pub(crate) fn slow_overlay(topology: &Topology, nodes: Nodes<'_>) -> Option<String> {
    let SlowPart {
        what,
        keys,
        seconds,
    } = topology.slow_part(nodes)?;
    (seconds > 60.0).then(|| {
        let time = about(seconds);
        format!("{what} of the topology take {time} before the run begins ({keys}), by a rough estimate; Ctrl-C ends the program")
    })
}

/// What is warned of if the run takes longer than a day.
pub(crate) fn warning(seconds: f64, speed: &DeviceSpeed) -> Option<String> {
    let on_threads = match speed.threads {
        None => String::new(),
        Some(1) => " on one thread".to_owned(),
        Some(threads) => format!(" on {threads} threads"),
    };
    (seconds > DAY).then(|| {
        let time = about(seconds);
        format!("the run takes {time}{on_threads}, by a rough estimate")
    })
}

/// `about 3 years`: a long time in the largest unit of which there is more than one.
pub(super) fn about(seconds: f64) -> String {
    const YEAR: f64 = 365.25 * DAY;
    let units = [
        (YEAR, "year"),
        (DAY, "day"),
        (3600.0, "hour"),
        (60.0, "minute"),
        (1.0, "second"),
    ];
    if seconds >= 1e6 * YEAR {
        return "more than a million years".to_owned();
    }
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| seconds >= 1.5 * unit)
        .unwrap_or((1.0, "second"));
    match (seconds / unit).round().max(1.0) {
        1.0 => format!("about 1 {name}"),
        some => format!("about {some} {name}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_engine::DeviceRequest;

    #[test]
    fn long_times_are_told_in_one_unit() {
        for (seconds, words) in [
            (0.0, "about 1 second"),
            (89.0, "about 89 seconds"),
            (91.0, "about 2 minutes"),
            (7.0 * 3600.0, "about 7 hours"),
            (1.4 * DAY, "about 34 hours"),
            (366.0 * DAY, "about 366 days"),
            (31_000.0 * 365.25 * DAY, "about 31000 years"),
            (1e30, "more than a million years"),
            (f64::INFINITY, "more than a million years"),
        ] {
            assert_eq!(about(seconds), words);
        }
    }

    #[test]
    fn work_takes_the_longer_the_fewer_threads_there_are() {
        let effort = Effort {
            multiply_adds: 1e15,
            local_steps: 1e6,
            rounds: 1e3,
        };
        let on = |threads, instructions| {
            let cpu = Device::open(DeviceRequest::Cpu, Some(threads), Some(instructions));
            effort.seconds(&DeviceSpeed::of(Some(&cpu.unwrap())))
        };
        let portable: Instructions = "portable".parse().unwrap();
        let (one, four) = (on(1, portable), on(4, portable));
        assert!((one / four - 4.0).abs() < 0.01, "{one} {four}");
        assert!((3e5..5e5).contains(&one), "{one}");
    }
}
