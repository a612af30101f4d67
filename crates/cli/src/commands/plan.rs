//! `meshfold plan FILE`.

use std::io::Write;

use meshfold_engine::OwnModels;
use meshfold_experiment::{RunPlan, plan_on, plan_without_data};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::figures::{bytes, count, decimal};
use crate::json_lines;
use crate::table::{Column, Table};
use crate::terminal;

const COLUMNS: [Column<'_>; 9] = [
    Column::Text("run"),
    Column::Text("id"),
    Column::Figure("clients"),
    Column::Figure("rows"),
    Column::Figure("parameters"),
    Column::Figure("memory"),
    Column::Figure("steps/round"),
    Column::Figure("bytes/round"),
    Column::Figure("λ"),
];

/// Prints what each run would do, and the resolved configuration of the first.
///
/// # Errors
/// [`Failure::Refused`] if the experiment cannot be planned.
pub(crate) fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let folder = arguments.experiment.data.folder()?;
    let source = arguments.experiment.source()?;
    let plan = match arguments.without_data {
        true => plan_without_data,
        false => plan_on,
    };
    let plans = plan(&device, &source, &folder, &OwnModels::new())?;
    warn(&plans);
    if arguments.json {
        return Ok(json_lines::print(plans.iter().map(RunPlan::summary))?);
    }
    let mut table = Table::new(&COLUMNS);
    for plan in &plans {
        table.row(row(plan));
    }
    table.print()?;
    let misses =
        |plan: &RunPlan| plan.config.stragglers.is_some() || !plan.config.failures.0.is_empty();
    if plans.iter().any(misses) {
        writeln!(
            std::io::stdout().lock(),
            "steps and bytes are those of a round in which nobody fails or falls behind"
        )?;
    }
    if let Some(first) = plans.first() {
        let which = if plans.len() > 1 {
            "the first run"
        } else {
            "the run"
        };
        write!(
            std::io::stdout().lock(),
            "\n# config.yaml of {which}\n{}",
            first.config.to_yaml()
        )?;
    }
    Ok(())
}

/// Says what will work but may not be meant, once for all the runs that it is said of.
pub(crate) fn warn(plans: &[RunPlan]) {
    let of_runs = plans.iter().map(|plan| (plan.label(), &plan.warnings[..]));
    for warning in grouped(&of_runs.collect::<Vec<_>>()) {
        terminal::line(&format!("warning: {warning}"));
    }
}

/// The warnings of `runs` with the labels of the first run that has each, and how many others do.
fn grouped(runs: &[(String, &[String])]) -> Vec<String> {
    let mut labels: Vec<(&String, Vec<&String>)> = Vec::new();
    for (label, warnings) in runs {
        for warning in *warnings {
            match labels.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, labels)) => labels.push(label),
                None => labels.push((warning, vec![label])),
            }
        }
    }
    let said = |(warning, labels): (&String, Vec<&String>)| match labels.len() {
        1 => format!("{}: {warning}", labels[0]),
        all if all == runs.len() => format!("all {all} runs: {warning}"),
        2 => format!("{} and another run: {warning}", labels[0]),
        some => format!("{} and {} other runs: {warning}", labels[0], some - 1),
    };
    labels.into_iter().map(said).collect()
}

fn row(plan: &RunPlan) -> [String; 9] {
    [
        plan.label(),
        plan.id.clone(),
        count(plan.clients as u64),
        count(plan.rows.count as u64),
        count(plan.parameters as u64),
        bytes(plan.memory_bytes),
        count(plan.local_steps_per_round.round() as u64),
        bytes(plan.bytes_per_round),
        decimal(
            plan.overlay
                .as_ref()
                .and_then(|planned| planned.summary.lambda),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_many_runs_is_said_once() {
        let [stuck, late, slow] = ["stuck", "late", "slow"].map(str::to_owned);
        let warnings = [
            vec![stuck.clone(), late.clone()],
            vec![late.clone(), slow.clone()],
            vec![late.clone(), slow, stuck],
            vec![late],
        ];
        let labels = ["a", "b", "c", "d"].map(str::to_owned);
        let runs: Vec<_> = labels
            .into_iter()
            .zip(warnings.iter().map(Vec::as_slice))
            .collect();
        assert_eq!(
            grouped(&runs),
            [
                "a and another run: stuck",
                "all 4 runs: late",
                "b and another run: slow"
            ]
        );
        assert_eq!(grouped(&runs[..1]), ["a: stuck", "a: late"]);
    }
}
