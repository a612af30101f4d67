//! Slopes by representations: what they add to a loss, and which models have none.

use crate::row_examples::wide;
use crate::support::*;
use meshfold_engine::{
    Amount, ExampleSet, GradientsOn, Learner, Linear, Model, RowExamples, Start, Velocity,
};

/// The loss of the network and what is added to it have the sum of their gradients, in a fused step as in one that is not.
#[test]
fn slopes_by_representations_add_to_the_loss_of_the_network() {
    let mut cases = vec![Case::of_pixels(dropping_mlp(), CLASSES)];
    cases.push(convolutional()[0].clone());
    cases.push(recurrent()[0].clone());
    for case in cases {
        for clip_norm in [None, Some(1e9)] {
            let mut learner = case.learner(&cpu(2, None), &[13, 9, 3]);
            let (own, mut sgd) = (rows(&[Amount::Steps(1); 3]), sgd(4, 0.9));
            sgd.clip_norm = clip_norm;
            let (models, work) = (shaken(&learner, 3), work(1, &own, &sgd));
            let examples = learner.next_batches(&work).unwrap();
            let representations = learner.representations(&models, &examples).unwrap();
            let outputs = learner.outputs(&models, &examples).unwrap();
            let silent: Vec<Vec<f32>> = outputs.iter().map(|of| vec![0.0; of.len()]).collect();
            let plain = GradientsOn::of(&examples);
            let added = GradientsOn {
                representation_slopes: Some(&representations),
                ..plain
            };
            let alone = GradientsOn {
                slopes: Some(&silent),
                ..added
            };
            let of = |learner: &mut Learner, on| learner.gradients_on(&models, &work, on).unwrap();
            let mut sum = of(&mut learner, &plain);
            sum.add_scaled(&of(&mut learner, &alone), &[1.0; 3])
                .unwrap();
            let both = of(&mut learner, &added);
            let sum = wide(&sum.to_host());
            let largest = sum.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
            let apart = difference(&both.to_host(), &sum) / largest;
            assert!(apart < 1e-6, "{case:?}: {apart}");
            let rates: Vec<f32> = learner.rates(&work).unwrap();
            let rates: Vec<f32> = rates.iter().map(|rate| -rate).collect();
            let mut needed = models.duplicate();
            needed.add_scaled(&both, &rates).unwrap();
            let mut stepped = models.duplicate();
            let velocity = Velocity::Fresh;
            learner
                .step_on(&mut stepped, velocity, &work, &added)
                .unwrap();
            let apart = difference(&stepped.to_host(), &wide(&needed.to_host()));
            assert!(apart < 1e-6, "{case:?}: {apart}");
        }
    }
}

#[test]
fn models_without_a_hidden_layer_have_no_representations() {
    let linear = Model::Linear(Linear::default());
    let mut learner = learner(&cpu(1, None), &linear, &[5]);
    let models = learner.initial(1, Start::Same).unwrap();
    let examples = RowExamples::each(ExampleSet::Train, vec![vec![1]]);
    let none = learner.representations(&models, &examples);
    let words = none.unwrap_err().to_string();
    assert!(words.contains("a model of one layer"), "{words}");
    let (own, sgd, slopes) = (rows(&[Amount::Steps(1)]), sgd(2, 0.0), [vec![0.0; 4]]);
    let on = GradientsOn {
        representation_slopes: Some(&slopes),
        ..GradientsOn::of(&examples)
    };
    let none = learner.gradients_on(&models, &work(1, &own, &sgd), &on);
    let words = none.unwrap_err().to_string();
    assert!(words.contains("a model of one layer"), "{words}");
}
