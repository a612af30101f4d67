//! Runs that were made on other data than the first one with the same settings of the dataset, as happens where a file is replaced
//! between runs.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::runs::group::Group;

/// Most of these runs that are named.
const NAMED: usize = 20;

/// What a reader should know of such runs, if there are any.
pub(super) fn on_other_data(groups: &[Group<'_>]) -> Option<Markup> {
    let mut firsts = BTreeMap::new();
    let mut names = Vec::new();
    for group in groups {
        for run in &group.runs {
            let Some(examples) = run.examples() else {
                continue;
            };
            let dataset = run.settings.get("dataset").to_string();
            let first = firsts.entry(dataset).or_insert_with(|| examples.clone());
            if *first != examples {
                names.push(match run.settings.seed() {
                    Some(seed) => format!("{}, seed {seed}", group.label),
                    None => group.label.clone(),
                });
            }
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    (!names.is_empty()).then(|| {
        html! {
            "On other data than the first run with these settings of the dataset: "
            @for (at, name) in names.iter().enumerate() {
                @if at > 0 { "; " }
                strong { (name) }
            }
            @if more > 0 { " and " (more) " more" }
            ". Run all with " code { "--again" } " to compare them."
        }
    })
}
