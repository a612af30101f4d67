//! Warnings that the values of a run and its overlay call for.

use meshfold_algorithms::{Method, Policy, RowKind, Stragglers};
use meshfold_data::DatasetSummary;
use meshfold_engine::{Model, Targets};
use meshfold_topology::{Failure, FailureRedraw, Loses, Weights};

use crate::config::client_view::ClientView;
use crate::config::experiment::usual_weights;
use crate::config::quantity::Quantity;
use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::PlannedOverlay;

/// Warnings about the values of a run of `clients` clients, and about its overlay.
pub(super) fn of(
    config: &RunConfig,
    clients: usize,
    dataset: &DatasetSummary,
    overlay: Option<&PlannedOverlay>,
) -> Vec<String> {
    let mut warnings = overlay.map_or_else(Vec::new, |overlay| of_overlay(config, overlay));
    warnings.extend(of_servers(&config.algorithm, clients));
    warnings.extend(of_labels(&config.model, dataset));
    let every = config
        .checkpoint
        .as_ref()
        .and_then(|found| match found.keep {
            true => None,
            false => found.every,
        });
    if every.is_some_and(|every| every >= config.rounds) {
        warnings.push(
            "no checkpoint is written unless the run is interrupted: the first one would be due when it ends"
                .to_owned(),
        );
    }
    warnings.extend(of_clients_alone(config));
    warnings.extend(of_late_clients(config));
    warnings.extend(of_few_late_clients(config, clients));
    warnings.extend(of_failing_clients(config));
    warnings
}

/// Warnings about the overlay and the weights on it.
fn of_overlay(config: &RunConfig, planned: &PlannedOverlay) -> Vec<String> {
    let profile = config.algorithm.profile();
    let summary = &planned.summary;
    let mut warnings: Vec<String> = never_changes(config, planned).into_iter().collect();
    if !profile.mixes_by_weights {
        if planned.weights != usual_weights(&config.algorithm, &planned.topology) {
            let by = profile.averages_by.map(|key| format!(" with `{key}`"));
            warnings.push(format!(
                "`weights` changes nothing: {}{} averages models in its own way, and has of the overlay its edges alone",
                config.algorithm.name(),
                by.unwrap_or_default()
            ));
        }
        return warnings;
    }
    if profile.own_weights.is_some() && planned.topology.prescribes_weights() {
        warnings.push(format!(
            "{} has weights of its own, which it makes of the edges: those that the overlay brings do not count",
            config.algorithm.name()
        ));
    }
    let self_weight = summary.min_self_weight;
    if self_weight < -1e-9 {
        let remedy = match planned.weights {
            Weights::Laplacian(_) => "; a larger theta avoids it",
            Weights::Fastest(_) => "; `fastest: {nonnegative: true}` avoids it",
            _ => "",
        };
        warnings.push(format!(
            "the weights give a client as little as {self_weight:.4} of its own model, a negative share{remedy}"
        ));
    }
    let stuck = summary.lambda.filter(|lambda| *lambda >= 1.0 - 1e-9);
    if let Some(lambda) = stuck.filter(|_| summary.nodes > 1 && !planned.topology.varies()) {
        warnings.push(match lambda > 1.0 + 1e-9 {
            true => format!("the weights drive the models apart: lambda is {lambda:.4}"),
            false => "the weights do not bring the models together: lambda is 1".to_owned(),
        });
    }
    if !summary.doubly_stochastic && profile.own_weights.is_none() {
        warnings.push(
            "the weights do not preserve the plain mean of the models: columns of the mixing matrix do not sum to 1"
                .to_owned(),
        );
    }
    let some_are_late = |stragglers: &Stragglers| stragglers.share != Some(0.0);
    let receives = config.straggler_policy() == Some(Policy::Receive)
        && config.stragglers.as_ref().is_some_and(some_are_late);
    if receives && summary.doubly_stochastic && profile.own_weights.is_none() {
        warnings.push(
            "stragglers with `policy: receive` do not preserve the plain mean of the models: they take models and give none; \
             `policy: isolate` preserves it"
                .to_owned(),
        );
    }
    let leaves = config.straggler_policy() == Some(Policy::Isolate)
        && config.stragglers.as_ref().is_some_and(some_are_late);
    let one_way = summary.directed && summary.doubly_stochastic && profile.own_weights.is_none();
    let mut failures = config.failures.0.iter();
    let fails =
        failures.any(|failure| failure.loses == Loses::Everything && failure.messages.is_none());
    if one_way && (leaves || fails) {
        let what = if fails { "failures" } else { "late clients" };
        warnings.push(format!(
            "on a directed overlay {what} do not preserve the plain mean of the models: the weight of a link that is not there goes to the \
             client that would have received, and columns of the mixing matrix no longer sum to 1; push_sum corrects for it"
        ));
    }
    warnings
}

