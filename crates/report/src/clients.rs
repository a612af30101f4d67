//! What each client scored, holds and is linked to, for a reader who asks about one.

use crate::document::Section;
use crate::error::ReportError;
use crate::evenly::evenly;
use crate::runs::group::Group;
use maud::{Markup, html};
use meshfold_experiment::results::{Holdings, Names, RecordedRun, ResultsError};
use meshfold_topology::Overlay;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most numbers that the page has for this; runs behind them are left out.
const NUMBERS: usize = 150_000;

/// The number of mixings after which the page shows what is left of a client's own model.
const MIXINGS: usize = 10;

/// Most weights of all mixings together for which that is computed: about a tenth of a second.
const MOST_WORK: usize = 10_000_000;

/// Most points of a client's curve.
const POINTS: usize = 24;

/// Most edges of an overlay whose neighbours are shown.
const EDGES: usize = 20_000;

/// What the page's script shows of clients.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Clients {
    runs: Vec<RunClients>,
    /// For each partition and client the labels that it holds, each followed by how many examples.
    holdings: Vec<Vec<Vec<u32>>>,
    /// For each overlay its edges, as the two ends of one after the other.
    overlays: Vec<Vec<u32>>,
}

/// The clients of the run that stands for a group.
#[derive(Debug, Serialize)]
struct RunClients {
    group: usize,
    /// `, seed 1` if the group has several runs, of which this is one.
    seed: String,
    /// The evaluations of the curves.
    rounds: Vec<i64>,
    /// For each client its accuracies at these rounds in thousandths, -1 where there is none.
    curves: Vec<Vec<i16>>,
    /// What else was measured at the last evaluation, if anything was.
    views: Option<Views>,
    /// Indices of its partition and its overlay, where they are known.
    holdings: Option<usize>,
    overlay: Option<usize>,
    /// What its labels and clients are called; both may be empty.
    names: Names,
    /// For each client the weight of its own model in its model after [`MIXINGS`] mixings without training, in thousandths.
    own_share: Option<Vec<u16>>,
}

/// What `evaluate.clients` asked for.
#[derive(Debug, Serialize)]
struct Views {
    /// Names of the figures, as in `clients.parquet`.
    columns: Vec<String>,
    /// For each client the figures to three decimals; none for one that was not judged.
    figures: Vec<Vec<Option<f64>>>,
}

