//! Some of the runs of an experiment, as the command line names them.

use std::str::FromStr;

use clap::Args;
use meshfold_comparison::{Only, are_chosen};
use meshfold_experiment::results::Settings;
use meshfold_experiment::{Part, RunPlan};

use crate::failure::Failure;

/// Which runs of an experiment are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct Selection {
    /// Only one of N parts of about equal work, such as 3/16: other processes take the others
    #[arg(long, value_name = "K/N", conflicts_with = "only")]
    part: Option<Part>,
    /// Only the runs with these ids (or these beginnings of ids), or with one of these values of a setting; repeatable
    #[arg(long, value_name = "ID,...|SETTING=VALUE,...")]
    only: Vec<Choice>,
}

/// One `--only`.
#[derive(Clone, Debug)]
enum Choice {
    /// Ids, or beginnings of ids.
    Ids(Vec<String>),
    /// Values of a setting.
    Setting(Only),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.contains('=') {
            true => text.parse().map(Self::Setting),
            false => Ok(Self::Ids(text.split(',').map(str::to_owned).collect())),
        }
    }
}

impl Selection {
    /// The plans that are meant, in their order: those with one of the ids, if there are any, and with one of the values of
    /// each setting.
    ///
    /// # Errors
    /// [`Failure::Refused`] if an id stands for no run or for several, if no run has a setting or a value, or if no run is
    /// left.
    pub(crate) fn of(&self, plans: &[RunPlan]) -> Result<Vec<RunPlan>, Failure> {
        let refused =
            |error: &dyn std::fmt::Display| Failure::refused(format_args!("--only: {error}"));
        let selected = self.by_id().of(plans).map_err(|error| refused(&error))?;
        let only = self.settings();
        if only.is_empty() {
            return Ok(selected);
        }
        let settings: Vec<Option<Settings>> = selected.iter().map(settings_of).collect();
        let settings: Vec<Option<&Settings>> = settings.iter().map(Option::as_ref).collect();
        let chosen = are_chosen(&settings, &only).map_err(|error| refused(&error))?;
        let pairs = selected.into_iter().zip(chosen);
        Ok(pairs.filter_map(|(plan, is)| is.then_some(plan)).collect())
    }

    /// The selection by part or by ids.
    fn by_id(&self) -> meshfold_experiment::Selection {
        let ids = self.only.iter().filter_map(|choice| match choice {
            Choice::Ids(ids) => Some(ids.iter().cloned()),
            Choice::Setting(_) => None,
        });
        let ids: Vec<String> = ids.flatten().collect();
        match (self.part, ids.is_empty()) {
            (Some(part), _) => meshfold_experiment::Selection::Part(part),
            (None, true) => meshfold_experiment::Selection::All,
            (None, false) => meshfold_experiment::Selection::Only(ids),
        }
    }

    /// The settings that are chosen by.
    fn settings(&self) -> Vec<Only> {
        let settings = self.only.iter().filter_map(|choice| match choice {
            Choice::Setting(only) => Some(only.clone()),
            Choice::Ids(_) => None,
        });
        settings.collect()
    }

    /// ` (part 3 of 16)` or nothing.
    pub(crate) fn remark(&self) -> String {
        self.part.map_or_else(String::new, |part| {
            format!(" (part {} of {})", part.number, part.of)
        })
    }
}

/// What the run's `config.yaml` will say.
fn settings_of(plan: &RunPlan) -> Option<Settings> {
    Settings::parse(&plan.config.to_yaml()).ok()
}
