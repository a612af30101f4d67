//! Throughput of Meshfold on the yardstick workloads, one JSON record per run.
//!
//! `meshfold-bench w2 --threads 2` runs the second workload. Shapes, counting and record keys are those of the JAX and
//! PyTorch programs that it is compared with.

mod case;
mod clock;
mod mixing;
mod synthetic;
mod training;

use case::Case;
use clap::Parser;
use meshfold_engine::{Device, DeviceRequest, Instructions};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs one workload and prints its record.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// w1: logistic regression, w2 and w3: dense networks, w4: convolutions, w5: a recurrent network, w6: mixing alone, eval: judging 100 MLPs or 1000 logistic models.
    #[arg(value_enum)]
    case: case::Name,
    /// cpu, wgpu, wgpu:INDEX, cuda, cuda:INDEX or auto.
    #[arg(long, default_value = "cpu")]
    device: DeviceRequest,
    /// Threads of the processor (0: all cores).
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Instruction set: avx512, avx2, neon or portable (default: the widest).
    #[arg(long)]
    cpu: Option<Instructions>,
    /// Clients.
    #[arg(long)]
    clients: Option<usize>,
    /// Examples of a mini-batch.
    #[arg(long)]
    batch: Option<u32>,
    /// Local steps per round.
    #[arg(long)]
    steps: Option<u32>,
    /// Degree of the overlay.
    #[arg(long)]
    degree: Option<usize>,
    /// Row length of the mixing workload.
    #[arg(long)]
    params: Option<usize>,
    /// Rounds per timed repeat.
    #[arg(long)]
    rounds: Option<usize>,
    /// Timed repeats.
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Untimed repeats before.
    #[arg(long, default_value_t = 1)]
    warmup: usize,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(record) => {
            println!("{record}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(&error);
            ExitCode::FAILURE
        }
    }
}

fn tell(error: &BenchError) {
    use std::io::Write;
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
}

fn measure(arguments: &Arguments) -> Result<serde_json::Value, BenchError> {
    let mut case = Case::of(arguments.case);
    case.clients = arguments.clients.unwrap_or(case.clients);
    case.batch = arguments.batch.unwrap_or(case.batch);
    case.steps = arguments.steps.unwrap_or(case.steps);
    case.degree = arguments.degree.unwrap_or(case.degree);
    case.parameters = arguments.params.unwrap_or(case.parameters);
    case.rounds = arguments.rounds.unwrap_or(case.rounds);
    let threads = (arguments.threads > 0).then_some(arguments.threads);
    let device = Device::open(arguments.device, threads, arguments.cpu)?;
    let protocol = clock::Protocol {
        repeat: arguments.repeat,
        warmup: arguments.warmup,
    };
    let mut record = match arguments.case {
        case::Name::W6 => mixing::run(&case, &device, protocol)?,
        case::Name::Eval1 | case::Name::Eval2 => training::evaluate(&case, &device, protocol)?,
        _ => training::run(&case, &device, protocol)?,
    };
    record["threads"] = threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .into();
    Ok(record)
}
