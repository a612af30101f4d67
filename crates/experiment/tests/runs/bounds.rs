//! The bounds of theorems beside the runs that they speak of.

use crate::tiny::{Case, records};
use meshfold_experiment::{Ending, Record, RunError, run};
use std::sync::atomic::AtomicBool;

/// DeceFL as Theorem 1 has it, but for the rate.
pub(crate) const DECEFL: &str = "algorithm.decefl={local: {steps: 1}, batch_size: full, weight_decay: 0.5, \
                      learning_rate: {harmonic: {delta: 3, gamma: 500}}}";
const P_FEDAVG: &str = "algorithm.p_fedavg={servers: {count: 3}, local: {steps: 2}, batch_size: 7, weight_decay: 0.5, \
                        learning_rate: {harmonic: {delta: 8, gamma: 5000, per: step}}}";

const DFEDRW: &str = "algorithm.dfedrw={walkers: 2, hops: 4, rows: walkers, aggregators: walk_ends, from: walk_ends, local: {steps: 1}, batch_size: 7, weight_decay: 0.5, \
                      learning_rate: {power: {r: 20, q: 0.6, per: epoch}}}";

const ASKED: &str = "evaluate.theory=[bound]";

fn case(method: &str, more: &[&str]) -> Case {
    let none = "algorithm={}";
    let mut overrides = vec![none, method, "model=logistic", ASKED];
    overrides.extend(more);
    Case::new(&overrides)
}

fn finished(method: &str, more: &[&str]) -> Vec<Record> {
    let case = case(method, more);
    let report = case.run();
    assert!(
        matches!(report.ending, Ending::Finished),
        "{:?}",
        report.ending
    );
    records(&report)
}

/// A quantity and its bound of every record that has it.
fn course(records: &[Record], name: &str) -> Vec<[f64; 2]> {
    let pair = |record: &Record| {
        let value = record.theory.get(name)?;
        Some([*value, record.theory[&format!("{name}_bound")]])
    };
    records.iter().filter_map(pair).collect()
}

#[test]
fn decefl_keeps_within_theorem_1() {
    let records = finished(DECEFL, &["rounds=60"]);
    for (name, from) in [("disagreement", 1), ("distance_to_minimum", 0)] {
        let course = course(&records, name);
        assert_eq!(course.len(), records.len());
        for [value, bound] in &course[from..] {
            assert!(*value > 0.0 && value <= bound, "{name}: {value} {bound}");
        }
        // ζ/(t + Γ).
        let factor = course[0][1] / course[60][1];
        assert!((factor - 560.0 / 500.0).abs() < 1e-9, "{factor}");
    }
    // All start from one model, and come nearer to the minimum.
    let (apart, away) = (
        course(&records, "disagreement"),
        course(&records, "distance_to_minimum"),
    );
    assert_eq!(apart[0][0], 0.0);
    assert!(
        away.is_sorted_by(|before, after| before[0] > after[0]),
        "{away:?}"
    );
    assert_eq!(away[0][0], records[60].theory["initial_distance"]);
    // The ring of six with weights of a third.
    let constants = &records[0].theory;
    assert!(
        (constants["lambda"] - 2.0 / 3.0).abs() < 1e-9,
        "{constants:?}"
    );
    assert_eq!(constants["convexity"], 0.5);
    assert!(constants["smoothness"] > 5.0 && constants["smoothness"] < 500.0 / 3.0);
}

#[test]
fn p_fedavg_keeps_within_theorems_1_and_2() {
    let all = finished(P_FEDAVG, &["rounds=40"]);
    let some = "algorithm.p_fedavg.participation={per_server: 1, replacement: true}";
    let some = finished(P_FEDAVG, &["rounds=40", some]);
    let bounds = [&all, &some].map(|records| {
        let course = course(records, "excess_loss");
        // Before the first round there are no iterates.
        assert_eq!(course.len(), records.len() - 1);
        for [value, bound] in &course {
            assert!(*value > 0.0 && value <= bound, "{value} {bound}");
        }
        assert!(course[39][0] < 0.9 * course[0][0], "{course:?}");
        assert!(course[39][1] < course[0][1]);
        course[39][1]
    });
    // Clients that are drawn make the mean vary.
    assert!(bounds[1] > bounds[0], "{bounds:?}");
    let constants = &all[0].theory;
    for name in ["gradient_noise", "non_iid_degree", "largest_gradient_norm"] {
        assert!(constants[name] > 0.0, "{name}");
    }
    assert_eq!(constants["convexity"], 0.5);
    assert_eq!(constants["smoothness"], 5000.0 / 32.0);
}

