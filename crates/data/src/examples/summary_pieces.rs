//! A summary as pieces of bytes, from which another process of the same program rebuilds it.

use serde::{Deserialize, Serialize};

use super::dataset_summary::{DatasetSummary, Labels, OwnerList};
use super::pieces::numbers;
use crate::Input;
use crate::files::digest::Kept;

/// What is known besides labels and owners.
#[derive(Serialize, Deserialize)]
struct Head {
    train: usize,
    test: usize,
    validation: usize,
    feature_bytes: usize,
    input: Input,
    classes: usize,
    has_ranked_labels: bool,
    has_labels: bool,
    owners: Stored,
    names_test_owners: bool,
}

/// How owners are stored.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Stored {
    Unknown,
    Listed,
    Runs,
}

impl DatasetSummary {
    /// Hands the summary to `send` in pieces, from which [`DatasetSummary::from_pieces`] rebuilds it.
    pub fn to_pieces(&self, mut send: impl FnMut(&[u8])) {
        let head = Head {
            train: self.train,
            test: self.test,
            validation: self.validation,
            feature_bytes: self.feature_bytes,
            input: self.input,
            classes: self.classes,
            has_ranked_labels: self.has_ranked_labels,
            has_labels: matches!(self.labels, Labels::Listed(_)),
            owners: match &self.owners {
                None => Stored::Unknown,
                Some(OwnerList::Listed(_)) => Stored::Listed,
                Some(OwnerList::Runs(_)) => Stored::Runs,
            },
            names_test_owners: self.names_test_owners,
        };
        send(&serde_json::to_vec(&head).expect("what is known has text keys"));
        if let Labels::Listed(labels) = &self.labels {
            send(bytemuck::cast_slice(labels));
        }
        match &self.owners {
            None => {}
            Some(OwnerList::Listed(owners)) => send(bytemuck::cast_slice(owners)),
            Some(OwnerList::Runs(runs)) => {
                let words: Vec<u32> = runs
                    .iter()
                    .flat_map(|(owner, run)| [*owner, *run])
                    .collect();
                send(bytemuck::cast_slice(&words));
            }
        }
    }

    /// The summary whose pieces `receive` gives, in their order.
    ///
    /// # Panics
    /// If they are not the pieces of a summary.
    pub fn from_pieces(mut receive: impl FnMut() -> Vec<u8>) -> Self {
        let head: Head = serde_json::from_slice(&receive()).expect("the first piece has the head");
        let labels = match head.has_labels {
            true => Labels::Listed(numbers(receive())),
            false => Labels::InTurn,
        };
        let owners = match head.owners {
            Stored::Unknown => None,
            Stored::Listed => Some(OwnerList::Listed(numbers(receive()))),
            Stored::Runs => {
                let words: Vec<u32> = numbers(receive());
                let runs = words.as_chunks::<2>().0.iter();
                Some(OwnerList::Runs(
                    runs.map(|[owner, run]| (*owner, *run)).collect(),
                ))
            }
        };
        Self {
            labels,
            owners,
            names_test_owners: head.names_test_owners,
            train: head.train,
            test: head.test,
            validation: head.validation,
            feature_bytes: head.feature_bytes,
            input: head.input,
            classes: head.classes,
            has_ranked_labels: head.has_ranked_labels,
            digest: Kept::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    #[test]
    fn a_summary_arrives_as_it_was() {
        let input = Input::Numbers(Shape::flat(3));
        let known = DatasetSummary::new(input, 4, &[0, 3, 1], &[2]).of_numbers();
        let owned = known.clone().with_owners(vec![5, 5, 6, 9]);
        let unseen = DatasetSummary::of_unseen_text([5, 3, 100], [4, 2], vec![(0, 4), (7, 2)]);
        let unnamed = owned.clone().with_unnamed_test_owners();
        let ranked = known.clone().with_ranked_labels(true);
        for summary in [known.with_validation(2), owned, unseen, unnamed, ranked] {
            let mut pieces = Vec::new();
            summary.to_pieces(|piece| pieces.push(piece.to_vec()));
            let mut pieces = pieces.into_iter();
            let received = DatasetSummary::from_pieces(|| pieces.next().unwrap());
            assert_eq!(pieces.next(), None, "every piece is asked for");
            assert_eq!(received, summary);
            assert_eq!(received.digest(), summary.digest());
        }
    }
}
