//! Test sets with equally many examples of every class.

/// The indices of the first `per_class` examples of each class, ascending.
pub(crate) fn first_of_each(labels: &[u16], classes: usize, per_class: usize) -> Vec<u32> {
    let mut found = vec![0; classes];
    (0..)
        .zip(labels)
        .filter(|(_, label)| {
            let found = &mut found[usize::from(**label)];
            *found += 1;
            *found <= per_class
        })
        .map(|(index, _)| index)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_class_are_taken_in_file_order() {
        let labels = [1, 1, 0, 1, 2, 0, 0, 2];
        assert_eq!(first_of_each(&labels, 3, 2), [0, 1, 2, 4, 5, 7]);
        assert!(first_of_each(&labels, 3, 0).is_empty());
    }
}
