//! Warnings about all runs of a command, before they begin.

use std::collections::HashMap;

use crate::config::brief::brief;
use crate::plan::effort::{DAY, about};
use crate::plan::fairness::uneven_work;
use crate::plan::run_plan::RunPlan;
use crate::plan::straggler_policies;

/// What will work in `plans` but may not be intended: a sentence each, given once for all the runs that it concerns.
pub fn warnings(plans: &[RunPlan]) -> Vec<String> {
    let of_runs = plans.iter().map(|plan| (plan, &plan.warnings[..]));
    let mut warnings = grouped(&of_runs.collect::<Vec<_>>(), |plan| plan.label());
    warnings.extend(uneven_work(plans));
    warnings.extend(straggler_policies::uneven(plans));
    let seconds: Vec<f64> = plans.iter().map(|plan| plan.seconds).collect();
    warnings.extend(of_all(&seconds));
    warnings
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
