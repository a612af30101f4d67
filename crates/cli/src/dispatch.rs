//! From arguments to commands.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use meshfold_experiment::Own;

use crate::command_line::{Command, CommandLine};
use crate::commands::{
    churn, completions, data, devices, figure, manage, overlay, partition, plan, report, reproduce,
    run, settings, speedup, status, submit, tabulate, tensorboard, watch,
};
use crate::{allocator, signals, terminal};

/// The program, with the arguments of this process: configurations may name the parts of `own`.
///
/// It takes mimalloc as the allocator of the process.
pub fn program(own: Own) -> ExitCode {
    allocator::return_memory_soon();
    let line = CommandLine::parse();
    terminal::prepare(line.verbose);
    signals::outlive_file_size_limit();
    let done = match &line.command {
        Command::Run(arguments) => run::run(arguments, &own),
        Command::Submit(arguments) => submit::submit(arguments, &own),
        Command::Status(arguments) => status::status(arguments, &own),
        Command::Plan(arguments) => plan::plan(arguments, &own),
        Command::Overlay(arguments) => overlay::overlay(arguments, &own),
        Command::Speedup(arguments) => speedup::speedup(arguments, &own),
        Command::Churn(arguments) => churn::churn(arguments),
        Command::Partition(arguments) => partition::partition(arguments, &own),
        Command::Settings(arguments) => settings::settings(arguments),
        Command::Data(command) => data::data(command),
        Command::Devices(arguments) => devices::devices(arguments),
        Command::Runs(arguments) => manage::manage(arguments),
        Command::Report(arguments) => report::report(arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(arguments),
        Command::Watch(arguments) => watch::watch(arguments),
        Command::Table(arguments) => tabulate::tabulate(arguments),
        Command::Figure(arguments) => figure::figure(arguments),
        Command::Tensorboard(arguments) => tensorboard::tensorboard(arguments),
        Command::Completions(arguments) => {
            completions::completions(arguments, CommandLine::command())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
