//! `meshfold settings`.

mod page;
mod value;

use std::io::Write;

use clap::Args;
use meshfold_experiment::settings_schema;

use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
An editor that knows the YAML language server completes and checks a file that begins with
  # yaml-language-server: $schema=settings.json

Examples:
  meshfold settings > settings.json
  meshfold settings --markdown | less")]
pub(crate) struct SettingsArguments {
    /// Print the reference as Markdown, in place of the JSON Schema
    #[arg(long)]
    markdown: bool,
}

/// Prints the JSON Schema of an experiment's file, or the page made of it.
///
/// # Errors
/// [`Failure::Unread`] if nobody reads it.
pub(crate) fn settings(arguments: &SettingsArguments) -> Result<(), Failure> {
    let schema = settings_schema();
    let text = match arguments.markdown {
        true => page::page(&schema),
        false => format!("{schema:#}\n"),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
