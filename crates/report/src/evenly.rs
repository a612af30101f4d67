//! A few of many, where a page cannot hold all.

/// At most `most` of `all`, evenly chosen, both ends among them.
pub(crate) fn evenly<T>(all: &[T], most: usize) -> Vec<&T> {
    let last = all.len().saturating_sub(1);
    if last < most {
        return all.iter().collect();
    }
    (0..most)
        .map(|place| &all[place * last / (most - 1)])
        .collect()
}
