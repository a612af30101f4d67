//! The drawn digits are as hard for a linear model as they claim to be.

use meshfold_data::{DataFolder, DatasetConfig, Examples, Glyphs};

const CLASSES: usize = 10;

/// Weights `[D + 1, C]` of multinomial logistic regression, the bias last.
struct Logistic(Vec<[f32; CLASSES]>);

impl Logistic {
    fn scores(&self, input: &[f32]) -> [f32; CLASSES] {
        let mut scores = self.0[input.len()];
        for (x, weights) in input.iter().zip(&self.0) {
            (0..CLASSES).for_each(|class| scores[class] += x * weights[class]);
        }
        scores
    }

    /// One step of plain SGD on one example.
    fn learn(&mut self, input: &[f32], label: u16, rate: f32) {
        let mut error = self.scores(input);
        let largest = error.iter().copied().fold(f32::MIN, f32::max);
        error
            .iter_mut()
            .for_each(|score| *score = (*score - largest).exp());
        let sum: f32 = error.iter().sum();
        error.iter_mut().for_each(|share| *share /= sum);
        error[usize::from(label)] -= 1.0;
        for (x, weights) in input.iter().chain([&1.0]).zip(&mut self.0) {
            (0..CLASSES).for_each(|class| weights[class] -= rate * x * error[class]);
        }
    }

    fn accuracy(&self, examples: &Examples) -> f64 {
        let right = (0..examples.len()).filter(|&index| {
            let scores = self.scores(&input(examples, index));
            let best = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            best == Some(usize::from(examples.labels()[index]))
        });
        right.count() as f64 / examples.len() as f64
    }
}

fn input(examples: &Examples, index: usize) -> Vec<f32> {
    examples.row(index)
}

#[test]
fn logistic_regression_stays_near_ninety_per_cent() {
    let glyphs = DatasetConfig::Glyphs(Glyphs::default());
    let splits = glyphs.load(&DataFolder::new("unused")).unwrap();
    let mut model = Logistic(vec![[0.0; CLASSES]; splits.train.width() + 1]);
    // The rate falls tenfold at each pass, so that the last one averages rather than jumps.
    for rate in [1e-3, 1e-4] {
        for index in 0..splits.train.len() {
            model.learn(
                &input(&splits.train, index),
                splits.train.labels()[index],
                rate,
            );
        }
    }
    let accuracy = model.accuracy(&splits.test);
    assert!((0.88..0.92).contains(&accuracy), "accuracy {accuracy}");
}
