//! The links of a round with their weights.

/// Weights `(i, j, w_ij)` off the diagonal, each in both directions.
#[derive(Default)]
pub(super) struct Links {
    pub(super) weights: Vec<(u32, u32, f64)>,
}

impl Links {
    /// Links two nodes.
    pub(super) fn pair(&mut self, a: usize, b: usize, weight: f64) {
        let (a, b) = (a as u32, b as u32);
        self.weights.extend([(a, b, weight), (b, a, weight)]);
    }

    /// Links every two of `nodes`, which take their mean.
    pub(super) fn clique(&mut self, nodes: &[usize]) {
        let weight = 1.0 / nodes.len() as f64;
        for (place, &a) in nodes.iter().enumerate() {
            for &b in &nodes[..place] {
                self.pair(a, b, weight);
            }
        }
    }
}
