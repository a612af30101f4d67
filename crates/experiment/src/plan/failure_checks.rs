//! Checks that some client survives the failures of a run, and warns of what they do.

use std::collections::BTreeSet;

use meshfold_algorithms::{Method, OverlayUse, RowKind};
use meshfold_engine::{Key, Purpose, stream};
use meshfold_topology::{Failure, FailureRedraw, Failures, Overlay, Repair, Target, TopologyError};
use rand_chacha::ChaCha8Rng;

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::PlannedOverlay;

/// The most rounds for which failures are drawn that are drawn anew in each round.
const MOST_ROUNDS: usize = 1000;

/// The streams that failures are drawn from, by their places in the list and the number of the draw.
pub(crate) fn draws(config: &RunConfig) -> impl Fn(usize, u64) -> ChaCha8Rng + use<> {
    let seed = config.seed_of(Purpose::Failure);
    move |index, draw| {
        let key = Key {
            round: draw,
            row: index as u32,
            ..Key::default()
        };
        stream(seed, Purpose::Failure, key)
    }
}

/// Checks that in no round all clients have failed, if it is their models that are judged. A server's model stays, and
/// there is only a warning.
///
/// # Interpretation
/// Failures that are listed, or drawn once, last for many rounds: a single round without anybody alive is refused.
/// Those drawn anew in each round may leave nobody by chance. Of these only the first [`MOST_ROUNDS`] rounds after
/// which models are judged count, as a run could not judge them.
///
/// # Errors
/// [`ConfigError`] at the failure that leaves nobody.
pub(crate) fn check(run: &Resolved<'_>, clients: usize) -> Result<(), ConfigError> {
    let config = &run.config;
    if !judges_clients(config, clients) {
        return Ok(());
    }
    let found = nobody_left(config, clients).map_err(|error| run.error(error, "failures"))?;
    let Some((index, round)) = found else {
        return Ok(());
    };
    let found = format!("nobody left in round {round} after this failure and those before it");
    let needed = format!("at least one of the {clients} clients alive");
    Err(run.wrong(&format!("failures.{index}.clients"), found, needed))
}

/// The first failure in the list that, with those before it, leaves nobody alive in some round, and that round.
fn nobody_left(
    config: &RunConfig,
    clients: usize,
) -> Result<Option<(usize, usize)>, TopologyError> {
    let nobody_linked = Overlay::from_edges(clients, [])?;
    let draw = draws(config);
    let first_of = |failures: &Failures, round: usize| {
        let leave_nobody = |count: &usize| {
            let some = Failures(failures.0[..*count].to_vec());
            let broken = some.at(round, &nobody_linked, &draw);
            !broken.sound().contains(&true)
        };
        let all = failures.0.len();
        // The whole list first: it leaves somebody but for a mistake.
        let count = leave_nobody(&all).then(|| (1..=all).find(leave_nobody).unwrap_or(all))?;
        Some((count - 1, round))
    };
    let lasting = lasting(&config.failures);
    let mut changes = config.failures.0.iter().map(|failure| failure.from_round);
    let of_lasting = |round: usize| first_of(&lasting, round);
    let found = changes
        .by_ref()
        .filter(|round| *round <= config.rounds)
        .find_map(of_lasting);
    let by_chance = lasting != config.failures && judges_clients(config, clients);
    if found.is_some() || !by_chance {
        return Ok(found);
    }
    Ok(judged(config)
        .take(MOST_ROUNDS)
        .find_map(|round| first_of(&config.failures, round)))
}

/// The failures whose clients are not drawn anew in each round. The others keep their places, which draws depend on,
/// but hit no clients.
fn lasting(failures: &Failures) -> Failures {
    let mut lasting = failures.clone();
    for failure in &mut lasting.0 {
        let listed = matches!(failure.clients, Some(Target::List(_)));
        if failure.clients.is_some() && failure.redraw == FailureRedraw::EachRound && !listed {
            failure.clients = Some(Target::List(Vec::new()));
        }
    }
    lasting
}

/// Whether the models that are judged are those of clients.
fn judges_clients(config: &RunConfig, clients: usize) -> bool {
    config.algorithm.rows(clients).kind == RowKind::Client
}

/// The rounds whose failures count when models are judged: before the first round those of the first.
fn judged(config: &RunConfig) -> impl Iterator<Item = usize> {
    let every =
        (1..=config.rounds / config.evaluate.every).map(|times| times * config.evaluate.every);
    std::iter::once(1).chain(every).chain([config.rounds])
}

