//! The page about overlays under churn.

use crate::charts;
use crate::document::chart::Chart;
use crate::document::palette::SERIES;
use crate::document::plotly_script::Script;
use crate::document::quantity_text::{count, mean, percent, seconds};
use crate::document::{self, Document, Section, chip, columns, swatch};
use maud::{Markup, html};
use meshfold_experiment::ChurnRun;
use meshfold_topology::protocol::{ChurnTrace, EventKind, EventRecord};
use serde_json::{Value, json};

/// The page about these simulations, at least one.
pub(crate) fn page(title: &str, runs: &[(ChurnRun, ChurnTrace)]) -> Document {
    let charted = &runs[..runs.len().min(SERIES)];
    let sections = vec![
        correct(charted),
        events(runs),
        messages(charted),
        configurations(runs),
    ];
    Document {
        title: title.to_owned(),
        header: html! { p class="headline" { (sentence(runs)) } },
        toolbar: toolbar(charted),
        source: String::new(),
        script: Script::Inside,
        following: None,
        data: data(charted, &sections),
        sections,
    }
}

/// What became of the events.
fn sentence(runs: &[(ChurnRun, ChurnTrace)]) -> String {
    let is_event = |record: &&EventRecord| record.kind != EventKind::Grow;
    let records = || {
        runs.iter()
            .flat_map(|(_, trace)| &trace.events)
            .filter(is_event)
    };
    let (all, open) = (
        records().count(),
        records()
            .filter(|record| record.recovered_seconds.is_none())
            .count(),
    );
    let longest = records()
        .filter_map(|record| record.recovered_seconds)
        .fold(0.0, f64::max);
    match (all, open) {
        (0, _) => "Nothing happens here but heartbeats.".to_owned(),
        (_, 0) => format!(
            "After every event all nodes have their correct neighbours again, at the latest {} on.",
            seconds(Some(longest))
        ),
        _ => format!(
            "After {open} of {all} events some nodes still lack their correct neighbours when the next event or the \
             end comes."
        ),
    }
}

fn correct(runs: &[(ChurnRun, ChurnTrace)]) -> Section {
    let chart = charts::churn::correct(runs);
    let lead = "Share of the nodes alive that have exactly the correct neighbour on both sides of every ring.";
    Section {
        id: "correct-neighbours",
        heading: "Correct neighbours",
        lead: lead.to_owned(),
        body: chart.element(),
        charts: vec![chart],
    }
}

fn messages(runs: &[(ChurnRun, ChurnTrace)]) -> Section {
    let charts: Vec<Chart> = vec![
        charts::churn::messages(runs),
        charts::churn::heartbeats(runs),
    ];
    let lead = "Messages since the beginning: those that change the overlay, and the heartbeats that watch it.";
    Section {
        id: "traffic",
        heading: "Messages",
        lead: lead.to_owned(),
        body: columns(&charts),
        charts,
    }
}

/// Every event of every simulation in one table.
fn events(runs: &[(ChurnRun, ChurnTrace)]) -> Section {
    let headings = [
        "event",
        "at",
        "nodes",
        "alive",
        "right after",
        "in the end",
        "components",
        "recovered after",
        "messages",
        "per node",
        "hops per query",
    ];
    let body = html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        th scope="col" { "simulation" }
                        @for heading in headings { th scope="col" { (heading) } }
                    }
                }
                tbody {
                    @for (index, (run, trace)) in runs.iter().enumerate() {
                        @for record in &trace.events {
                            tr {
                                th scope="row" { (swatch(index)) (run.label()) }
                                @for cell in cells(record) { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    };
    let lead = "What each event cost, without heartbeats, and how long it lasted, up to the next event. Parts that know \
                nobody of each other (components) cannot be joined again by any message.";
    Section::of_text("events", "Events", lead, body)
}

fn cells(record: &EventRecord) -> [String; 11] {
    [
        record.kind.name().to_owned(),
        seconds(Some(record.at_seconds)),
        count(record.nodes),
        count(record.alive),
        percent(Some(record.correct_after)),
        percent(Some(record.correct)),
        count(record.components),
        seconds(record.recovered_seconds),
        count(record.messages as usize),
        mean(record.messages_per_node),
        record.hops_per_search.map_or_else(|| "–".to_owned(), mean),
    ]
}

fn configurations(runs: &[(ChurnRun, ChurnTrace)]) -> Section {
    let body = html! {
        @for (run, _) in runs {
            details { summary { (run.label()) } pre { (run.to_yaml()) } }
        }
    };
    let lead =
        "Every setting, defaults included. A file with this text gives the same simulation again.";
    Section::of_settings(lead, body)
}

fn toolbar(runs: &[(ChurnRun, ChurnTrace)]) -> Markup {
    html! {
        nav class="toolbar" aria-label="simulations" {
            div class="chips" {
                @for (index, (run, _)) in runs.iter().enumerate() {
                    (chip(index, &html! { (run.label()) }))
                }
            }
        }
    }
}

/// What the page's script draws from.
fn data(runs: &[(ChurnRun, ChurnTrace)], sections: &[Section]) -> Value {
    let group = |(run, _): &(ChurnRun, ChurnTrace)| json!({ "label": run.label(), "note": "" });
    let groups: Vec<Value> = runs.iter().map(group).collect();
    let mut data = json!({ "groups": groups, "axes": [], "factors": [] });
    // Set and not named above, where the macro would copy it.
    data["charts"] = document::charts(sections);
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_experiment::ExperimentSource;
    use meshfold_experiment::plan_churn;
    use meshfold_topology::protocol::simulate;

    fn written(yaml: &str) -> String {
        let runs = plan_churn(&ExperimentSource::new("c.yaml", yaml)).unwrap();
        let runs: Vec<_> = runs
            .into_iter()
            .map(|run| (run.clone(), simulate(&run.churn).unwrap()))
            .collect();
        let mut written = Vec::new();
        page("<failures>", &runs).write(&mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_page_has_a_line_for_each_simulation_and_a_row_for_each_event() {
        let yaml = "{nodes: 40, spaces: 2, until_seconds: 12, events: [{at_seconds: 1, fail: {share: 0.1}}], \
                    sweep: {grid: {events.0.fail.share: [0.1, 0.2]}}}";
        let page = written(yaml);
        let start = page.split_once("id=\"report-data\">").unwrap().1;
        let data: Value = serde_json::from_str(start.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["groups"][1]["label"], "share=0.2");
        for chart in ["correct", "messages", "heartbeats"] {
            let lines = data["charts"][chart]["data"].as_array().unwrap();
            assert_eq!(lines.len(), 2, "{chart}");
            assert_eq!(lines[0]["x"].as_array().unwrap().len(), 25, "{chart}");
            assert!(page.contains(&format!("id=\"chart-{chart}\"")));
        }
        assert_eq!(page.matches("<td>fail</td>").count(), 2);
        assert!(page.contains("all nodes have their correct neighbours again"));
        assert!(page.contains("&lt;failures&gt;") && !page.contains("<failures>"));
    }

    #[test]
    fn what_was_not_repaired_is_said_first() {
        let yaml = "{nodes: 100, spaces: 1, until_seconds: 12, events: [{at_seconds: 1, fail: {share: 0.3}}]}";
        assert!(written(yaml).contains("After 1 of 1 events some nodes still lack"));
    }
}
