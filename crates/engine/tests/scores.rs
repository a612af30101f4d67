//! Losses and accuracies of evaluation against a plain count by the oracle.
#![allow(clippy::unwrap_used)]

mod support;

use meshfold_engine::{Learner, Model, Split, Start, Targets, oracle};
use support::*;

/// Loss and whether it is right, of one model on test example `index`, by the oracle.
fn judged(learner: &Learner, model: &Model, weights: &[f64], index: usize) -> (f64, bool) {
    let test = &learner.splits().test;
    let x: Vec<f64> = test.row(index).into_iter().map(f64::from).collect();
    let loss = |label| oracle::plain(learner.network(), weights, &x, &[label]).0;
    let of_label = loss(test.labels()[index]);
    let value = matches!(model, Model::Linear(linear) if linear.targets == Targets::Value);
    let right = if value {
        // Half the square of a distance below one half.
        of_label < 0.125
    } else {
        // The largest output is the class whose loss is least.
        (0..learner.network().classes() as u16).all(|label| loss(label) >= of_label)
    };
    (of_label, right)
}

fn compare_scores(model: &Model, classes: usize, rows: usize) {
    let mut learner = learner_of_classes(&cpu(2, None), model, &[9, 9, 9], classes);
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
        let mean = |indices: &mut dyn Iterator<Item = usize>| {
            let losses: Vec<(f64, bool)> = indices
                .map(|index| judged(&learner, model, &weights, index))
                .collect();
            let count = losses.len() as f64;
            (
                losses.iter().map(|(loss, _)| loss).sum::<f64>() / count,
                losses.iter().filter(|(_, right)| *right).count() as f64 / count,
            )
        };
        let all = mean(&mut (0..203));
        let some = mean(&mut subset.iter().map(|index| *index as usize));
        for ((loss, accuracy), score) in [(all, scores[row]), (some, part[row])] {
            assert!((score.loss - loss).abs() < 1e-5, "{model:?}");
            assert!((score.accuracy - accuracy).abs() < 1e-12, "{model:?}");
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
        compare_scores(&model, classes, 3);
    }
    // Rows of a single layer are judged 32 at once.
    for model in [Model::Logistic].iter().chain(&linear()) {
        compare_scores(model, CLASSES, 35);
    }
}

#[test]
fn a_single_logit_is_judged_as_two_would_be() {
    let mut learner = learner_of_classes(&cpu(2, None), &dnn8(), &[9], 2);
    assert_eq!(learner.network().outputs(), 1);
    let stack = learner.initial(1, Start::Same).unwrap();
    let score = learner.evaluate(&stack, Split::Test, None).unwrap()[0];
    let weights: Vec<f64> = stack.to_host().iter().map(|w| f64::from(*w)).collect();
    let judged: Vec<(f64, bool)> = (0..20)
        .map(|index| judged(&learner, &dnn8(), &weights, index))
        .collect();
    let some: Vec<u32> = (0..20).collect();
    let part = learner.evaluate(&stack, Split::Test, Some(&some)).unwrap()[0];
    let loss = judged.iter().map(|(loss, _)| loss).sum::<f64>() / 20.0;
    let right = judged.iter().filter(|(_, right)| *right).count() as f64 / 20.0;
    assert!((part.loss - loss).abs() < 1e-5 && part.accuracy == right);
    assert!(score.accuracy > 0.0 && score.accuracy < 1.0, "{score:?}");
}
