//! What ranks send each other to average rows.

use meshfold_engine::ALIGNMENT;
use meshfold_topology::Division;

/// Bytes that all `ranks` ranks send each other to have the weighted mean of rows of `width` floats. Row `i` is on the rank
/// `owner(i)`, and counts unless its weight is zero: each rank gets its part of each row that another one has, and gives every
/// other rank its part of the mean.
pub(crate) fn bytes(
    weights: &[f64],
    owner: impl Fn(usize) -> usize,
    ranks: usize,
    width: usize,
) -> u64 {
    let part = |rank| ALIGNMENT * Division::block(width / ALIGNMENT, rank, ranks).len();
    let counted = (0..weights.len()).filter(|row| weights[*row] != 0.0);
    let rows: usize = counted.map(|row| width - part(owner(row))).sum();
    let floats = rows + (ranks - 1) * width;
    (floats * size_of::<f32>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_blocks() {
        // Five blocks over three ranks: two, two and one.
        let width = 5 * ALIGNMENT;
        let found = bytes(&[0.5, 0.0, 0.5], |row| row, 3, width);
        // Rows 0 and 2 go to the others but for the parts of their own ranks, and the mean goes to two ranks.
        let floats = (width - 2 * ALIGNMENT) + (width - ALIGNMENT) + 2 * width;
        assert_eq!(found, 4 * floats as u64);
        assert_eq!(bytes(&[1.0; 4], |_| 0, 1, width), 0);
    }
}
