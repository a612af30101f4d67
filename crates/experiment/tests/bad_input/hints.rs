//! Hints that say how to write what was meant.

use crate::methods::{SGD, refusal};
use crate::{Seen, refused, with};

/// What is seen of the experiment with the line of `key` replaced.
fn seen(key: &str, line: &str) -> Seen {
    refused(&with(key, line))
}

#[test]
fn a_method_that_needs_cliques_in_a_grid_of_overlays_is_told_of_cases() {
    let overlays = "topology: [ring, {regular: {degree: 4}}, {d_cliques: {max_clique_size: 5}}]";
    let methods = format!("algorithm: [{{dsgd: {{{SGD}}}}}, {{d_cliques: {{{SGD}}}}}]");
    let sweep = format!("sweep: {{grid: {{{overlays}, {methods}}}}}");
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let crossed = refusal(&dsgd, "ring", &sweep);
    assert_eq!(
        crossed.message,
        "d_cliques needs a topology with cliques, such as d_cliques"
    );
    assert!(
        crossed.help.starts_with(
            "in `sweep.grid` every method meets every topology; pair them in `sweep.cases`: [{topology: .., algorithm: ..}, ..]"
        ),
        "{crossed:?}"
    );
    let alone = refusal(&format!("{{d_cliques: {{{SGD}}}}}"), "ring", "");
    assert_eq!(
        (alone.message, alone.help),
        (crossed.message, String::new())
    );
}

#[test]
fn bandwidths_that_differ_are_told_the_links_that_have_them() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let map = "network: {links: {fixed: {bytes_per_second: {lognormal: {median: 1, sigma: 1}}}}}";
    let seen = refusal(&dsgd, "ring", map);
    assert_eq!(
        (seen.message.as_str(), seen.help.as_str()),
        (
            "network.links.fixed.bytes_per_second: found a map, needed a number",
            "bandwidths that differ from node to node are `links: {node_capacitated: {upload: ..}}`"
        )
    );
    let unit = "network: {links: {fixed: {bytes_per_second: 1MB}}}";
    let seen = refusal(&dsgd, "ring", unit);
    assert_eq!(seen.help, "write it as 1000000");
    let share = refusal(&dsgd, "ring", "stragglers: {share: 50%}");
    assert_eq!(
        (share.message.as_str(), share.help.as_str()),
        (
            "stragglers.share: found the text \"50%\", needed a number",
            "write it as 0.5"
        )
    );
}

#[test]
fn what_was_meant_for_a_sweep_is_told_its_grid() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    for (line, help) in [
        (
            "seeds: [1, 2, 3]",
            "several seeds are a sweep: `sweep: {grid: {seed: [1, 2, 3]}}`; `seeds` sets those of parts of a run",
        ),
        (
            "sweep: {seeds: [1, 2, 3]}",
            "values to combine are a grid: `sweep: {grid: {seed: [..]}}`; keys here: grid, cases",
        ),
        (
            "sweep: {algorithm.dsgd.learning_rate: [0.1, 0.2]}",
            "values to combine are a grid: `sweep: {grid: {algorithm.dsgd.learning_rate: [..]}}`; keys here: grid, cases",
        ),
        (
            "seed: [1, 2]",
            "several values to compare are a sweep: `sweep: {grid: {seed: [..]}}`",
        ),
        (
            "sweep: {grids: {seed: [1, 2]}}",
            "did you mean `grid`? keys here: grid, cases",
        ),
    ] {
        assert_eq!(refusal(&dsgd, "ring", line).help, help, "{line}");
    }
}

#[test]
fn values_of_networks_are_named_by_their_whole_path() {
    let dsgd = format!("{{dsgd: {{{SGD}}}}}");
    let fixed = "network: {links: {fixed: {bytes_per_second: -2}}}";
    assert_eq!(
        refusal(&dsgd, "ring", fixed).message,
        "network.links.fixed.bytes_per_second: found -2, needed a number above 0"
    );
}

#[test]
fn local_work_that_a_method_cannot_have_is_named_as_it_is_written() {
    let tracking = format!("{{gradient_tracking: {{local: {{steps: 3}}, {SGD}}}}}");
    assert_eq!(
        refusal(&tracking, "ring", "").message,
        "gradient_tracking cannot have `local: {steps: 3}`: it exchanges after every step, `{steps: 1}`"
    );
}

#[test]
fn edges_of_one_peer_that_are_to_fail_are_told_the_overlay_that_has_them() {
    let one_peer = format!("{{one_peer: {{{SGD}}}}}");
    assert_eq!(
        refusal(&one_peer, "", "failures: [{edges: {share: 0.1}}]").message,
        "failures.0.edges: found edges, needed `clients`: one_peer has no overlay whose edges could fail; `push_sum` and `dsgd` \
         on `topology: one_peer` have"
    );
}

#[test]
fn pairs_as_a_regular_overlay_are_told_the_overlay_that_draws_them() {
    let help =
        "nodes that meet in pairs, drawn anew in each round, are `topology: random_matching`";
    for topology in [
        "{regular: {degree: 1}}",
        "{redraw: {of: {regular: {degree: 1}}}}",
    ] {
        let seen = seen("topology", &format!("topology: {topology}"));
        assert!(seen.message.contains("regular.degree: found 1"), "{seen:?}");
        assert_eq!(seen.help, help, "{topology}");
    }
}