#[test]
fn dfedrw_keeps_within_theorem_1() {
    let records = finished(DFEDRW, &["rounds=60"]);
    let course = course(&records, "excess_loss");
    // Before the first round there are no iterates.
    assert_eq!(course.len(), records.len() - 1);
    for [value, bound] in &course {
        assert!(*value > 0.0 && value <= bound, "{value} {bound}");
    }
    assert!(course[59][0] < 0.9 * course[0][0], "{course:?}");
    let constants = &records[0].theory;
    // The ring of six with weights of a third.
    assert!((constants["walk_lambda"] - 5.0 / 6.0).abs() < 1e-9);
    // (15) of six devices after 240 visits, term by term.
    let squared = |name: &str| constants[name].powi(2);
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let terms = (1..=240).map(|k| of(f64::from(k), 1.0 / (20.0 * f64::from(k).powf(0.6))));
        terms.sum()
    };
    let speed = (1.0 / constants["walk_lambda"]).ln();
    let gradient = squared("largest_gradient_norm");
    let numerator = 0.5 * squared("initial_distance")
        + 7.0 * 2.0 * gradient * sum(&|k, rate| k.ln() * rate * rate) / speed
        + 2.0 * gradient / 4.0 * sum(&|_, rate| rate * rate)
        + 6.0 / 2.0 * sum(&|k, rate| rate / k);
    let expected = numerator / sum(&|_, rate| rate);
    assert!(
        (course[59][1] / expected - 1.0).abs() < 1e-9,
        "{expected} {course:?}"
    );
}

/// Walks take the Metropolis-Hastings weights, whatever mixes models elsewhere.
#[test]
fn the_bound_of_walks_does_not_depend_on_the_weights() {
    let bounds = [
        "weights=metropolis_hastings",
        "weights=uniform",
        "weights={laplacian: {theta: 0.1}}",
    ];
    let [first, others @ ..] = bounds.map(|weights| {
        course(
            &finished(DFEDRW, &["topology=path", weights]),
            "excess_loss",
        )
    });
    for other in others {
        assert_eq!(first, other);
    }
}

#[test]
fn the_averaged_iterates_are_those_of_the_quantity() {
    let both = "evaluate.theory=[bound, averaged_iterates]";
    let [bound, together] = [ASKED, both].map(|asked| finished(P_FEDAVG, &[asked]));
    for (bound, together) in bound.iter().zip(&together) {
        let own = together
            .theory
            .iter()
            .filter(|(name, _)| !name.starts_with("averaged"));
        assert!(own.eq(bound.theory.iter()));
    }
    assert!(together[7].theory["averaged_iterates_loss"] > 0.0);
}

#[test]
fn a_run_that_the_theorem_does_not_speak_of_ends_before_it_begins() {
    for (method, key, needed) in [
        (
            DECEFL.replace("gamma: 500", "gamma: 50"),
            "delta/Gamma",
            "at most 1/L",
        ),
        (
            DECEFL.replace("delta: 3", "delta: 2"),
            "delta is 2",
            "above 1/mu = 2",
        ),
        (
            P_FEDAVG.replace("delta: 8", "delta: 7"),
            "delta is 7",
            "at least 4/mu = 8",
        ),
        (
            P_FEDAVG.replace("gamma: 5000", "gamma: 200"),
            "gamma is 200",
            "at least max(4 delta L, 2E)",
        ),
        (
            DFEDRW.replace("q: 0.6", "q: 0.499"),
            "exponent q of the step sizes is 0.499",
            "above 1/2",
        ),
    ] {
        let case = case(&method, &[]);
        let stop = AtomicBool::new(false);
        let error = run(&case.plan, &case.data, &case.options(), &stop, &mut ()).unwrap_err();
        assert!(matches!(error, RunError::Theorem { .. }), "{error}");
        let message = error.to_string();
        for part in [key, needed, "evaluate.theory: `bound`"] {
            assert!(message.contains(part), "{message} should say {part}");
        }
    }
}
