//! The sections about overlays: pictures with figures, degrees and spectra.

mod cards;
mod constants;
mod drawing;
mod force_layout;
mod layout;
mod shared;

use crate::charts;
use crate::document::{Section, columns};
use crate::error::ReportError;
use crate::runs::group::Group;
use maud::html;
use meshfold_topology::{DENSE_NODES, Overlay, Spectrum};
use shared::SharedOverlay;

/// Most overlays that are drawn.
const DRAWN: usize = 12;

/// The overlays side by side, unless no group has one.
///
/// # Errors
/// Those of [`RecordedRun::overlay`](meshfold_experiment::results::RecordedRun::overlay).
pub(crate) fn cards(groups: &[Group<'_>]) -> Result<Option<Section>, ReportError> {
    let shared = SharedOverlay::all(groups)?;
    if shared.iter().all(|shared| shared.overlay.is_none()) {
        return Ok(None);
    }
    let drawn = &shared[..shared.len().min(DRAWN)];
    let more = match shared.len() - drawn.len() {
        0 => String::new(),
        more => format!(" {more} more are not drawn."),
    };
    let lead = format!(
        "Clients exchange models along the edges. λ says how much of their disagreement one exchange leaves in the \
         long run: at 0 all agree at once, near 1 news travels slowly.{more}"
    );
    let body = cards::section(drawn);
    Ok(Some(Section {
        id: "overlays",
        heading: "Overlays",
        lead,
        body,
        charts: Vec::new(),
    }))
}

/// Degree histograms and spectra, unless no group has an overlay.
///
/// # Errors
/// Those of [`RecordedRun::overlay`](meshfold_experiment::results::RecordedRun::overlay).
pub(crate) fn structure(groups: &[Group<'_>]) -> Result<Option<Section>, ReportError> {
    let drawn = &groups[..groups.len().min(DRAWN)];
    let overlays = read(drawn)?;
    let known: Vec<(usize, &Group<'_>, &Overlay)> = drawn
        .iter()
        .zip(&overlays)
        .enumerate()
        .filter_map(|(index, (group, overlay))| Some((index, group, overlay.as_ref()?)))
        .collect();
    if known.is_empty() {
        return Ok(None);
    }
    let named: Vec<(usize, &str, &Overlay)> = known
        .iter()
        .map(|(index, group, overlay)| (*index, group.label.as_str(), *overlay))
        .collect();
    let spectra: Vec<(usize, &str, Vec<f64>)> = known
        .iter()
        .filter_map(|(index, group, overlay)| {
            Some((*index, group.label.as_str(), eigenvalues(group, overlay)?))
        })
        .collect();
    let mut charts = vec![charts::degree::chart(&named)];
    let mut lead = String::from("How many neighbours the nodes have");
    if spectra.is_empty() {
        lead.push_str(". The eigenvalues of these mixing matrices are not computed.");
    } else {
        charts.push(charts::spectrum::chart(&spectra));
        lead.push_str(
            ", and the eigenvalues of the mixing matrix W. The first is 1; λ is the largest of the others in size, \
             so an overlay whose curve falls at once mixes fast.",
        );
    }
    let body = html! { (columns(&charts)) (constants::table(drawn)) };
    Ok(Some(Section {
        id: "structure",
        heading: "Degrees and spectra",
        lead,
        body,
        charts,
    }))
}

fn read(groups: &[Group<'_>]) -> Result<Vec<Option<Overlay>>, ReportError> {
    let overlays = groups.iter().map(|group| group.first().overlay());
    Ok(overlays.collect::<Result<_, _>>()?)
}

/// All eigenvalues, descending, of the overlay under the weights that the configuration names; absent where they are
/// not defined or too many.
fn eigenvalues(group: &Group<'_>, overlay: &Overlay) -> Option<Vec<f64>> {
    if overlay.nodes() > DENSE_NODES {
        return None;
    }
    let weights = group.first().settings.weights()?;
    let matrix = weights.matrix(overlay).ok()?;
    Spectrum::of(overlay, &weights, &matrix).ok()?.eigenvalues
}
