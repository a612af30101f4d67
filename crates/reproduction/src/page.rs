//! One page with all rows: what papers state, ours, the verdict and the curves.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use meshfold_experiment::results::Figures;

use crate::curves::drawn;
use crate::outcome::{ReadOut, RowOutcome};
use crate::planned::{Planned, PlannedRow};
use crate::rows::{ONLY_VALUE, Rows};
use crate::table::with_seeds;
use crate::verdict::Verdict;

const STYLE: &str = include_str!("page.css");

/// The page of `outcomes`, which are those of the rows of `planned` in their order. `records` are the records of a finished run.
pub fn page(
    rows: &Rows,
    planned: &Planned<'_>,
    outcomes: &[RowOutcome<'_>],
    records: &dyn Fn(usize) -> Option<Vec<Figures>>,
) -> String {
    let papers = rows
        .papers
        .iter()
        .filter(|(paper, _)| outcomes.iter().any(|outcome| outcome.row.paper == **paper));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "What the papers state, and what Meshfold measures" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "What the papers state, and what Meshfold measures" }
                (counts(outcomes))
                @for (paper, title) in papers {
                    section {
                        h2 { (title) }
                        @for group in groups(paper, planned, outcomes) { (of_place(&group, records)) }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// The rows of one figure or table of a paper.
struct Group<'p, 'r> {
    place: &'r str,
    rows: Vec<(&'p PlannedRow<'r>, &'p RowOutcome<'r>)>,
}

fn groups<'p, 'r>(
    paper: &str,
    planned: &'p Planned<'r>,
    outcomes: &'p [RowOutcome<'r>],
) -> Vec<Group<'p, 'r>> {
    let mut groups: Vec<Group<'p, 'r>> = Vec::new();
    for (row, outcome) in planned.rows.iter().zip(outcomes) {
        if row.row.paper != paper {
            continue;
        }
        let place = row.row.place.as_str();
        match groups.iter_mut().find(|group| group.place == place) {
            Some(group) => group.rows.push((row, outcome)),
            None => groups.push(Group {
                place,
                rows: vec![(row, outcome)],
            }),
        }
    }
    groups
}

fn counts(outcomes: &[RowOutcome<'_>]) -> Markup {
    html! {
        p.counts {
            @for (count, verdict) in Verdict::counts(outcomes) {
                span class={ "verdict " (class(verdict)) } { (count) " " (verdict.words()) } " "
            }
        }
    }
}

fn of_place(group: &Group<'_, '_>, records: &dyn Fn(usize) -> Option<Vec<Figures>>) -> Markup {
    let rows: Vec<&PlannedRow<'_>> = group.rows.iter().map(|(row, _)| *row).collect();
    html! {
        h3 { (group.place) }
        @if let Some(svg) = drawn(&rows, records) {
            figure { (PreEscaped(without_prologue(&svg))) }
        }
        table {
            thead { tr { th { "row" } th { "what is compared" } th { "ours" } th { "verdict" } th { "why" } } }
            tbody {
                @for (_, outcome) in &group.rows {
                    tr {
                        td { code { (outcome.row.id) } }
                        td { (outcome.row.says) @if let Some(note) = &outcome.row.note { p.note { (note) } } }
                        td { @if let Some(reading) = outcome.readings.first() { (values(reading, outcome)) } }
                        td { span class={ "verdict " (class(outcome.verdict)) } { (outcome.verdict.words()) } }
                        td {
                            (with_seeds(outcome))
                            @for reading in outcome.readings.iter().skip(1) {
                                p.note { "Read otherwise (" (reading.name.as_deref().unwrap_or_default()) "): "
                                    (reading.verdict.words()) ", " (reading.reason) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The values of a reading, each as its mean and standard deviation over the seeds.
fn values(reading: &ReadOut, outcome: &RowOutcome<'_>) -> Markup {
    let unit = outcome.unit();
    html! {
        @for (name, values) in &reading.values {
            @if !values.is_empty() {
                div {
                    @if name != ONLY_VALUE { (name) ": " }
                    (values.shown(unit))
                    @if let Some(sd) = values.estimate().and_then(|estimate| estimate.sd) { " ± " (unit.shown(sd)) }
                }
            }
        }
    }
}

/// The drawing without the XML declaration, which has no place inside a page.
fn without_prologue(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Close | Verdict::OrderingHolds | Verdict::Tested => "holds",
        Verdict::Contradicts => "contradicts",
        Verdict::NeedsData | Verdict::NotDecidable | Verdict::NotRun => "open",
    }
}
