//! A few examples that pass through a linear map together, forward and backward.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::dots;

/// Examples that go through a model together: their sums fit the registers of every processor.
pub(super) const TILE: usize = 4;

/// The features of [`TILE`] examples and what a model makes of them.
#[derive(Debug)]
pub(super) struct Tile {
    /// Features `x`, `[TILE][d]`, every row padded with zeros to whole [`LANES`].
    pub(super) inputs: Vec<f64>,
    /// Outputs, `[TILE][C]`; later the gradient with respect to them.
    pub(super) outputs: Vec<f64>,
}

impl Tile {
    /// Room for rows of `padded` features, whole lanes, and `classes` outputs each.
    pub(super) fn new(padded: usize, classes: usize) -> Self {
        Self {
            inputs: vec![0.0; TILE * padded],
            outputs: vec![0.0; TILE * classes],
        }
    }

    /// Makes the outputs `W x` of `model` `[C][d]`.
    pub(super) fn forward(&mut self, model: &[f64]) {
        Arch::new().dispatch(Forward { tile: self, model });
    }

    /// Adds the gradient with respect to the model to `gradient`, `[C][d]`: the products of the outputs' gradients with
    /// the features.
    pub(super) fn backward(&self, gradient: &mut [f64]) {
        Arch::new().dispatch(Backward {
            tile: self,
            gradient,
        });
    }

    /// The features of every example.
    #[inline(always)]
    fn rows(&self) -> [&[f64]; TILE] {
        let padded = self.inputs.len() / TILE;
        std::array::from_fn(|row| &self.inputs[row * padded..][..padded])
    }
}

struct Forward<'a> {
    tile: &'a mut Tile,
    model: &'a [f64],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let classes = self.tile.outputs.len() / TILE;
        let of_class = self.model.len() / classes;
        for (class, weights) in self.model.chunks_exact(of_class).enumerate() {
            let outputs = dots(simd, self.tile.rows(), weights);
            for (example, output) in outputs.into_iter().enumerate() {
                self.tile.outputs[example * classes + class] = output;
            }
        }
    }
}

struct Backward<'a> {
    tile: &'a Tile,
    gradient: &'a mut [f64],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let classes = self.tile.outputs.len() / TILE;
        let of_class = self.gradient.len() / classes;
        let [a, b, c, d] = self.tile.rows();
        for (class, gradient) in self.gradient.chunks_exact_mut(of_class).enumerate() {
            let by: [f64; TILE] =
                std::array::from_fn(|example| self.tile.outputs[example * classes + class]);
            for ((((gradient, a), b), c), d) in gradient.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *gradient += (by[0] * a + by[1] * b) + (by[2] * c + by[3] * d);
            }
        }
    }
}
