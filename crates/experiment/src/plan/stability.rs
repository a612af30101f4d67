//! Whether a method is stable under the mixing weights of every round, which schedules and failures change.

use std::collections::HashSet;

use meshfold_topology::{Spectrum, TopologyError};

use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::round_graph::RoundGraphs;
use crate::plan::run_plan::RunPlan;

/// Nodes of all the overlays that are looked at, at least one: eigenvalues cost their cube.
const MOST_NODES: usize = 2000;
/// The most overlays that are looked at.
const MOST_OVERLAYS: usize = 64;
/// All rounds up to this one are looked at; of later ones those in which a schedule or a failure begins or ends.
const MOST_ROUNDS: usize = 10_000;

/// What becomes of the method under the weights of the first round in which it may not be stable. Stragglers count as
/// linked.
///
/// # Errors
/// [`TopologyError`] if a schedule's overlay, or its eigenvalues, cannot be had.
pub(crate) fn warning(plan: &RunPlan) -> Result<Option<String>, TopologyError> {
    let Some(planned) = &plan.overlay else {
        return Ok(None);
    };
    let method = &plan.config.algorithm;
    let found = planned.summary.lambda_n;
    if let Some(fault) = found.and_then(|lambda_n| method.unstable_at(lambda_n)) {
        let whose = match planned.topology.varies() {
            true => "in round 1 ",
            false => "",
        };
        return Ok(Some(format!("{whose}{fault}")));
    }
    let changes = planned.topology.varies() || !plan.config.failures.0.is_empty();
    // No eigenvalue of averages is below -1: a method without limits takes that.
    if !changes || method.unstable_at(-1.0).is_none() {
        return Ok(None);
    }
    let most = (MOST_NODES / planned.overlay.nodes()).clamp(1, MOST_OVERLAYS);
    let (mut graphs, mut seen) = (RoundGraphs::new(plan), HashSet::new());
    for round in looked_at(plan, planned) {
        if seen.len() == most {
            break;
        }
        let key = graphs.key(round);
        if !seen.insert(key) {
            continue;
        }
        let Some((overlay, matrix)) = graphs.exchanged(round)? else {
            return Ok(None);
        };
        let lambda_n = Spectrum::of(overlay, &planned.weights, matrix)?.lambda_n;
        if let Some(fault) = method.unstable_at(lambda_n) {
            return Ok(Some(format!("in round {round} {fault}")));
        }
    }
    Ok(None)
}

/// The rounds whose overlays may be others than those before.
fn looked_at(plan: &RunPlan, planned: &PlannedOverlay) -> impl Iterator<Item = usize> {
    let rounds = plan.config.rounds;
    let changes = plan.config.failures.0.iter().flat_map(|failure| {
        let back = failure.until_round;
        std::iter::once(failure.from_round).chain(back)
    });
    let beginnings = planned
        .topology
        .change_rounds(planned.overlay.nodes(), rounds);
    let is_later = |round: &usize| *round > MOST_ROUNDS && *round <= rounds;
    let mut later: Vec<usize> = changes.filter(is_later).collect();
    later.extend(beginnings.filter(is_later).take(MOST_OVERLAYS));
    later.sort_unstable();
    (1..=rounds.min(MOST_ROUNDS)).chain(later)
}
