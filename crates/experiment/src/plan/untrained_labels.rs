//! Labels that are tested and that no client has an example of to train on.

use meshfold_data::{DatasetSummary, Partition, label_histogram};

/// Labels that a warning names.
const NAMED: usize = 10;

/// A warning of labels of test examples that no client of `partition` can learn, though the dataset has examples of them to train on. (Where
/// it has none, a dataset of the user's own warns itself.) `pools` says whether training and test examples were dealt together.
pub(super) fn warning(
    outline: &DatasetSummary,
    partition: &Partition,
    pools: bool,
) -> Option<String> {
    let untrained = untrained(outline, partition, pools);
    if untrained.is_empty() {
        return None;
    }
    let named: Vec<String> = untrained.iter().take(NAMED).map(usize::to_string).collect();
    let more = match untrained.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let how = match outline.has_ranked_labels() {
        true => ", counted from 0 in the order of the labels",
        false => "",
    };
    Some(format!(
        "clients have nothing to train on of {} of the {} labels, though test examples have them: {}{more}{how}; `meshfold partition` \
         shows who has what",
        untrained.len(),
        outline.classes(),
        named.join(", ")
    ))
}

/// These labels, ascending.
fn untrained(outline: &DatasetSummary, partition: &Partition, pools: bool) -> Vec<usize> {
    let (dealt, classes) = (outline.labelled(pools), outline.classes());
    if dealt.text {
        // Its labels are the tokens that follow, which nobody expects all clients to have.
        return Vec::new();
    }
    let known = label_histogram(dealt.labels, classes);
    let trained = partition.label_totals(dealt.labels, classes);
    let mut is_tested = vec![false; classes];
    match partition.held_out() {
        Some(held_out) => held_out.iter().for_each(|example| {
            is_tested[usize::from(dealt.labels[*example as usize])] = true;
        }),
        None => (outline.train()..outline.train() + outline.test()).for_each(|example| {
            is_tested[usize::from(outline.label(example))] = true;
        }),
    }
    let is_untrained =
        |label: &usize| is_tested[*label] && trained[*label] == 0 && known[*label] > 0;
    (0..classes).filter(is_untrained).collect()
}

#[cfg(test)]
mod tests {
    use meshfold_data::{Input, Shape};

    use super::*;

    /// Training examples of the labels 0 to 2 and 4, test examples of 1, 2 and 3.
    fn outline() -> DatasetSummary {
        let input = Input::Numbers(Shape::flat(1));
        DatasetSummary::new(input, 5, &[0, 1, 1, 2, 4], &[1, 2, 3])
    }

    fn partition(shards: &[&[u32]]) -> Partition {
        let shards = shards.iter().map(|shard| shard.to_vec()).collect();
        Partition::new(shards, 5).unwrap()
    }

    #[test]
    fn labels_that_are_tested_and_dealt_to_nobody_are_named() {
        let all = partition(&[&[0, 1, 2], &[3]]);
        assert_eq!(
            warning(&outline(), &all, false),
            None,
            "nobody tests 0 and 4, and there is no 3 to deal"
        );
        let some = warning(&outline(), &partition(&[&[1, 0]]), false).unwrap();
        assert!(
            some.starts_with("clients have nothing to train on of 1 of the 5 labels, ")
                && some.contains(" have them: 2; "),
            "{some}"
        );
        let none = warning(&outline(), &partition(&[&[0], &[4]]), false).unwrap();
        assert!(none.contains(" have them: 1, 2; "), "{none}");
    }

    #[test]
    fn labels_of_a_test_set_of_the_partition_are_its_own() {
        let shards = vec![vec![0, 1], vec![3, 7]];
        let partition = Partition::new(shards, 8).unwrap();
        let held_out = |examples: &[u32]| {
            let partition = partition.clone().holding_out(Some(examples.to_vec()));
            warning(&outline(), &partition.unwrap(), true)
        };
        assert_eq!(held_out(&[2, 5]), None);
        assert!(held_out(&[4]).unwrap().contains(" have them: 4; "));
    }
}
