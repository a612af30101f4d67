//! `meshfold plan FILE`.

use std::collections::HashMap;
use std::io::Write;

use meshfold_engine::OwnModels;
use meshfold_experiment::{DAY, RunPlan, about, brief, plan_on, plan_without_data, uneven_work};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::figures::{bytes, count, eigenvalue};
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
    let source = arguments.experiment.source()?;
    let folder = arguments.experiment.data.folder_for(&source)?;
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
    let of_runs = plans.iter().map(|plan| (plan, &plan.warnings[..]));
    for warning in grouped(&of_runs.collect::<Vec<_>>(), |plan| plan.label()) {
        terminal::line(&format!("warning: {warning}"));
    }
    if let Some(warning) = uneven_work(plans) {
        terminal::line(&format!("warning: {warning}"));
    }
    let seconds: Vec<f64> = plans.iter().map(|plan| plan.seconds).collect();
    if let Some(warning) = of_all(&seconds) {
        terminal::line(&format!("warning: {warning}"));
    }
}

/// The warnings of `runs` with the label of the first run that has each, and how many others do.
fn grouped<R>(runs: &[(R, &[String])], label: impl Fn(&R) -> String) -> Vec<String> {
    let mut groups: Vec<(&str, &R, usize)> = Vec::new();
    let mut place_of: HashMap<&str, usize> = HashMap::new();
    for (run, warnings) in runs {
        for warning in *warnings {
            match place_of.get(warning.as_str()) {
                Some(&place) => groups[place].2 += 1,
                None => {
                    place_of.insert(warning, groups.len());
                    groups.push((warning, run, 1));
                }
            }
        }
    }
    let said = |(warning, first, count): (&str, &R, usize)| {
        let label = label(first);
        let first = brief(&label);
        match count {
            1 => format!("{first}: {warning}"),
            all if all == runs.len() => format!("all {all} runs: {warning}"),
            2 => format!("{first} and another run: {warning}"),
            some => format!("{first} and {} other runs: {warning}", some - 1),
        }
    };
    groups.into_iter().map(said).collect()
}

/// What is said of runs that take longer than a day together, but not alone, given how many seconds each takes.
fn of_all(seconds: &[f64]) -> Option<String> {
    let (together, longest) = (
        seconds.iter().sum::<f64>(),
        seconds.iter().copied().fold(0.0, f64::max),
    );
    (together > DAY && longest <= DAY).then(|| {
        format!(
            "all {} runs together take {}, by a rough estimate",
            seconds.len(),
            about(together)
        )
    })
}

fn row(plan: &RunPlan) -> [String; 9] {
    [
        brief(&plan.label()).into_owned(),
        plan.id.clone(),
        count(plan.clients as u64),
        count(plan.rows.count as u64),
        count(plan.parameters as u64),
        bytes(plan.memory_bytes),
        count(plan.local_steps_per_round.round() as u64),
        bytes(plan.bytes_per_round),
        eigenvalue(
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
        let runs: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .zip(warnings.iter().map(Vec::as_slice))
            .collect();
        let said = |runs| grouped(runs, |label: &&str| (*label).to_owned());
        assert_eq!(
            said(&runs),
            [
                "a and another run: stuck",
                "all 4 runs: late",
                "b and another run: slow"
            ]
        );
        assert_eq!(said(&runs[..1]), ["a: stuck", "a: late"]);
    }

    #[test]
    fn runs_that_are_long_together_alone_are_told_of_as_a_whole() {
        assert_eq!(
            of_all(&[20_000.0; 18]).as_deref(),
            Some("all 18 runs together take about 4 days, by a rough estimate")
        );
        assert_eq!(of_all(&[20_000.0; 4]), None);
        assert_eq!(of_all(&[2.0 * DAY; 18]), None, "each is warned of");
    }
}
