//! What a run comes to, from its plan, its records and its ending.

use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Record;
use crate::results::summary::{self, Milestone, Seconds, Status, Summary};
use crate::run::ending::Ending;

/// Sums up the `records` of a run of `plan` that ended with `ending` after `seconds`.
pub(super) fn summary(
    plan: &RunPlan,
    records: &[Record],
    ending: &Ending,
    seconds: Seconds,
) -> Summary {
    let (config, overlay) = (&plan.config, plan.overlay.as_ref());
    let (status, error) = match ending {
        Ending::Finished | Ending::Skipped { .. } | Ending::Damaged { .. } => {
            (Status::Finished, None)
        }
        Ending::Interrupted | Ending::Elsewhere => (Status::Interrupted, None),
        Ending::Failed { error } => (Status::Failed, Some(error.to_string())),
    };
    let is_finished = matches!(status, Status::Finished);
    let alike = summary::judged_alike(records, &config.evaluate, is_finished);
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
        overlay: overlay.map(|planned| planned.summary.clone()),
        lambda: overlay.and_then(|planned| planned.lambda()),
        lambda_of_period: overlay.and_then(|planned| planned.lambda_of_period()),
        last: records.last().map(Milestone::of),
        best: summary::best(alike).map(Milestone::of),
        oscillation: summary::oscillation_of(alike),
        targets: summary::targets(&config.evaluate.targets, alike),
        seconds: Some(seconds),
    }
}
