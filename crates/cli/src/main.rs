//! The program `meshfold`: decentralized federated learning from a YAML file to accuracy curves.
//!
//! Each command is a function in its own file under `commands`. What it prints for people goes to standard output as a
//! table, or with `--json` as one object per line; progress and errors go to standard error. Exit codes: 0 done, 1 a run
//! or a download failed, 2 what was asked for cannot be done, 130 interrupted.

mod allocator;
mod arguments;
mod commands;
mod failure;
mod figures;
mod http;
mod interruption;
mod json_lines;
mod length;
mod progress;
mod signals;
mod sweep;
mod table;
mod terminal;
mod wrapping;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::commands::{
    churn, completions, data, devices, figure, manage, overlay, partition, plan, report, run,
    speedup, tabulate, watch,
};

fn main() -> ExitCode {
    allocator::return_memory_soon();
    let arguments = Arguments::parse();
    terminal::prepare(arguments.verbose);
    signals::outlive_file_size_limit();
    let done = match &arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Plan(arguments) => plan::plan(arguments),
        Command::Overlay(arguments) => overlay::overlay(arguments),
        Command::Speedup(arguments) => speedup::speedup(arguments),
        Command::Churn(arguments) => churn::churn(arguments),
        Command::Partition(arguments) => partition::partition(arguments),
        Command::Data(command) => data::data(command),
        Command::Devices(arguments) => devices::devices(arguments),
        Command::Runs(arguments) => manage::manage(arguments),
        Command::Report(arguments) => report::report(arguments),
        Command::Watch(arguments) => watch::watch(arguments),
        Command::Table(arguments) => tabulate::tabulate(arguments),
        Command::Figure(arguments) => figure::figure(arguments),
        Command::Completions(arguments) => completions::completions(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
