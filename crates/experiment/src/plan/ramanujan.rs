//! What the degree of an overlay promises, beside what it does.

use meshfold_theory::{ramanujan_kappa, ramanujan_lambda};
use meshfold_topology::OverlaySummary;
use serde::Serialize;

/// Bounds on κ and λ of a Ramanujan graph of an overlay's degree.
///
/// # Source
/// Hua et al., (3.2); λ with the best θ of `laplacian` weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RamanujanBound {
    /// `(d + 2√(d−1)) / (d − 2√(d−1))`.
    pub kappa: f64,
    /// `2√(d−1) / d`.
    pub lambda: f64,
}

impl RamanujanBound {
    /// The bounds for an overlay in which all nodes have as many neighbours, three or more; `None` for others.
    #[must_use]
    pub fn of(overlay: &OverlaySummary) -> Option<Self> {
        let degree = overlay.degree.min as u64;
        if overlay.degree.max != overlay.degree.min || overlay.kappa.is_none() {
            return None;
        }
        Some(Self {
            kappa: ramanujan_kappa(degree).ok()?,
            lambda: ramanujan_lambda(degree).ok()?,
        })
    }
}
