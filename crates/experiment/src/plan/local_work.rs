//! Checks the local work of clients: that it can be counted, and done in time.

use meshfold_algorithms::{Policy, StragglerUnit, steps_in_time};
use meshfold_engine::Amount;

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::network::Clock;
use crate::plan::population::Population;

/// Checks that the local steps of a client in a round can be counted.
pub(crate) fn check(run: &Resolved<'_>, population: &Population) -> Result<(), ConfigError> {
    let method = &run.config.algorithm;
    let training = method.training();
    let largest = population.setting.shard_sizes.iter().copied().max();
    let in_one = training
        .sgd
        .steps_on(Amount::Epochs(1), largest.unwrap_or(0));
    match training.local.amount() {
        Amount::Epochs(epochs) if epochs.checked_mul(in_one).is_none() => {
            let path = format!("algorithm.{}.local.epochs", method.key());
            let most = u32::MAX / in_one.max(1);
            let needed = format!(
                "at most {most}: there are {in_one} steps in an epoch of the largest client"
            );
            Err(run.wrong(&path, epochs, needed))
        }
        _ => Ok(()),
    }
}

/// The most clients that a warning names.
const NAMED: usize = 5;

/// What may not be meant of a deadline: that nobody meets it, that nobody can miss it, or that some miss it in every round.
///
/// Walks are left out: how much one has to do depends on where it goes. So are clients whose speed changes from round to round.
pub(crate) fn deadline(
    run: &Resolved<'_>,
    population: &Population,
    clock: Option<&Clock>,
) -> Option<String> {
    let config = &run.config;
    let stragglers = config.stragglers.as_ref()?;
    let (seconds, clock) = (stragglers.deadline_seconds?, clock?);
    let shares = clock.step_shares(seconds, 1).into_iter();
    let in_time: Vec<u32> = shares.map(steps_in_time).collect();
    if in_time.iter().all(|steps| *steps == u32::MAX) {
        return Some("no client ever misses the deadline: local steps take no time".to_owned());
    }
    if clock.varies() || config.algorithm.profile().stragglers == StragglerUnit::Walks {
        return None;
    }
    let training = config.algorithm.training();
    let partial = config.straggler_policy() == Some(Policy::Partial);
    let parts = match partial {
        true => u64::from(training.local.count().max(1)),
        false => 1,
    };
    let shards = population.setting.shard_sizes.iter();
    let steps: Vec<u32> = shards
        .map(|shard| training.sgd.steps_on(training.local.amount(), *shard))
        .collect();
    let meets = |(steps, in_time): (&u32, &u32)| parts * u64::from(*in_time) >= u64::from(*steps);
    let pairs = steps.iter().zip(&in_time);
    let late: Vec<usize> = (0..)
        .zip(pairs.clone())
        .filter(|(_, pair)| !meets(*pair))
        .map(|(client, _)| client)
        .collect();
    if late.is_empty() {
        let in_time = pairs.clone().all(|(steps, in_time)| in_time >= steps);
        return in_time.then(|| {
            format!("no client ever misses the deadline of {seconds} seconds: all are in time")
        });
    }
    if late.len() < steps.len() {
        return Some(format!(
            "{} {} the deadline of {seconds} seconds in every round: {}",
            clients(&late),
            if late.len() == 1 { "misses" } else { "miss" },
            match config.straggler_policy() {
                Some(Policy::Partial) => "not even the first part of that local work counts",
                _ =>
                    "that local work never counts, and models are judged all the same; `policy: partial` counts a part of it",
            }
        ));
    }
    Some(format!(
        "no client meets the deadline of {seconds} seconds: the fastest needs {:.4} seconds for its local work; in each \
         round one client, drawn at random, counts all the same; raise `stragglers.deadline_seconds`",
        clock.fastest_seconds(&steps)
    ))
}

/// `client 3`, or `clients 3, 4 and 5`, or the first of many.
fn clients(numbers: &[usize]) -> String {
    let written: Vec<String> = numbers.iter().take(NAMED).map(usize::to_string).collect();
    match (numbers, numbers.len() > NAMED) {
        (_, true) => format!("{} clients ({}, ...)", numbers.len(), written.join(", ")),
        ([one], _) => format!("client {one}"),
        _ => format!("clients {}", written.join(", ")),
    }
}
