//! What is measured of each model besides its score on all test examples, for `clients.parquet`.

use meshfold_algorithms::RowKind;
use meshfold_engine::{EngineError, Learner, Score, Split, Stack};

use crate::config::client_view::{ClientView, has_labels};
use crate::plan::run_plan::RunPlan;
use crate::run::inferred_membership::InferredMembership;
use crate::run::local_tests::LocalScores;

/// The columns of the views that the run of `plan` asks for, in their order.
pub(crate) fn columns(plan: &RunPlan) -> Vec<String> {
    let asked = |view| plan.config.evaluate.clients.contains(&view);
    let mut columns = Vec::new();
    if asked(ClientView::Own) {
        columns.extend(["own_accuracy", "own_loss"].map(str::to_owned));
        if has_labels(&plan.dataset) {
            columns.push("own_labels_accuracy".to_owned());
        }
    }
    if plan.partition.has_local_tests() {
        columns.extend(
            [
                "local_test_accuracy",
                "local_test_loss",
                "local_test_examples",
            ]
            .map(str::to_owned),
        );
    }
    if plan.config.evaluate.fine_tune.is_some() {
        columns.extend(["fine_tuned_accuracy", "fine_tuned_loss"].map(str::to_owned));
    }
    if plan.config.evaluate.membership.is_some() {
        columns.extend(MEMBERSHIP.map(str::to_owned));
    }
    if asked(ClientView::Labels) {
        columns.extend((0..plan.dataset.classes()).map(|label| format!("label_{label}_accuracy")));
    }
    columns
}

/// The columns of what attackers find out about who trained on what.
const MEMBERSHIP: [&str; 4] = [
    "membership_accuracy",
    "membership_auc",
    "membership_tpr",
    "membership_examples",
];

/// Measures the views that a run asks for. A figure that is absent is NaN.
#[derive(Debug)]
pub(crate) struct ClientMeasurements {
    own: bool,
    labels: bool,
    /// The size of the local test set of each client, `[N]`, if clients have any.
    local_tests: Option<Vec<usize>>,
    /// Whether row `i` is the model of client `i`.
    is_row_of_client: bool,
    fine_tuned: bool,
    /// Whether models are attacked.
    attacked: bool,
    /// The label of each test example, if examples have labels.
    test_labels: Option<Vec<u16>>,
    /// Training examples of each label that each row's client holds, `[R][C]`; of no row where rows are not clients.
    held: Vec<Vec<u64>>,
    classes: usize,
}

/// The scores of clients on what they hold themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnScores<'a> {
    /// On their training examples, `[N]`, if that was asked for and rows are clients.
    pub(crate) shards: Option<&'a [Score]>,
    /// On their local test sets, `[N]`, if they have any.
    pub(crate) local_tests: Option<&'a LocalScores>,
    /// What attackers find out, `[N]`, if there are any.
    pub(crate) membership: Option<&'a [Option<InferredMembership>]>,
}

/// The views of all rows at one evaluation.
#[derive(Debug)]
pub(crate) struct Views {
    /// The figures of each row in the order of the [`columns`], `[R]`.
    pub(crate) figures: Vec<Vec<f64>>,
    /// The accuracy of each row on test examples of its client's labels, `[R]`, if it was asked for.
    pub(crate) own_labels: Option<Vec<Option<f64>>>,
}

impl ClientMeasurements {
    /// The views that `plan` asks for, with the labels of all test examples, and of all training examples as its partition counts
    /// them. A rank that does not record what is measured may not have the latter.
    pub(crate) fn new(
        plan: &RunPlan,
        of_test: &[u16],
        of_training: Option<&[u16]>,
        kind: RowKind,
    ) -> Self {
        let asked = |view| plan.config.evaluate.clients.contains(&view);
        let (own, labels) = (asked(ClientView::Own), asked(ClientView::Labels));
        let by_label = (own || labels) && has_labels(&plan.dataset);
        let classes = plan.dataset.classes();
        let counted = of_training.filter(|_| own && by_label && kind == RowKind::Client);
        let held = counted.map(|labels| plan.partition.label_counts(labels, classes));
        let partition = &plan.partition;
        Self {
            own,
            labels,
            local_tests: partition
                .has_local_tests()
                .then(|| partition.local_test_sizes()),
            is_row_of_client: kind == RowKind::Client,
            fine_tuned: plan.config.evaluate.fine_tune.is_some(),
            attacked: plan.config.evaluate.membership.is_some(),
            test_labels: by_label.then(|| of_test.to_vec()),
            held: held.unwrap_or_default(),
            classes,
        }
    }

