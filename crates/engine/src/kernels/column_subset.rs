//! A subset of the columns of a matrix: products over pixels leave out those that are the same in all images.

use std::iter::from_fn;
use std::ops::Range;

/// Columns of a matrix, in ascending order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnSubset<'a> {
    columns: &'a [u32],
    /// The column that counts as column 0.
    first: u32,
}

impl<'a> ColumnSubset<'a> {
    pub(crate) fn new(columns: &'a [u32]) -> Self {
        Self { columns, first: 0 }
    }

    /// Its columns within `range`, counted from the start of `range`.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        let place = |bound: usize| {
            let bound = self.first as usize + bound;
            self.columns.partition_point(|at| (*at as usize) < bound)
        };
        Self {
            columns: &self.columns[place(range.start)..place(range.end)],
            first: self.first + range.start as u32,
        }
    }

    pub(super) fn len(self) -> usize {
        self.columns.len()
    }

    /// Whether every column is below `inner`.
    #[inline(always)]
    pub(super) fn within(self, inner: usize) -> bool {
        let far = |far: u32, at: &u32| at.wrapping_sub(self.first).max(far);
        self.columns.is_empty() || (self.columns.iter().fold(0, far) as usize) < inner
    }

    fn get(self, place: usize) -> Option<usize> {
        Some((self.columns.get(place)? - self.first) as usize)
    }
}

/// The columns of `subset`, or else all below `inner`, in ascending order as ranges of at most `most` neighbours.
#[inline(always)]
pub(super) fn stretches(
    subset: Option<ColumnSubset<'_>>,
    inner: usize,
    most: usize,
) -> impl Iterator<Item = Range<usize>> {
    // The column where the next range begins, or its place in the list.
    let mut next = 0;
    from_fn(move || {
        let Some(subset) = subset else {
            let begin = next;
            next = (begin + most).min(inner);
            return (begin < inner).then_some(begin..next);
        };
        let begin = subset.get(next)?;
        let place = next;
        next += 1;
        while next - place < most && subset.get(next) == Some(begin + next - place) {
            next += 1;
        }
        Some(begin..begin + next - place)
    })
}

/// Which numbers of a row the terms of a sum are.
pub(super) trait SumTerms: Copy {
    /// The number that term `k` is.
    ///
    /// # Safety
    /// There are more than `k` terms.
    unsafe fn at(self, k: usize) -> usize;

    /// The terms from `from` on: the number of the row to count from, and the terms counted from there.
    ///
    /// # Safety
    /// There are at least `from` terms.
    unsafe fn after(self, from: usize) -> (usize, Self);
}

/// Every number of the row is a term.
#[derive(Clone, Copy)]
pub(super) struct EveryTerm;

impl SumTerms for EveryTerm {
    #[inline(always)]
    unsafe fn at(self, k: usize) -> usize {
        k
    }

    #[inline(always)]
    unsafe fn after(self, from: usize) -> (usize, Self) {
        (from, self)
    }
}

/// The numbers at the columns of a list are the terms.
#[derive(Clone, Copy)]
pub(super) struct Indexed {
    columns: *const u32,
    first: u32,
}

impl Indexed {
    #[inline(always)]
    pub(super) fn of(subset: ColumnSubset<'_>) -> Self {
        Self {
            columns: subset.columns.as_ptr(),
            first: subset.first,
        }
    }
}

impl SumTerms for Indexed {
    #[inline(always)]
    unsafe fn at(self, k: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { (*self.columns.add(k) - self.first) as usize }
    }

    #[inline(always)]
    unsafe fn after(self, from: usize) -> (usize, Self) {
        let rest = Self {
            // SAFETY: the caller's promise.
            columns: unsafe { self.columns.add(from) },
            ..self
        };
        (0, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_the_list_and_no_longer_than_asked() {
        let columns = [3, 4, 5, 6, 7, 8, 12, 30, 33, 34];
        let all = ColumnSubset::new(&columns);
        let of =
            |subset, inner, most| -> Vec<Range<usize>> { stretches(subset, inner, most).collect() };
        assert_eq!(of(Some(all), 40, 4), [3..7, 7..9, 12..13, 30..31, 33..35]);
        assert_eq!(
            of(Some(all.part(5..34)), 29, 3),
            [0..3, 3..4, 7..8, 25..26, 28..29]
        );
        assert_eq!(
            of(Some(all.part(5..34).part(7..29)), 22, 3),
            [0..1, 18..19, 21..22]
        );
        assert!(of(Some(ColumnSubset::new(&[])), 9, 4).is_empty());
        assert_eq!(of(None, 9, 4), [0..4, 4..8, 8..9]);
        assert!(all.within(35) && !all.within(34) && all.part(40..50).within(0));
    }
}
