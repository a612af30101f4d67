//! Throughput of Meshfold on the yardstick workloads, one JSON record per run.
//!
//! `meshfold-bench w2 --threads 2` runs the second workload. Shapes, counting and record keys are those of the JAX and
//! PyTorch programs that it is compared with. `meshfold-bench count mlp` takes a local step of one client and nothing
//! else, for tools that count instructions. `meshfold-bench w2 --device wgpu --trace` (built with `--features gpu`) prints
//! what a round launches on a GPU and the bytes that it must move. `--runs 32 --at-once 32` has as many runs go side by side
//! as those of a sweep. `mpirun -n 2 meshfold-bench w2 --threads 1` (built with `--features mpi`) deals the clients over two
//! ranks.

mod case;
mod clock;
mod count;
mod mixing;
mod over_ranks;
mod page;
mod sweep;
mod synthetic;
mod threads;
#[cfg(feature = "gpu")]
mod trace;
mod training;

use case::Case;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use meshfold_engine::{Device, DeviceRequest, Instructions, Precision, Ranks};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs one workload and prints its record.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    workload: Option<Arguments>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Takes a few local steps of one client on one thread and nothing else, for tools that count instructions.
    Count(count::Arguments),
    /// Prints the page of `benches/gpu.sh` from the records that it keeps.
    Page(page::Arguments),
    /// Carries out an experiment on one thread and tells what more threads would do, and for how long they would have nothing to do.
    Threads(threads::Arguments),
}

/// A workload, and what differs from its usual shape.
#[derive(Debug, Args)]
struct Arguments {
    /// w1: logistic regression, w2 and w3: dense networks, w4: convolutions, w5: a recurrent network, w6: mixing alone,
    /// copy: copying alone, resnet18: a residual network, eval1: judging 1000 logistic models, eval2: judging 100 MLPs.
    #[arg(value_enum)]
    case: case::Name,
    /// cpu, wgpu, wgpu:INDEX, cuda, cuda:INDEX or auto.
    #[arg(long, default_value = "cpu")]
    device: DeviceRequest,
    /// Threads of the processor (0: all cores).
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Instruction set: amx-bf16, avx512-bf16, avx512, avx2, neon or portable (default: the widest).
    #[arg(long)]
    cpu: Option<Instructions>,
    /// Precision of the operands of products: f32 or bf16.
    #[arg(long, default_value = "f32")]
    precision: Precision,
    /// Clients.
    #[arg(long)]
    clients: Option<usize>,
    /// Examples of a mini-batch.
    #[arg(long)]
    batch: Option<u32>,
    /// Local steps per round.
    #[arg(long)]
    steps: Option<u32>,
    /// Degree of the overlay (0: no exchange).
    #[arg(long)]
    degree: Option<usize>,
    /// Training examples of each client.
    #[arg(long)]
    samples: Option<usize>,
    /// Width of the dark margin that all grey images have, in pixels (MNIST: about 4).
    #[arg(long, default_value_t = 0)]
    margin: usize,
    /// The velocity lasts from round to round, and so takes as much memory as the models.
    #[arg(long)]
    keep_velocity: bool,
    /// Row length of the mixing workload.
    #[arg(long)]
    params: Option<usize>,
    /// Rounds per timed repeat.
    #[arg(long, value_parser = at_least_one)]
    rounds: Option<usize>,
    /// Timed repeats.
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    repeat: usize,
    /// Untimed repeats before.
    #[arg(long, default_value_t = 1)]
    warmup: usize,
    /// Runs that differ in their seed, of a workload that trains, timed from their beginning to their end.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// How many of the runs go on at the same time.
    #[arg(long, requires = "runs", default_value_t = 1, value_parser = at_least_one)]
    at_once: usize,
    /// Prints what a round launches on the GPU and the bytes that must be moved, kernel by kernel; runs none of it.
    #[arg(long)]
    trace: bool,
    /// Runs the launches of the trace, one at a time, and prints how long each kernel takes.
    #[arg(long, requires = "trace")]
    times: bool,
    /// Prints the trace as a line of JSON.
    #[arg(long, requires = "trace")]
    json: bool,
}

impl Arguments {
    /// What is asked of the launches; `None` if they are not traced.
    fn form(&self) -> Option<Form> {
        self.trace.then_some(Form {
            times: self.times,
            json: self.json,
        })
    }
}

/// What is printed of launches.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "nothing is traced"))]
struct Form {
    /// How long each kernel takes.
    times: bool,
    /// A line of JSON instead of tables.
    json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a number from 1 on is needed".to_owned()),
        Ok(count) => Ok(count),
    }
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let output = match (&line.command, &line.workload) {
        (Some(Command::Count(arguments)), _) => {
            count::run(arguments).map(|record| format!("{record}\n"))
        }
        (Some(Command::Page(arguments)), _) => page::run(arguments),
        (Some(Command::Threads(arguments)), _) => threads::run(arguments),
        (None, Some(arguments)) => measure(arguments),
        (None, None) => CommandLine::command()
            .error(ErrorKind::MissingRequiredArgument, "name a workload")
            .exit(),
    };
    match output {
        // Whoever has read enough closes the pipe.
        Ok(output) => match std::io::stdout().write_all(output.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            tell(&error);
            ExitCode::FAILURE
        }
    }
}

