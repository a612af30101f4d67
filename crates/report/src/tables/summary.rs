//! The figures of every group in one table.

use crate::document::quantity_text::{bytes, figure, mean, percent, range, seconds};
use crate::document::swatch;
use crate::runs::group::{Group, Reaching};
use crate::tables::sortable::sortable;
use maud::{Markup, html};

/// A figure of a group.
type FigureOf<'a> = Box<dyn Fn(&Group<'_>) -> Option<f64> + 'a>;

/// A column of the table.
struct Column<'a> {
    heading: String,
    meaning: String,
    /// What the column is sorted by.
    figure: FigureOf<'a>,
    /// The same in words.
    text: Box<dyn Fn(&Group<'_>) -> String + 'a>,
}

/// The table as HTML, one line per group; columns that no group has are left out.
pub(crate) fn table(groups: &[Group<'_>]) -> Markup {
    let columns: Vec<Column<'_>> = columns(groups)
        .into_iter()
        .filter(|column| groups.iter().any(|group| (column.figure)(group).is_some()))
        .collect();
    let rows = html! {
        @for (index, group) in groups.iter().enumerate() {
            tr data-group=(index) {
                th scope="row" {
                    (swatch(index)) (group.label)
                    @if group.runs.len() > 1 { " " small { (group.seeds()) } }
                }
                @for column in &columns { td data-sort=[(column.figure)(group)] { ((column.text)(group)) } }
            }
        }
    };
    let headings = columns
        .iter()
        .map(|column| (column.heading.as_str(), column.meaning.as_str()));
    sortable("run", headings, &rows)
}

fn columns<'a>(groups: &[Group<'_>]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = vec![
        Column {
            text: Box::new(|group| group.lambda_text().unwrap_or_else(|| "–".to_owned())),
            ..column(
                "λ",
                "share of disagreement that an exchange leaves in the long run",
                |group| group.lambda().map(|(_, high)| high),
                figure,
            )
        },
        column(
            "mean",
            "test accuracy, mean over the clients",
            |group| group.final_accuracy().mean,
            percent,
        ),
        column(
            "min",
            "test accuracy of the lowest client",
            |group| group.final_accuracy().min,
            percent,
        ),
        column(
            "max",
            "test accuracy of the highest client",
            |group| group.final_accuracy().max,
            percent,
        ),
        column(
            "mean model",
            "test accuracy of the average of all models",
            |group| group.final_figure(|last| last.mean_model_accuracy),
            percent,
        ),
        column(
            "consensus",
            "root mean square distance of the models from their mean",
            |group| group.final_figure(|last| last.consensus_distance),
            figure,
        ),
        column(
            "traffic",
            "bytes sent by all nodes",
            |group| group.final_figure(|last| last.bytes_total),
            bytes,
        ),
        column(
            "busiest node",
            "bytes sent and received by the busiest node, summed over rounds",
            |group| group.final_figure(|last| last.bytes_busiest_node),
            bytes,
        ),
        Column {
            text: Box::new(|group| range(group.degree(), mean)),
            ..column(
                "degree",
                "mean number of neighbours",
                |group| group.degree().map(|(_, high)| high),
                often_whole,
            )
        },
        column(
            "rounds",
            "rounds up to the last evaluation",
            |group| group.final_figure(|last| Some(last.round as f64)),
            often_whole,
        ),
        column(
            "simulated",
            "seconds by the network model",
            |group| group.final_figure(|last| last.simulated_seconds),
            seconds,
        ),
        column(
            "time",
            "seconds on the clock",
            |group| group.final_figure(|last| last.wall_seconds),
            seconds,
        ),
        column(
            "processor",
            "seconds of processor time of all threads; – where runs shared the cores",
            |group| group.processor_seconds(),
            seconds,
        ),
    ];
    columns.extend(targets(groups).into_iter().map(target));
    columns
}

fn column<'a>(
    heading: &str,
    meaning: &str,
    figure: impl Fn(&Group<'_>) -> Option<f64> + Copy + 'a,
    text: fn(Option<f64>) -> String,
) -> Column<'a> {
    Column {
        heading: heading.to_owned(),
        meaning: meaning.to_owned(),
        figure: Box::new(figure),
        text: Box::new(move |group| text(figure(group))),
    }
}

fn often_whole(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), mean)
}

fn target<'a>(target: f64) -> Column<'a> {
    let percentage = (100.0 * target * 100.0).round() / 100.0;
    Column {
        text: Box::new(move |group| first_round(group.reaching(target))),
        ..column(
            &format!("≥ {percentage} %"),
            "first round at which the mean accuracy is at least this, the mean over the seeds that reached it",
            move |group| group.reaching(target).round,
            often_whole,
        )
    }
}

/// `18.8`, or `18.8 (4 of 5)` where only some seeds reached the target.
fn first_round(reaching: Reaching) -> String {
    let round = often_whole(reaching.round);
    match (reaching.reached, reaching.runs) {
        (reached, runs) if runs > 1 && reached < runs => format!("{round} ({reached} of {runs})"),
        _ => round,
    }
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
