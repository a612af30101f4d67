//! The runs' configurations: what they share, and each as it was resolved.

use crate::runs::group::Group;
use crate::runs::setting_label::{keys_of, text};
use maud::{Markup, html};
use meshfold_experiment::results::Settings;
use serde_json::Value;

/// Most configurations that are printed in full.
const PRINTED: usize = 40;

/// Settings that a reader wants before the figures, with the word the page has for each.
const FACTS: [(&str, &str); 10] = [
    ("dataset", "data"),
    ("partition", "partition"),
    ("topology", "overlay"),
    ("weights", "weights"),
    ("model", "model"),
    ("rounds", "rounds"),
    ("algorithm", "method"),
    ("stragglers", "stragglers"),
    ("failures", "failures"),
    ("network", "network"),
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
            @if let Some(examples) = judged_on(&all) {
                div { dt { "judged on" } dd { (examples) } }
            }
            @if let Some(alive) = alive(groups) {
                div { dt { "clients alive at the end" } dd { (alive) } }
            }
        }
    }
}

/// How many test examples the models were judged on, also where the last evaluation has others.
fn judged_on(settings: &[&Settings]) -> Option<Markup> {
    let in_words = |settings: &&Settings| {
        let evaluate = settings.get("evaluate");
        let examples = |key: &str| match evaluate.get(key)? {
            Value::Null => None,
            Value::String(all) => Some(format!("{all} test examples")),
            count => Some(format!("{} test examples", text(count))),
        };
        let usual = examples("examples")?;
        Some(match examples("last").filter(|last| *last != usual) {
            Some(last) => format!("{usual}, in the end on {last}"),
            None => usual,
        })
    };
    let all: Vec<String> = settings.iter().map(in_words).collect::<Option<_>>()?;
    match all.iter().all(|words| *words == all[0]) {
        true => Some(html! { (all[0]) }),
        false => Some(html! { em { "differs" } }),
    }
}

/// How many clients were alive at the last evaluations, where not all were.
fn alive(groups: &[Group<'_>]) -> Option<String> {
    let runs = || groups.iter().flat_map(|group| &group.averaged);
    let alive = || runs().filter_map(|run| run.last()?.alive);
    let (fewest, most) = (alive().min()?, alive().max()?);
    let clients = runs().filter_map(|run| run.clients).max()?;
    let of = |count: String| format!("{count} of {clients}");
    match (fewest < clients, fewest == most) {
        (false, _) => None,
        (true, true) => Some(of(fewest.to_string())),
        (true, false) => Some(of(format!("{fewest} to {most}"))),
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
