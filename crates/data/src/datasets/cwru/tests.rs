//! Tests of recordings.

use std::path::Path;

use super::*;

#[test]
fn examples_are_in_the_order_of_classes_and_loads() {
    let order = |recordings: Vec<Recording>| -> Vec<(u16, String, usize)> {
        let of = |r: Recording| (r.label, r.condition.file(r.load), r.skipped);
        recordings.into_iter().map(of).collect()
    };
    let four = Cwru {
        task: 4,
        ..Cwru::default()
    };
    let train = order(four.training());
    assert_eq!(train.len(), 12);
    assert_eq!(train[2], (0, "normal/NORMAL_2.mat".into(), 0));
    assert_eq!(train[3], (1, "B007/B007_0.mat".into(), 0));
    assert_eq!(train[11], (3, "OR007/OR007@6_2.mat".into(), 0));
    let halves = Cwru {
        normal: NormalRecordings::Halves,
        test_load: 0,
        ..four
    };
    assert_eq!(
        order(halves.training())[..2],
        [
            (0, "normal/NORMAL_0.mat".into(), 0),
            (1, "B007/B007_1.mat".into(), 0)
        ]
    );
    assert_eq!(
        order(halves.testing())[0],
        (0, "normal/NORMAL_0.mat".into(), 400)
    );
}

#[test]
fn the_scaler_centres_what_varies_and_keeps_the_rest() {
    let mut examples = vec![0.0; 3 * FEATURES];
    for (row, value) in [1.0, 2.0, 6.0].into_iter().enumerate() {
        examples[row * FEATURES] = value;
        examples[row * FEATURES + 1] = 4.0;
    }
    let standard = Standard::of(&examples, FEATURES);
    standard.apply(&mut examples, |number| number);
    // Mean 3, population variance 14/3.
    let deviation = (14.0_f64 / 3.0).sqrt();
    assert!((examples[2 * FEATURES] - 3.0 / deviation).abs() < 1e-12);
    assert_eq!(examples[2 * FEATURES + 1], 0.0);
}

#[test]
fn short_recordings_and_missing_channels_are_refused() {
    let signal = |samples| MatArray {
        name: "X097_DE_time".into(),
        dimensions: vec![samples, 1],
        values: vec![0.0; samples],
    };
    assert_eq!(windows(&signal(125_999), 0).unwrap().len(), 400 * BINS);
    let refusal = |samples, skipped| windows(&signal(samples), skipped).unwrap_err();
    assert_eq!(
        refusal(119_999, 0),
        "array X097_DE_time has 119999 samples, 120000 needed"
    );
    assert_eq!(
        refusal(239_999, 400),
        "array X097_DE_time has 239999 samples, 240000 needed"
    );
}

#[test]
fn channels_are_vectors_of_equally_many_samples() {
    let array = |name: &str, dimensions: &[usize]| MatArray {
        name: name.into(),
        dimensions: dimensions.to_vec(),
        values: vec![0.0; dimensions.iter().product()],
    };
    let drive = array("D", &[6, 1]);
    assert_eq!(alike(&drive, &array("F", &[1, 6])), Ok(()));
    assert_eq!(
        alike(&drive, &array("F", &[5, 1])).unwrap_err(),
        "array D has 6 samples, array F 5: equally many needed"
    );
    assert_eq!(
        alike(&array("D", &[2, 3]), &drive).unwrap_err(),
        "array D is of shape [2, 3], one row or one column needed"
    );
}

#[test]
fn a_broken_recording_without_a_mirror_is_replaced_by_hand() {
    let broken = |file: &str| {
        let fault = crate::files::fault::Fault::at(0_u64, "broken");
        fault
            .of(NAME, Path::new("data/cwru").join(file))
            .to_string()
    };
    for (load, number) in [(1, 98), (2, 99), (3, 100)] {
        let error = broken(&format!("normal/NORMAL_{load}.mat"));
        assert!(
            error.contains(&format!("it is {number}.mat of https://")),
            "{error}"
        );
        assert!(
            error.ends_with("`normal: halves` does without it"),
            "{error}"
        );
        assert!(!error.contains("data fetch"), "{error}");
    }
    assert!(broken("normal/NORMAL_0.mat").contains("`meshfold data fetch cwru`"));
}

#[test]
fn settings_out_of_range_are_named() {
    let refusal = |task, test_load| {
        let settings = Cwru {
            task,
            test_load,
            ..Cwru::default()
        };
        settings.validate().unwrap_err().to_string()
    };
    assert_eq!(refusal(5, 3), "cwru: task is 5, 4 or 10 classes needed");
    assert_eq!(refusal(4, 4), "cwru: test_load is 4, from 0 to 3 needed");
}
