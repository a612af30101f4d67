//! Losses and accuracies of evaluation against a plain count by the oracle.

use crate::support::*;
use meshfold_data::{Partition, Splits};
use meshfold_engine::{
    Amount, Learner, Mlp, Model, RowWork, Score, Split, Stack, Start, Targets, Velocity, oracle,
};
use std::sync::Arc;

/// Mean loss of one model over the judged positions of test example `index`, and the share of them it has right, by the
/// oracle.
fn judged(learner: &Learner, model: &Model, weights: &[f64], index: usize) -> (f64, f64) {
    let (x, targets) = batch(learner, &learner.splits().test, &[index as u32]);
    let loss = |targets: &[u16]| oracle::plain(learner.network(), weights, &x, targets).0;
    let of_targets = loss(&targets);
    if matches!(model, Model::Linear(linear) if linear.targets == Targets::Value) {
        // Half the square of a distance below one half.
        return (of_targets, f64::from(u8::from(of_targets < 0.125)));
    }
    // The largest output is the class whose loss is least, the other positions being as they are.
    let right = |position: &usize| {
        (0..learner.network().classes() as u16).all(|label| {
            let mut others = targets.clone();
            others[*position] = label;
            loss(&others) >= of_targets
        })
    };
    let count = (0..targets.len()).filter(right).count();
    (of_targets, count as f64 / targets.len() as f64)
}

fn compare_scores(case: &Case, rows: usize) {
    let mut learner = case.learner(&cpu(2, None), &[9, 9, 9]);
    let stack = learner.initial(rows, Start::Independent).unwrap();
    let width = stack.layout().width();
    let values = stack.to_host();
    let scores = learner.evaluate(&stack, Split::Test, None).unwrap();
    let subset: Vec<u32> = (0..203).step_by(3).collect();
    let part = learner
        .evaluate(&stack, Split::Test, Some(&subset))
        .unwrap();
    for row in 0..rows {
        let weights: Vec<f64> = values[row * width..][..width]
            .iter()
            .map(|w| f64::from(*w))
            .collect();
        let judged: Vec<(f64, f64)> = (0..203)
            .map(|index| judged(&learner, &case.model, &weights, index))
            .collect();
        let every: Vec<u32> = (0..203).collect();
        for (indices, score) in [(&every, scores[row]), (&subset, part[row])] {
            let of = indices.iter().map(|index| judged[*index as usize]);
            let (losses, accuracies): (Vec<f64>, Vec<f64>) = of.unzip();
            let mean = |values: &[f64]| values.iter().sum::<f64>() / indices.len() as f64;
            assert!((score.loss - mean(&losses)).abs() < 1e-5, "{case:?}");
            assert!(
                (score.accuracy - mean(&accuracies)).abs() < 1e-12,
                "{case:?}"
            );
        }
    }
    if rows == 3 {
        let own = learner
            .evaluate(&stack, Split::Shards(&[0, 1, 2]), None)
            .unwrap();
        let shard: Vec<u32> = learner.partition().shard(1).to_vec();
        let all = learner
            .evaluate(&stack, Split::Train, Some(&shard))
            .unwrap();
        assert_eq!(own[1], all[1]);
    }
}

#[test]
fn evaluation_equals_a_plain_count() {
    for (model, classes) in models() {
        compare_scores(&Case::of_pixels(model, classes), 3);
    }
    let mlp = Model::Mlp(Mlp {
        hidden: vec![40, 5],
        dropout: 0.0,
        ..Mlp::default()
    });
    compare_scores(&Case::of_margins(mlp), 3);
    compare_scores(&Case::of_margins(Model::Logistic), 3);
    compare_scores(&Case::of_margins(Model::Logistic), 35);
    // Rows of a single layer are judged 32 at once.
    for model in [Model::Logistic].iter().chain(&linear()) {
        compare_scores(&Case::of_pixels(model.clone(), CLASSES), 35);
    }
}

#[test]
fn evaluation_of_grids_and_sequences_equals_a_plain_count() {
    let grids = [4, 7].map(|at| convolutional()[at].clone());
    for case in grids {
        compare_scores(&case, 2);
    }
    for case in recurrent() {
        compare_scores(&case, 3);
    }
}

#[test]
fn rows_that_repeat_are_scored_as_each_alone() {
    let cases = models()
        .into_iter()
        .map(|(model, classes)| Case::of_pixels(model, classes));
    for case in cases.chain([Case::of_margins(Model::Logistic)]) {
        let mut learner = case.learner(&cpu(2, None), &[9, 9, 9]);
        let three = learner.initial(3, Start::Independent).unwrap();
        let (layout, values) = (three.layout().clone(), three.to_host());
        let mut scores = |rows: &[usize]| {
            let row = |row: &usize| &values[row * layout.width()..][..layout.width()];
            let models = rows.iter().flat_map(row).copied().collect();
            let stack = Stack::from_host(&cpu(2, None), &layout, models).unwrap();
            learner.evaluate(&stack, Split::Test, None).unwrap()
        };
        let rows = [0, 1, 0, 2, 2, 1];
        let alone = rows.map(|row| scores(&[row])[0]);
        assert_eq!(scores(&rows), alone);
    }
}