fn tell(error: &BenchError) {
    // Nothing is left to do if the error cannot be written.
    let _ = writeln!(std::io::stderr(), "error: {error}");
}

/// What can go wrong in a benchmark.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error(transparent)]
    Engine(#[from] meshfold_engine::EngineError),
    #[error(transparent)]
    Topology(#[from] meshfold_topology::TopologyError),
    #[error(transparent)]
    Data(#[from] meshfold_data::DataError),
    #[error(transparent)]
    Partition(#[from] meshfold_data::PartitionError),
    #[error(
        "--trace counts what training launches on a GPU: build with `--features gpu`, name one with `--device wgpu` and a \
         workload that trains"
    )]
    NoLaunches,
    #[error(transparent)]
    Config(#[from] Box<meshfold_experiment::ConfigError>),
    #[error(transparent)]
    Run(#[from] meshfold_experiment::RunError),
    #[error(transparent)]
    Report(#[from] meshfold_report::ReportError),
    #[error(transparent)]
    Combine(#[from] Box<meshfold_comparison::CombineError>),
    #[error(transparent)]
    Table(#[from] meshfold_comparison::TableError),
    #[error("{run}: {error}")]
    OfRun { run: String, error: String },
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("there is no folder for results: {0}")]
    Results(std::io::Error),
    #[error("--runs takes a workload that trains: w1 to w5 or resnet18")]
    NoRuns,
    #[error("the records {} cannot be read: {reason}", path.display())]
    Records { path: PathBuf, reason: String },
    #[error("ranks measure one run on processors: leave out --runs and --trace")]
    OneRun,
}

fn measure(arguments: &Arguments) -> Result<String, BenchError> {
    let mut case = Case::of(arguments.case);
    case.clients = arguments.clients.unwrap_or(case.clients);
    case.batch = arguments.batch.unwrap_or(case.batch);
    case.steps = arguments.steps.unwrap_or(case.steps);
    case.degree = arguments.degree.unwrap_or(case.degree);
    case.samples = arguments.samples.unwrap_or(case.samples);
    case.margin = arguments.margin;
    case.precision = arguments.precision;
    case.keeps_velocity |= arguments.keep_velocity;
    case.parameters = arguments.params.unwrap_or(case.parameters);
    case.rounds = arguments.rounds.unwrap_or(case.rounds);
    let threads = (arguments.threads > 0).then_some(arguments.threads);
    let device = match over_ranks::device(arguments.device, threads, arguments.cpu)? {
        Some(device) => device,
        None => Device::open(arguments.device, threads, arguments.cpu)?,
    };
    let trains = case.steps > 0 && !matches!(arguments.case, case::Name::Eval1 | case::Name::Eval2);
    let at_once = arguments.at_once;
    let sweep = arguments.runs.map(|runs| sweep::Sweep { runs, at_once });
    if sweep.is_some() && !trains {
        return Err(BenchError::NoRuns);
    }
    if device.ranks().is_some() && (sweep.is_some() || arguments.trace) {
        return Err(BenchError::OneRun);
    }
    if let Some(form) = arguments.form() {
        return trace(&case, &device, sweep, form);
    }
    let protocol = clock::Protocol {
        repeat: arguments.repeat,
        warmup: arguments.warmup,
    };
    let mut record = match (arguments.case, sweep) {
        (_, Some(sweep)) => sweep::run(&case, &device, sweep, protocol)?,
        (case::Name::W6, None) => mixing::run(&case, &device, protocol)?,
        (case::Name::Copy, None) => mixing::copies(&case, &device, protocol)?,
        (case::Name::Eval1 | case::Name::Eval2, None) => {
            training::evaluate(&case, &device, protocol)?
        }
        (_, None) => training::run(&case, &device, protocol)?,
    };
    record["threads"] = threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .into();
    // One rank prints for all.
    let prints = device.ranks().is_none_or(Ranks::leads);
    Ok(if prints {
        format!("{record}\n")
    } else {
        String::new()
    })
}

#[cfg(feature = "gpu")]
fn trace(
    case: &Case,
    device: &Device,
    sweep: Option<sweep::Sweep>,
    form: Form,
) -> Result<String, BenchError> {
    match (case.steps, sweep) {
        (0, _) => Err(BenchError::NoLaunches),
        (_, Some(sweep)) => sweep::trace(case, device, sweep),
        (_, None) => trace::run(case, device, form),
    }
}

#[cfg(not(feature = "gpu"))]
fn trace(_: &Case, _: &Device, _: Option<sweep::Sweep>, _: Form) -> Result<String, BenchError> {
    Err(BenchError::NoLaunches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_timed_less_than_once() {
        let line = |words: &[&str]| {
            CommandLine::try_parse_from([&["meshfold-bench", "w1"], words].concat())
        };
        assert!(line(&["--repeat", "1", "--rounds", "1"]).is_ok());
        for words in [["--repeat", "0"], ["--rounds", "0"]] {
            let refusal = line(&words).map(drop).expect_err("it divides by them");
            assert!(refusal.to_string().contains("a number from 1 on is needed"));
        }
    }
}
