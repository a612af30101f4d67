//! The sections about overlays: pictures with figures, degrees and spectra.

mod cards;
mod constants;
mod drawing;
pub(crate) mod shared;

use crate::charts;
use crate::document::{Section, columns};
use crate::runs::group::Group;
use maud::html;
use meshfold_experiment::results::RecordedRun;
use meshfold_topology::{DENSE_NODES, MixingMatrix, Overlay, Spectrum, Weights};
use shared::SharedOverlay;

/// Most overlays that are drawn.
const DRAWN: usize = 12;

/// The overlays side by side, unless no group has one.
pub(crate) fn cards(shared: &[SharedOverlay<'_>]) -> Option<Section> {
    if shared.iter().all(|shared| shared.overlay.is_none()) {
        return None;
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
    Some(Section::of_text("overlays", "Overlays", lead, body))
}

/// Degree histograms, spectra and constants, unless no group has an overlay.
pub(crate) fn structure(shared: &[SharedOverlay<'_>]) -> Option<Section> {
    let drawn = &shared[..shared.len().min(DRAWN)];
    let known: Vec<(usize, &SharedOverlay<'_>, &Overlay)> = drawn
        .iter()
        .filter_map(|shared| Some((shared.groups[0].0, shared, shared.overlay.as_ref()?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let names: Vec<String> = known.iter().map(|(_, shared, _)| shared.name()).collect();
    let named = || names.iter().map(String::as_str).zip(&known);
    let degrees: Vec<(usize, &str, &Overlay)> = named()
        .map(|(name, (index, _, overlay))| (*index, name, *overlay))
        .collect();
    let spectra: Vec<(usize, &str, Vec<f64>)> = named()
        .filter_map(|(name, (index, shared, overlay))| {
            Some((*index, name, eigenvalues(shared.first(), overlay)?))
        })
        .collect();
    let mut charts = vec![charts::degree::chart(&degrees)];
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
    if drawn.iter().any(|shared| shared.first().overlay_changes()) {
        lead.push_str(" Of overlays that change, all of this is about the one in round 1.");
    }
    let body = html! { (columns(&charts)) (constants::table(drawn)) };
    Some(Section {
        id: "structure",
        heading: "Degrees and spectra",
        lead,
        body,
        charts,
    })
}

/// All eigenvalues, descending, of the overlay under the weights that the configuration names; absent where they are
/// not defined or too many.
fn eigenvalues(group: &Group<'_>, overlay: &Overlay) -> Option<Vec<f64>> {
    if overlay.nodes() > DENSE_NODES {
        return None;
    }
    let (weights, matrix) = mixing(group.first(), overlay)?;
    Spectrum::of(overlay, &weights, &matrix).ok()?.eigenvalues
}

/// The weights of `run` and their matrix on `overlay`; absent where they are not defined, or drawn, as no run records them.
pub(crate) fn mixing(run: &RecordedRun, overlay: &Overlay) -> Option<(Weights, MixingMatrix)> {
    let weights = run.settings.weights()?;
    if weights.are_drawn() {
        return None;
    }
    let matrix = weights.matrix(overlay).ok()?;
    Some((weights, matrix))
}
