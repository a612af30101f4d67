//! `meshfold completions SHELL`.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the completion script of a shell for the command line `line`.
///
/// # Errors
/// [`Failure::Unread`] if nobody reads it.
pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut line: Command,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut line, "meshfold", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}
