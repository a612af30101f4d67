//! Tests of examples.

use super::*;
use crate::Partition;

const PIXELS: Shape = Shape {
    channels: 1,
    height: 1,
    width: 2,
};

fn three() -> Examples {
    Examples::new(
        vec![0, 255, 10, 20, 30, 40],
        vec![0, 1, 1],
        PIXELS,
        2,
        Scale::UNIT,
    )
    .unwrap()
}

#[test]
fn rows_and_scaled_examples_agree() {
    let examples = three();
    assert_eq!((examples.row(0), examples.labels()[0]), (vec![0.0, 1.0], 0));
    assert_eq!(examples.len(), 3);
}

#[test]
fn each_channel_has_its_scale() {
    let shape = Shape {
        channels: 2,
        height: 1,
        width: 2,
    };
    let double = Scale {
        multiply: 2.0,
        add: 1.0,
    };
    let scales = vec![Scale::UNIT, double];
    let bytes = vec![0, 255, 0, 3];
    let examples = Examples::scaled_by_channel(bytes, vec![0], shape, 1, scales).unwrap();
    assert_eq!(examples.row(0), [0.0, 1.0, 1.0, 7.0]);
}

#[test]
fn windows_of_a_text_are_labelled_by_what_follows() {
    let text = Arc::new(vec![3, 1, 4, 1, 5, 2]);
    let examples = Examples::windows(text, vec![0, 3], 2, 6).unwrap();
    assert_eq!(examples.labels(), [4, 2]);
    assert_eq!(examples.input(), Input::Tokens { window: 2 });
    assert_eq!(examples.row(1), [1.0, 5.0]);
    let twice = examples.followed_by(&examples).selected(&[3]);
    assert_eq!(twice.labels(), [2]);
}

#[test]
fn wrong_length_and_label_out_of_range_are_refused() {
    let short = Examples::new(vec![0; 5], vec![0, 1, 1], PIXELS, 2, Scale::UNIT).unwrap_err();
    assert_eq!(
        short.to_string(),
        "examples: 5 features found but 3 examples of 2 features need 6"
    );
    let label = Examples::new(vec![0; 6], vec![0, 1, 2], PIXELS, 2, Scale::UNIT).unwrap_err();
    assert_eq!(
        label.to_string(),
        "examples: label 2 of example 2 is not below the number of classes, 2"
    );
}

#[test]
fn a_partition_that_pools_gives_train_and_test_anew() {
    let splits = Splits {
        train: Arc::new(three().with_owners(vec![7, 8, 9])),
        test: Arc::new(three().cut(2).0.with_owners(vec![4, 5])),
        validation: None,
    };
    let plain = Partition::new(vec![vec![0, 1, 2]], 3).unwrap();
    assert_eq!(splits.clone().apply_partition(&plain).test, splits.test);
    let pooling = Partition::new(vec![vec![0, 3]], 5).unwrap();
    let pooling = pooling.holding_out(Some(vec![4, 2])).unwrap();
    let dealt = splits.apply_partition(&pooling);
    assert_eq!(dealt.train.labels(), [0, 1, 1, 0, 1]);
    assert_eq!(dealt.train.row(3), [0.0, 1.0]);
    assert_eq!(dealt.train.owners(), Some([7, 8, 9, 4, 5].as_slice()));
    assert_eq!(dealt.test.bytes(), Some([10, 20, 30, 40].as_slice()));
    assert_eq!(dealt.test.labels(), [1, 1]);
    assert_eq!(dealt.test.owners(), Some([5, 9].as_slice()));
}

#[test]
fn a_digest_depends_on_everything_that_a_model_or_a_partition_sees() {
    let examples = three();
    let digest = examples.digest().to_owned();
    assert_eq!(digest.len(), 64);
    assert_eq!(three().digest(), digest);
    let others = [
        three().cut(2).0,
        three().with_owners(vec![0, 0, 0]),
        three().with_owners(vec![0, 0, 1]),
        three().selected(&[1, 0, 2]),
        three().followed_by(&three()),
        Examples {
            labels: vec![0, 1, 0],
            ..three()
        },
        Examples {
            classes: 3,
            ..three()
        },
        Examples {
            input: Input::Numbers(Shape::flat(2)),
            classes: 4,
            ..three()
        },
        Examples::new(vec![0; 6], vec![0, 1, 1], PIXELS, 2, Scale::UNIT).unwrap(),
        Examples::numbers(vec![0.0; 6], vec![0, 1, 1], PIXELS, 2).unwrap(),
        Examples::numbers(vec![-0.0; 6], vec![0, 1, 1], PIXELS, 2).unwrap(),
    ];
    let text =
        |words: [u16; 6]| Examples::windows(Arc::new(words.to_vec()), vec![0, 3], 2, 6).unwrap();
    let texts = [text([3, 1, 4, 1, 5, 2]), text([3, 0, 4, 1, 5, 2])];
    let all = others.iter().chain(&texts).map(Examples::digest);
    let mut different: Vec<&str> = all.chain([digest.as_str()]).collect();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), others.len() + texts.len() + 1);
}

#[test]
fn truncation_keeps_the_first_examples() {
    let two = three().cut(2).0;
    assert_eq!(two.len(), 2);
    assert_eq!(two.bytes(), Some([0, 255, 10, 20].as_slice()));
}
