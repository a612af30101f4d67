//! How a product is divided among cubes.

use crate::stacked::device::launch::shared_floats;
use crate::stacked::device::tuning::tuned;
use cubecl::client::Client;

/// Numbers that a unit moves at once.
pub(crate) const VECTOR: usize = 4;

/// From so many places per example on, a layer's products are large by themselves.
const MANY_PLACES: usize = 16;

/// The most vectors that all chunks of a cube should take, so that several cubes can run at once.
const STAGED: usize = 2048;

/// How a cube computes a block of the product of places with weights. The parts decide on the order of sums, and so
/// depend on the layer alone. All else depends on the shape of the product, and not on what else is in the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Blocks {
    /// Units one below the other, an even number.
    pub(crate) down: usize,
    /// Units side by side.
    pub(crate) across: usize,
    /// Shares of the inner dimension, each of which has units of its own.
    pub(crate) parts: usize,
    /// Places of a unit, `down` apart.
    pub(crate) places: usize,
    /// Vectors of outputs of a unit, `across` apart.
    pub(crate) vectors: usize,
    /// Vectors of the inner dimension that are loaded at once.
    pub(crate) chunk: usize,
    /// Whether the weights lie along the inner dimension, `[outputs, inner]`, not across it.
    pub(crate) along: bool,
}

/// The shape of a product to compute in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProductShape {
    /// Places of an example.
    pub(crate) of_example: usize,
    /// Places of a row.
    pub(crate) places: usize,
    pub(crate) inner: usize,
    pub(crate) outputs: usize,
    /// Whether the weights lie along the inner dimension.
    pub(crate) along: bool,
}

impl Blocks {
    /// The blocks of a product; `None` if it is too small for them or not made of whole vectors, or `client` cannot run
    /// them.
    pub(crate) fn of(client: &Client, shape: ProductShape) -> Option<Self> {
        let whole = shape.inner.is_multiple_of(VECTOR) && shape.outputs.is_multiple_of(VECTOR);
        let large = shape.inner >= 8 && shape.outputs >= 32;
        if !whole || !large || tuned("DENSE", 1) == 0 {
            return None;
        }
        let blocks = Self::of_shape(shape);
        let most = client.properties().hardware.max_units_per_cube as usize;
        (VECTOR * blocks.shared() <= shared_floats(client) && blocks.units() <= most)
            .then_some(blocks)
    }

    fn of_shape(shape: ProductShape) -> Self {
        let columns = shape.outputs / VECTOR;
        let parted = shape.of_example < MANY_PLACES && shape.inner >= 64;
        let (down, parts) = if parted {
            (4, tuned("DENSE_PARTS", 4))
        } else {
            (8, 1)
        };
        let wide = !parted && columns.is_multiple_of(32) && tuned("DENSE_WIDE", 1) == 1;
        let most = match (parted, wide) {
            (true, _) => tuned("DENSE_TALL", 13),
            (false, true) => 8,
            (false, false) => 10,
        };
        let blocks = shape.places.div_ceil(down * most);
        let of_chunk = |chunk| Self {
            down,
            across: if parted { across(columns) } else { 16 },
            parts,
            places: shape.places.div_ceil(blocks * down),
            vectors: if wide { 2 } else { 1 },
            chunk,
            along: shape.along,
        };
        let [long, short] = [4, 2].map(|each| of_chunk(each * parts));
        if long.shared() <= STAGED { long } else { short }
    }

    /// Places of a block.
    pub(crate) fn lines(&self) -> usize {
        self.down * self.places
    }

    /// Vectors of outputs of a block.
    pub(crate) fn columns(&self) -> usize {
        self.across * self.vectors
    }

    /// Units of a part.
    pub(crate) fn lanes(&self) -> usize {
        self.down * self.across
    }

    pub(crate) fn units(&self) -> usize {
        self.lanes() * self.parts
    }

    /// Sums of a unit, before those of the parts are added.
    pub(crate) fn sums(&self) -> usize {
        self.places * self.vectors
    }

    /// Sums of a unit after the parts are added: its share of the totals.
    pub(crate) fn totals(&self) -> usize {
        self.sums().div_ceil(self.parts)
    }

    /// Vectors from one line to the next of a chunk along the inner dimension: an odd number, so that units that read neighbouring
    /// lines read different banks.
    pub(super) fn pitch(&self) -> usize {
        self.chunk | 1
    }

    /// Vectors of a chunk of the places.
    pub(super) fn left(&self) -> usize {
        self.lines() * self.pitch()
    }

    /// Vectors of a chunk of the weights.
    fn right(&self) -> usize {
        let lines = if self.along { self.pitch() } else { self.chunk };
        VECTOR * self.columns() * lines
    }

    /// Vectors of a chunk of both.
    pub(super) fn stage(&self) -> usize {
        self.left() + self.right()
    }

    /// Vectors that the cube shares: two chunks, one of which is loaded while the other is multiplied; later the sums
    /// of all parts.
    pub(crate) fn shared(&self) -> usize {
        (2 * self.stage()).max(self.parts * self.units())
    }

    /// Vectors that each unit loads of `vectors`.
    pub(super) fn brought(&self, vectors: usize) -> usize {
        vectors.div_ceil(self.units())
    }
}

/// The number of units side by side that leaves the fewest of `columns` vectors over.
fn across(columns: usize) -> usize {
    let left_over = |across: &usize| columns.div_ceil(*across) * across;
    let sizes = [10, 8, 12, 16, 14];
    sizes.into_iter().min_by_key(left_over).unwrap_or(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(of_example: usize, places: usize, inner: usize, outputs: usize) -> Blocks {
        Blocks::of_shape(ProductShape {
            of_example,
            places,
            inner,
            outputs,
            along: false,
        })
    }

    #[test]
    fn blocks_waste_little_of_the_products_that_matter() {
        for (of_example, places, inner, outputs) in [
            (1, 20, 784, 200),
            (1, 50, 784, 200),
            (1, 50, 200, 200),
            (80, 800, 256, 1024),
            (80, 800, 1024, 256),
        ] {
            let blocks = blocks(of_example, places, inner, outputs);
            let lines = places.div_ceil(blocks.lines()) * blocks.lines();
            let columns = (outputs / VECTOR).div_ceil(blocks.columns()) * blocks.columns();
            assert!(lines * 25 <= places * 26, "{blocks:?}");
            assert_eq!(columns * VECTOR, outputs, "{blocks:?}");
            assert!(blocks.units().is_multiple_of(32), "{blocks:?}");
        }
    }

    #[test]
    fn the_order_of_sums_follows_from_the_layer_alone() {
        for (of_example, inner) in [(1, 784), (1, 32), (80, 256)] {
            let parts = [1, 20, 1000].map(|places| blocks(of_example, places, inner, 200).parts);
            assert_eq!(parts, [parts[0]; 3]);
        }
    }
}
