//! The rows that each row of a new stack is computed from.

/// A list of rows for each row of a new stack, such as those of its in-neighbours. A row may stand in a list more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLists {
    /// Where each list begins in `rows`, and where the last one ends.
    starts: Vec<usize>,
    rows: Vec<u32>,
    /// The place of each entry among the edges that the lists were made of.
    places: Vec<usize>,
}

impl RowLists {
    /// The lists of `targets` rows: each edge `(row, target)` puts a row on the list of a target. Lists are in ascending order of rows.
    ///
    /// # Panics
    /// If a target is not below `targets`.
    pub fn of_edges(edges: &[(u32, u32)], targets: usize) -> Self {
        let mut places: Vec<usize> = (0..edges.len()).collect();
        places.sort_by_key(|place| (edges[*place].1, edges[*place].0));
        let mut starts = vec![0; targets + 1];
        for (_, target) in edges {
            starts[*target as usize + 1] += 1;
        }
        for target in 0..targets {
            starts[target + 1] += starts[target];
        }
        Self {
            starts,
            rows: places.iter().map(|place| edges[*place].0).collect(),
            places,
        }
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The list of `target`.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn list(&self, target: usize) -> &[u32] {
        &self.rows[self.starts[target]..self.starts[target + 1]]
    }

    /// What was said of the edges, `[E]`, in the order of the lists.
    pub(crate) fn in_order<T: Copy>(&self, of_edges: &[T]) -> Vec<T> {
        self.places.iter().map(|place| of_edges[*place]).collect()
    }

    /// Where each list begins among the [entries](Self::rows), and where the last one ends.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The entries of all lists, one list after another.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The length of the longest list.
    #[cfg(any(test, feature = "gpu"))]
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        lengths.max().unwrap_or(0)
    }
}

/// What is computed of the numbers that the rows of a list have for a parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Statistic<'a> {
    /// The mean of what is left without so many of the smallest and as many of the largest numbers, for each list.
    TrimmedMean(&'a [u32]),
    /// The standard deviation of a sample; zero for one number.
    Deviation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_in_any_order_give_the_same_lists() {
        let lists = RowLists::of_edges(&[(4, 2), (1, 0), (0, 2), (4, 0), (1, 0)], 3);
        assert_eq!(lists.len(), 3);
        assert_eq!(lists.list(0), [1, 1, 4]);
        assert_eq!(lists.list(1), [0; 0]);
        assert_eq!(lists.list(2), [0, 4]);
        assert_eq!(lists.longest(), 3);
        assert_eq!(
            lists.in_order(&['a', 'b', 'c', 'd', 'e']),
            ['b', 'e', 'd', 'c', 'a']
        );
        assert!(RowLists::of_edges(&[], 0).is_empty());
    }
}
