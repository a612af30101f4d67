//! How many units a kernel runs on.

use cubecl::prelude::*;

/// Units of a cube.
const CUBE: u32 = 64;

/// Cubes for at least `units` units in one line; a kernel ignores those beyond.
pub(super) fn line(client: &Client, units: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(CUBE);
    (
        cubecl::calculate_cube_count_elemwise(client, units, dim),
        dim,
    )
}

/// Floats that a unit may move at once in rows of `columns` floats.
pub(super) fn vector_size(columns: usize) -> usize {
    match columns % 4 {
        0 => 4,
        2 => 2,
        _ => 1,
    }
}
