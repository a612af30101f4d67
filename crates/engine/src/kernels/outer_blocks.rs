//! The weight gradient over many rows, `G += Xᵀ · D`, in blocks of rows that stay in cache.

use super::column_subset::stretches;
use super::fused::in_double_precision;
use super::multiply::{Multiply, ProductKernel};
use super::outer::Outer;
use super::panel::Columns;
use super::update::{Store, Update};
use pulp::Simd;

/// From this many rows on, sums over rows are cut into blocks.
pub(crate) const MANY_ROWS: usize = 128;
/// Rows of a block: a block of 64 columns takes half of a first-level cache.
const BLOCK_ROWS: usize = 64;

/// A product that sums its rows block by block, in order. The blocks depend on the shape alone.
#[derive(Debug)]
pub(crate) struct OuterBlocks<'a, U>(pub(crate) Outer<'a, U>);

/// Rows that are summed at once: `lines` lines of `line` rows, which begin at float `x` of `x` and at row `row` of `d`.
#[derive(Clone, Copy)]
struct Block {
    x: usize,
    row: usize,
    lines: usize,
    line: usize,
}

impl<U: Update> ProductKernel for OuterBlocks<'_, U> {
    #[inline(always)]
    fn compute<S: Simd, M: Multiply>(self, simd: S, multiply: M) {
        let Self(mut product) = self;
        if const { M::TILES } {
            // Products in tiles have blocks of their own.
            return multiply.compute_apart(simd, product);
        }
        let (inner, all) = (product.inner, product.columns);
        if product.rows == 0 || inner == 0 || all == 0 {
            return;
        }
        let blocks = product.blocks();
        let goes_on = !M::GATHERS && product.update.sums().is_some() && fits_one_tile::<S>(all);
        let (mut copied, mut partial) = (Vec::new(), Vec::new());
        for columns in Columns::all::<S>(all) {
            let (first, width) = (columns.first, columns.width);
            // Sums of all columns are added in place; sums of some columns are collected first, and then passed to
            // `update`.
            let direct = goes_on && width == all;
            if !direct {
                partial.resize(inner * width, 0.0);
            }
            let carried = product.update.sums().filter(|_| goes_on && !direct);
            if let Some(sums) = carried {
                for (part, sums) in partial.chunks_exact_mut(width).zip(sums.chunks_exact(all)) {
                    part.copy_from_slice(&sums[first..first + width]);
                }
            }
            for (index, block) in blocks.iter().enumerate() {
                let rows = block.lines * block.line;
                let mut d = &product.d[block.row * all..][..rows * all];
                if width < all {
                    copied.clear();
                    let rows = d.chunks_exact(all);
                    rows.for_each(|row| copied.extend_from_slice(&row[first..first + width]));
                    d = &copied;
                }
                let sums = product.update.sums().filter(|_| direct);
                let part = Outer {
                    x: &product.x[block.x..],
                    x_stride: product.x_stride,
                    line: block.line,
                    line_stride: product.line_stride,
                    subset: product.subset,
                    d,
                    rows,
                    inner,
                    columns: width,
                    update: Store {
                        gradient: sums.unwrap_or(&mut partial),
                        add: goes_on || index > 0,
                    },
                };
                multiply.compute_apart(simd, part);
            }
            if direct {
                continue;
            }
            if let Some(sums) = product.update.sums().filter(|_| goes_on) {
                for (part, sums) in partial.chunks_exact(width).zip(sums.chunks_exact_mut(all)) {
                    sums[first..first + width].copy_from_slice(part);
                }
            } else {
                for k in stretches(product.subset, inner, inner).flatten() {
                    let row = &partial[k * width..][..width];
                    product.update.apply_all(simd, k * all + first, row);
                }
            }
        }
    }
}

/// Whether one tile has all `columns`. Tiles of portable code have eight lanes, even if it emulates four at a time.
fn fits_one_tile<S: Simd>(columns: usize) -> bool {
    match const { in_double_precision::<S>() } {
        true => columns <= 8 || columns == 16,
        false => Columns::from::<S>(0, columns).width == columns,
    }
}

