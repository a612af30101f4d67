//! The section about who owns which examples.

mod holdings;

use crate::document::Section;
use crate::error::ReportError;
use crate::runs::group::Group;
use crate::runs::setting_label::text;
use maud::{PreEscaped, html};
use meshfold_experiment::results::Holdings;

/// Most different partitions that are shown.
const SHOWN: usize = 4;

/// A chart for each partition that the groups' first runs have, unless none was written.
///
/// # Errors
/// Those of [`RecordedRun::partition`](meshfold_experiment::results::RecordedRun::partition).
pub(crate) fn section(groups: &[Group<'_>]) -> Result<Option<Section>, ReportError> {
    let mut partitions: Vec<(Holdings, Vec<&Group<'_>>)> = Vec::new();
    let mut unshown = 0;
    for group in groups {
        let Some(partition) = group.first().partition()? else {
            continue;
        };
        match partitions.iter().position(|(other, _)| *other == partition) {
            Some(known) => partitions[known].1.push(group),
            None if partitions.len() < SHOWN => partitions.push((partition, vec![group])),
            None => unshown += 1,
        }
    }
    if partitions.is_empty() {
        return Ok(None);
    }
    let alone = partitions.len() == 1;
    let (mut body, mut charts) = (String::new(), Vec::new());
    for (index, (partition, sharing)) in partitions.iter().enumerate() {
        let whose: Vec<&str> = sharing.iter().map(|group| group.label.as_str()).collect();
        let rule = text(sharing[0].first().settings.get("partition"));
        let names = sharing[0].first().names()?;
        let chart = holdings::chart(partition, format!("partition_{index}"), &names);
        let part = html! {
            p class="caption" {
                @if !alone { strong { (whose.join(", ")) } ": " }
                (rule) ". " (holdings::sentence(partition))
            }
            (chart.element())
        };
        body.push_str(&part.0);
        charts.push(chart);
    }
    let mut lead = String::from(holdings::lead(&partitions[0].0));
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
        body: PreEscaped(body),
        charts,
    }))
}
