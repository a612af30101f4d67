//! Cutting a sequence into consecutive pieces whose lengths differ by at most one.

use std::ops::Range;

/// The `piece`-th of `pieces` consecutive ranges that cover `0..length`.
pub(super) fn range(length: usize, pieces: usize, piece: usize) -> Range<usize> {
    let edge = |index: usize| (length as u128 * index as u128 / pieces as u128) as usize;
    edge(piece)..edge(piece + 1)
}

/// All `pieces` of `items`, in order.
pub(super) fn pieces<T>(items: &[T], pieces: usize) -> impl Iterator<Item = &[T]> {
    (0..pieces).map(move |piece| &items[range(items.len(), pieces, piece)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_and_differ_by_at_most_one() {
        for (length, count) in [(10, 3), (7, 7), (60_000, 901), (2, 5)] {
            let items: Vec<usize> = (0..length).collect();
            let cut: Vec<&[usize]> = pieces(&items, count).collect();
            assert_eq!(cut.concat(), items);
            let lengths = cut.iter().map(|piece| piece.len());
            assert!(lengths.clone().max() <= lengths.min().map(|least| least + 1));
        }
    }
}