impl<U> Outer<'_, U> {
    /// Cuts the rows into blocks: several whole lines, or parts of a long line.
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
    use crate::kernels::test_numbers::numbers;
    use crate::kernels::{ColumnSubset, Instructions};
    use crate::network::precision::Precision;

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
            for set in Instructions::every() {
                let mut gradient = before.clone();
                let update = Store {
                    gradient: &mut gradient,
                    add: true,
                };
                set.multiply(
                    Precision::F32,
                    OuterBlocks(Outer {
                        x: &x,
                        x_stride,
                        line,
                        line_stride,
                        subset: None,
                        d: &d,
                        rows,
                        inner,
                        columns,
                        update,
                    }),
                );
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

    /// The product of `x` `[rows, inner]` and `d` `[rows, columns]`, of the rows of the gradient that are `listed`.
    fn of_one_line<'a>(
        [x, d]: [&'a [f32]; 2],
        [rows, inner, columns]: [usize; 3],
        listed: Option<&'a [u32]>,
        update: Store<'a>,
    ) -> Outer<'a, Store<'a>> {
        Outer {
            x,
            x_stride: inner,
            line: rows,
            line_stride: 0,
            subset: listed.map(ColumnSubset::new),
            d,
            rows,
            inner,
            columns,
            update,
        }
    }

    /// Both are the same device kind, and so must have the same bits, whatever the width of their vectors.
    #[test]
    fn portable_code_adds_blocks_in_one_order_with_and_without_fused_instructions() {
        let (rows, inner) = (200, 9);
        let x = numbers(rows * inner, 1);
        for columns in 1..40 {
            let (d, before) = (numbers(rows * columns, 2), numbers(inner * columns, 3));
            let added = |set: Instructions, listed: Option<&[u32]>| {
                let mut gradient = before.clone();
                let update = Store {
                    gradient: &mut gradient,
                    add: true,
                };
                let product = of_one_line([&x, &d], [rows, inner, columns], listed, update);
                set.multiply(Precision::F32, OuterBlocks(product));
                gradient
            };
            let mut portable = Instructions::every();
            portable.retain(|set| set.to_string() == "portable");
            let [fused, in_double] = portable[..] else {
                panic!("portable code comes in two ways: {portable:?}")
            };
            for listed in [None, Some(&[0, 3, 4, 8][..])] {
                assert_eq!(
                    added(fused, listed),
                    added(in_double, listed),
                    "{columns} columns"
                );
            }
        }
    }

    #[test]
    fn rows_that_are_not_listed_stay_as_they_are() {
        // By blocks and at once.
        for (rows, inner, columns) in [(300, 40, 70), (300, 40, 12), (20, 300, 200), (5, 31, 10)] {
            let (x, d) = (numbers(rows * inner, 1), numbers(rows * columns, 2));
            let before = numbers(inner * columns, 3);
            let some: Vec<u32> = (0..inner as u32).filter(|k| k * k % 7 < 3).collect();
            for (set, add) in Instructions::every()
                .into_iter()
                .flat_map(|set| [(set, true), (set, false)])
            {
                let mut gradient = before.clone();
                let update = Store {
                    gradient: &mut gradient,
                    add,
                };
                let product = of_one_line([&x, &d], [rows, inner, columns], Some(&some), update);
                match rows >= MANY_ROWS {
                    true => set.multiply(Precision::F32, OuterBlocks(product)),
                    false => set.multiply(Precision::F32, product),
                }
                for (at, got) in gradient.iter().enumerate() {
                    let (k, j) = (at / columns, at % columns);
                    if !some.contains(&(k as u32)) {
                        assert_eq!(*got, before[at], "{set}");
                        continue;
                    }
                    let term = |row: usize| {
                        f64::from(x[row * inner + k]) * f64::from(d[row * columns + j])
                    };
                    let kept = if add { f64::from(before[at]) } else { 0.0 };
                    let want = kept + (0..rows).map(term).sum::<f64>();
                    // f32 sums of 300 products of numbers below 1.
                    assert!((f64::from(*got) - want).abs() < 4e-5, "{set}: {got} {want}");
                }
            }
        }
    }
}
