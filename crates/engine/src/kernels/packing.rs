//! Weights laid out for products: in panels of columns, or transposed.

/// How a weight `[inner, columns]` lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Row-major.
    Rows,
    /// As [`pack`] leaves it.
    Panels {
        /// Whether the last panel comes first, so that a product finds in cache what the product before it read last.
        backwards: bool,
    },
}

/// Columns of a panel of a packed weight: a whole number of vectors of every instruction set.
pub(super) const PANEL: usize = 64;

/// Copies `w` `[inner, columns]` to `to`, panel after panel of 64 columns, each row-major. Rows of wide matrices may be
/// a power of two apart and displace each other from the caches; in panels they are not.
pub(crate) fn pack(w: &[f32], inner: usize, columns: usize, to: &mut [f32]) {
    for first in (0..columns).step_by(PANEL) {
        let width = PANEL.min(columns - first);
        let panel = to[first * inner..][..width * inner].chunks_exact_mut(width);
        for (to, from) in panel.zip(w.chunks_exact(columns)) {
            to.copy_from_slice(&from[first..first + width]);
        }
    }
}

/// As [`pack`] for the transpose of `w` `[columns, inner]`.
pub(crate) fn pack_transposed(w: &[f32], inner: usize, columns: usize, to: &mut [f32]) {
    for first in (0..columns).step_by(PANEL) {
        let width = PANEL.min(columns - first);
        let from = &w[first * inner..][..width * inner];
        transpose(
            from,
            width,
            inner,
            &mut to[first * inner..][..width * inner],
        );
    }
}

/// Rows and columns that are transposed at once, in registers.
const SQUARE: usize = 8;

/// `to[j, i] = from[i, j]` for `from` of `[rows, columns]`.
#[inline(always)]
pub(crate) fn transpose(from: &[f32], rows: usize, columns: usize, to: &mut [f32]) {
    let square_rows = rows - rows % SQUARE;
    let square_columns = columns - columns % SQUARE;
    for row in (0..square_rows).step_by(SQUARE) {
        for column in (0..square_columns).step_by(SQUARE) {
            let from = &from[row * columns + column..];
            transpose_square(from, columns, &mut to[column * rows + row..], rows);
        }
    }
    for row in 0..rows {
        let first = if row < square_rows { square_columns } else { 0 };
        for column in first..columns {
            to[column * rows + row] = from[row * columns + column];
        }
    }
}

/// Transposes the first square of `from` into `to`; their rows are `from_stride` and `to_stride` apart.
#[inline(always)]
fn transpose_square(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
    let mut lines = [[0.0; SQUARE]; SQUARE];
    for (line, from) in lines.iter_mut().zip(from.chunks(from_stride)) {
        line.copy_from_slice(&from[..SQUARE]);
    }
    for (column, to) in to.chunks_mut(to_stride).take(SQUARE).enumerate() {
        let line: [f32; SQUARE] = std::array::from_fn(|row| lines[row][column]);
        to[..SQUARE].copy_from_slice(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn a_packed_transpose_is_the_transpose_packed() {
        let (inner, columns) = (13, 150);
        let from = numbers(inner * columns, 5);
        let (mut turned, mut packed) = (vec![0.0; from.len()], vec![0.0; from.len()]);
        transpose(&from, columns, inner, &mut turned);
        pack(&turned, inner, columns, &mut packed);
        let mut direct = vec![0.0; from.len()];
        pack_transposed(&from, inner, columns, &mut direct);
        assert_eq!(direct, packed);
    }

    #[test]
    fn transpose_swaps_the_indices() {
        let from = numbers(11 * 5, 4);
        let mut to = vec![0.0; 55];
        transpose(&from, 11, 5, &mut to);
        assert!((0..11).all(|i| (0..5).all(|j| to[j * 11 + i] == from[i * 5 + j])));
    }
}
