//! What a table says below its `λ` of overlays that change or fail.

use std::io::{self, Write};

use meshfold_experiment::{PlannedOverlay, RunPlan};

/// Says below a table of `plans` what `λ` stands for where overlays change or fail.
///
/// # Errors
/// Those of writing to the terminal.
pub(crate) fn explain_lambda(plans: &[RunPlan]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for sentence in sentences(plans.iter().filter_map(|plan| plan.overlay.as_deref())) {
        writeln!(out, "{sentence}")?;
    }
    let fails = |plan: &RunPlan| plan.overlay.is_some() && !plan.config.failures.0.is_empty();
    if plans.iter().any(fails) {
        writeln!(out, "λ is that of the overlay before anything fails")?;
    }
    Ok(())
}

fn sentences<'a>(
    overlays: impl Iterator<Item = &'a PlannedOverlay> + Clone,
) -> impl Iterator<Item = &'static str> {
    let any = |holds: fn(&PlannedOverlay) -> bool| overlays.clone().any(holds);
    let takes_turns = any(|overlay| overlay.lambda_of_period().is_some());
    let takes_mean = any(|overlay| {
        overlay.lambda_of_period().is_some() && overlay.lambda().is_some_and(|lambda| lambda == 0.0)
    });
    let is_of_draws = any(|overlay| overlay.lambda_of_draws.is_some());
    let is_of_round_1 = any(PlannedOverlay::lambda_is_of_round_1);
    let known = [
        (
            takes_turns,
            "λ is per exchange; where overlays take turns, it is the factor by which differences shrink in the long run",
        ),
        (
            takes_mean,
            "it is 0 where the exchanges of one period together give every client the mean",
        ),
        (
            is_of_draws,
            "where overlays are drawn anew in each round, λ is √‖E[WᵀW] − 11ᵀ/N‖: how differences shrink per exchange, in the mean square",
        ),
        (
            is_of_round_1,
            "where overlays change and λ of a period is not known, λ is that of the overlay in round 1",
        ),
    ];
    known
        .into_iter()
        .filter_map(|(holds, sentence)| holds.then_some(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_topology::{Topology, Weights};

    fn said(topology: &str) -> Vec<&'static str> {
        let topology: Topology = serde_json::from_str(topology).unwrap();
        let weights = Weights::suited_to(&topology);
        let planned = PlannedOverlay::of_nodes(topology, weights, 8, 1).unwrap();
        sentences(std::iter::once(&planned))
            .map(|sentence| sentence.split(' ').next_back().unwrap())
            .collect()
    }

    #[test]
    fn only_what_holds_is_said() {
        assert!(said(r#"{"ring": {}}"#).is_empty());
        let turns = r#"{"periodic": {"list": [{"ring": {}}, {"star": {}}]}}"#;
        assert_eq!(said(turns), ["run"]);
        assert_eq!(said(r#"{"one_peer": {}}"#), ["run", "mean"]);
        let phases = r#"{"phases": {"list": [{"rounds": 1, "of": {"ring": {}}}, {"of": {"complete": {}}}]}}"#;
        assert_eq!(said(phases), ["1"]);
        assert_eq!(said(r#"{"redraw": {"of": {"ring": {}}}}"#), ["1"]);
        assert_eq!(said(r#"{"random_matching": {}}"#), ["square"]);
    }
}