/// An overlay that changes after the last round.
fn never_changes(config: &RunConfig, planned: &PlannedOverlay) -> Option<String> {
    let rounds = config.rounds;
    let mut changes = planned
        .topology
        .change_rounds(planned.overlay.nodes(), rounds);
    let varies =
        planned.topology.varies() && planned.topology.period(planned.overlay.nodes()) != Some(1);
    let stays = varies && rounds > 1 && !changes.any(|round| round > 1);
    stays.then(|| {
        format!("the overlay stays as it is in round 1: `topology` changes it after the last round, {rounds}")
    })
}

/// More clients asked of every server than any has.
fn of_servers(method: &Method, clients: usize) -> Option<String> {
    let profile = method.profile();
    let asked = profile.asked_per_server?;
    let most = profile.servers.with_clients()?.most_clients(clients);
    (asked > most).then(|| {
        format!("`participation: {{per_server: {asked}}}` is more than any server has: all clients take part, {most} of a server at most")
    })
}

/// What a model learns of labels that are places in an order.
fn of_labels(model: &Model, dataset: &DatasetSummary) -> Option<String> {
    let learns_values = matches!(model, Model::Linear(linear) if linear.targets == Targets::Value);
    (learns_values && dataset.has_ranked_labels()).then(|| {
        format!(
            "`targets: value` learns the places of the labels in their order, 0 to {}, not the labels themselves; whole numbers in the \
             array of labels of an npz file are learnt as they are",
            dataset.classes() - 1
        )
    })
}

/// A share of late clients that is rounded to none.
fn of_few_late_clients(config: &RunConfig, clients: usize) -> Option<String> {
    let share = config.stragglers.as_ref()?.share?;
    (share > 0.0 && share * (clients as f64) < 0.5).then(|| {
        format!("nobody is late: `stragglers.share` of {clients} clients is less than half a client, and is rounded to none")
    })
}

/// Clients that are late although no time is measured by which they would be.
fn of_late_clients(config: &RunConfig) -> Option<String> {
    let share = config.stragglers.as_ref()?.share?;
    (share > 0.0 && config.network.is_some()).then(|| {
        "the late clients of `stragglers.share` cost no simulated time: they are drawn without regard to their speed, and nobody waits \
         for them; with `stragglers.deadline_seconds` in its place the slow clients are late, and the others wait until the deadline"
            .to_owned()
    })
}

/// Clients that fail for a time, in a run with a simulated time.
fn of_failing_clients(config: &RunConfig) -> Option<String> {
    let has_own_clock = config.algorithm.profile().has_own_clock;
    let mut failures = config
        .failures
        .0
        .iter()
        .filter(|failure| failure.clients.is_some() && failure.loses == Loses::Everything);
    let is_redrawn = |failure: &Failure| failure.redraw == FailureRedraw::EachRound;
    match has_own_clock {
        true => failures.any(is_redrawn).then(|| {
            format!(
                "`failures` are drawn anew in each round, and a round of {} is a window of simulated time: how long it lasts decides how \
                 long clients are away",
                config.algorithm.name()
            )
        }),
        false => {
            let comes_back = |failure: &Failure| is_redrawn(failure) || failure.until_round.is_some();
            (config.network.is_some() && failures.any(comes_back)).then(|| {
                "the clients that fail by `failures` cost no simulated time: who fails is known when a round begins, nothing is sent to \
                 them, and nobody waits for them; rounds may even be shorter with them"
                    .to_owned()
            })
        }
    }
}

/// What is asked for of models that clients hold, where they hold none.
fn of_clients_alone(config: &RunConfig) -> Vec<String> {
    let (method, evaluate) = (&config.algorithm, &config.evaluate);
    let kind = method.rows(1).kind;
    // Clients of a server have its model.
    let (no_clients, walkers) = (kind != RowKind::Client, kind == RowKind::Walker);
    let asked = [
        (
            no_clients && evaluate.theory.contains(&Quantity::Inexactness),
            "`theory: inexactness`",
        ),
        (no_clients && evaluate.train, "`train`"),
        (
            no_clients && evaluate.clients.contains(&ClientView::Own),
            "`clients: own`",
        ),
        (walkers && evaluate.local_test.is_some(), "`local_test`"),
    ];
    let in_vain = asked.into_iter().filter(|(in_vain, _)| *in_vain);
    let warning = |(_, key): (bool, &str)| {
        format!(
            "evaluate: {key} is not recorded, as it needs models of clients; in {} each model belongs to a {}",
            method.name(),
            kind.name()
        )
    };
    in_vain.map(warning).collect()
}
