//! The runs' configurations: what they share, and each as it was resolved.

use super::escape::html;
use super::group::Group;
use super::setting_label::{keys_of, text};
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
pub(super) fn shared(groups: &[Group<'_>]) -> String {
    let all: Vec<&Settings> = groups.iter().map(|group| &group.first().settings).collect();
    let mut list = String::from("<dl class=\"facts\">");
    for (key, word) in FACTS {
        if !keys_of(&all).contains(&key) {
            continue;
        }
        let values: Vec<String> = all.iter().map(|settings| text(settings.get(key))).collect();
        let content = match values.iter().all(|value| *value == values[0]) {
            true if values[0].is_empty() => continue,
            true => html(&values[0]),
            false => "<em>differs</em>".to_owned(),
        };
        list.push_str(&format!("<div><dt>{word}</dt><dd>{content}</dd></div>"));
    }
    list.push_str("</dl>");
    list
}

/// The resolved configuration of each group's first run, folded.
pub(super) fn resolved(groups: &[Group<'_>]) -> String {
    let mut section = String::new();
    for group in groups.iter().take(PRINTED) {
        let first = group.first();
        let others = match group.runs.len() {
            1 => String::new(),
            _ => format!(", {}", html(&group.seeds())),
        };
        section.push_str(&format!(
            "<details><summary>{} <small>run {}{others}</small></summary><pre>{}</pre></details>",
            html(&group.label),
            html(&first.id),
            html(first.settings.text())
        ));
    }
    if groups.len() > PRINTED {
        section.push_str(&format!(
            "<p class=\"note\">{} more configurations are in their folders.</p>",
            groups.len() - PRINTED
        ));
    }
    section
}
