//! The section about runs beside the bounds of theorems.

use crate::charts;
use crate::document::quantity_text::significant;
use crate::document::{Section, columns};
use crate::runs::group::Group;
use maud::{Markup, html};

/// The constants of theorems by their names in records, with their letters and what they are.
const CONSTANTS: [(&str, &str, &str); 10] = [
    (
        "smoothness",
        "L",
        "smoothness, proven from the examples or larger where the rate needs it",
    ),
    (
        "convexity",
        "μ",
        "strong convexity: the weight decay, or less where the rate needs it",
    ),
    ("lambda", "λ", "spectral norm of W − 11ᵀ/K"),
    (
        "consensus_rate",
        "p",
        "expected consensus rate of the servers' overlay",
    ),
    (
        "walk_lambda",
        "λ_P",
        "(λ + 1)/2 of the Metropolis-Hastings weights, by which clients are visited alike after a while",
    ),
    (
        "largest_gradient_norm",
        "G",
        "what no stochastic gradient exceeds in the root mean square, proven from the examples",
    ),
    (
        "gradient_noise",
        "Σ q²σ²/B",
        "what the variance of stochastic gradients in the mean does not exceed, proven from the examples",
    ),
    (
        "non_iid_degree",
        "Γ",
        "how far the least loss of all is above the mean of the clients' own, computed",
    ),
    (
        "initial_distance",
        "‖w̄(0) − w*‖",
        "distance from the minimum before the first round, computed",
    ),
    (
        "initial_gap",
        "ε₀",
        "sum of what the clients' first losses are above their least, computed",
    ),
];

/// The section; `None` unless a run was asked for the bound of a theorem.
pub(super) fn section(groups: &[Group<'_>]) -> Option<Section> {
    let charts = charts::bound::charts(groups);
    if charts.is_empty() {
        return None;
    }
    let body = html! { (columns(&charts)) (constants(groups)) };
    Some(Section {
        id: "theorem",
        heading: "Beside the theorem",
        lead: "What the theorem about the method bounds (line), and its bound (dotted). The table has the theorem's constants.".to_owned(),
        body,
        charts,
    })
}

/// The constants of the runs that have some.
fn constants(groups: &[Group<'_>]) -> Markup {
    let value = |group: &Group<'_>, name: &str| {
        let last = group.first().evaluations.last()?;
        last.theory.get(name).copied().flatten()
    };
    let has = |group: &&Group<'_>| !group.curves.bounded.is_empty();
    let rows: Vec<&Group<'_>> = groups.iter().filter(has).collect();
    let known =
        |(name, _, _): &&(&str, &str, &str)| rows.iter().any(|row| value(row, name).is_some());
    let columns: Vec<_> = CONSTANTS.iter().filter(known).collect();
    html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        th scope="col" { "run" }
                        @for (_, letter, meaning) in &columns { th scope="col" title=(meaning) { (letter) } }
                    }
                }
                tbody {
                    @for row in &rows {
                        tr {
                            th scope="row" { (row.label) }
                            @for (name, _, _) in &columns {
                                td { @if let Some(value) = value(row, name) { (significant(value, 4)) } @else { "-" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
