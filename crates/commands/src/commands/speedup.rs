//! `meshfold speedup`.

mod drawing;

use clap::{Args, value_parser};
use meshfold_engine::{Key, Purpose, stream};
use meshfold_experiment::network::{Distribution, Exponential};
use meshfold_theory::{Delays, ExchangeDelay, ParallelServers, RoundSeconds, speed_up};
use meshfold_topology::Overlay;
use serde::Serialize;

use meshfold_experiment::{Own, first_overlay};

use super::overlay::{as_in_a_file, ready};
use crate::failure::Failure;
use crate::figures::decimal;
use crate::json_lines;
use crate::page::{Out, out};
use crate::table::{Column, Table};

#[derive(Debug, Args)]
#[command(after_help = "\
All delays are exponential and independent. --participants, --local-steps and --step-delay take several values with commas
between: each combination of them is computed.

Examples:
  meshfold speedup --topology complete --servers 5 --participants 100
  meshfold speedup --servers 5 --participants 50,100,200,500,1000 --local-steps 1,5,20 -o speedup.svg")]
pub(crate) struct SpeedupArguments {
    /// The overlay of the servers, as a file would give it
    #[arg(long, value_name = "YAML", default_value = "complete")]
    topology: String,
    /// Servers, M
    #[arg(long, allow_negative_numbers = true, value_parser = value_parser!(u32).range(2..=100_000))]
    servers: u32,
    /// Clients that take part in a round, K, dealt evenly to the servers, at least one to each
    #[arg(long, required = true, value_delimiter = ',', allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=10_000_000))]
    participants: Vec<u32>,
    /// Local iterations of each, E
    #[arg(long, default_value = "1", value_delimiter = ',', allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    local_steps: Vec<u32>,
    /// Mean seconds of one model between a server and its clients, Y1
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    server_delay: f64,
    /// Mean seconds of one model at a client, Y2
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    client_delay: f64,
    /// Mean seconds of a local iteration, Z
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "1",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    step_delay: Vec<f64>,
    /// Mean seconds of one model from a server to a neighbour, T
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    exchange_delay: f64,
    /// Rounds that the means are taken over
    #[arg(long, default_value_t = 20_000, allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    samples: u32,
    /// Seed of the delays and of a random topology
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the speed-up to this file, .svg, .pdf or .png; the list with the most values is the x axis, each other value a curve
    #[arg(short, long, value_name = "FILE", value_parser = out)]
    out: Option<Out>,
    /// Print one JSON object for each combination
    #[arg(long)]
    json: bool,
}

