//! The page about runs: its sections in order, and what its script draws from.

use super::axes::axes;
use super::configuration;
use super::curve_charts;
use super::document::{self, Document, Section, charts, columns};
use super::error::ReportError;
use super::escape::html;
use super::gathering::Gathered;
use super::group::Group;
use super::headline;
use super::left_out::LeftOut;
use super::overlay_section;
use super::palette::{self, SERIES};
use super::partition_section;
use super::plotly_script::Script;
use super::quantised_section;
use super::quantity_text::{lambda_range, percent};
use super::spread_chart;
use super::summary_table;
use meshfold_experiment::results::RecordedRun;
use serde_json::{Value, json};

/// Most runs that are named among those left out.
const NAMED: usize = 20;

/// The page about these runs, at least one.
///
/// # Errors
/// [`ReportError::Results`] for files that are read again where they are shown.
pub(super) fn page(gathered: &Gathered, script: Script) -> Result<Document, ReportError> {
    let Gathered { runs, left_out } = gathered;
    let groups = Group::all(runs);
    let charted = &groups[..groups.len().min(SERIES)];
    let mut sections = vec![glance(charted)];
    sections.extend(overlay_section::cards(charted)?);
    sections.push(table(&groups));
    sections.extend(quantised_section::section(&groups));
    sections.push(course(charted));
    sections.extend(clients(charted));
    sections.extend(overlay_section::structure(charted)?);
    sections.extend(partition_section::section(charted)?);
    sections.push(configurations(&groups));
    let header = format!(
        "<p class=\"headline\">{}</p>{}{}{}",
        html(&headline::sentences(&groups)),
        configuration::shared(&groups),
        left_out_notice(left_out),
        notices(runs, &groups, charted.len()),
    );
    Ok(Document {
        title: title(runs),
        header,
        toolbar: toolbar(charted),
        footer: document::footer(&source(runs), &script),
        data: data(charted, &sections),
        sections,
        script,
    })
}

