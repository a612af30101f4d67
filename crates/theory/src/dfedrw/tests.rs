//! Tests of the bounds on random walks.

use super::*;

const WALK: RandomWalk = RandomWalk {
    devices: 20,
    gradient_norm: 1.5,
    walk_lambda: 0.8,
    dissimilarity: 3.0,
    inexactness: 0.5,
    initial_distance_squared: 4.0,
};
const STEPS: PowerSteps = PowerSteps {
    inverse_first: 5.0,
    exponent: 0.6,
};

fn quantisation(interval: f64) -> WalkQuantisation {
    WalkQuantisation {
        norm: 2.0,
        parameters: 100,
        interval,
        mixing_time: MixingTime::symmetric(WALK.walk_lambda, WALK.devices).unwrap(),
    }
}

fn bound(walk: RandomWalk) -> f64 {
    walk.terms(&STEPS, 500, None).unwrap().bound().unwrap()
}

#[test]
fn four_visits_have_their_hand_evaluated_terms() {
    // q = 1/2, r = 1: (η^k)² = 1/k. n = 1, D = 2, λ_P = 1/2, δ² = 2, γ̂ = 1.
    let walk = RandomWalk {
        devices: 1,
        gradient_norm: 2.0,
        walk_lambda: 0.5,
        dissimilarity: 2.0,
        inexactness: 1.0,
        initial_distance_squared: 4.0,
    };
    let steps = PowerSteps {
        inverse_first: 1.0,
        exponent: 0.5,
    };
    let terms = walk.terms(&steps, 4, None).unwrap();
    let (ln2, ln3) = (std::f64::consts::LN_2, 3.0_f64.ln());
    assert_eq!(terms.start, 2.0);
    // 2·2·4·(ln2/2 + ln3/3 + 2ln2/4)/ln2
    assert!((terms.mixing - 16.0 * (1.0 + ln3 / (3.0 * ln2))).abs() < 1e-12);
    // (2 + 1)·4/4·(1 + 1/2 + 1/3 + 1/4)
    assert!((terms.heterogeneity - 6.25).abs() < 1e-14);
    // ½(1 + 2^-1.5 + 3^-1.5 + 4^-1.5)
    let powers = 1.0 + 1.0 / 8.0_f64.sqrt() + 1.0 / 27.0_f64.sqrt() + 0.125;
    assert!((terms.stationarity - powers / 2.0).abs() < 1e-15);
    let roots = 1.0 + 1.0 / 2.0_f64.sqrt() + 1.0 / 3.0_f64.sqrt() + 0.5;
    assert!((terms.step_sum - roots).abs() < 1e-15);
    assert_eq!(terms.quantisation, 0.0);
    let parts = terms.start + terms.mixing + terms.heterogeneity + terms.stationarity;
    let by_sum = terms.bound_by_step_sum().unwrap();
    assert!((by_sum - parts / roots).abs() < 1e-12);
}

#[test]
fn one_visit_has_no_mixing_term() {
    let terms = WALK.terms(&STEPS, 1, None).unwrap();
    // ln 1 = 0; η = 1/5: κ = 3.25·2.25/4/25, λ(n) = 20/10.
    assert_eq!(terms.mixing, 0.0);
    assert!((terms.heterogeneity - 0.073_125).abs() < 1e-15);
    assert_eq!(terms.stationarity, 2.0);
    assert!((terms.bound().unwrap() - 4.073_125).abs() < 1e-14);
}

#[test]
fn the_quantisation_term_has_its_hand_evaluated_value() {
    // λ_P = 1/2, ζ = 1/2: τ^k = ⌈log2 k⌉ = 0, 1, 2, 2. η^k = 1 with q = 0, r = 1.
    let flat = PowerSteps {
        inverse_first: 1.0,
        exponent: 0.0,
    };
    let quantisation = WalkQuantisation {
        norm: 3.0,
        parameters: 16,
        interval: 0.5,
        mixing_time: MixingTime {
            walk_lambda: 0.5,
            scale: 0.5,
            settled: 0,
        },
    };
    let terms = WALK.terms(&flat, 4, Some(&quantisation)).unwrap();
    // 21·1.5·3·4·0.5/2·5
    assert!((terms.quantisation - 472.5).abs() < 1e-10);
}

#[test]
fn exact_messages_are_the_bound_without_quantisation() {
    let plain = WALK.terms(&STEPS, 300, None).unwrap();
    let exact = WALK.terms(&STEPS, 300, Some(&quantisation(0.0))).unwrap();
    assert_eq!(plain, exact);
}

#[test]
fn the_quantised_bound_tightens_with_the_interval() {
    let quantised = |interval| {
        let terms = WALK.terms(&STEPS, 300, Some(&quantisation(interval)));
        terms.unwrap().bound().unwrap()
    };
    let plain = WALK.terms(&STEPS, 300, None).unwrap().bound().unwrap();
    let (coarse, fine) = (quantised(1.0 / 7.0), quantised(1.0 / 127.0));
    assert!(coarse > fine && fine > plain);
    // The term is linear in s.
    assert!(((coarse - plain) / (fine - plain) - 127.0 / 7.0).abs() < 1e-9);
}

