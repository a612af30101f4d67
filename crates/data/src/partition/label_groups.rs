//! Example indices grouped by label.

/// The indices of the examples of each label, `[C][..]`, in file order.
pub(super) fn by_label(labels: &[u16], classes: usize) -> Vec<Vec<u32>> {
    let mut groups = vec![Vec::new(); classes];
    for (example, &label) in (0_u32..).zip(labels) {
        groups[usize::from(label)].push(example);
    }
    groups
}
