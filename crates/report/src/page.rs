//! The page about runs: its sections in order, and what its script draws from.

mod axes;
mod changing;
mod headline;
mod other_data;
mod theorem;
mod toolbar;

use crate::charts;
use crate::clients::Clients;
use crate::document::chart::Chart;
use crate::document::plotly_script::Script;
use crate::document::quantity_text::percent;
use crate::document::{self, Document, Section, columns};
use crate::error::ReportError;
use crate::left_out::LeftOut;
use crate::overlay;
use crate::overlay::shared::SharedOverlay;
use crate::partition;
use crate::runs::curves;
use crate::runs::factor::{Factor, ages};
use crate::runs::gathering::Gathered;
use crate::runs::group::Group;
use crate::tables::configuration;
use crate::tables::quantised;
use crate::tables::summary;
use axes::axes;
use maud::{Markup, html};
use meshfold_experiment::results::RecordedRun;
use serde_json::{Value, json};
use toolbar::toolbar;

/// Most runs that are named among those left out.
const NAMED: usize = 20;

/// Most kinds of runs whose curves the page has.
pub(crate) const CHARTED: usize = 100;

/// The page about these runs; without any it says so.
///
/// # Errors
/// [`ReportError::Results`] for files that are read again where they are shown.
pub(crate) fn page(gathered: &Gathered, script: Script) -> Result<Document, ReportError> {
    let Gathered { runs, left_out } = gathered;
    if runs.is_empty() {
        return Ok(without_runs("no runs", "0 runs.", left_out));
    }
    let mut groups = Group::all(runs);
    let factors = Factor::all(&groups);
    for group in groups.iter_mut().take(CHARTED) {
        group.curves.add_quantiles(&group.averaged)?;
    }
    let charted = &groups[..groups.len().min(CHARTED)];
    let mut sections = vec![glance(charted)];
    let shared = SharedOverlay::all(charted)?;
    sections.extend(overlay::cards(&shared));
    sections.push(table(&groups));
    sections.extend(heat(&groups, &factors));
    sections.extend(quantised::section(&groups));
    sections.push(course(charted));
    sections.extend(own(charted));
    sections.extend(theorem::section(charted));
    sections.extend(clients(charted));
    let details = Clients::of(charted)?;
    sections.extend(details.section(charted));
    sections.extend(overlay::structure(&shared));
    sections.extend(partition::section(charted)?);
    sections.push(configurations(&groups));
    let mut data = data(&groups, charted, &factors, &sections);
    data["clients"] = json!(details);
    let header = html! {
        p class="headline" { (headline::sentences(&groups)) }
        (configuration::shared(&groups))
        (left_out_notice(left_out))
        (notices(runs, &groups, charted.len()))
    };
    Ok(Document {
        title: title(runs),
        header,
        toolbar: toolbar(charted, &factors),
        source: source(runs),
        data,
        sections,
        script,
        following: None,
    })
}

/// The page where there is no run to show, called `title`, with `words` on why that is.
pub(crate) fn without_runs(title: &str, words: &str, left_out: &[LeftOut]) -> Document {
    Document {
        title: title.to_owned(),
        header: html! {
            p class="headline" { (words) }
            (left_out_notice(left_out))
        },
        toolbar: html! {},
        source: String::new(),
        data: data(&[], &[], &[], &[]),
        sections: Vec::new(),
        script: Script::Inside,
        following: None,
    }
}

