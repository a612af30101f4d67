//! A smooth random displacement of the plane, which bends a digit without breaking it.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Displacement vectors per side of the grid.
const KNOTS: usize = 4;

/// A displacement field over `[-0.5, 0.5]²`: random vectors on a grid, bilinear in between.
///
/// Points that coincide stay together, so strokes that touch still touch.
#[derive(Clone)]
pub(super) struct Warp {
    knots: [[(f32, f32); KNOTS]; KNOTS],
}

impl Warp {
    /// A field whose vectors are normal with standard deviation `amount` (digit heights) per axis.
    pub(super) fn draw(amount: f32, rng: &mut ChaCha8Rng) -> Self {
        let mut normal = || {
            let z: f32 = StandardNormal.sample(rng);
            z * amount
        };
        let mut knots = [[(0.0, 0.0); KNOTS]; KNOTS];
        for knot in knots.as_flattened_mut() {
            *knot = (normal(), normal());
        }
        Self { knots }
    }

    /// Where the field moves `point`.
    pub(super) fn apply(&self, point: (f32, f32)) -> (f32, f32) {
        let (column, u) = cell(point.0);
        let (row, v) = cell(point.1);
        let mut moved = point;
        for (r, weight_y) in [(row, 1.0 - v), (row + 1, v)] {
            for (c, weight_x) in [(column, 1.0 - u), (column + 1, u)] {
                let weight = weight_x * weight_y;
                moved.0 += weight * self.knots[r][c].0;
                moved.1 += weight * self.knots[r][c].1;
            }
        }
        moved
    }
}

/// The grid cell that holds `coordinate`, and how far into it, in `[0, 1]`.
fn cell(coordinate: f32) -> (usize, f32) {
    let scaled = (coordinate + 0.5).clamp(0.0, 1.0) * (KNOTS - 1) as f32;
    let index = (scaled as usize).min(KNOTS - 2);
    (index, scaled - index as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_field_of_no_strength_moves_nothing() {
        let warp = Warp::draw(0.0, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(warp.apply((0.1, -0.4)), (0.1, -0.4));
    }

    #[test]
    fn the_field_is_continuous_across_cells_and_exact_on_the_corners() {
        let warp = Warp::draw(0.1, &mut ChaCha8Rng::seed_from_u64(2));
        let edge = -0.5 + 1.0 / 3.0;
        let (left, right) = (
            warp.apply((edge - 1e-5, 0.2)),
            warp.apply((edge + 1e-5, 0.2)),
        );
        assert!((left.0 - right.0).abs() < 1e-4 && (left.1 - right.1).abs() < 1e-4);
        let corner = warp.apply((0.5, -0.5));
        assert!((corner.0 - 0.5 - warp.knots[0][KNOTS - 1].0).abs() < 1e-6);
    }
}
