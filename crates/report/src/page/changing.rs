//! What the table's figures of overlays that change, or lose clients and edges, stand for.

use crate::runs::group::Group;

/// Sentences about the groups whose overlays change or fail, each after a space; empty where none does. Plain text.
pub(super) fn sentences(groups: &[Group<'_>]) -> String {
    let any = |holds: fn(&Group<'_>) -> bool| groups.iter().any(holds);
    let known = [
        (
            any(|group| group.overlay_changes() && !group.lambda_is_of_round_1()),
            " λ is per exchange: where overlays take turns, the factor by which differences shrink in the long run; where they are drawn in \
             each round, √‖E[WᵀW] − 11ᵀ/N‖.",
        ),
        (
            any(|group| group.takes_mean_in_a_period()),
            " It is 0 where the exchanges of one period together give every client the mean.",
        ),
        (
            any(|group| group.lambda_is_of_round_1()),
            " Where overlays change and λ of a period is not known, λ is that of the overlay in round 1.",
        ),
        (
            any(|group| group.overlay_changes()),
            " Of overlays that change, degrees are those of round 1.",
        ),
        (
            any(|group| group.has_failures()),
            " λ and degrees are those of the overlay before anything fails. Accuracies are those of the clients alive at the evaluation.",
        ),
    ];
    let said = known.into_iter().filter(|(holds, _)| *holds);
    said.map(|(_, sentence)| sentence).collect()
}
