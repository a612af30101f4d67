//! The runs' configurations: what they share, and each as it was resolved.

use crate::runs::group::Group;
use crate::runs::setting_label::{keys_of, text};
use maud::{Markup, html};
use meshfold_experiment::results::Settings;

/// Most configurations that are printed in full.
const PRINTED: usize = 40;

/// Settings that a reader wants before the figures, with the word the page has for each.
const FACTS: [(&str, &str); 7] = [
    ("dataset", "data"),
    ("partition", "partition"),
    ("topology", "overlay"),
    ("weights", "weights"),
    ("model", "model"),
    ("rounds", "rounds"),
    ("algorithm", "method"),
];

/// The settings that all groups share, as a list of terms; what differs is in the groups' labels.
pub(crate) fn shared(groups: &[Group<'_>]) -> Markup {
    let all: Vec<&Settings> = groups.iter().map(|group| &group.first().settings).collect();
    let known = keys_of(&all);
    let facts = FACTS.iter().filter(|(key, _)| known.contains(key));
    html! {
        dl class="facts" {
            @for (word, content) in facts.filter_map(|(key, word)| Some((word, fact(&all, key)?))) {
                div { dt { (word) } dd { (content) } }
            }
        }
    }
}

/// What all `settings` have for `key`; nothing if that has no text.
fn fact(settings: &[&Settings], key: &str) -> Option<Markup> {
    let values: Vec<String> = settings
        .iter()
        .map(|settings| text(settings.get(key)))
        .collect();
    match values.iter().all(|value| *value == values[0]) {
        true if values[0].is_empty() => None,
        true => Some(html! { (values[0]) }),
        false => Some(html! { em { "differs" } }),
    }
}

/// The resolved configuration of each group's first run, folded.
pub(crate) fn resolved(groups: &[Group<'_>]) -> Markup {
    html! {
        @for group in groups.iter().take(PRINTED) {
            details {
                summary {
                    (group.label) " "
                    small {
                        "run " (group.first().id)
                        @if group.runs.len() != 1 { ", " (group.seeds()) }
                    }
                }
                pre { (group.first().settings.text()) }
            }
        }
        @if groups.len() > PRINTED {
            p class="note" { (groups.len() - PRINTED) " more configurations are in their folders." }
        }
    }
}
