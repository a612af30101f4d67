//! Distances between rows, pair by pair.

use super::norms::sums_of_shares;
use crate::stacked::device::launch::{SHARES, line};
use crate::stacked::device::memory::{Memory, cube};
use crate::stacked::device::trace::moves;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Pairs of one launch: their sums take 16 MiB.
const PAIRS: usize = 1 << 16;

/// Each unit sums the squares of every 64th difference, carrying what rounding lost (Kahan).
#[cube(launch)]
fn pairs_kernel(
    left: &[f32],
    right: &[f32],
    pairs: &[u32],
    sums: &mut [f32],
    count: usize,
    width: usize,
    #[comptime] shares: usize,
) {
    let pair = ABSOLUTE_POS / shares;
    let share = ABSOLUTE_POS % shares;
    if pair >= count {
        terminate!();
    }
    let left_at = pairs[2 * pair] as usize * width + share;
    let right_at = pairs[2 * pair + 1] as usize * width + share;
    let mut sum = 0.0f32;
    let mut lost = 0.0f32;
    for step in 0..width / shares {
        let difference = left[left_at + step * shares] - right[right_at + step * shares];
        let term = difference * difference - lost;
        let next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    sums[ABSOLUTE_POS] = sum;
}

/// `‖left_a − right_b‖²` of each pair `(a, b)` of rows `[R, P_pad]`. Waits for the device.
pub(crate) fn pair_distances(left: Tensor<2>, right: Tensor<2>, pairs: &[(u32, u32)]) -> Vec<f64> {
    let (left, right) = (cube(left), cube(right));
    let of_pairs = |pairs| sums_of_shares(launch(&left, &right, pairs));
    pairs.chunks(PAIRS).flat_map(of_pairs).collect()
}

fn launch(left: &CubeTensor, right: &CubeTensor, pairs: &[(u32, u32)]) -> CubeTensor {
    let (client, width) = (left.client.clone(), left.meta.shape()[1]);
    assert_eq!(
        width % SHARES,
        0,
        "rows are padded to the alignment of a layout"
    );
    let memory = Memory::of(left);
    let words: Vec<u32> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let sums = memory.floats(&[pairs.len(), SHARES]);
    let (count, dim) = line(&client, pairs.len() * SHARES);
    moves(2 * pairs.len() * width, pairs.len() * SHARES);
    pairs_kernel::launch(
        &client,
        count,
        dim,
        left.clone().into_buffer_arg(),
        right.clone().into_buffer_arg(),
        memory.upload_words(&words).into_buffer_arg(),
        sums.clone().into_buffer_arg(),
        pairs.len(),
        width,
        SHARES,
    );
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::pair_distances::pair_distances_of;
    use crate::stacked::device::test_device::{gpu, numbers, stacked};

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn distances_are_those_of_the_host() {
        let gpu = gpu();
        for width in [64, 6_400] {
            let (left, right) = (numbers(5 * width, 41), numbers(2 * width, 42));
            let pairs = [(0, 0), (4, 1), (4, 1), (2, 0)];
            let (a, b) = (stacked(&gpu, &left, 5), stacked(&gpu, &right, 2));
            let found = pair_distances(a, b, &pairs);
            let wanted = pair_distances_of((&left, &right), width, &pairs);
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
            }
            let same = pair_distances(stacked(&gpu, &left, 5), stacked(&gpu, &left, 5), &[(3, 3)]);
            assert_eq!(same, [0.0]);
            assert!(
                pair_distances(stacked(&gpu, &left, 5), stacked(&gpu, &left, 5), &[]).is_empty()
            );
        }
    }
}
