//! Weights from the Laplacian's spectrum.

use super::equal;
use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::spectrum::{Extremes, laplacian_extremes};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `W = I - 2 L / ((1 + θ) λ_N(L))`, with the best θ of all, `θ* = λ_2(L) / λ_N(L) = 1/κ`, unless θ is given.
///
/// Self weights may be negative, as on a star; see [`MixingMatrix::min_self_weight`].
///
/// # Source
/// Hua et al., Section 3, the equation before Fig. 2.
///
/// # Interpretation
/// Of an overlay in several parts, as rounds of overlays that change often are, `λ_2` is the least and `λ_N` the largest of the parts that have
/// links: the `λ_2` of the whole is 0, and with it two nodes that are linked would swap their models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Laplacian {
    /// θ in 0..=1; `θ* = 1/κ` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
}

impl WeightsSpec for Laplacian {
    usual!(symmetric, not_drawn, ignore_examples, no_list);

    /// `laplacian`, with θ if it was given.
    fn label(&self) -> String {
        match self.theta {
            None => "laplacian".to_owned(),
            Some(theta) => format!("laplacian theta={theta}"),
        }
    }

    /// The weights of an overlay.
    ///
    /// # Errors
    /// [`TopologyError::Theta`] if θ is outside `0..=1`; [`TopologyError::Eigenvalues`].
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if let Some(theta) = self.theta.filter(|theta| !(0.0..=1.0).contains(theta)) {
            return Err(TopologyError::Theta { theta });
        }
        if overlay.edge_count() == 0 {
            return Ok(MixingMatrix::identity(overlay.nodes()));
        }
        if overlay.is_complete() && self.is_mean_when_complete() {
            return equal(overlay);
        }
        let extremes = extremes_of_parts(overlay)?;
        let theta = self.theta.unwrap_or(extremes.smallest / extremes.largest);
        let weight = 2.0 / ((1.0 + theta) * extremes.largest);
        let own = |node, _| 1.0 - overlay.degree(node) as f64 * weight;
        Ok(MixingMatrix::over_neighbours(overlay, |_, _| weight, own))
    }

    /// Whether all weights of a complete overlay are equal: θ* is 1 there.
    fn is_mean_when_complete(&self) -> bool {
        self.theta.is_none_or(|theta| theta == 1.0)
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::OneWeight
    }
}

/// `λ_2` and `λ_N` of the Laplacian of an overlay with links; of one in several parts the least and the largest of the parts that have links.
///
/// # Errors
/// [`TopologyError::Eigenvalues`].
fn extremes_of_parts(overlay: &Overlay) -> Result<Extremes, TopologyError> {
    let components = overlay.components();
    if components.len() == 1 {
        return laplacian_extremes(overlay);
    }
    if overlay.listed_arcs() == 0 {
        // Every two of some nodes are linked.
        let Extremes { largest, .. } = laplacian_extremes(overlay)?;
        return Ok(Extremes {
            smallest: largest,
            largest,
        });
    }
    let mut places = vec![(0, 0); overlay.nodes()];
    for (part, component) in components.iter().enumerate() {
        for (place, node) in (0..).zip(component) {
            places[*node as usize] = (part, place);
        }
    }
    let mut edges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); components.len()];
    for (a, b) in overlay.edges() {
        let (part, place) = places[a as usize];
        edges[part].push((place, places[b as usize].1));
    }
    let parts = components.iter().zip(edges);
    let linked = parts.filter(|(_, edges)| !edges.is_empty());
    let none = Extremes {
        smallest: f64::INFINITY,
        largest: 0.0,
    };
    linked
        .into_iter()
        .try_fold(none, |all, (component, edges)| {
            let part = laplacian_extremes(&Overlay::from_edges(component.len(), edges)?)?;
            Ok(Extremes {
                smallest: all.smallest.min(part.smallest),
                largest: all.largest.max(part.largest),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::weights_spec::matrix_of;

    #[test]
    fn theta_outside_the_unit_interval_is_refused() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        for theta in [-0.1, 1.1, f64::NAN] {
            let error = matrix_of(&Laplacian { theta: Some(theta) }, &path).unwrap_err();
            assert!(
                error.to_string().starts_with("laplacian: theta = "),
                "{error}"
            );
        }
    }

    #[test]
    fn a_star_has_a_negative_self_weight() {
        let star = Overlay::from_edges(9, (1..9).map(|leaf| (0, leaf))).unwrap();
        let matrix = matrix_of(&Laplacian::default(), &star).unwrap();
        assert!(matrix.min_self_weight() < 0.0);
        assert!(matrix.is_doubly_stochastic(1e-12));
    }

    #[test]
    fn parts_of_an_overlay_take_their_means() {
        // Two pairs, a triangle and a node by itself.
        let edges = [(0, 3), (1, 2), (4, 5), (5, 6), (4, 6)];
        let parts = Overlay::from_edges(8, edges).unwrap();
        let matrix = matrix_of(&Laplacian::default(), &parts).unwrap();
        // λ_2 is 2, of a pair, and λ_N 3, of the triangle.
        let weight = 2.0 / 5.0;
        assert!((matrix.weight(0, 3) - weight).abs() < 1e-12);
        assert!((matrix.weight(4, 4) - (1.0 - 2.0 * weight)).abs() < 1e-12);
        assert_eq!(matrix.weight(7, 7), 1.0);
        let pairs = Overlay::from_edges(5, [(0, 4), (1, 3)]).unwrap();
        let matrix = matrix_of(&Laplacian::default(), &pairs).unwrap();
        assert!((matrix.weight(0, 4) - 0.5).abs() < 1e-12);
        assert!((matrix.weight(0, 0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_given_theta_on_the_complete_overlay_is_kept() {
        let complete = Overlay::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap();
        let matrix = matrix_of(&Laplacian { theta: Some(0.0) }, &complete).unwrap();
        assert!((matrix.weight(0, 1) - 2.0 / 3.0).abs() < 1e-12);
        assert!((matrix.weight(0, 0) + 1.0 / 3.0).abs() < 1e-12);
    }
}
