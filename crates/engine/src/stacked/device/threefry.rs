//! Counter-based random bits, the same as on the host.

use cubecl::prelude::*;

/// Four rounds of Threefry-2x32 by `rotations`, after which the key words `first` and `second` and the count of the
/// block are injected.
#[cube]
#[allow(clippy::too_many_arguments)]
fn block(
    x: (u32, u32),
    first: u32,
    second: u32,
    #[comptime] a: u32,
    #[comptime] b: u32,
    #[comptime] c: u32,
    #[comptime] d: u32,
    #[comptime] count: u32,
) -> (u32, u32) {
    let x0 = x.0 + x.1;
    let x1 = ((x.1 << a) | (x.1 >> comptime!(32 - a))) ^ x0;
    let y0 = x0 + x1;
    let y1 = ((x1 << b) | (x1 >> comptime!(32 - b))) ^ y0;
    let z0 = y0 + y1;
    let z1 = ((y1 << c) | (y1 >> comptime!(32 - c))) ^ z0;
    let t0 = z0 + z1;
    let t1 = ((z1 << d) | (z1 >> comptime!(32 - d))) ^ t0;
    (t0 + first, t1 + second + count)
}

/// The first word of Threefry-2x32 with 20 rounds, as [`crate::stream::threefry`].
#[cube]
pub(crate) fn threefry(key0: u32, key1: u32, counter0: u32, counter1: u32) -> u32 {
    let parity = 0x1BD1_1BDAu32 ^ key0 ^ key1;
    let x = block(
        (counter0 + key0, counter1 + key1),
        key1,
        parity,
        13u32,
        15u32,
        26u32,
        6u32,
        1u32,
    );
    let x = block(x, parity, key0, 17u32, 29u32, 16u32, 24u32, 2u32);
    let x = block(x, key0, key1, 13u32, 15u32, 26u32, 6u32, 3u32);
    let x = block(x, key1, parity, 17u32, 29u32, 16u32, 24u32, 4u32);
    let x = block(x, parity, key0, 13u32, 15u32, 26u32, 6u32, 5u32);
    x.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::launch::line;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::gpu;

    #[cube(launch)]
    fn bits_kernel(out: &mut [u32], key0: u32, key1: u32, counter1: u32) {
        if ABSOLUTE_POS < out.len() {
            out[ABSOLUTE_POS] = threefry(key0, key1, ABSOLUTE_POS as u32, counter1);
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn random_bits_are_those_of_the_host() {
        let gpu = gpu();
        for (key, counter1) in [
            ([0, 0], 0),
            ([0x1319_8a2e, 0x0370_7344], 7),
            ([u32::MAX, 5], u32::MAX),
        ] {
            let out = gpu.memory().words(&[1_000]);
            let (count, dim) = line(&out.client, 1_000);
            bits_kernel::launch(
                &out.client,
                count,
                dim,
                out.clone().into_buffer_arg(),
                key[0],
                key[1],
                counter1,
            );
            let host: Vec<u32> = (0..1_000)
                .map(|index| crate::stream::threefry(key, [index, counter1])[0])
                .collect();
            assert_eq!(download::<u32>(out), host);
        }
    }
}
