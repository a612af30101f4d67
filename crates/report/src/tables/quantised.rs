//! The section about runs with quantised messages beside the same runs without: whether quantising saved.

use crate::document::Section;
use crate::document::quantity_text::{bytes, mean, percent};
use crate::runs::group::Group;
use maud::{Markup, html};
use meshfold_theory::saving_bits_limit;

/// A target that a quantised group and the same group in full reached both.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Saving {
    target: f64,
    bits: u64,
    /// Rounds to the target, T_q and T_nq.
    rounds: [f64; 2],
    /// Bytes sent until then, where they are recorded.
    traffic: [Option<f64>; 2],
    /// `32/ϱ − 64/d`, below which b bits cost less.
    limit: f64,
}

impl Saving {
    /// What `quantised` and `full` needed for `target`, unless one of them did not reach it.
    fn of(target: f64, quantised: &Group<'_>, full: &Group<'_>) -> Option<Self> {
        let run = quantised.first();
        let groups = [quantised, full];
        let [Some(with), Some(without)] = groups.map(|group| group.round_reaching(target)) else {
            return None;
        };
        Some(Self {
            target,
            bits: run.settings.quantised_bits()?,
            rounds: [with, without],
            traffic: groups.map(|group| group.traffic_reaching(target)),
            limit: saving_bits_limit(with / without, run.parameters?).ok()?,
        })
    }

    fn cells(&self) -> [String; 8] {
        let [with, without] = self.rounds;
        let saves = if (self.bits as f64) < self.limit {
            "yes"
        } else {
            "no"
        };
        [
            format!("≥ {}", percent(Some(self.target))),
            mean(with),
            mean(without),
            format!("{:.3}", with / without),
            self.bits.to_string(),
            format!("{:.2}", self.limit),
            saves.to_owned(),
            format!("{} of {}", bytes(self.traffic[0]), bytes(self.traffic[1])),
        ]
    }
}

const HEADINGS: [(&str, &str); 8] = [
    ("target", "mean test accuracy to reach"),
    (
        "rounds, quantised",
        "first round at which it is reached, T_q",
    ),
    ("in full", "the same with 32 bits a parameter, T_nq"),
    ("ϱ", "T_q / T_nq"),
    ("bits", "bits of a parameter, b"),
    (
        "saves below",
        "32/ϱ − 64/d bits, d the parameters of a model",
    ),
    ("saves", "whether b is below that"),
    (
        "traffic",
        "bytes sent until then, quantised of those in full",
    ),
];

/// The section; `None` unless a run with quantised messages and the same run without reached a target both.
pub(crate) fn section(groups: &[Group<'_>]) -> Option<Section> {
    let mut lines: Vec<Markup> = Vec::new();
    for quantised in groups {
        let Some(kind) = quantised.first().settings.kind_in_full() else {
            continue;
        };
        let Some(full) = groups
            .iter()
            .find(|other| other.first().settings.kind() == kind)
        else {
            continue;
        };
        let targets = quantised.first().settings.targets();
        for saving in targets
            .iter()
            .filter_map(|target| Saving::of(*target, quantised, full))
        {
            lines.push(html! {
                tr {
                    th scope="row" { (quantised.label) }
                    @for cell in saving.cells() { td { (cell) } }
                }
            });
        }
    }
    if lines.is_empty() {
        return None;
    }
    let body = html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        th scope="col" { "run" }
                        @for (heading, meaning) in HEADINGS { th scope="col" title=(meaning) { (heading) } }
                    }
                }
                tbody {
                    @for line in &lines { (line) }
                }
            }
        }
    };
    let lead = "Messages of b bits a parameter cost less to a target if b is below 32/ϱ − 64/d (Wang et al., DFedRW, \
                Proposition 1): ϱ says how many times the rounds are that they need.";
    Some(Section::of_text(
        "quantised",
        "Quantised and in full",
        lead,
        body,
    ))
}
