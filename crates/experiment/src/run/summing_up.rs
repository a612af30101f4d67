//! What a run comes to, from its plan, its records and its ending.

use crate::plan::run_plan::RunPlan;
use crate::results::records::Record;
use crate::results::summary::{self, Milestone, Seconds, Status, Summary};
use crate::run::ending::Ending;

/// Sums up the `records` of a run of `plan` that ended with `ending` after `seconds`.
pub(super) fn summary(
    plan: &RunPlan,
    records: &[Record],
    ending: &Ending,
    seconds: Seconds,
) -> Summary {
    let config = &plan.config;
    let (status, error) = match ending {
        Ending::Finished | Ending::Skipped { .. } | Ending::Damaged { .. } => {
            (Status::Finished, None)
        }
        Ending::Interrupted | Ending::Elsewhere => (Status::Interrupted, None),
        Ending::Failed { error } => (Status::Failed, Some(error.to_string())),
    };
    Summary {
        name: config.name.clone(),
        id: plan.id.clone(),
        label: plan.label(),
        settings: plan.settings(),
        status,
        error,
        clients: plan.clients,
        rows: plan.rows.count,
        parameters: plan.parameters,
        rounds: config.rounds,
        overlay: plan.overlay.as_ref().map(|overlay| overlay.summary.clone()),
        lambda_of_period: plan
            .overlay
            .as_ref()
            .and_then(|planned| planned.lambda_of_period()),
        last: records.last().map(Milestone::of),
        best: summary::best(records).map(Milestone::of),
        oscillation: summary::oscillation_of(records),
        targets: summary::targets(&config.evaluate.targets, records),
        seconds: Some(seconds),
    }
}