fn glance(groups: &[Group<'_>]) -> Section {
    let chart = charts::curve::accuracy(groups);
    let lead = "Mean test accuracy of all clients' models (line) and the band that is chosen above; dotted, if asked \
                for, the average of all models taken as one.";
    let of_the_living = match groups.iter().any(Group::has_failures) {
        true => " Clients that have failed by then do not count.",
        false => "",
    };
    Section {
        id: "accuracy",
        heading: "Accuracy",
        lead: format!("{lead}{of_the_living}"),
        body: chart.element(),
        charts: vec![chart],
    }
}

fn table(groups: &[Group<'_>]) -> Section {
    let lead = format!(
        "Figures of the last evaluation; of several seeds the mean, lowest and highest are over all of them.{}",
        changing::sentences(groups)
    );
    let body = summary::table(groups);
    Section::of_text("table", "Runs in figures", lead, body)
}

fn course(groups: &[Group<'_>]) -> Section {
    let charts = vec![
        charts::curve::loss(groups),
        charts::curve::consensus(groups),
    ];
    let exact = charts::curve::in_exact_agreement(groups);
    let agreement = match exact.as_slice() {
        [] => String::new(),
        [one] => format!(
            " After every round the models of {} are equal: that distance of 0 is below the axis.",
            one
        ),
        [first, second, rest @ ..] if rest.len() > 2 => format!(
            " After every round the models of {first}, {second} and {} more are equal: those distances of 0 are below the axis.",
            rest.len()
        ),
        _ => format!(
            " After every round the models of {} are equal: those distances of 0 are below the axis.",
            exact.join(", ")
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

/// What the methods recorded themselves, if they recorded anything.
fn own(groups: &[Group<'_>]) -> Option<Section> {
    let charts = charts::curve::own(groups);
    if charts.is_empty() {
        return None;
    }
    let all = charts::curve::own_names(groups).len();
    let more = match all > charts.len() {
        true => format!(
            " These are the first {} of {all} figures by name; the records have all.",
            charts.len()
        ),
        false => String::new(),
    };
    Some(Section {
        id: "own",
        heading: "Figures of the method",
        lead: format!(
            "What the method recorded itself: a number of the round, or one for each model, of which the line is the mean.{more}"
        ),
        body: columns(&charts),
        charts,
    })
}

fn clients(groups: &[Group<'_>]) -> Option<Section> {
    let chart = charts::spread::chart(groups)?;
    let boxes: Vec<Chart> = [
        charts::boxes::of_clients(groups),
        charts::boxes::of_seeds(groups),
    ]
    .into_iter()
    .flatten()
    .collect();
    let lead = "How the final test accuracy is spread over the clients: each row is a histogram, the diamonds below \
                it are the lowest client, the mean and the highest. A box holds the middle half of the clients, or of \
                the seeds, its line is the median; the whiskers go from the 5 % to the 95 % quantile.";
    let body = html! { (chart.element()) (columns(&boxes)) };
    Some(Section {
        id: "clients",
        heading: "Client by client",
        lead: lead.to_owned(),
        body,
        charts: std::iter::once(chart).chain(boxes).collect(),
    })
}

/// The heat map where two settings or more vary.
fn heat(groups: &[Group<'_>], factors: &[Factor]) -> Option<Section> {
    let chart = charts::heat::chart(groups, factors)?;
    let select = |id: &str, words: &str, chosen: usize| {
        html! {
            label class="choice" {
                (words)
                select id=(id) {
                    @for (index, factor) in factors.iter().enumerate() {
                        option value=(index) selected[index == chosen] { (factor.key) }
                    }
                }
            }
        }
    };
    let body = html! {
        @if factors.len() > 2 {
            div class="switches" { (select("heat-across", "across ", 0)) (select("heat-up", "up ", 1)) }
        }
        (chart.element())
    };
    let lead = "Final mean accuracy of the clients, mean over seeds and over whatever else varies.";
    Some(Section {
        id: "settings",
        heading: "Two settings",
        lead: lead.to_owned(),
        body,
        charts: vec![chart],
    })
}

fn configurations(groups: &[Group<'_>]) -> Section {
    let lead = "Every setting as it was resolved, defaults included. A file with this text runs the same \
                experiment again.";
    let body = configuration::resolved(groups);
    Section::of_settings(lead, body)
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
fn left_out_notice(left_out: &[LeftOut]) -> Markup {
    html! {
        @if !left_out.is_empty() {
            ul class="notices" id="left-out" {
                @for run in left_out.iter().take(NAMED) {
                    li { strong { (run.name()) } " is left out: " (run.reason()) "." }
                }
                @if left_out.len() > NAMED {
                    li { (left_out.len() - NAMED) " more are left out." }
                }
            }
        }
    }
}

/// What a reader should know of the runs, of which the first `charted` kinds are drawn.
fn notices(runs: &[RecordedRun], groups: &[Group<'_>], charted: usize) -> Markup {
    let mut items = Vec::new();
    for group in groups {
        items.extend(group.runs.iter().filter_map(|run| notice(group, run)));
    }
    for group in groups
        .iter()
        .filter(|group| group.ends_in_different_rounds())
    {
        items.push(html! {
            strong { (group.label) } ": its runs ended in different rounds. The figures are those of their last evaluations, and a curve ends \
             where the first of its runs does."
        });
    }
    items.extend(other_data::on_other_data(groups));
    if groups.iter().any(Group::ends_on_other_examples) {
        items.push(html! {
            "The last point of a curve is marked with a ring: its models were judged on other test examples than those \
             before (" code { "evaluate.last" } ")."
        });
    }
    if charted < groups.len() {
        let all = groups.len();
        items.push(html! {
            "The plots show the first " (charted) " of " (all) " kinds of runs; the table has all. "
            code { "meshfold report" } " with the folders of other runs plots those."
        });
    }
    let points = curves::points(groups.len());
    if runs.iter().any(|run| run.evaluations.len() > points) {
        items.push(html! {
            "Lines are drawn through " (points) " of the evaluations, evenly chosen."
        });
    }
    html! {
        @if !items.is_empty() {
            ul class="notices" {
                @for item in &items { li { (item) } }
            }
        }
    }
}

/// What a reader should know of one run of a group, if anything.
fn notice(group: &Group<'_>, run: &RecordedRun) -> Option<Markup> {
    let mut notes = run.notices.clone();
    let averaged = &group.averaged;
    if !averaged.is_empty() && !averaged.iter().any(|averaged| std::ptr::eq(*averaged, run)) {
        let counted = match averaged[0].is_finished {
            true => "finished runs",
            false => "runs that came further",
        };
        notes.push(format!(
            "it is left out of the means, which are over the {counted}"
        ));
    }
    let seed = run
        .settings
        .seed()
        .map_or_else(String::new, |seed| format!(", seed {seed}"));
    (!notes.is_empty())
        .then(|| html! { strong { (group.label) (seed) } ": " (notes.join("; ")) "." })
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
    format!(" from the records of run{plural} {}{more}", ids.join(", "))
}

/// What the page's script draws from. All `groups` are in the table, `charted` in the plots.
fn data(
    groups: &[Group<'_>],
    charted: &[Group<'_>],
    factors: &[Factor],
    sections: &[Section],
) -> Value {
    let note = |group: &Group<'_>| {
        let accuracy = percent(group.final_accuracy().mean);
        match group.lambda_text() {
            Some(lambda) => format!("{accuracy} · λ {lambda}"),
            None => accuracy,
        }
    };
    let group = |group: &Group<'_>| {
        let other_end = group.ends_on_other_examples();
        json!({ "label": group.label, "note": note(group), "otherEnd": other_end })
    };
    let ages = ages(groups);
    let factor = |factor: &Factor| {
        let texts: Vec<&str> = factor
            .values
            .iter()
            .map(|value| value.text.as_str())
            .collect();
        json!({ "key": factor.key, "values": texts, "of": factor.of_groups(groups.len()), "colours": factor.colours(&ages) })
    };
    let mut data = json!({
        "groups": charted.iter().map(group).collect::<Vec<_>>(),
        "accuracies": groups.iter().map(|group| group.final_accuracy().mean).collect::<Vec<_>>(),
        "factors": factors.iter().map(factor).collect::<Vec<_>>(),
        "axes": axes(charted),
        "bands": charts::curve::bands(charted),
    });
    // Set and not named above, where the macro would copy it.
    data["charts"] = document::charts(sections);
    data
}