impl Clients {
    /// The clients of the groups' first runs, as far as they fit.
    ///
    /// # Errors
    /// Those of reading scores, partitions and overlays.
    pub(crate) fn of(groups: &[Group<'_>]) -> Result<Self, ReportError> {
        let mut all = Self::default();
        let mut numbers = 0;
        for (index, group) in groups.iter().enumerate() {
            let run = group.first();
            let Some((rounds, curves)) = curves(run)? else {
                continue;
            };
            let views = views(run, curves.len())?;
            let width = rounds.len() + views.as_ref().map_or(0, |views| views.columns.len());
            numbers += width * curves.len();
            if numbers > NUMBERS {
                break;
            }
            let holdings = run.partition()?.and_then(|holdings| held(&holdings));
            let overlay = run.overlay()?;
            let own_share = overlay.as_ref().and_then(|overlay| own_share(run, overlay));
            let overlay = overlay.and_then(|overlay| ends(&overlay));
            let names = run.names()?;
            let seed = run.settings.seed().filter(|_| group.runs.len() > 1);
            let run = RunClients {
                group: index,
                seed: seed.map_or_else(String::new, |seed| format!(", seed {seed}")),
                rounds,
                curves,
                views,
                holdings: holdings.map(|holdings| place(&mut all.holdings, holdings)),
                overlay: overlay.map(|ends| place(&mut all.overlays, ends)),
                names,
                own_share,
            };
            all.runs.push(run);
        }
        Ok(all)
    }

    /// The section that the script fills, unless no run has clients that can be told apart.
    pub(crate) fn section(&self, groups: &[Group<'_>]) -> Option<Section> {
        let first = self.runs.first()?;
        let lead = "Ten clients with the lowest final accuracy, and what may explain it: the examples and labels that \
                    they hold, their neighbours, the labels that they and their neighbours hold together, and what is left \
                    of a client's own model after ten mixings without training: more where the overlay mixes slowly. A click \
                    on a client, here or in the picture of an overlay, shows more.";
        let failures = match groups.iter().any(Group::has_failures) {
            true => " Neighbours and mixing are those of the overlay before anything fails.",
            false => "",
        };
        let seed = match (self.runs.as_slice(), first.seed.strip_prefix(", ")) {
            ([_], Some(seed)) => format!(" They are the clients of {seed}."),
            _ => String::new(),
        };
        let body = html! {
            @if self.runs.len() > 1 {
                div class="switches" {
                    label class="choice" {
                        "run "
                        select id="clients-run" { @for run in &self.runs { (option(run, groups)) } }
                    }
                }
            }
            div class="wide" { table class="worst" id="worst" data-group=(first.group) {} }
            div class="client" id="client" aria-live="polite" hidden {}
        };
        Some(Section::of_text(
            "worst-clients",
            "The worst clients",
            format!("{lead}{failures}{seed}"),
            body,
        ))
    }
}

fn option(run: &RunClients, groups: &[Group<'_>]) -> Markup {
    html! { option value=(run.group) { (groups[run.group].label) (run.seed) } }
}

/// The index of `item` among `items`, where it is put if it is not there.
fn place<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    let found = items.iter().position(|other| *other == item);
    found.unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

/// Rounds, and a curve for each client over them.
type Curves = (Vec<i64>, Vec<Vec<i16>>);

/// The curves of a run whose rows are its clients.
fn curves(run: &RecordedRun) -> Result<Option<Curves>, ResultsError> {
    let clients = run.clients.unwrap_or(0);
    let rows = &run.final_accuracies;
    if rows.len() < 2 || rows.last().is_none_or(|last| last.row >= clients) {
        return Ok(None);
    }
    let scores = run.client_scores()?;
    if scores.iter().any(|score| score.client().is_none()) {
        return Ok(None);
    }
    let rounds: Vec<i64> = scores
        .iter()
        .map(|score| score.round)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let kept: Vec<i64> = evenly(&rounds, POINTS).into_iter().copied().collect();
    let places: BTreeMap<i64, usize> = kept
        .iter()
        .enumerate()
        .map(|(at, round)| (*round, at))
        .collect();
    let mut curves = vec![vec![-1; kept.len()]; clients];
    for score in scores
        .iter()
        .filter(|score| score.row < clients && score.accuracy.is_finite())
    {
        if let Some(at) = places.get(&score.round) {
            curves[score.row][*at] = (1000.0 * score.accuracy).round() as i16;
        }
    }
    Ok(Some((kept, curves)))
}

/// What else was measured of the clients at the last evaluation.
fn views(run: &RecordedRun, clients: usize) -> Result<Option<Views>, ResultsError> {
    if run.client_view_names()?.is_empty() {
        return Ok(None);
    }
    let (scores, views) = (run.client_scores()?, run.client_views()?);
    let last = scores.iter().map(|score| score.round).max();
    let mut figures = vec![Vec::new(); clients];
    for (score, row) in scores.iter().zip(&views.rows) {
        if Some(score.round) == last && score.row < clients {
            let short = |figure: &f64| figure.is_finite().then(|| (1e3 * figure).round() / 1e3);
            figures[score.row] = row.iter().map(short).collect();
        }
    }
    Ok(Some(Views {
        columns: views.columns,
        figures,
    }))
}

/// Labels and examples of each client.
fn held(holdings: &Holdings) -> Option<Vec<Vec<u32>>> {
    let Holdings::Labels(counts) = holdings else {
        return None;
    };
    let of_client = |client: usize| {
        let labels = (0_u32..).zip(&counts.counts);
        let own = labels.map(|(label, of_label)| [label, of_label[client]]);
        own.filter(|[_, examples]| *examples > 0)
            .flatten()
            .collect()
    };
    Some((0..counts.clients).map(of_client).collect())
}

/// The weights of clients' own models after some mixings on an overlay that does not change, in thousandths; nothing where they
/// take long to compute.
fn own_share(run: &RecordedRun, overlay: &Overlay) -> Option<Vec<u16>> {
    let is_fixed = run
        .settings
        .topology()
        .is_some_and(|topology| !topology.varies());
    let work = overlay
        .nodes()
        .saturating_mul(overlay.nodes() + 2 * overlay.edge_count());
    if !is_fixed || work > MOST_WORK {
        return None;
    }
    let (_, matrix) = crate::overlay::mixing(run, overlay)?;
    let shares = matrix.own_share(MIXINGS).into_iter();
    Some(shares.map(|share| (1e3 * share).round() as u16).collect())
}

/// The ends of all edges, unless there are too many.
fn ends(overlay: &Overlay) -> Option<Vec<u32>> {
    let few = overlay.edge_count() <= EDGES;
    few.then(|| overlay.edges().flat_map(|(a, b)| [a, b]).collect())
}
