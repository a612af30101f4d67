//! Some of the runs of an experiment, as the command line names them.

use clap::Args;
use meshfold_experiment::{Part, RunPlan};

use crate::failure::Failure;

/// Which runs of an experiment are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct Selection {
    /// Only one of N parts of about equal work, such as 3/16: other processes take the others
    #[arg(long, value_name = "K/N", conflicts_with = "only")]
    part: Option<Part>,
    /// Only the runs with these ids, or these beginnings of ids
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    only: Vec<String>,
}

impl Selection {
    /// Those of `plans` that are meant, in their order.
    ///
    /// # Errors
    /// [`Failure::Refused`] if an id stands for no run, or for several.
    pub(crate) fn of(&self, plans: &[RunPlan]) -> Result<Vec<RunPlan>, Failure> {
        let selection = match (self.part, self.only.as_slice()) {
            (Some(part), _) => meshfold_experiment::Selection::Part(part),
            (None, []) => meshfold_experiment::Selection::All,
            (None, ids) => meshfold_experiment::Selection::Only(ids.to_vec()),
        };
        let selected = selection.of(plans);
        selected.map_err(|error| Failure::refused(format_args!("--only: {error}")))
    }

    /// ` (part 3 of 16)` or nothing.
    pub(crate) fn remark(&self) -> String {
        self.part.map_or_else(String::new, |part| {
            format!(" (part {} of {})", part.number, part.of)
        })
    }
}
