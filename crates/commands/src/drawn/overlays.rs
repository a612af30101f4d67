//! Overlays: nodes and their links.

use std::collections::HashSet;

use meshfold_comparison::Naming;
use meshfold_experiment::{OverlaysOfRounds, RunPlan};
use meshfold_figure::{Graph, GraphFigure, Page};
use meshfold_topology::picture::{places, sampled_edges};
use meshfold_topology::{Overlay, Topology};

use super::{DrawError, Drawn, MOST_PANELS, expect_few, titles};
use crate::figures::count;

/// The most links of a panel that are drawn.
const MOST_LINKS: usize = 20_000;

/// A panel for each overlay of `plans`, one for those that differ in their seed alone, in each of the first `rounds` rounds if it changes.
///
/// Nodes that are linked are near each other, or they go round in a circle or stand in rows where the overlay was built so. Cliques have
/// colours. Links of a directed overlay are arrows from the sender to the receiver.
///
/// `names` are words for titles.
///
/// # Errors
/// [`DrawError`] if there is no overlay or it cannot be built, or if the panels are too many or have no room.
pub fn overlays(
    plans: &[RunPlan],
    rounds: usize,
    page: Page,
    names: &[Naming],
) -> Result<Drawn, DrawError> {
    let with_overlay: Vec<&RunPlan> = plans.iter().filter(|plan| plan.overlay.is_some()).collect();
    if with_overlay.is_empty() {
        return Err(DrawError::NoOverlay);
    }
    let shown = without_seeds(&with_overlay);
    let mut panels = Vec::new();
    let mut notes = Vec::new();
    for (plan, label) in shown.iter().zip(titles(&shown, names)?) {
        let overlays = changing(plan, rounds)?;
        // All rounds together say where nodes are, so that they stay where they are.
        let united = united(&overlays);
        let topology = plan.config.topology.as_ref();
        let places = places(united.as_ref().unwrap_or(&overlays[0]), topology);
        for (round, overlay) in overlays.iter().enumerate() {
            let links: Vec<(u32, u32)> = sampled_edges(overlay, MOST_LINKS).collect();
            if links.len() < overlay.edge_count() {
                notes.push(format!(
                    "{} of the {} links of {} are drawn",
                    count(links.len() as u64),
                    count(overlay.edge_count() as u64),
                    topology.map_or_else(|| plan.label(), Topology::label),
                ));
            }
            let written = match overlays.len() {
                1 => label.clone(),
                _ if label.is_empty() => format!("round {}", round + 1),
                _ => format!("{label}, round {}", round + 1),
            };
            panels.push(Graph {
                title: written,
                places: places.clone(),
                links,
                is_directed: overlay.is_directed(),
                groups: groups(overlay),
            });
        }
    }
    expect_few(panels.len(), "overlays")?;
    let size = Page {
        height: Some(page.width),
        ..page
    };
    let figure = GraphFigure {
        width: size.size(1)?.width,
        font_size: page.font_size,
        panels,
    };
    Ok(Drawn {
        drawing: figure.drawing(),
        panels: figure.panels.len(),
        notes,
    })
}

/// The first of those of `plans` whose overlays have the same settings.
fn without_seeds<'p>(plans: &[&'p RunPlan]) -> Vec<&'p RunPlan> {
    let mut known = HashSet::new();
    let is_new = |plan: &&&RunPlan| known.insert(settings(plan));
    plans.iter().filter(is_new).copied().collect()
}

/// What an overlay is made of. Cliques are made by the labels that clients hold.
fn settings(plan: &RunPlan) -> String {
    let config = &plan.config;
    let planned = plan.overlay.as_ref();
    let nodes = planned.map(|planned| planned.summary.nodes);
    let data = (plan.has_cliques()).then_some((&config.dataset, &config.partition));
    serde_json::json!([config.topology, config.failures, nodes, data]).to_string()
}

/// The overlay of round 1, or those of the first `rounds` rounds if they are not all the same.
fn changing(plan: &RunPlan, rounds: usize) -> Result<Vec<Overlay>, DrawError> {
    let rounds = rounds.min(plan.config.rounds);
    let mut of_rounds = OverlaysOfRounds::of(plan);
    let mut overlays: Vec<Overlay> = Vec::new();
    let mut changes = false;
    for round in 1..=rounds {
        let overlay = of_rounds
            .in_round(round)
            .map_err(|error| DrawError::Overlay {
                run: plan.label(),
                round,
                error,
            })?;
        let Some((overlay, _)) = overlay else {
            continue;
        };
        changes |= overlays
            .first()
            .is_some_and(|first| !first.edges().eq(overlay.edges()));
        if overlays.len() < MOST_PANELS {
            overlays.push(overlay.clone());
        } else if changes {
            let what = "overlays";
            return Err(DrawError::Panels {
                found: rounds,
                what,
            });
        }
    }
    if !changes {
        overlays.truncate(1);
    }
    Ok(overlays)
}

/// The nodes with the links of all rounds; `None` if there is one round.
fn united(overlays: &[Overlay]) -> Option<Overlay> {
    let edges = overlays.iter().flat_map(Overlay::edges);
    let edges: HashSet<(u32, u32)> = edges.map(|(a, b)| (a.min(b), a.max(b))).collect();
    let mut edges: Vec<(u32, u32)> = edges.into_iter().collect();
    edges.sort_unstable();
    let union = (overlays.len() > 1).then(|| Overlay::from_edges(overlays[0].nodes(), edges));
    // What can be linked in a round can be linked.
    union.and_then(Result::ok)
}

/// The clique of each node; none if the overlay has no cliques.
fn groups(overlay: &Overlay) -> Vec<usize> {
    let Some(groups) = overlay.groups() else {
        return Vec::new();
    };
    let mut of_nodes = vec![0; overlay.nodes()];
    for (group, members) in groups.iter().enumerate() {
        for member in members {
            of_nodes[*member as usize] = group;
        }
    }
    of_nodes
}
