//! Whether a method is stable under the mixing weights of every round, which schedules and failures change.

use std::collections::HashSet;

use meshfold_topology::{Spectrum, TopologyError};

use crate::connections::Connections;
use crate::plan::RunPlan;

/// Nodes of all the overlays that are looked at, at least one: eigenvalues cost their cube.
const MOST_NODES: usize = 2000;
/// The most overlays that are looked at.
const MOST_OVERLAYS: usize = 64;

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
    let weights = plan.config.weights.clone().unwrap_or_default();
    let most = (MOST_NODES / planned.overlay.nodes()).clamp(1, MOST_OVERLAYS);
    let (mut connections, mut seen) = (Connections::new(plan), HashSet::new());
    for round in 1..=plan.config.rounds {
        if seen.len() == most {
            break;
        }
        let key = connections.key(round);
        if !seen.insert(key) {
            continue;
        }
        let Some((overlay, matrix)) = connections.exchanged(round)? else {
            return Ok(None);
        };
        let lambda_n = Spectrum::of(overlay, &weights, matrix)?.lambda_n;
        if let Some(fault) = method.unstable_at(lambda_n) {
            return Ok(Some(format!("in round {round} {fault}")));
        }
    }
    Ok(None)
}
