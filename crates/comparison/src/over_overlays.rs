//! The points of a figure over a figure of the overlays, such as λ.

use meshfold_experiment::results::RecordedRun;

use crate::bars::table_request;
use crate::error::TableError;
use crate::fields::{Fields, paths};
use crate::judged::Judged;
use crate::name::Name;
use crate::only::Chosen;
use crate::overlay_figure::OverlayFigure;
use crate::plot::{PlotError, PlotRequest};
use crate::points::{Points, left_out};
use crate::table::{Table, judged};

/// The settings that say what an overlay is, besides the number of its nodes.
const OF_OVERLAYS: [&str; 2] = ["topology", "weights"];
/// How settings end that say how many nodes an overlay has.
const SIZES: [&str; 2] = ["clients", "servers"];

impl Points {
    /// Those of a table in which all settings of overlays that differ tell rows apart, too. A point is where the mean of `figure` over its
    /// runs is, the first of the further figures of its row.
    pub(crate) fn over_overlays(
        runs: &[RecordedRun],
        request: &PlotRequest,
        figure: &OverlayFigure,
    ) -> Result<Self, PlotError> {
        let mut request = table_request(request, request.place()?);
        request.also = vec![figure.name.to_owned()];
        let mut chosen = Chosen::of(judged(runs, &request)?, &request.only)?;
        let by = request.by.iter().map(|written| chosen.name(written));
        let by: Vec<Name> = by.collect::<Result<_, _>>()?;
        let has_it = |run: &Judged| run.measured(figure.name);
        let (there, lacking): (Vec<Judged>, _) = chosen.runs.into_iter().partition(has_it);
        if there.is_empty() {
            let written = figure.name.to_owned();
            return Err(TableError::NoOverlay { written }.into());
        }
        chosen.runs = there;
        let over = chosen.name(&request.over)?;
        let best = request.best.iter().map(|written| chosen.name(written));
        let best: Vec<Name> = best.collect::<Result<_, _>>()?;
        let named: Vec<&Name> = by.iter().chain(&best).chain([&over]).collect();
        request.by.extend(of_overlays(&chosen.runs, &named));
        let table = Table::of_chosen(&chosen, request)?;
        let notes = left_out(&lacking, &by, &table, figure.name);
        let of_round_1 = runs.iter().any(|run| (figure.is_of_round_1)(run));
        let of_round_1 = of_round_1.then(|| {
            let name = figure.name;
            format!("{name}: of overlays that change it is that of the overlay in round 1")
        });
        Ok(Self {
            table,
            notes: notes.into_iter().chain(of_round_1).collect(),
        })
    }
}

/// The settings of overlays in which `runs` differ, besides those that are `named`.
fn of_overlays(runs: &[Judged], named: &[&Name]) -> Vec<String> {
    let fields: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
    let is_of_overlays = |path: &String| {
        let mut keys = path.split('.');
        keys.next()
            .is_some_and(|first| OF_OVERLAYS.contains(&first))
            || keys.next_back().is_some_and(|last| SIZES.contains(&last))
    };
    let differs = |path: &String| {
        let mut values = fields.iter().map(|run| run.at(path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let is_named = |path: &String| named.iter().any(|name| name.covers(path));
    let paths = paths(&fields).into_iter();
    paths
        .filter(|path| is_of_overlays(path) && differs(path) && !is_named(path))
        .collect()
}