    /// The views of all rows of `deployed` on the test examples `subset`, all if absent, with the scores on their `own` examples.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn measure(
        &self,
        learner: &mut Learner,
        deployed: &Stack,
        subset: Option<&[u32]>,
        own: OwnScores<'_>,
    ) -> Result<Views, EngineError> {
        let by_label = match &self.test_labels {
            Some(labels) => by_label(learner, deployed, &of_labels(labels, subset, self.classes))?,
            None => Vec::new(),
        };
        let own_labels = (self.own && self.test_labels.is_some()).then(|| {
            let rows = 0..deployed.rows();
            let of = |row| weighted(self.held.get(row), &by_label, row);
            rows.map(of).collect::<Vec<_>>()
        });
        let figures = (0..deployed.rows()).map(|row| {
            let mut figures = Vec::new();
            if self.own {
                figures.extend(accuracy_and_loss(own.shards.map(|scores| scores[row])));
                figures.extend(
                    own_labels
                        .iter()
                        .map(|accuracies| accuracies[row].unwrap_or(f64::NAN)),
                );
            }
            let client = self.is_row_of_client.then_some(row);
            figures.extend(self.on_local_test(client, own.local_tests));
            figures.extend(self.of_attack(client, own.membership));
            if self.labels {
                figures.extend(by_label.iter().map(|accuracies| accuracies[row]));
            }
            figures
        });
        Ok(Views {
            figures: figures.collect(),
            own_labels,
        })
    }

    /// The figures of a client that has the model of its server, in the order of the [`columns`]: those on its local test set, and of
    /// the attack on it.
    pub(crate) fn of_served(&self, client: usize, own: OwnScores<'_>) -> Vec<f64> {
        let absent = |columns| std::iter::repeat_n(f64::NAN, columns);
        let on_labels = match (self.own, &self.test_labels) {
            (true, Some(_)) => 3,
            (true, None) => 2,
            (false, _) => 0,
        };
        let labels = if self.labels { self.classes } else { 0 };
        let tested = self.on_local_test(Some(client), own.local_tests);
        let attacked = self.of_attack(Some(client), own.membership);
        let figures = absent(on_labels).chain(tested).chain(attacked);
        figures.chain(absent(labels)).collect()
    }

    /// What an attacker finds out of a client; absent without a client, and none if nobody is attacked.
    fn of_attack(
        &self,
        client: Option<usize>,
        found: Option<&[Option<InferredMembership>]>,
    ) -> Vec<f64> {
        if !self.attacked {
            return Vec::new();
        }
        let found = found.zip(client).and_then(|(found, client)| found[client]);
        let figures = found.map_or([f64::NAN; 4], InferredMembership::figures);
        figures.to_vec()
    }

    /// The figures of a client on its local test set; absent without a client, and none if no client has such a set.
    fn on_local_test(&self, client: Option<usize>, scores: Option<&LocalScores>) -> Vec<f64> {
        let Some(sizes) = &self.local_tests else {
            return Vec::new();
        };
        let of = |scores: &Vec<Option<Score>>| scores[client?];
        let size = client.map_or(f64::NAN, |client| sizes[client] as f64);
        let [accuracy, loss] = accuracy_and_loss(scores.and_then(|scores| of(&scores.plain)));
        let mut figures = vec![accuracy, loss, size];
        if self.fine_tuned {
            let tuned = scores.and_then(|scores| scores.fine_tuned.as_ref());
            figures.extend(accuracy_and_loss(tuned.and_then(of)));
        }
        figures
    }
}

impl Views {
    /// Views of `rows` rows without figures, for a run that asks for none.
    pub(crate) fn absent(rows: usize) -> Self {
        Self {
            figures: vec![Vec::new(); rows],
            own_labels: None,
        }
    }
}

/// Accuracy and loss of a score; not numbers without one.
fn accuracy_and_loss(score: Option<Score>) -> [f64; 2] {
    score.map_or([f64::NAN; 2], |score| [score.accuracy, score.loss])
}

/// The examples of each label among `subset`, all if absent, `[C]`.
fn of_labels(labels: &[u16], subset: Option<&[u32]>, classes: usize) -> Vec<Vec<u32>> {
    let mut of_label = vec![Vec::new(); classes];
    let mut put = |example: u32| of_label[usize::from(labels[example as usize])].push(example);
    match subset {
        Some(subset) => subset.iter().copied().for_each(&mut put),
        None => (0..labels.len() as u32).for_each(&mut put),
    }
    of_label
}

/// The accuracy of each row on the test examples of each label, `[C][R]`; not a number where a label has none.
fn by_label(
    learner: &mut Learner,
    deployed: &Stack,
    examples: &[Vec<u32>],
) -> Result<Vec<Vec<f64>>, EngineError> {
    let accuracies = |examples: &Vec<u32>| match examples.as_slice() {
        [] => Ok(vec![f64::NAN; deployed.rows()]),
        some => {
            let scores = learner.evaluate(deployed, Split::Test, Some(some))?;
            Ok(scores.iter().map(|score| score.accuracy).collect())
        }
    };
    examples.iter().map(accuracies).collect()
}

/// The mean of a row's accuracies over labels, each counted as often as the client holds it. Labels without test examples
/// do not count; without any other there is none.
fn weighted(held: Option<&Vec<u64>>, by_label: &[Vec<f64>], row: usize) -> Option<f64> {
    let (mut sum, mut examples) = (0.0, 0.0);
    for (count, accuracies) in held?.iter().zip(by_label) {
        if *count > 0 && accuracies[row].is_finite() {
            sum += *count as f64 * accuracies[row];
            examples += *count as f64;
        }
    }
    (examples > 0.0).then(|| sum / examples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_sorted_by_label() {
        let labels = [2, 0, 2, 1, 0];
        let all = of_labels(&labels, None, 4);
        assert_eq!(all, [vec![1, 4], vec![3], vec![0, 2], vec![]]);
        let some = of_labels(&labels, Some(&[0, 4]), 4);
        assert_eq!(some, [vec![4], vec![], vec![0], vec![]]);
    }

    #[test]
    fn own_labels_count_as_often_as_the_client_holds_them() {
        let by_label = [vec![1.0, 0.5], vec![0.2, 0.0], vec![f64::NAN; 2]];
        let of = |held: &[u64], row| weighted(Some(&held.to_vec()), &by_label, row);
        assert_eq!(of(&[3, 1, 0], 0), Some((3.0 + 0.2) / 4.0));
        assert_eq!(of(&[3, 1, 0], 1), Some(1.5 / 4.0));
        assert_eq!(of(&[0, 1, 9], 0), Some(0.2), "nobody tests the third label");
        assert_eq!([of(&[0, 0, 9], 0), of(&[0, 0, 0], 0)], [None, None]);
        assert_eq!(weighted(None, &by_label, 0), None);
    }
}