#[test]
fn local_test_sets_are_judged_as_other_examples_are_and_nobody_trains_on_them() {
    for (model, classes) in models() {
        let case = Case::of_pixels(model, classes);
        let sizes = [15, 9, 24];
        let parted = Arc::new(with_local_tests(partition(&sizes), 0.4));
        assert_eq!(parted.sizes(), [9, 5, 14]);
        let splits = case.splits(48);
        let of = |partition| {
            let splits = splits.clone();
            Learner::upload(&cpu(2, None), case.network(), splits, partition, SEED).unwrap()
        };
        let mut learner = of(Arc::clone(&parted));
        let mut stack = learner.initial(3, Start::Independent).unwrap();
        expect_scores_on_local_tests(&mut learner, &stack, &[2, 0, 1]);
        let refused = learner.evaluate(&stack, Split::LocalTests(&[0, 1, 2]), Some(&[0]));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("some of local test sets"), "{refused}");
        // Clients that hold nothing but what is left of theirs train alike.
        let shards = (0..3).map(|client| parted.shard(client).to_vec()).collect();
        let mut other = of(Arc::new(Partition::new(shards, 48).unwrap()));
        let mut same = other.initial(3, Start::Independent).unwrap();
        let rule = sgd(4, 0.0);
        let one_epoch = |client| RowWork {
            client,
            amount: Amount::Epochs(1),
        };
        for (learner, stack) in [(&mut learner, &mut stack), (&mut other, &mut same)] {
            let rows: Vec<RowWork> = (0..3).map(one_epoch).collect();
            let work = work(1, &rows, &rule);
            learner.train(stack, Velocity::Fresh, &work).unwrap();
        }
        assert_eq!(stack.to_host(), same.to_host());
        let empty = other.evaluate(&same, Split::LocalTests(&[0, 1, 2]), None);
        assert_eq!(empty.unwrap(), [Score::default(); 3]);
    }
}

#[test]
fn test_examples_of_owners_are_judged_as_test_examples_are() {
    for (model, classes) in models() {
        let case = Case::of_pixels(model, classes);
        let splits = case.splits(48);
        let parted = Arc::new(with_tests_of_owners(
            partition(&[15, 9, 24]),
            splits.test.len(),
        ));
        assert_eq!(parted.sizes(), [15, 9, 24]);
        let sizes = [0, 1, 2].map(|client| parted.local_test(client).len());
        assert_eq!(sizes, [58; 3], "of 203, a seventh is nobody's");
        let learner = Learner::upload(&cpu(2, None), case.network(), splits, parted, SEED);
        let mut learner = learner.unwrap();
        let stack = learner.initial(3, Start::Independent).unwrap();
        expect_scores_on_local_tests(&mut learner, &stack, &[2, 0, 1]);
    }
}

#[test]
fn validation_examples_are_judged_as_test_examples_are() {
    for (model, classes) in models() {
        let case = Case::of_pixels(model, classes);
        let of = |splits| {
            let partition = Arc::new(partition(&[9, 9, 9]));
            Learner::upload(&cpu(2, None), case.network(), splits, partition, SEED).unwrap()
        };
        let own = case.splits(27);
        let mut tested = of(Splits {
            test: Arc::clone(&own.train),
            ..own.clone()
        });
        let mut validated = of(Splits {
            validation: Some(Arc::clone(&own.train)),
            ..own.clone()
        });
        let stack = tested.initial(3, Start::Independent).unwrap();
        // A whole set is read once and kept: the second time must be as the first.
        for subset in [None, Some(&[1, 5, 26][..]), None] {
            assert_eq!(
                validated
                    .evaluate(&stack, Split::Validation, subset)
                    .unwrap(),
                tested.evaluate(&stack, Split::Test, subset).unwrap()
            );
            let test = validated.evaluate(&stack, Split::Test, subset).unwrap();
            let other = of(own.clone()).evaluate(&stack, Split::Test, subset);
            assert_eq!(test, other.unwrap());
        }
        let refusal = tested
            .evaluate(&stack, Split::Validation, None)
            .unwrap_err();
        let reason = "examples for validation: 0, but it must be at least 1";
        assert!(refusal.to_string().contains(reason), "{refusal}");
    }
}

#[test]
fn examples_and_clients_that_there_are_not_are_refused() {
    let mut learner = learner(&cpu(1, None), &mlp(), &[9, 9]);
    let stack = learner.initial(2, Start::Same).unwrap();
    let tests = learner.splits().test.len();
    let beyond = [0, tests as u32];
    for (split, subset, reason) in [
        (
            Split::Test,
            Some(&beyond[..]),
            format!("number {tests} of {tests}"),
        ),
        (
            Split::Shards(&[0, 1]),
            Some(&[0]),
            "some of those of shards".to_owned(),
        ),
        (
            Split::Shards(&[0, 2]),
            None,
            "client 2, which does not exist".to_owned(),
        ),
    ] {
        let refusal = learner.evaluate(&stack, split, subset).unwrap_err();
        assert!(refusal.to_string().contains(&reason), "{refusal}");
    }
}

#[test]
fn a_single_logit_is_judged_as_two_would_be() {
    let mut learner = learner_of_classes(&cpu(2, None), &dnn8(), &[9], 2);
    assert_eq!(learner.network().outputs(), 1);
    let stack = learner.initial(1, Start::Same).unwrap();
    let score = learner.evaluate(&stack, Split::Test, None).unwrap()[0];
    let weights: Vec<f64> = stack.to_host().iter().map(|w| f64::from(*w)).collect();
    let judged: Vec<(f64, f64)> = (0..20)
        .map(|index| judged(&learner, &dnn8(), &weights, index))
        .collect();
    let some: Vec<u32> = (0..20).collect();
    let part = learner.evaluate(&stack, Split::Test, Some(&some)).unwrap()[0];
    let loss = judged.iter().map(|(loss, _)| loss).sum::<f64>() / 20.0;
    let right = judged.iter().map(|(_, right)| right).sum::<f64>() / 20.0;
    assert!((part.loss - loss).abs() < 1e-5 && part.accuracy == right);
    assert!(score.accuracy > 0.0 && score.accuracy < 1.0, "{score:?}");
}
