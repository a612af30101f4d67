//! Overlays in which every node hears the one so many places further on.

use crate::TopologyError;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A shift of a ring of `nodes` nodes, uniformly from `1..nodes`; `None` for a single node.
pub(super) fn draw(nodes: usize, rng: &mut ChaCha8Rng) -> Option<usize> {
    (nodes > 1).then(|| rng.random_range(1..nodes))
}

/// The weights off the diagonal by which every node gives `weight` to the one `shift` places further on, `(i, j, w_ij)`.
pub(super) fn arcs(
    nodes: usize,
    shift: usize,
    weight: f64,
) -> impl Iterator<Item = (u32, u32, f64)> {
    (0..nodes).map(move |node| (node as u32, ((node + shift) % nodes) as u32, weight))
}

/// What EquiTopo's matrix `A = (n - 1)/n P + 1/n I` gives to the node that is heard.
pub(super) fn heard(nodes: usize) -> f64 {
    (nodes as f64 - 1.0) / nodes as f64
}

/// Checks a share that the exchange of a round has: above 0 and up to 1.
///
/// # Errors
/// [`TopologyError::Setting`] at `setting`.
pub(super) fn check_share(share: f64, setting: &str) -> Result<(), TopologyError> {
    match share > 0.0 && share <= 1.0 {
        true => Ok(()),
        false => Err(TopologyError::setting(
            setting,
            share,
            "a share above 0 and up to 1",
        )),
    }
}
