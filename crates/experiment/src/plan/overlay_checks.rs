//! Checks that the method can use the planned overlay.

use meshfold_algorithms::OverlayUse;
use meshfold_topology::{Failure, FailureRedraw, Outside};

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault_path;
use crate::plan::checks::of_method;
use crate::plan::joint_union;
use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::population::Population;

/// Checks that the method can use the overlay, and those that follow on it; returns warnings.
pub(super) fn check(
    run: &Resolved<'_>,
    population: &Population,
    planned: Option<&PlannedOverlay>,
) -> Result<Vec<String>, ConfigError> {
    let method = &run.config.algorithm;
    let Some(planned) = planned else {
        return Ok(Vec::new());
    };
    let of_servers = matches!(method.profile().overlay, OverlayUse::Servers(_));
    if of_servers && planned.topology.outside() == Outside::Frozen {
        let path = format!("topology.{}.outside", run.choice("topology"));
        let needed = "`alone`: servers outside the overlay go on with their clients";
        return Err(run.wrong(&path, "frozen", needed));
    }
    method
        .check_overlay(
            &planned.overlay,
            &planned.summary,
            planned.topology.varies(),
        )
        .map_err(|error| of_method(run, error))?;
    let of_union = joint_union::warning(planned, population, &run.config);
    let warning = of_union.map_err(|error| {
        let path = fault_path::of_topology(&error);
        run.error(error, &path)
    })?;
    let mut warnings: Vec<String> = warning.into_iter().collect();
    warnings.extend(of_changes(run, planned));
    Ok(warnings)
}

/// Links that change, for a method that is made for others.
fn of_changes(run: &Resolved<'_>, planned: &PlannedOverlay) -> Option<String> {
    let method = &run.config.algorithm;
    let comes_back = |failure: &Failure| {
        let is_redrawn = failure.redraw == FailureRedraw::EachRound;
        failure.edges.is_some() && (is_redrawn || failure.until_round.is_some())
    };
    let changes = match planned.topology.varies() {
        true => "changes",
        false if run.config.failures.0.iter().any(comes_back) => "has links that fail for a time",
        false => return None,
    };
    let needs = method.profile().needs_lasting_overlay;
    needs.then(|| match method.key() {
        "own" => format!(
            "{} is made for an overlay whose links stay, and this one {changes}: the run may end with an error in the first round with a new \
             link, or differences between models may grow without bound",
            method.name()
        ),
        name => format!(
            "{name} is defined for an overlay that stays, and this one {changes}: differences between models may grow without bound, at any \
             learning rate; gradient_tracking stands it"
        ),
    })
}
