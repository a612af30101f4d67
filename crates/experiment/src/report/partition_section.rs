//! The section about who owns which examples.

use super::document::Section;
use super::error::ReportError;
use super::escape::html;
use super::group::Group;
use super::label_counts::LabelCounts;
use super::partition_chart;
use super::quantity_text::{count, mean};
use super::setting_label::text;

/// Most different partitions that are shown.
const SHOWN: usize = 4;

/// A heat map for each partition that the groups' first runs have, unless none was written.
///
/// # Errors
/// Those of [`RunFolder::partition`](super::run_folder::RunFolder::partition).
pub(super) fn section(groups: &[Group<'_>]) -> Result<Option<Section>, ReportError> {
    let mut partitions: Vec<(LabelCounts, Vec<&Group<'_>>)> = Vec::new();
    let mut unshown = 0;
    for group in groups {
        let Some(counts) = group.first().partition()? else {
            continue;
        };
        match partitions.iter().position(|(other, _)| *other == counts) {
            Some(known) => partitions[known].1.push(group),
            None if partitions.len() < SHOWN => partitions.push((counts, vec![group])),
            None => unshown += 1,
        }
    }
    if partitions.is_empty() {
        return Ok(None);
    }
    let alone = partitions.len() == 1;
    let (mut body, mut charts) = (String::new(), Vec::new());
    for (index, (counts, sharing)) in partitions.iter().enumerate() {
        let whose: Vec<&str> = sharing.iter().map(|group| group.label.as_str()).collect();
        let whose = if alone {
            String::new()
        } else {
            format!("<strong>{}</strong>: ", html(&whose.join(", ")))
        };
        let rule = html(&text(sharing[0].first().settings.get("partition")));
        body.push_str(&format!(
            "<p class=\"caption\">{whose}{rule}. {}</p>",
            in_words(counts)
        ));
        let chart = partition_chart::chart(format!("partition_{index}"), counts);
        body.push_str(&chart.element());
        charts.push(chart);
    }
    let mut lead = String::from(
        "How many training examples of each label each client owns; above the map, how many in all.",
    );
    if groups.iter().any(|group| group.runs.len() > 1) {
        lead.push_str(" Shown for one seed.");
    }
    if unshown > 0 {
        lead.push_str(&format!(" {unshown} more partitions are not shown."));
    }
    Ok(Some(Section {
        id: "partition",
        heading: "Who owns what",
        lead,
        body,
        charts,
    }))
}

/// Clients, examples and labels per client.
fn in_words(counts: &LabelCounts) -> String {
    let (examples, labels) = (counts.examples(), counts.labels_held());
    let total: usize = examples.iter().map(|&examples| examples as usize).sum();
    let clients = counts.clients.max(1) as f64;
    let range = |low: usize, high: usize| {
        if low == high {
            count(low)
        } else {
            format!("{} to {}", count(low), count(high))
        }
    };
    let (fewest, most) = (
        examples.iter().min().copied().unwrap_or(0),
        examples.iter().max().copied().unwrap_or(0),
    );
    let (narrowest, widest) = (
        labels.iter().min().copied().unwrap_or(0),
        labels.iter().max().copied().unwrap_or(0),
    );
    let held = labels.iter().sum::<usize>() as f64 / clients;
    let mut words = format!(
        "{} clients own {} examples, {} each, of {} of the {} labels",
        count(counts.clients),
        count(total),
        range(fewest as usize, most as usize),
        range(narrowest, widest),
        counts.classes(),
    );
    if narrowest != widest {
        words.push_str(&format!(" ({} in the mean)", mean(held)));
    }
    words.push('.');
    match partition_chart::together(counts) {
        1 => {}
        together => words.push_str(&format!(
            " Each column of the map is the mean of {together} clients."
        )),
    }
    words
}
