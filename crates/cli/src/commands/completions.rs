//! `meshfold completions SHELL`.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the completion script of a shell.
///
/// # Errors
/// [`Failure::Unread`] if nobody reads it.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "meshfold",
        &mut script,
    );
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}