fn glance(groups: &[Group<'_>]) -> Section {
    let chart = curve_charts::accuracy(groups);
    let lead = "Mean test accuracy of all clients' models (line), from the lowest to the highest client (band); \
                dotted, if asked for, the average of all models taken as one.";
    Section {
        id: "accuracy",
        heading: "Accuracy",
        lead: lead.to_owned(),
        body: chart.element(),
        charts: vec![chart],
    }
}

fn table(groups: &[Group<'_>]) -> Section {
    let lead = "Figures of the last evaluation; of several seeds the mean, lowest and highest are over all of them.";
    let body = summary_table::table(groups);
    Section {
        id: "table",
        heading: "Runs in figures",
        lead: lead.to_owned(),
        body,
        charts: Vec::new(),
    }
}

fn course(groups: &[Group<'_>]) -> Section {
    let charts = vec![curve_charts::loss(groups), curve_charts::consensus(groups)];
    let exact = curve_charts::in_exact_agreement(groups);
    let agreement = match exact.as_slice() {
        [] => String::new(),
        [one] => format!(
            " After every round the models of {} are equal: that distance of 0 is below the axis.",
            html(one)
        ),
        _ => format!(
            " After every round the models of {} are equal: those distances of 0 are below the axis.",
            html(&exact.join(", "))
        ),
    };
    let lead = format!(
        "Test loss with its band, and the consensus distance: how far, in the root mean square, the models are from \
         their mean.{agreement}"
    );
    Section {
        id: "course",
        heading: "Loss and consensus",
        lead,
        body: columns(&charts),
        charts,
    }
}

fn clients(groups: &[Group<'_>]) -> Option<Section> {
    let chart = spread_chart::chart(groups)?;
    let lead = "How the final test accuracy is spread over the clients: each row is a histogram, the diamonds below \
                it are the lowest client, the mean and the highest.";
    Some(Section {
        id: "clients",
        heading: "Client by client",
        lead: lead.to_owned(),
        body: chart.element(),
        charts: vec![chart],
    })
}

fn configurations(groups: &[Group<'_>]) -> Section {
    let lead = "Every setting as it was resolved, defaults included. A file with this text runs the same \
                experiment again.";
    let body = configuration::resolved(groups);
    Section {
        id: "configuration",
        heading: "Configuration",
        lead: lead.to_owned(),
        body,
        charts: Vec::new(),
    }
}

fn title(runs: &[RecordedRun]) -> String {
    let mut names: Vec<&str> = runs.iter().map(|run| run.settings.name()).collect();
    names.dedup();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [name] => (*name).to_owned(),
        [first, second] => format!("{first} and {second}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

/// Which runs are left out, and why.
fn left_out_notice(left_out: &[LeftOut]) -> String {
    let named = left_out.iter().take(NAMED);
    let mut items: String = named
        .map(|run| {
            let (name, reason) = (html(&run.name()), html(&run.reason()));
            format!("<li><strong>{name}</strong> is left out: {reason}.</li>")
        })
        .collect();
    if left_out.len() > NAMED {
        items.push_str(&format!(
            "<li>{} more are left out.</li>",
            left_out.len() - NAMED
        ));
    }
    match items.is_empty() {
        true => items,
        false => format!("<ul class=\"notices\" id=\"left-out\">{items}</ul>"),
    }
}

fn notices(runs: &[RecordedRun], groups: &[Group<'_>], charted: usize) -> String {
    let mut items = Vec::new();
    for group in groups {
        for run in &group.runs {
            let seed = run
                .settings
                .seed()
                .map_or_else(String::new, |seed| format!(", seed {seed}"));
            let left_out = !group
                .averaged
                .iter()
                .any(|averaged| std::ptr::eq(*averaged, *run))
                && !group.averaged.is_empty();
            let mut notes = run.notices.clone();
            if left_out {
                notes.push(
                    "it is left out of the means, which are over the runs that came further"
                        .to_owned(),
                );
            }
            if !notes.is_empty() {
                items.push(format!(
                    "<strong>{}{}</strong>: {}.",
                    html(&group.label),
                    html(&seed),
                    html(&notes.join("; "))
                ));
            }
        }
    }
    if charted < groups.len() {
        items.push(format!(
            "The plots show the first {charted} of {} kinds of runs; the table has all.",
            groups.len()
        ));
    }
    if runs
        .iter()
        .any(|run| run.evaluations.len() > super::curves::POINTS)
    {
        items.push(format!(
            "Lines are drawn through {} of the evaluations, evenly chosen.",
            super::curves::POINTS
        ));
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{item}</li>"))
        .collect();
    if items.is_empty() {
        String::new()
    } else {
        format!("<ul class=\"notices\">{items}</ul>")
    }
}

/// Legend and axis switch, in reach while the page scrolls.
fn toolbar(groups: &[Group<'_>]) -> String {
    let mut chips = String::new();
    for (index, group) in groups.iter().enumerate() {
        let lambda = group.lambda().map_or_else(String::new, |range| {
            format!(" <small>λ {}</small>", lambda_range(Some(range)))
        });
        chips.push_str(&format!(
            "<button type=\"button\" class=\"chip\" data-group=\"{index}\" aria-pressed=\"true\">\
             <i class=\"swatch\" style=\"background:var(--series-{})\"></i>{}{lambda}</button>",
            palette::series(index),
            html(&group.label)
        ));
    }
    format!(
        "<nav class=\"toolbar\" aria-label=\"runs and axis\"><div class=\"chips\">{chips}</div>\
         <div class=\"switches\"><label class=\"toggle\"><input type=\"checkbox\" id=\"mean-model\"> mean model</label>\
         <div class=\"segments\" id=\"axes\" role=\"group\" aria-label=\"horizontal axis\"></div></div></nav>"
    )
}

/// The runs that the page was written from.
fn source(runs: &[RecordedRun]) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).take(24).collect();
    let more = if runs.len() > ids.len() {
        format!(" and {} more", runs.len() - ids.len())
    } else {
        String::new()
    };
    let plural = if runs.len() == 1 { "" } else { "s" };
    format!(
        " from the records of run{plural} {}{more}",
        html(&ids.join(", "))
    )
}

/// What the page's script draws from.
fn data(groups: &[Group<'_>], sections: &[Section]) -> Value {
    let note = |group: &Group<'_>| {
        let accuracy = percent(group.final_accuracy().mean);
        group.lambda().map_or_else(
            || accuracy.clone(),
            |range| format!("{accuracy} · λ {}", lambda_range(Some(range))),
        )
    };
    let groups_data: Vec<Value> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| json!({ "label": group.label, "note": note(group), "series": palette::series(index) }))
        .collect();
    json!({ "groups": groups_data, "axes": axes(groups), "charts": charts(sections) })
}
