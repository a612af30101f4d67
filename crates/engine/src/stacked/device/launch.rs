//! How many units a kernel runs on.

use cubecl::prelude::*;

/// Units of a cube.
pub(crate) const CUBE: u32 = 64;

/// Units that share a row, or an example.
pub(crate) const SHARES: usize = 64;

/// Cubes for at least `units` units in one line; a kernel ignores those beyond.
pub(crate) fn line(client: &Client, units: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(CUBE);
    (
        cubecl::calculate_cube_count_elemwise(client, units, dim),
        dim,
    )
}

/// At least `cubes` cubes of `units` units, whose units wait for each other; a kernel ignores the cubes beyond.
pub(crate) fn cubes(client: &Client, cubes: usize, units: u32) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(units);
    let count = cubecl::calculate_cube_count_elemwise(client, cubes * units as usize, dim);
    (count, dim)
}

/// Units of a cube: one for each of `columns`, or as many as the device allows.
pub(crate) fn units(client: &Client, columns: usize) -> u32 {
    let most = client.properties().hardware.max_units_per_cube.min(256);
    u32::try_from(columns).unwrap_or(most).clamp(1, most)
}

/// Floats that the units of a cube may share. Zero if kernels with shared memory would be invalid: in SPIR-V on
/// software Vulkan, whose driver lacks `VK_KHR_workgroup_memory_explicit_layout`.
pub(crate) fn shared_floats(client: &Client) -> usize {
    let properties = client.properties();
    let software = properties.identity.physical.is_none();
    if software && client.name().contains("spirv") {
        return 0;
    }
    properties.hardware.max_shared_memory_size / size_of::<f32>()
}

/// The most arrays, one per run, that one launch takes.
const ARRAYS: usize = 16;

/// How many such arrays one launch can have, besides `others` other arrays and its numbers.
pub(crate) fn arrays(client: &Client, others: usize) -> usize {
    let most = client.properties().hardware.max_bindings as usize;
    most.saturating_sub(others + 1).clamp(1, ARRAYS)
}

/// Floats that a unit may move at once in rows of `columns` floats.
pub(crate) fn vector_size(columns: usize) -> usize {
    match columns % 4 {
        0 => 4,
        2 => 2,
        _ => 1,
    }
}
