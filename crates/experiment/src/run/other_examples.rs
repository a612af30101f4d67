//! Finished runs whose examples are known to have changed, because another run has read them.

use std::collections::BTreeMap;

use meshfold_data::DatasetConfig;

use crate::plan::run_plan::RunPlan;
use crate::results::data_digests::DataDigests;
use crate::run::digests::name_of;
use crate::run::ending::{Ending, RunReport};

/// Warns of finished runs that were skipped although their examples have changed. That is known if another run has read the
/// examples of the same dataset.
pub(crate) fn report_other_examples(plans: &[RunPlan], reports: &[RunReport]) {
    for plan in of_other_examples(plans, reports) {
        let (label, dataset) = (plan.label(), name_of(&plan.config.dataset));
        tracing::warn!(
            "{label} was skipped, but the examples of {dataset} have changed since it was finished; --again runs it again"
        );
    }
}

/// The plans of skipped runs whose examples are not those that another run has read of the same dataset.
fn of_other_examples<'a>(plans: &'a [RunPlan], reports: &[RunReport]) -> Vec<&'a RunPlan> {
    let by_id = plans.iter().map(|plan| (plan.id.as_str(), plan));
    let by_id: BTreeMap<&str, &RunPlan> = by_id.collect();
    let mut read: Vec<(&DatasetConfig, &DataDigests)> = Vec::new();
    let mut skipped = Vec::new();
    for report in reports {
        let plan = by_id.get(report.id.as_str()).copied();
        let (Some(plan), Some(data)) = (plan, &report.data) else {
            continue;
        };
        let dataset = &plan.config.dataset;
        match &report.ending {
            // The change is reported already.
            Ending::Skipped {
                changed: Some(_), ..
            } => {}
            Ending::Skipped { .. } => skipped.push((plan, data)),
            _ if read.iter().any(|(known, _)| *known == dataset) => {}
            _ => read.push((dataset, data)),
        }
    }
    let differs = |(plan, data): &(&RunPlan, &DataDigests)| {
        let today = read
            .iter()
            .find(|(dataset, _)| **dataset == plan.config.dataset);
        today.is_some_and(|(_, today)| (&today.train, &today.test) != (&data.train, &data.test))
    };
    skipped.retain(differs);
    skipped.into_iter().map(|(plan, _)| plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;
    use crate::results::run_folder::Done;
    use meshfold_data::DataFolder;

    const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 3}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 20, learning_rate: 0.05}}
rounds: 5
sweep: {grid: {seed: [1, 2, 3]}}
";

    fn report(plan: &RunPlan, ending: Ending, train: &str) -> RunReport {
        RunReport {
            id: plan.id.clone(),
            folder: "unused".into(),
            ending,
            resumed_from: None,
            checkpoint: None,
            data: Some(DataDigests {
                train: train.to_owned(),
                ..DataDigests::default()
            }),
            last: None,
            summary: None,
        }
    }

    fn skipped(changed: Option<&str>) -> Ending {
        let unknown = || "unknown".to_owned();
        Ending::Skipped {
            by: Done {
                meshfold: unknown(),
                device: unknown(),
            },
            differs: false,
            changed: changed.map(str::to_owned),
        }
    }

    #[test]
    fn skipped_runs_are_compared_with_runs_that_read_the_same_dataset() {
        let source = ExperimentSource::new("tiny.yaml", YAML);
        let plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        let found = |reports: &[RunReport]| -> Vec<String> {
            let found = of_other_examples(&plans, reports).into_iter();
            found.map(RunPlan::label).collect()
        };
        let first = |changed| report(&plans[0], skipped(changed), "a");
        let second = || report(&plans[1], skipped(None), "b");
        let third = || report(&plans[2], Ending::Finished, "b");
        assert_eq!(found(&[first(None), second(), third()]), ["seed=1"]);
        assert!(found(&[first(None), second()]).is_empty(), "none was read");
        assert!(
            found(&[first(Some("files")), third()]).is_empty(),
            "it is reported already"
        );
    }
}
