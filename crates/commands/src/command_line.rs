//! The command line: all commands.

use clap::{Parser, Subcommand};

use crate::commands::churn::ChurnArguments;
use crate::commands::completions::CompletionsArguments;
use crate::commands::data::DataCommand;
use crate::commands::devices::DevicesArguments;
use crate::commands::figure::FigureArguments;
use crate::commands::manage::RunsArguments;
use crate::commands::overlay::OverlayArguments;
use crate::commands::partition::PartitionArguments;
use crate::commands::plan::PlanArguments;
use crate::commands::report::ReportArguments;
use crate::commands::reproduce::ReproduceArguments;
use crate::commands::run::RunArguments;
use crate::commands::settings::SettingsArguments;
use crate::commands::speedup::SpeedupArguments;
use crate::commands::status::StatusArguments;
use crate::commands::submit::SubmitArguments;
use crate::commands::tabulate::TableArguments;
use crate::commands::tensorboard::TensorboardArguments;
use crate::commands::watch::WatchArguments;

/// Simulate decentralized federated learning, with the models of all clients in one array.
#[derive(Debug, Parser)]
#[command(
    name = "meshfold",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
With the Python package, `python -m meshfold --import FILE.py COMMAND ...` finds the methods in that file, too."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say more of what happens; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or all runs of its sweep; finished runs are skipped, interrupted ones resumed
    Run(RunArguments),
    /// Submit the runs of an experiment to Slurm, those that are missing
    Submit(SubmitArguments),
    /// Show how the runs of an experiment stand: finished, running and where, failed and why
    Status(StatusArguments),
    /// Show what an experiment would do: runs, rows, parameters, memory, steps and bytes per round
    Plan(PlanArguments),
    /// Show an overlay's figures: degrees, spectrum, how fast it mixes
    Overlay(OverlayArguments),
    /// Show how much several servers speed a round up over one (P-FedAvg, Fig. 2)
    Speedup(SpeedupArguments),
    /// Simulate how an overlay's nodes join, leave, fail and find each other again
    Churn(ChurnArguments),
    /// Show who owns how many training examples of which label
    Partition(PartitionArguments),
    /// Print all settings of an experiment: a JSON Schema for editors, or a page of Markdown
    Settings(SettingsArguments),
    /// List, fetch and check datasets
    #[command(subcommand)]
    Data(DataCommand),
    /// List the devices that this program can run on here
    Devices(DevicesArguments),
    /// List runs, compare two of them, take out trained models, or remove some
    Runs(RunsArguments),
    /// Write one HTML report about one run or several
    Report(ReportArguments),
    /// Compare what the papers state with runs of this program, on one page
    Reproduce(ReproduceArguments),
    /// Show a page in the browser that follows runs as they go
    Watch(WatchArguments),
    /// Compare finished runs in a table: mean, spread and 95 % interval over seeds
    Table(TableArguments),
    /// Draw finished runs as a figure for print: mean over seeds with its 95 % interval
    Figure(FigureArguments),
    /// Write runs as event files for TensorBoard
    Tensorboard(TensorboardArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }
}
