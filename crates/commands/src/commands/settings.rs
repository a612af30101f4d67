//! `meshfold settings`.

mod page;
mod value;

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// The schema that `meshfold_experiment::settings_schema` makes of the types that read a file, without line breaks. It is kept in
/// `docs/reference/settings.json`, and a test compares the two: what makes it takes 2.5 MB of a program that calls it.
const SCHEMA: &str = include_str!(concat!(env!("OUT_DIR"), "/settings.json"));

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
    let mut output = std::io::stdout().lock();
    let schema = serde_json::from_str(SCHEMA).expect("a test reads it");
    let text = match arguments.markdown {
        true => page::page(&schema),
        false => format!("{schema:#}\n"),
    };
    output.write_all(text.as_bytes())?;
    Ok(())
}
