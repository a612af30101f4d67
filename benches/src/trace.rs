//! What a round launches on a GPU and what its kernels must move, without running them.

use crate::BenchError;
use crate::case::Case;
use crate::training::{learner, regular_mixing, rows, sgd};
use meshfold_data::Input;
use meshfold_engine::{
    Device, Launched, Learner, LocalWork, Network, Stack, Start, Trace, Velocity,
};

/// Traces the local steps of a round and its product with the mixing matrix; gives a table of each.
pub(crate) fn run(case: &Case, device: &Device) -> Result<String, BenchError> {
    if device.threads().is_some() {
        return Err(BenchError::NoLaunches);
    }
    let mut learner = learner(case, device, 1)?;
    // The first round makes the memory that the second uses again.
    round(case, &mut learner)?;
    let [trained, mixed] = round(case, &mut learner)?;
    let network = learner.network();
    let steps = table(
        "local step of all clients",
        &trained,
        case.steps,
        least_of_a_step(case, network),
    );
    let mixing = table("mixing", &mixed, 1, least_of_mixing(case, network));
    Ok(format!(
        "{}: {} clients, {} parameters, batches of {}, {} local steps a round, on {}\n\n{steps}\n{mixing}",
        case.name,
        case.clients,
        network.layout().parameters(),
        case.batch,
        case.steps,
        device.kind()
    ))
}

/// What local steps and mixing launch.
fn round(case: &Case, learner: &mut Learner) -> Result<[Vec<Launched>; 2], BenchError> {
    let mixing = &regular_mixing(case.clients, case.degree)?;
    let mut models = learner.initial(case.clients, Start::Same)?;
    let device = models.device().clone();
    let mut velocity = Stack::zeros(&device, models.layout(), case.clients);
    // The second buffer of mixing.
    models.mix(mixing)?;
    let (rows, sgd) = (rows(case), sgd(case));
    let work = LocalWork::new(1, &rows, &sgd);
    let velocity = match case.keeps_velocity {
        true => Velocity::Kept(&mut velocity),
        false => Velocity::Fresh,
    };
    let trace = Trace::begin();
    learner.train(&mut models, velocity, &work)?;
    let trained = trace.end();
    let trace = Trace::begin();
    models.mix(mixing)?;
    Ok([trained, trace.end()])
}

/// Bytes that a local step of every client must move: the parameters, and with momentum the velocity, read and written;
/// each example's bytes (two a token) read, what every layer gives of it and the gradient by that written and read.
fn least_of_a_step(case: &Case, network: &Network) -> f64 {
    let arrays = if case.momentum > 0.0 { 4 } else { 2 };
    let stored = match network.input() {
        Input::Numbers(_) => network.inputs(),
        Input::Tokens { .. } => 2 * network.inputs(),
    };
    let example = stored + 4 * 4 * network.activations();
    let client = 4 * arrays * network.layout().parameters() + case.batch as usize * example;
    (case.clients * client) as f64
}

/// Bytes that mixing must move: every neighbour's parameters and one's own read, every client's written.
fn least_of_mixing(case: &Case, network: &Network) -> f64 {
    let read = if case.degree > 0 { case.degree + 1 } else { 0 };
    let arrays = case.clients * (read + usize::from(read > 0));
    (4 * arrays * network.layout().parameters()) as f64
}

const MEBIBYTE: f64 = (1 << 20) as f64;

/// A line for each kernel, those that move most first; their sum; what it is beside the `least` bytes. All of one of
/// `steps` steps.
fn table(title: &str, launched: &[Launched], steps: u32, least: f64) -> String {
    let moved = |l: &Launched| l.bytes_read + l.bytes_written;
    let mut lines = launched.to_vec();
    lines.sort_by_key(|l| std::cmp::Reverse(moved(l)));
    lines.push(Launched {
        kernel: "sum".to_owned(),
        launches: launched.iter().map(|l| l.launches).sum(),
        bytes_read: launched.iter().map(|l| l.bytes_read).sum(),
        bytes_written: launched.iter().map(|l| l.bytes_written).sum(),
    });
    let all = launched.iter().map(moved).sum::<u64>() as f64;
    let of_a_step = |count: u64| count as f64 / f64::from(steps);
    let line = |l: &Launched| {
        format!(
            "| {:<40} | {:>8.2} | {:>9.3} | {:>11.3} | {:>5.1} % |\n",
            l.kernel,
            of_a_step(l.launches),
            of_a_step(l.bytes_read) / MEBIBYTE,
            of_a_step(l.bytes_written) / MEBIBYTE,
            100.0 * moved(l) as f64 / all.max(1.0)
        )
    };
    let body: String = lines.iter().map(line).collect();
    format!(
        "| {title:<40} | launches | MiB read | MiB written | bytes |\n|---|---|---|---|---|\n{body}\n\
         at least {:.3} MiB, this is {:.2} times as much\n",
        least / MEBIBYTE,
        all / f64::from(steps) / least.max(1.0)
    )
}
