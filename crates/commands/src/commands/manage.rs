//! `meshfold runs`: what lies in the folders of results.

mod compare;
pub(super) mod find;
mod list;
mod models;
mod remove;

use clap::{Args, Subcommand, ValueEnum};
use meshfold_comparison::{Only, are_chosen};
use meshfold_experiment::results::{RunEntry, RunStage};

use crate::failure::Failure;
use compare::CompareArguments;
pub(super) use find::runs_in;
use list::ListArguments;
use models::ModelsArguments;
use remove::RemoveArguments;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Settings go by their names in YAML, such as algorithm.dsgd.learning_rate, or by the end of it, such as learning_rate.

Examples:
  meshfold runs                                    list the runs of all experiments in the folder runs
  meshfold runs runs/first --state interrupted
  meshfold runs compare 3fa2 91c0
  meshfold runs models 3fa2                        write the trained models of a run
  meshfold runs remove runs/first --only topology=ring --yes"
)]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List runs, as `meshfold runs` without a command does
    List(ListArguments),
    /// Show in which settings two runs differ, and their last figures side by side
    Compare(CompareArguments),
    /// Write the trained models of a run to a file
    Models(ModelsArguments),
    /// Remove runs from the disk; without --yes, show what would be removed
    Remove(RemoveArguments),
}

/// Which of the runs found are meant.
#[derive(Debug, Args)]
struct Choice {
    /// Only runs with one of these values; repeatable
    #[arg(long, value_name = "SETTING=VALUE,...")]
    only: Vec<Only>,
    /// Only runs in one of these states
    #[arg(long, value_enum, value_name = "STATE,...", value_delimiter = ',')]
    state: Vec<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    Finished,
    Interrupted,
    Failed,
    Running,
    Damaged,
}

impl State {
    fn of(stage: &RunStage) -> Self {
        match stage {
            RunStage::Finished => Self::Finished,
            RunStage::Interrupted { failure: None, .. } => Self::Interrupted,
            RunStage::Interrupted { .. } => Self::Failed,
            RunStage::Running => Self::Running,
            RunStage::Damaged { .. } => Self::Damaged,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Running => "running",
            Self::Damaged => "damaged",
        }
    }
}

impl Choice {
    /// Whether each of `runs` is chosen.
    ///
    /// # Errors
    /// [`Failure::Refused`] if a setting or a value stands for nothing.
    fn of(&self, runs: &[&RunEntry]) -> Result<Vec<bool>, Failure> {
        let settings: Vec<_> = runs.iter().map(|run| run.settings.as_ref()).collect();
        let chosen = are_chosen(&settings, &self.only).map_err(Failure::refused)?;
        let is_in_state =
            |run: &RunEntry| self.state.is_empty() || self.state.contains(&State::of(&run.stage));
        let pairs = runs.iter().zip(chosen);
        Ok(pairs.map(|(run, is)| is && is_in_state(run)).collect())
    }
}

/// Lists, compares or removes runs, or writes their models.
///
/// # Errors
/// Those of the command that was given.
pub(crate) fn manage(arguments: &RunsArguments) -> Result<(), Failure> {
    match &arguments.command {
        None => list::list(&arguments.list),
        Some(RunsCommand::List(arguments)) => list::list(arguments),
        Some(RunsCommand::Compare(arguments)) => compare::compare(arguments),
        Some(RunsCommand::Models(arguments)) => models::models(arguments),
        Some(RunsCommand::Remove(arguments)) => remove::remove(arguments),
    }
}
