//! The products of a network, and their operands as precise as it has them.
//!
//! In single precision an operand is what is there. In bfloat16 it is a copy in pairs of numbers, along the index that the product
//! sums over.

use super::entry::Entry;
use super::scratch::reserve;
use crate::cpu::Cpu;
use crate::kernels::{PairColumns, PairRows, ProductKernel, transpose};
use crate::network::precision::Precision;
use std::ops::Range;

/// Products of one precision on a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products<'a> {
    pub(crate) cpu: &'a Cpu,
    pub(crate) precision: Precision,
}

/// The parameters of a row, and its weights as operands of products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowWeights<'a> {
    pub(crate) values: &'a [f32],
    /// Each weight begins where its values do.
    operands: &'a [f32],
}

impl<'a> RowWeights<'a> {
    /// Those of products of `precision`, which `pairs` holds if they come in pairs.
    pub(crate) fn new(precision: Precision, values: &'a [f32], pairs: &'a [f32]) -> Self {
        let operands = match precision {
            Precision::F32 => values,
            Precision::Bf16 => pairs,
        };
        Self { values, operands }
    }

    /// Those of a row whose weights are no operands.
    pub(crate) fn without_operands(values: &'a [f32]) -> Self {
        Self {
            values,
            operands: &[],
        }
    }

    /// The weight in `range` as an operand, with what may follow it.
    pub(crate) fn operand(&self, range: Range<usize>) -> &'a [f32] {
        &self.operands[range]
    }
}

impl Products<'_> {
    /// Computes a product of such operands.
    pub(crate) fn multiply(&self, product: impl ProductKernel) {
        self.cpu.instructions().multiply(self.precision, product);
    }

    /// Adds the rows of `d` to `sums` `[columns]`: `sums[j] += Σ_i d[i, j]`.
    pub(crate) fn add_rows(&self, d: &[f32], sums: &mut [f32]) {
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                for row in d.chunks_exact(sums.len()) {
                    for (sum, d) in sums.iter_mut().zip(row) {
                        *sum += d;
                    }
                }
            },
        );
    }

    /// Places that `count` numbers take along the index that a product sums over.
    pub(crate) fn places(&self, count: usize) -> usize {
        self.precision.places(count)
    }

    /// The first `rows` rows of `entry`, of `columns` numbers, as an operand of sums over the columns.
    pub(crate) fn along_columns<'b>(
        &self,
        entry: Entry<'b>,
        [rows, columns]: [usize; 2],
        to: &'b mut Vec<f32>,
    ) -> Entry<'b> {
        let width = self.places(columns);
        match (self.precision, entry.pairs) {
            (Precision::F32, _) => entry,
            (Precision::Bf16, Some(pairs)) => Entry::of(pairs, width),
            (Precision::Bf16, None) => {
                reserve(to, rows * width);
                let to = &mut to[..rows * width];
                self.cpu.instructions().pair(PairColumns {
                    x: entry.begin(),
                    stride: entry.stride,
                    columns,
                    to: &mut *to,
                });
                Entry::of(to, width)
            }
        }
    }

    /// The first `rows` rows of `entry`, of `columns` numbers, as an operand of sums over the rows.
    pub(crate) fn along_rows<'b>(
        &self,
        entry: Entry<'b>,
        [rows, columns]: [usize; 2],
        to: &'b mut Vec<f32>,
    ) -> Entry<'b> {
        if self.precision == Precision::F32 {
            return entry;
        }
        let size = self.places(rows) * columns;
        reserve(to, size);
        self.pair_rows(
            entry.begin(),
            entry.stride,
            [rows, columns],
            &mut to[..size],
        );
        Entry::of(&to[..size], columns)
    }

    /// Writes `weight` `[rows, columns]` transposed, as an operand of sums over what were its columns.
    pub(crate) fn transpose(
        &self,
        weight: &[f32],
        [rows, columns]: [usize; 2],
        pairs: &mut Vec<f32>,
        to: &mut [f32],
    ) {
        let weight = self.along_columns(Entry::of(weight, columns), [rows, columns], pairs);
        let columns = self.places(columns);
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || transpose(weight.values, rows, columns, to),
        );
    }

    /// Writes rows of `columns` numbers in pairs of numbers.
    pub(crate) fn pair_columns(&self, x: &[f32], columns: usize, to: &mut [f32]) {
        self.cpu.instructions().pair(PairColumns {
            x,
            stride: columns,
            columns,
            to,
        });
    }

    /// Writes `x` `[rows, columns]`, whose rows are `stride` apart, in pairs of rows.
    pub(crate) fn pair_rows(
        &self,
        x: &[f32],
        stride: usize,
        [rows, columns]: [usize; 2],
        to: &mut [f32],
    ) {
        self.cpu.instructions().pair(PairRows {
            x,
            stride,
            rows,
            columns,
            to,
        });
    }
}
