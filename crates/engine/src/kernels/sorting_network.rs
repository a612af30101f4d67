//! Sorting without branches: the comparisons do not depend on the numbers, so many lists are sorted at once.

/// Pairs of places: after the numbers of each pair were put in order, one pair after another, the numbers at the places from `kept.start`
/// to `kept.end` are those that sorting has there. The numbers elsewhere may be in any order.
///
/// # Source
/// Batcher's merge exchange: Knuth, The Art of Computer Programming, volume 3, section 5.2.2, algorithm M. Comparisons that the kept
/// places do not depend on are left out.
pub(crate) fn sorting_network(count: usize, kept: std::ops::Range<usize>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let half = count.next_power_of_two() / 2;
    let mut run = half;
    while run > 0 {
        let (mut span, mut of_run, mut distance) = (half, 0, run);
        loop {
            let firsts = (0..count.saturating_sub(distance)).filter(|first| first & run == of_run);
            pairs.extend(firsts.map(|first| (first as u32, (first + distance) as u32)));
            if span == run {
                break;
            }
            (distance, of_run) = (span - run, run);
            span /= 2;
        }
        run /= 2;
    }
    let mut is_needed: Vec<bool> = (0..count).map(|place| kept.contains(&place)).collect();
    let mut needed: Vec<(u32, u32)> = Vec::new();
    for (low, high) in pairs.into_iter().rev() {
        let (low_place, high_place) = (low as usize, high as usize);
        if is_needed[low_place] || is_needed[high_place] {
            (is_needed[low_place], is_needed[high_place]) = (true, true);
            needed.push((low, high));
        }
    }
    needed.reverse();
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;

    fn sorted_by(network: &[(u32, u32)], mut values: Vec<f32>) -> Vec<f32> {
        for (low, high) in network {
            let (low, high) = (*low as usize, *high as usize);
            if values[low] > values[high] {
                values.swap(low, high);
            }
        }
        values
    }

    #[test]
    fn networks_sort_all_lists_of_zeros_and_ones() {
        // A network that sorts these sorts everything (Knuth, theorem Z).
        for count in 1..=12 {
            let network = sorting_network(count, 0..count);
            for list in 0..1u32 << count {
                let values = (0..count).map(|place| (list >> place & 1) as f32).collect();
                assert!(sorted_by(&network, values).is_sorted(), "{count} {list:b}");
            }
        }
        assert!(sorting_network(0, 0..0).is_empty());
    }

    #[test]
    fn shorter_networks_have_the_right_numbers_at_the_kept_places() {
        for count in [1usize, 2, 3, 11, 40, 100] {
            for trim in 0..count.div_ceil(2) {
                let (kept, values) = (trim..count - trim, numbers(count, trim));
                let mut wanted = values.clone();
                wanted.sort_by(f32::total_cmp);
                let found = sorted_by(&sorting_network(count, kept.clone()), values);
                assert_eq!(found[kept.clone()], wanted[kept], "{count} {trim}");
            }
        }
        let lengths = [0..11, 5..6].map(|kept| sorting_network(11, kept).len());
        assert!(lengths[1] < lengths[0], "{lengths:?}");
    }
}
