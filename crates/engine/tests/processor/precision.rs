//! Products of operands in bfloat16.

use crate::support::*;
use meshfold_engine::{Amount, BatchSize, Instructions, Model, Split, Stack, Start, Velocity};

/// The most that a number moves when it is rounded to bfloat16, as a share of it.
const ROUNDING: f64 = 1.0 / 256.0;

/// The gradients of two rows on all their examples, each beside loops in double precision that round what they multiply as the
/// case has it.
fn compare_gradients(case: &Case, sizes: [usize; 2], set: Option<Instructions>) -> f64 {
    let mut learner = case.learner(&cpu(2, set), &sizes);
    let stack = shaken(&learner, 2);
    let mut rule = sgd(1, 0.0);
    rule.batch_size = BatchSize::Full;
    let rows = rows(&[Amount::Steps(1), Amount::Steps(1)]);
    let gradients = learner.gradients(&stack, &work(1, &rows, &rule)).unwrap();
    let (gradients, values) = (gradients.to_host(), stack.to_host());
    let width = stack.layout().width();
    let apart = (0..2u32).map(|row| {
        let range = row as usize * width..(row as usize + 1) * width;
        let shard = learner.partition().shard(row as usize).to_vec();
        let plain = Sequential::new(&learner, row, &values[range.clone()]).gradient(&shard);
        block_difference(learner.network(), &gradients[range], &plain)
    });
    apart.fold(0.0, f64::max)
}

/// What lies in the middle between two numbers of bfloat16 goes to either, as sums in single precision come out: such an operand
/// differs by a digit, two roundings of its size.
#[test]
fn gradients_agree_with_plain_ones_of_the_same_roundings() {
    for (cases, sizes) in [
        (dense(), [13, 9]),
        (convolutional(), [5, 3]),
        (recurrent(), [13, 9]),
    ] {
        let cases: Vec<Case> = cases.into_iter().map(Case::in_bf16).collect();
        // With what this processor has, and in tiles, in steps if need be.
        let tiles = "amx-bf16".parse().ok().map(Some);
        for set in [None].into_iter().chain(tiles) {
            let apart: Vec<f64> = cases
                .iter()
                .map(|case| compare_gradients(case, sizes, set))
                .collect();
            for (case, apart) in cases.iter().zip(&apart) {
                assert!(*apart < 2.0 * ROUNDING, "{set:?}, {case:?}: {apart}");
            }
            // Where no number lies in the middle, the sums differ by their rounding in single precision alone.
            let same = apart.iter().filter(|apart| **apart < 5e-5).count();
            assert!(2 * same > apart.len(), "{set:?}: {apart:?}");
        }
    }
}

/// `|g_kj − ĝ_kj| ≤ Σ_i |x_ik| ((2u + u²) |d_ij| + (1 + u)² |δ_i|)` with `u` what rounding to bfloat16 moves a number by, and
/// `|δ_i| ≤ 1 / 2B · max_j Σ_k (2u + u²) |x_ik w_kj|`: the rows of the derivative of softmax add up to at most one half.
#[test]
fn a_gradient_of_logistic_regression_is_as_near_as_its_operands() {
    let case = Case::of_pixels(Model::Logistic, CLASSES);
    let mut learner = case.clone().in_bf16().learner(&cpu(1, None), &[13]);
    let stack = shaken(&learner, 1);
    let mut rule = sgd(1, 0.0);
    rule.batch_size = BatchSize::Full;
    let rows = rows(&[Amount::Steps(1)]);
    let found = learner.gradients(&stack, &work(1, &rows, &rule)).unwrap();
    let (found, values) = (found.to_host(), stack.to_host());
    let exact = case.learner(&cpu(1, None), &[13]);
    let shard = exact.partition().shard(0).to_vec();
    let gradient = |indices: &[u32]| Sequential::new(&exact, 0, &values).gradient(indices);
    let want = gradient(&shard);
    let (x, _) = batch(&exact, &exact.splits().train, &shard);
    let twice = ROUNDING * (2.0 + ROUNDING);
    let weight = exact.network().layout().blocks()[0].range();
    let mut bounds = vec![0.0; FEATURES * CLASSES];
    for (index, x) in shard.iter().zip(x.chunks_exact(FEATURES)) {
        let size = |class: usize| -> f64 {
            let weight = |k: usize| f64::from(values[weight.start + k * CLASSES + class]);
            x.iter()
                .enumerate()
                .map(|(k, x)| (x * weight(k)).abs())
                .sum()
        };
        let moved = twice * (0..CLASSES).map(size).fold(0.0, f64::max) / 26.0;
        // The bias of a single example has its gradient by the outputs.
        let alone = gradient(&[*index]);
        let d = &alone[exact.network().layout().blocks()[1].range()];
        for (k, x) in x.iter().enumerate() {
            for (class, d) in d.iter().enumerate() {
                let by_output = twice * d.abs() / 13.0 + (1.0 + twice) * moved;
                bounds[k * CLASSES + class] += x.abs() * by_output;
            }
        }
    }
    let mut farthest: f64 = 0.0;
    for (at, bound) in weight.zip(bounds) {
        let apart = (f64::from(found[at]) - want[at]).abs();
        // Sums in single precision.
        assert!(apart <= bound + 1e-6, "{at}: {apart} {bound}");
        farthest = farthest.max(apart / bound);
    }
    // It is a bound of what happens, not of far more.
    assert!(farthest > 0.02, "{farthest}");
}

#[test]
fn models_of_bfloat16_learn_and_keep_what_single_precision_tells_apart() {
    let case = Case::of_pixels(mlp(), CLASSES).in_bf16();
    let mut learner = case.learner(&cpu(1, None), &[200]);
    let mut stack: Stack = learner.initial(1, Start::Same).unwrap();
    let rows = rows(&[Amount::Epochs(10)]);
    let before = learner.evaluate(&stack, Split::Test, None).unwrap()[0];
    let rule = sgd(10, 0.9);
    learner
        .train(&mut stack, Velocity::Fresh, &work(1, &rows, &rule))
        .unwrap();
    let after = learner.evaluate(&stack, Split::Test, None).unwrap()[0];
    assert!(
        after.accuracy > before.accuracy + 0.3,
        "{before:?} {after:?}"
    );
    let low = |w: &f32| w.to_bits() & 0xFFFF != 0;
    assert!(stack.to_host().iter().filter(|w| low(w)).count() > 100);
}
