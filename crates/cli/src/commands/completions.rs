//! `meshfold completions SHELL`.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::failure::Failure;

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