#[test]
fn the_bound_loosens_with_heterogeneity_and_slow_mixing() {
    let base = bound(WALK);
    assert!(
        bound(RandomWalk {
            walk_lambda: 0.9,
            ..WALK
        }) > base
    );
    assert!(
        bound(RandomWalk {
            walk_lambda: 0.5,
            ..WALK
        }) < base
    );
    assert!(
        bound(RandomWalk {
            dissimilarity: 10.0,
            ..WALK
        }) > base
    );
    assert!(
        bound(RandomWalk {
            inexactness: 1.0,
            ..WALK
        }) > base
    );
    assert!(
        bound(RandomWalk {
            devices: 40,
            ..WALK
        }) > base
    );
}

#[test]
fn more_heterogeneity_hides_more_of_the_quantisation() {
    let quotient = |dissimilarity| {
        let walk = RandomWalk {
            dissimilarity,
            ..WALK
        };
        let fine = quantisation(1.0 / 127.0);
        let quantised = walk.terms(&STEPS, 300, Some(&fine)).unwrap();
        quantised.bound().unwrap() / walk.terms(&STEPS, 300, None).unwrap().bound().unwrap()
    };
    assert!(quotient(100.0) < quotient(10.0) && quotient(10.0) < quotient(1.0));
}

#[test]
fn the_sums_approach_the_zeta_function() {
    // q = 3/4: Σ 1/k^{3/2} to k leaves a tail between 2/√(k+1) and 2/√k of ζ(3/2) = 2.612375348685488.
    let steps = PowerSteps {
        inverse_first: 1.0,
        exponent: 0.75,
    };
    let visits = 10_000_u64;
    let sums = Sums::to(&steps, visits);
    let tail = 2.612_375_348_685_488 - sums.squares;
    assert!(tail > 2.0 / 10_001.0_f64.sqrt() && tail < 2.0 / 100.0);
}

#[test]
fn both_bounds_fall_as_the_visits_to_the_power_of_q_minus_one() {
    // Up to the slowly growing sums: the slope between 10⁵ and 10⁶ visits is within 0.1 of −(1−q) = −0.2 for q = 0.8.
    let steps = PowerSteps {
        inverse_first: 1.0,
        exponent: 0.8,
    };
    let terms = |visits| WALK.terms(&steps, visits, None).unwrap();
    let (early, late) = (terms(100_000), terms(1_000_000));
    let slope = (late.bound().unwrap() / early.bound().unwrap()).log10();
    assert!((slope + 0.2).abs() < 0.1, "{slope}");
    let slope = late.bound_by_step_sum().unwrap() / early.bound_by_step_sum().unwrap();
    assert!((slope.log10() + 0.2).abs() < 0.1, "{slope}");
}

#[test]
fn the_two_divisors_differ_by_the_constant_of_their_order() {
    let terms = WALK.terms(&STEPS, 1_000_000, None).unwrap();
    let quotient = terms.bound_by_step_sum().unwrap() / terms.bound().unwrap();
    // r(1−q) = 5·0.4, up to ζ(0.6)-sized terms over k^0.4 = 251.
    assert!((quotient - 2.0).abs() < 0.02, "{quotient}");
}

#[test]
fn exponents_outside_of_the_theorem_have_no_printed_bound() {
    for (exponent, holds) in [(0.499, false), (0.5, false), (0.501, true), (1.0, false)] {
        let steps = PowerSteps { exponent, ..STEPS };
        let terms = WALK.terms(&steps, 100, None).unwrap();
        assert_eq!(terms.bound().is_ok(), holds);
        terms.bound_by_step_sum().unwrap();
    }
}

#[test]
fn constants_out_of_range_have_no_terms() {
    let reason = |walk: RandomWalk| walk.terms(&STEPS, 10, None).unwrap_err().to_string();
    let walks = [
        RandomWalk { devices: 0, ..WALK },
        RandomWalk {
            walk_lambda: 1.0,
            ..WALK
        },
        RandomWalk {
            dissimilarity: 0.9,
            ..WALK
        },
        RandomWalk {
            inexactness: 1.1,
            ..WALK
        },
        RandomWalk {
            gradient_norm: f64::NAN,
            ..WALK
        },
        RandomWalk {
            initial_distance_squared: -1.0,
            ..WALK
        },
    ];
    let reasons = [
        "the number of devices n is 0, but must be at least 1",
        "lambda_P is 1, but must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay",
        "the dissimilarity delta^2 is 0.9, but must be finite and at least 1",
        "the inexactness gamma is 1.1, but must be from 0 to 1",
        "the gradient norm D is NaN, but must be finite and at least 0",
        "the squared distance of w^0 from w* is -1, but must be finite and at least 0",
    ];
    assert_eq!(walks.map(reason), reasons);
    assert_eq!(
        WALK.terms(&STEPS, 0, None).unwrap_err().to_string(),
        "the number of visits k is 0, but must be at least 1"
    );
    let frozen = PowerSteps {
        inverse_first: 0.0,
        ..STEPS
    };
    assert_eq!(
        WALK.terms(&frozen, 10, None).unwrap_err().to_string(),
        "the inverse r of the first step size is 0, but must be finite and above 0"
    );
}