/// Warns of failures that change nothing, or that leave a server without clients.
pub(crate) fn warnings(
    config: &RunConfig,
    clients: usize,
    planned: Option<&PlannedOverlay>,
) -> Vec<String> {
    let fixed = planned.filter(|planned| !planned.topology.varies());
    let of_failure = |(index, failure): (usize, &Failure)| {
        let (from, rounds) = (failure.from_round, config.rounds);
        if from > rounds {
            return Some(format!(
                "failures.{index} never happens: it begins in round {from}, and the last round is {rounds}"
            ));
        }
        let Some(Target::List(list)) = &failure.edges else {
            return None;
        };
        let overlay = &fixed?.overlay;
        let missing: BTreeSet<_> = list
            .iter()
            .filter(|edge| !exists(overlay, **edge))
            .collect();
        let (a, b) = missing.first()?;
        let more = match missing.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        Some(format!(
            "failures.{index}.edges.list names {a}-{b}{more}, which the overlay does not have"
        ))
    };
    let nobody = match judges_clients(config, clients) {
        true => None,
        false => nobody_left(config, clients).ok().flatten(),
    };
    let nobody = nobody.map(|(index, round)| {
        format!("no client is alive in round {round} after failures.{index} and those before it: nobody trains")
    });
    let loses = |failure: &Failure| {
        let lost = failure.messages.map_or(0.0, |loss| loss.probability);
        lost > 0.0 && failure.from_round <= config.rounds
    };
    let vanishing =
        matches!(config.algorithm, Method::PushSum(_)) && config.failures.0.iter().any(loses);
    let vanishing = vanishing.then(|| {
        "push_sum sends shares of a total, and messages that are lost take theirs along: its weights shrink from round to round, its steps \
         grow as one over them, and in the end it diverges; dsgd stands it"
            .to_owned()
    });
    let failures = config.failures.0.iter().enumerate();
    let of_failures = failures.clone().filter_map(of_failure);
    let of_servers = failures.filter_map(|failure| of_servers(config, failure, planned));
    let split = fixed.and_then(|planned| split(config, clients, &planned.overlay));
    of_failures
        .chain(of_servers)
        .chain(nobody)
        .chain(vanishing)
        .chain(split)
        .collect()
}

/// Failures after which an overlay that stays the same is in parts until the end of the run.
fn split(config: &RunConfig, clients: usize, overlay: &Overlay) -> Option<String> {
    let mut lasting = lasting(&config.failures);
    for failure in &mut lasting.0 {
        let listed = matches!(failure.edges, Some(Target::List(_)));
        if failure.edges.is_some() && failure.redraw == FailureRedraw::EachRound && !listed {
            failure.edges = Some(Target::List(Vec::new()));
        }
    }
    let last = config.rounds;
    let is_of_clients = overlay.nodes() == clients && overlay.is_connected();
    if !is_of_clients || lasting.repair(last) != Repair::None {
        return None;
    }
    let parts = |round: usize| {
        let state = lasting.at(round, overlay, &draws(config));
        let sound = state.sound();
        let components = state.surviving(overlay).components();
        let is_alive = |part: &Vec<u32>| part.iter().any(|node| sound[*node as usize]);
        components.into_iter().filter(is_alive).count()
    };
    let count = parts(last);
    let begins = lasting.0.iter().map(|failure| failure.from_round);
    let from = begins.filter(|round| *round <= last).max()?;
    (count > 1 && parts(from) > 1).then(|| {
        format!("failures leave the overlay in {count} parts from round {from} on, which never hear from each other again: their models differ for good")
    })
}

/// How many edges between servers the failure at a place of the list hits, if edges are drawn: who asks for it may think of all links.
fn of_servers(
    config: &RunConfig,
    (index, failure): (usize, &Failure),
    planned: Option<&PlannedOverlay>,
) -> Option<String> {
    let drawn = match &failure.edges {
        None | Some(Target::List(_)) => return None,
        Some(drawn) => drawn,
    };
    let OverlayUse::Servers(_) = config.algorithm.profile().overlay else {
        return None;
    };
    if failure.from_round > config.rounds {
        return None;
    }
    let planned = planned?;
    let edges = planned.overlay.edge_count();
    let count = drawn.count(edges);
    let (fail, percent) = (
        if count == 1 { "fails" } else { "fail" },
        (1000.0 * count as f64 / edges.max(1) as f64).round() / 10.0,
    );
    let of_round = match planned.topology.varies() {
        true => " of the first round",
        false => "",
    };
    Some(format!(
        "failures.{index}: of the {edges} edges between servers{of_round} {count} {fail}, {percent} %; links between clients and servers \
         do not fail"
    ))
}

/// Whether the overlay has an edge; a directed one only from the first node to the second.
fn exists(overlay: &Overlay, (a, b): (u32, u32)) -> bool {
    (a.max(b) as usize) < overlay.nodes() && overlay.listeners(a as usize).contains(&b)
}
