//! Every experiment that cannot be run is refused with its line and with what would be right.

#![allow(clippy::unwrap_used)]

mod aliases;
mod data_files;
mod hints;
mod lists;
mod long_texts;
mod many;
mod methods;
mod mutations;
mod overlays;
mod overrides;
mod own_models;
mod settings;
mod starts;
mod text;
mod theory;

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan};
use miette::Diagnostic;

const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 600, test: 100}}
partition: {shards: {clients: 10}}
topology: ring
model: {mlp: {hidden: [20]}}
algorithm:
  dfedavgm:
    local: {epochs: 1}
    batch_size: 20
    learning_rate: 0.05
rounds: 5
evaluate: {every: 1, targets: [0.5]}
";

/// What a person sees of an error.
#[derive(Debug, PartialEq)]
struct Seen {
    message: String,
    file: String,
    line: usize,
    marked: String,
    help: String,
}

fn seen(error: &ConfigError) -> Seen {
    Seen {
        message: error.to_string(),
        file: error.file().unwrap_or_default().to_owned(),
        line: error.line().unwrap_or_default(),
        marked: error.marked().unwrap_or_default().to_owned(),
        help: error
            .help()
            .map(|help| help.to_string())
            .unwrap_or_default(),
    }
}

/// The error as the program draws it, and, to see that it can be done, as it draws it for readers of screens.
fn drawn(error: &ConfigError) -> String {
    let mut told = String::new();
    let narrator = miette::NarratableReportHandler::new();
    narrator.render_report(&mut told, error).unwrap();
    let mut drawn = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
    handler.render_report(&mut drawn, error).unwrap();
    drawn
}

fn refused(source: &ExperimentSource) -> Seen {
    match plan(source, &DataFolder::new("nowhere")) {
        Err(error) => seen(&error),
        Ok(plans) => panic!("{} runs were planned of\n{}", plans.len(), source.text()),
    }
}

/// Plans the experiment with the line that starts with `key` replaced, and `more` at its end.
fn with(key: &str, line: &str) -> ExperimentSource {
    assert!(
        YAML.lines()
            .any(|found| found.trim_start().starts_with(key)),
        "{key}"
    );
    let replaced = |found: &str| {
        if found.trim_start().starts_with(key) {
            line.to_owned()
        } else {
            found.to_owned()
        }
    };
    let lines: Vec<String> = YAML.lines().map(replaced).collect();
    ExperimentSource::new("tiny.yaml", lines.join("\n"))
}

/// Asserts message, line, marked text and the beginning of the help.
fn expect(source: &ExperimentSource, message: &str, line: usize, marked: &str, help: &str) {
    let seen = refused(source);
    assert_eq!(
        (seen.message.as_str(), seen.line, seen.marked.as_str()),
        (message, line, marked)
    );
    assert!(
        seen.help.starts_with(help) && (help.is_empty() == seen.help.is_empty()),
        "{seen:?}"
    );
}

#[test]
fn the_experiment_itself_is_planned() {
    assert_eq!(
        plan(
            &ExperimentSource::new("tiny.yaml", YAML),
            &DataFolder::new("nowhere")
        )
        .unwrap()
        .len(),
        1
    );
}

#[test]
fn errors_are_drawn_with_their_line() {
    let error = plan(
        &with("topology", "topology: rnig"),
        &DataFolder::new("nowhere"),
    )
    .unwrap_err();
    let drawn = drawn(&error);
    for part in [
        "tiny.yaml:4:11",
        "4 │ topology: rnig",
        "help: did you mean `ring`?",
    ] {
        assert!(drawn.contains(part), "{drawn}");
    }
}