/// What was found for one combination of values.
struct Speedup {
    participants: u32,
    local_steps: u32,
    step_delay: f64,
    seconds: RoundSeconds,
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line {
    topology: String,
    servers: u32,
    participants: u32,
    local_steps: u32,
    step_delay: f64,
    fedavg_seconds: f64,
    p_fedavg_seconds: f64,
    p_fedavg_unbarred_seconds: f64,
    speed_up: f64,
}

/// Prints how long a round takes with one server and with several, P-FedAvg (20).
///
/// # Errors
/// [`Failure::Refused`] if the overlay cannot be built, a delay is not above 0 or a server would have no participant.
pub(crate) fn speedup(arguments: &SpeedupArguments, own: &Own) -> Result<(), Failure> {
    check(arguments)?;
    let (topology, weights) = as_in_a_file(&arguments.topology, None, own)?;
    let servers = arguments.servers as usize;
    let topology = ready(topology, &weights, servers)?;
    let overlay = first_overlay(&topology, servers, arguments.seed)?;
    let mut found = Vec::new();
    for &participants in &arguments.participants {
        for &local_steps in &arguments.local_steps {
            for &step_delay in &arguments.step_delay {
                let values = (participants, local_steps, step_delay);
                found.push(of_one(arguments, &overlay, values)?);
            }
        }
    }
    if let Some(out) = &arguments.out {
        drawing::draw(arguments, &found, out)?;
    }
    match (arguments.json, found.as_slice()) {
        (true, found) => Ok(json_lines::print(
            found.iter().map(|found| line(arguments, found)),
        )?),
        (false, [found]) => print_one(&found.seconds),
        (false, found) => print_all(found),
    }
}

/// The seconds of a round with these participants, local iterations, and seconds of each.
fn of_one(
    arguments: &SpeedupArguments,
    overlay: &Overlay,
    (participants, local_steps, step_delay): (u32, u32, f64),
) -> Result<Speedup, Failure> {
    let delays = Delays {
        server: exponential(arguments.server_delay),
        client: exponential(arguments.client_delay),
        step: exponential(step_delay),
        exchange: ExchangeDelay::Independent(exponential(arguments.exchange_delay)),
    };
    let servers = ParallelServers {
        participants: &shared_out(participants, arguments.servers),
        local_steps,
        overlay,
        delays: &delays,
    };
    let samples = arguments.samples as usize;
    let mut draws = stream(arguments.seed, Purpose::Network, Key::default());
    let seconds = speed_up(&servers, samples, &mut draws);
    Ok(Speedup {
        participants,
        local_steps,
        step_delay,
        seconds: seconds.map_err(|error| Failure::refused(&error))?,
    })
}

fn print_one(seconds: &RoundSeconds) -> Result<(), Failure> {
    let mut table = Table::new(&[Column::Text(""), Column::Figure("seconds a round")]);
    let mut row = |name: &str, seconds| table.row([name.to_owned(), decimal(Some(seconds))]);
    row("FedAvg, one server", seconds.fedavg);
    row("P-FedAvg, (19)", seconds.p_fedavg);
    row("P-FedAvg without a barrier", seconds.p_fedavg_unbarred);
    row("speed-up (20)", seconds.speed_up());
    Ok(table.print()?)
}

fn print_all(found: &[Speedup]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        Column::Figure("participants"),
        Column::Figure("local steps"),
        Column::Figure("step delay"),
        Column::Figure("FedAvg, s"),
        Column::Figure("P-FedAvg (19), s"),
        Column::Figure("without a barrier, s"),
        Column::Figure("speed-up (20)"),
    ]);
    for found in found {
        let seconds = &found.seconds;
        table.row([
            found.participants.to_string(),
            found.local_steps.to_string(),
            found.step_delay.to_string(),
            decimal(Some(seconds.fedavg)),
            decimal(Some(seconds.p_fedavg)),
            decimal(Some(seconds.p_fedavg_unbarred)),
            decimal(Some(seconds.speed_up())),
        ]);
    }
    Ok(table.print()?)
}

/// Checks the values beyond their types.
fn check(arguments: &SpeedupArguments) -> Result<(), Failure> {
    let mut delays = vec![
        ("--server-delay", arguments.server_delay),
        ("--client-delay", arguments.client_delay),
        ("--exchange-delay", arguments.exchange_delay),
    ];
    let steps = arguments.step_delay.iter();
    delays.extend(steps.map(|seconds| ("--step-delay", *seconds)));
    let is_delay = |seconds: f64| seconds > 0.0 && seconds.is_finite();
    if let Some((option, seconds)) = delays.iter().find(|(_, seconds)| !is_delay(*seconds)) {
        let message = format!("{option}: found {seconds}, needed a number of seconds above 0");
        return Err(Failure::refused(message));
    }
    let servers = arguments.servers;
    let too_few = |participants: &&u32| **participants < servers;
    if let Some(participants) = arguments.participants.iter().find(too_few) {
        let message = format!(
            "--participants: found {participants}, needed at least {servers}: with fewer some of the {servers} servers would \
             have nobody to wait for; take more participants or fewer --servers"
        );
        return Err(Failure::refused(message));
    }
    Ok(())
}

fn exponential(mean: f64) -> Distribution {
    Distribution::Exponential(Exponential { mean })
}

/// `participants` dealt to `servers`, the first ones getting one more.
fn shared_out(participants: u32, servers: u32) -> Vec<u32> {
    let (each, more) = (participants / servers, participants % servers);
    (0..servers)
        .map(|server| each + u32::from(server < more))
        .collect()
}

fn line(arguments: &SpeedupArguments, found: &Speedup) -> Line {
    let seconds = &found.seconds;
    Line {
        topology: arguments.topology.clone(),
        servers: arguments.servers,
        participants: found.participants,
        local_steps: found.local_steps,
        step_delay: found.step_delay,
        fedavg_seconds: seconds.fedavg,
        p_fedavg_seconds: seconds.p_fedavg,
        p_fedavg_unbarred_seconds: seconds.p_fedavg_unbarred,
        speed_up: seconds.speed_up(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_are_dealt_evenly() {
        assert_eq!(shared_out(11, 4), [3, 3, 3, 2]);
        assert_eq!(shared_out(6, 3), [2, 2, 2]);
    }
}
