//! The constants of overlays that occur in the papers' bounds, and the meaning of each symbol.

use super::shared::SharedOverlay;
use crate::document::quantity_text::{figure, lambda};
use crate::document::swatch;
use crate::tables::sortable::sortable;
use maud::{Markup, html};
use meshfold_topology::OverlaySummary;

/// A constant of an overlay.
struct Constant {
    symbol: &'static str,
    /// One sentence.
    meaning: &'static str,
    value: fn(&OverlaySummary) -> Option<f64>,
    text: fn(Option<f64>) -> String,
}

const CONSTANTS: [Constant; 8] = [
    Constant {
        symbol: "λ",
        meaning: "The share of the clients' disagreement that one exchange leaves in the long run: the second largest \
                  eigenvalue of the mixing matrix W in size.",
        value: |summary| summary.lambda,
        text: |value| value.map_or_else(|| figure(None), lambda),
    },
    Constant {
        symbol: "1 − λ",
        meaning: "The spectral gap: about 1 / (1 − λ) exchanges are needed before news has crossed the overlay.",
        value: |summary| summary.gap,
        text: figure,
    },
    Constant {
        symbol: "κ",
        meaning: "The largest eigenvalue of the overlay's Laplacian divided by its smallest that is not zero: the \
                  larger, the more uneven the overlay.",
        value: |summary| summary.kappa,
        text: figure,
    },
    Constant {
        symbol: "p",
        meaning: "The expected consensus rate 1 − ‖W − 11ᵀ/N‖²: the share of the squared disagreement that one \
                  exchange removes at least.",
        value: |summary| summary.p,
        text: figure,
    },
    Constant {
        symbol: "θ*",
        meaning: "The best step 1 / κ of the weights that are made from the Laplacian.",
        value: |summary| summary.theta,
        text: figure,
    },
    Constant {
        symbol: "C_λ",
        meaning: "The factor 2λ² + 4λ² ln(1/λ) + 2λ + 2 / ln(1/λ) by which λ enters the bound on the generalisation \
                  error: 0 at λ = 0, and without limit near one.",
        value: |summary| summary.c_lambda,
        text: figure,
    },
    Constant {
        symbol: "disagreement",
        meaning: "The sum of λᵢ² / (1 − λᵢ²): how far apart the clients stay if each adds noise of variance one \
                  before every exchange.",
        value: |summary| summary.disagreement,
        text: figure,
    },
    Constant {
        symbol: "neighbours",
        meaning: "The effective number of neighbours for a decay of 0.99 (Vogels et al. 2022): how many times smaller the \
                  variance of noise becomes than at a client alone, where noise counts for about a hundred exchanges.",
        value: |summary| {
            let figures = summary.effective_neighbours.iter();
            figures
                .filter(|figure| figure.decay == 0.99)
                .find_map(|figure| figure.neighbours)
        },
        text: figure,
    },
];

/// A table with a line for each overlay, and a sentence for each symbol; nothing where no constant is known.
pub(crate) fn table(shared: &[SharedOverlay<'_>]) -> Markup {
    let summary = |shared: &SharedOverlay<'_>| shared.first().first().overlay_summary.clone();
    let overlays: Vec<(usize, String, OverlaySummary)> = shared
        .iter()
        .filter_map(|shared| Some((shared.groups[0].0, shared.name(), summary(shared)?)))
        .collect();
    let is_known = |constant: &&Constant| {
        let mut values = overlays.iter().map(|overlay| (constant.value)(&overlay.2));
        values.any(|value| value.is_some())
    };
    let known: Vec<&Constant> = CONSTANTS.iter().filter(is_known).collect();
    let rows = html! {
        @for (index, name, summary) in &overlays {
            tr {
                th scope="row" { (swatch(*index)) (name) }
                @for constant in &known {
                    @let value = (constant.value)(summary);
                    td data-sort=[value] { ((constant.text)(value)) }
                }
            }
        }
    };
    let headings = known
        .iter()
        .map(|constant| (constant.symbol, constant.meaning));
    html! {
        @if !known.is_empty() {
            (sortable("overlay", headings, &rows))
            details class="glossary" {
                summary { "What the symbols mean" }
                dl {
                    @for constant in &known { dt { (constant.symbol) } dd { (constant.meaning) } }
                }
            }
        }
    }
}
