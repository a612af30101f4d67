//! Orthonormal bases.

use super::lanes::{add_scaled, dot};

/// A vector of which less than this share remains outside the span of those before counts as being in the span.
const ROUNDING: f64 = 1e-9;

/// Orthonormal vectors, by modified Gram-Schmidt, twice.
#[derive(Debug, Default)]
pub(super) struct Basis(Vec<Vec<f64>>);

impl Basis {
    /// How many there are.
    pub(super) fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Adds the direction in which `vector` leaves the span, if it does.
    pub(super) fn add(&mut self, mut vector: Vec<f64>) {
        let before = dot(&vector, &vector);
        self.take_out(&mut vector);
        let left = dot(&vector, &vector);
        if left > ROUNDING * ROUNDING * before {
            let norm = left.sqrt();
            vector.iter_mut().for_each(|value| *value /= norm);
            self.0.push(vector);
        }
    }

    /// Makes `vector` orthogonal to the span.
    pub(super) fn take_out(&self, vector: &mut [f64]) {
        // Once leaves rounding behind that is large beside a short remainder.
        for _ in 0..2 {
            for direction in &self.0 {
                let along = dot(direction, vector);
                add_scaled(vector, -along, direction);
            }
        }
    }

    /// The part of `vector` along each.
    pub(super) fn coordinates(&self, vector: &[f64]) -> Vec<f64> {
        self.0
            .iter()
            .map(|direction| dot(direction, vector))
            .collect()
    }
}
