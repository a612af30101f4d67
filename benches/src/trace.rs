//! What a round launches on a GPU, what its kernels must move, and how long each takes.

use crate::BenchError;
use crate::Form;
use crate::case::Case;
use crate::training::{learner, regular_mixing, rows, sgd};
use meshfold_data::Input;
use meshfold_engine::{
    Device, Launched, Learner, LocalWork, Network, Stack, Start, Trace, Velocity,
};
use serde_json::{Value, json};

/// A part of a round.
struct Part {
    title: &'static str,
    launched: Vec<Launched>,
    /// How often it happens in a round.
    steps: u32,
    /// Bytes that it must move.
    least: f64,
}

/// Traces the local steps of a round and its product with the mixing matrix; gives a table of each, or a record of both.
pub(crate) fn run(case: &Case, device: &Device, form: Form) -> Result<String, BenchError> {
    if device.threads().is_some() {
        return Err(BenchError::NoLaunches);
    }
    let mut learner = learner(case, device, 1)?;
    let begin = if form.times {
        Trace::timed
    } else {
        Trace::begin
    };
    // The first round makes the memory that the second uses again, and compiles kernels.
    round(case, &mut learner, begin)?;
    let [trained, mixed] = round(case, &mut learner, begin)?;
    let network = learner.network();
    let parts = [
        Part {
            title: "local step of all clients",
            launched: trained,
            steps: case.steps,
            least: least_of_a_step(case, network),
        },
        Part {
            title: "mixing",
            launched: mixed,
            steps: 1,
            least: least_of_mixing(case, network),
        },
    ];
    if form.json {
        let flop = network.flop_per_step(case.batch as usize) * case.clients as f64;
        let record = json!({
            "case": case.name, "device": device.kind(), "clients": case.clients, "parameters": network.layout().parameters(),
            "batch": case.batch, "steps": case.steps, "degree": case.degree, "gflop_of_a_step": flop / 1e9,
            "parts": parts.iter().map(Part::record).collect::<Vec<_>>(),
        });
        return Ok(format!("{record}\n"));
    }
    let tables = parts.map(|part| part.table(form.times)).join("\n");
    Ok(format!(
        "{}: {} clients, {} parameters, batches of {}, {} local steps a round, on {}\n\n{tables}",
        case.name,
        case.clients,
        network.layout().parameters(),
        case.batch,
        case.steps,
        device.kind()
    ))
}

/// What local steps and mixing launch.
fn round(
    case: &Case,
    learner: &mut Learner,
    begin: fn() -> Trace,
) -> Result<[Vec<Launched>; 2], BenchError> {
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
    device.wait();
    let trace = begin();
    learner.train(&mut models, velocity, &work)?;
    let trained = trace.end();
    let trace = begin();
    models.mix(mixing)?;
    Ok([trained, trace.end()])
}

/// Bytes that a local step of every client must move. Parameters, and with momentum the velocity, are read and written;
/// each example's bytes (two a token) are read; every layer's outputs and the gradient with respect to them are written
/// and read.
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

impl Part {
    /// Launches, bytes and time of the kernels of one of the steps, those that move most first, and in the end their sum.
    fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.launched.iter().map(|of| self.line(of)).collect();
        lines.sort_by(|one, other| other.moved().total_cmp(&one.moved()));
        let sum = |of: fn(&Line) -> f64| lines.iter().map(of).sum::<f64>();
        let sum = Line {
            kernel: "sum".to_owned(),
            launches: sum(|line| line.launches),
            read: sum(|line| line.read),
            written: sum(|line| line.written),
            seconds: sum(|line| line.seconds),
            timed_by_host: sum(|line| line.timed_by_host),
        };
        lines.push(sum);
        lines
    }

    fn line(&self, launched: &Launched) -> Line {
        let of_a_step = |count: u64| count as f64 / f64::from(self.steps);
        Line {
            kernel: launched.kernel.clone(),
            launches: of_a_step(launched.launches),
            read: of_a_step(launched.bytes_read),
            written: of_a_step(launched.bytes_written),
            seconds: launched.time.as_secs_f64() / f64::from(self.steps),
            timed_by_host: of_a_step(launched.timed_by_host),
        }
    }

    fn table(&self, times: bool) -> String {
        let lines = self.lines();
        let all = lines[lines.len() - 1].moved();
        let body: String = lines.iter().map(|line| line.row(all, times)).collect();
        let (titles, rule) = match times {
            true => (" ms | GB/s |", "---|---|"),
            false => ("", ""),
        };
        format!(
            "| {:<40} | launches | MiB read | MiB written | bytes |{titles}\n|---|---|---|---|---|{rule}\n{body}\n\
             at least {:.3} MiB, this is {:.2} times as much\n{}",
            self.title,
            self.least / MEBIBYTE,
            all / self.least.max(1.0),
            match lines[lines.len() - 1].timed_by_host > 0.0 {
                true =>
                    "the GPU does not time its kernels: these are times of the host, which include handing over and waiting\n",
                false => "",
            }
        )
    }

    fn record(&self) -> Value {
        let kernels: Vec<Value> = self.lines().iter().map(Line::record).collect();
        json!({"part": self.title, "least_bytes": self.least, "kernels": kernels})
    }
}

/// What a kernel does in one step.
struct Line {
    kernel: String,
    launches: f64,
    read: f64,
    written: f64,
    seconds: f64,
    timed_by_host: f64,
}

impl Line {
    fn moved(&self) -> f64 {
        self.read + self.written
    }

    /// A row of a table whose kernels move `all` bytes.
    fn row(&self, all: f64, times: bool) -> String {
        let time = match times {
            true => format!(
                " {:>9.4} | {:>7.1} |",
                1e3 * self.seconds,
                self.moved() / self.seconds.max(1e-9) / 1e9
            ),
            false => String::new(),
        };
        format!(
            "| {:<40} | {:>8.2} | {:>9.3} | {:>11.3} | {:>5.1} % |{time}\n",
            self.kernel,
            self.launches,
            self.read / MEBIBYTE,
            self.written / MEBIBYTE,
            100.0 * self.moved() / all.max(1.0)
        )
    }

    fn record(&self) -> Value {
        json!({
            "kernel": self.kernel, "launches": self.launches, "bytes_read": self.read, "bytes_written": self.written,
            "seconds": self.seconds, "timed_by_host": self.timed_by_host,
        })
    }
}
