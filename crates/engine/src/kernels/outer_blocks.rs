//! The weight gradient over many rows, `G += Xᵀ · D`, in blocks of rows that stay in cache.

use super::affine::Columns;
use super::outer::{Outer, Store};
use pulp::{Simd, WithSimd};

/// From this many rows on, sums over them are worth cutting.
pub(crate) const MANY_ROWS: usize = 128;
/// Rows of a block: a block of 64 columns takes half of a first-level cache.
const BLOCK_ROWS: usize = 64;

/// As [`Outer`] with the sums of every block of rows added to `gradient` `[inner, columns]`, which holds what they are
/// added to. The blocks depend on the shape alone.
#[derive(Debug)]
pub(crate) struct OuterBlocks<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) line: usize,
    pub(crate) line_stride: usize,
    pub(crate) d: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
    pub(crate) gradient: &'a mut [f32],
}

/// Rows that are summed at once: `lines` lines of `line` rows, which begin at float `x` of `x` and at row `row` of `d`.
#[derive(Clone, Copy)]
struct Block {
    x: usize,
    row: usize,
    lines: usize,
    line: usize,
}

impl WithSimd for OuterBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.rows == 0 || self.inner == 0 || self.columns == 0 {
            return;
        }
        let blocks = self.blocks();
        let (mut copied, mut partial) = (Vec::new(), Vec::new());
        for columns in Columns::all::<S>(self.columns) {
            let (first, width) = (columns.first, columns.width);
            let whole = width == self.columns;
            if !whole {
                partial.clear();
                let rows = self.gradient.chunks_exact(self.columns).take(self.inner);
                rows.for_each(|row| partial.extend_from_slice(&row[first..first + width]));
            }
            for block in &blocks {
                let rows = block.lines * block.line;
                let d = &self.d[block.row * self.columns..][..rows * self.columns];
                if !whole {
                    copied.clear();
                    let rows = d.chunks_exact(self.columns);
                    rows.for_each(|row| copied.extend_from_slice(&row[first..first + width]));
                }
                let product = Outer {
                    x: &self.x[block.x..],
                    x_stride: self.x_stride,
                    line: block.line,
                    line_stride: self.line_stride,
                    d: if whole { d } else { &copied },
                    rows,
                    inner: self.inner,
                    columns: width,
                    update: Store {
                        gradient: if whole { self.gradient } else { &mut partial },
                        add: true,
                    },
                };
                product.with_simd(simd);
            }
            if !whole {
                let rows = self.gradient.chunks_exact_mut(self.columns);
                for (row, partial) in rows.zip(partial.chunks_exact(width)) {
                    row[first..first + width].copy_from_slice(partial);
                }
            }
        }
    }
}

impl OuterBlocks<'_> {
    /// The rows in blocks: some whole lines, or parts of a long line.
    fn blocks(&self) -> Vec<Block> {
        let lines = self.rows / self.line;
        let (most, piece) = match self.line {
            0..=BLOCK_ROWS => (BLOCK_ROWS / self.line, self.line),
            _ => (1, BLOCK_ROWS),
        };
        let starts = (0..lines).step_by(most).flat_map(|line| {
            let places = (0..self.line).step_by(piece);
            places.map(move |place| (line, place))
        });
        let block = |(line, place): (usize, usize)| Block {
            x: line * self.line_stride + place * self.x_stride,
            row: line * self.line + place,
            lines: most.min(lines - line),
            line: piece.min(self.line - place),
        };
        starts.map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn blocks_of_rows_add_up_to_a_host_loop() {
        // Lines, rows of each, how far rows and lines are apart, rows and columns of the gradient.
        for (lines, line, x_stride, line_stride, inner, columns) in [
            (1, 300, 17, 0, 17, 150),
            (1, 130, 5, 0, 3, 32),
            (9, 31, 4, 140, 12, 70),
            (40, 7, 2, 20, 6, 11),
        ] {
            let rows = lines * line;
            let x = numbers((lines - 1) * line_stride + (line - 1) * x_stride + inner, 1);
            let (d, before) = (numbers(rows * columns, 2), numbers(inner * columns, 3));
            for set in Instructions::available() {
                let mut gradient = before.clone();
                set.run(OuterBlocks {
                    x: &x,
                    x_stride,
                    line,
                    line_stride,
                    d: &d,
                    rows,
                    inner,
                    columns,
                    gradient: &mut gradient,
                });
                for (at, got) in gradient.iter().enumerate() {
                    let (k, j) = (at / columns, at % columns);
                    let term = |row: usize| {
                        let from = row / line * line_stride + row % line * x_stride + k;
                        f64::from(x[from]) * f64::from(d[row * columns + j])
                    };
                    let want = f64::from(before[at]) + (0..rows).map(term).sum::<f64>();
                    // f32 sums of 300 products of numbers below 1.
                    assert!((f64::from(*got) - want).abs() < 4e-5, "{set}: {got} {want}");
                }
            }
        }
    }
}
