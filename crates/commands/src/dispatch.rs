//! From arguments to commands.

use clap::{CommandFactory, Parser};
use meshfold_experiment::Own;

use crate::command_line::{Command, CommandLine};
use crate::commands::{
    churn, completions, data, devices, figure, manage, overlay, partition, plan, report, reproduce,
    run, settings, speedup, status, submit, tabulate, tensorboard, watch,
};
use crate::start::Start;
use crate::{signals, terminal};

/// Does what the arguments of `start` ask for, and returns the exit code. Configurations may name the parts of `own`.
///
/// It is the whole work of a process: it sets what becomes of panics, of errors and of the log. Where nothing is to be done, as after
/// `--help`, and where it is told to end at once, the process ends without a return.
///
/// # Panics
/// If this process called it before, or hears the log of `tracing` otherwise.
pub fn program(own: &Own, start: &Start) -> u8 {
    let line = CommandLine::parse_from(start.arguments());
    terminal::prepare(line.verbose);
    signals::outlive_file_size_limit();
    let done = match &line.command {
        Command::Run(arguments) => run::run(arguments, own),
        Command::Submit(arguments) => submit::submit(arguments, own, start),
        Command::Status(arguments) => status::status(arguments, own),
        Command::Plan(arguments) => plan::plan(arguments, own),
        Command::Overlay(arguments) => overlay::overlay(arguments, own),
        Command::Speedup(arguments) => speedup::speedup(arguments, own),
        Command::Churn(arguments) => churn::churn(arguments),
        Command::Partition(arguments) => partition::partition(arguments, own),
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
        Ok(()) => 0,
        Err(failure) => failure.tell(),
    }
}
