//! The figures of every group in one table.

use crate::document::quantity_text::{bytes, figure, lambda_range, mean, percent, seconds};
use crate::document::swatch;
use crate::runs::group::Group;
use maud::{Markup, html};

/// A column: its heading, what it means, and its cell for a group.
type Column<'a> = (String, String, Box<dyn Fn(&Group<'_>) -> String + 'a>);

/// The table as HTML, one line per group; columns that no group has are left out.
pub(crate) fn table(groups: &[Group<'_>]) -> Markup {
    let columns: Vec<Column<'_>> = columns(groups)
        .into_iter()
        .filter(|(_, _, cell)| groups.iter().any(|group| cell(group) != "–"))
        .collect();
    html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        th scope="col" { "run" }
                        @for (heading, meaning, _) in &columns {
                            th scope="col" title=(meaning) { (heading) }
                        }
                    }
                }
                tbody {
                    @for (index, group) in groups.iter().enumerate() {
                        tr {
                            th scope="row" {
                                (swatch(index)) (group.label)
                                @if group.runs.len() > 1 { " " small { (group.seeds()) } }
                            }
                            @for (_, _, cell) in &columns { td { (cell(group)) } }
                        }
                    }
                }
            }
        }
    }
}

fn columns<'a>(groups: &[Group<'_>]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = vec![
        column(
            "λ",
            "share of disagreement that an exchange leaves in the long run",
            |group| lambda_range(group.lambda()),
        ),
        column("mean", "test accuracy, mean over the clients", |group| {
            percent(group.final_accuracy().mean)
        }),
        column("min", "test accuracy of the lowest client", |group| {
            percent(group.final_accuracy().min)
        }),
        column("max", "test accuracy of the highest client", |group| {
            percent(group.final_accuracy().max)
        }),
        column(
            "mean model",
            "test accuracy of the average of all models",
            |group| percent(group.final_figure(|last| last.mean_model_accuracy)),
        ),
        column(
            "consensus",
            "root mean square distance of the models from their mean",
            |group| figure(group.final_figure(|last| last.consensus_distance)),
        ),
        column("traffic", "bytes sent by all nodes", |group| {
            bytes(group.final_figure(|last| last.bytes_total))
        }),
        column(
            "busiest node",
            "bytes sent and received by the busiest node, summed over rounds",
            |group| bytes(group.final_figure(|last| last.bytes_busiest_node)),
        ),
        column("degree", "mean number of neighbours", |group| {
            group
                .first()
                .overlay_summary
                .as_ref()
                .map_or_else(|| "–".to_owned(), |summary| mean(summary.degree.mean))
        }),
        column("rounds", "rounds up to the last evaluation", |group| {
            group
                .last_round()
                .map_or_else(|| "–".to_owned(), |round| round.to_string())
        }),
        column("simulated", "seconds by the network model", |group| {
            seconds(group.final_figure(|last| last.simulated_seconds))
        }),
        column("time", "seconds on the clock", |group| {
            seconds(group.final_figure(|last| last.wall_seconds))
        }),
    ];
    columns.extend(targets(groups).into_iter().map(target));
    columns
}

fn column<'a>(
    heading: &str,
    meaning: &str,
    cell: impl Fn(&Group<'_>) -> String + 'a,
) -> Column<'a> {
    (heading.to_owned(), meaning.to_owned(), Box::new(cell))
}

fn target<'a>(target: f64) -> Column<'a> {
    let percentage = (100.0 * target * 100.0).round() / 100.0;
    let cell = move |group: &Group<'_>| {
        group
            .round_reaching(target)
            .map_or_else(|| "–".to_owned(), mean)
    };
    column(
        &format!("≥ {percentage} %"),
        "first round at which the mean accuracy is at least this, over seeds",
        cell,
    )
}

/// Every target that a run asks for, ascending.
fn targets(groups: &[Group<'_>]) -> Vec<f64> {
    let mut targets: Vec<f64> = groups
        .iter()
        .flat_map(|group| group.first().settings.targets())
        .collect();
    targets.sort_by(f64::total_cmp);
    targets.dedup();
    targets
}
