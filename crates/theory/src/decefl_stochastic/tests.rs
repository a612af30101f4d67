//! Tests of DeceFL's stochastic bounds.

use super::*;

const CONSTANTS: StochasticDecefl = StochasticDecefl {
    smoothness: 2.0,
    convexity: 1.0,
    examples: 10,
    clients: 5,
    variance: 0.5,
    squared_norm: 4.0,
    heterogeneity: 0.25,
    lambda: 0.5,
    window: 1,
};
const RATE: HarmonicRate = HarmonicRate {
    delta: 20.0,
    gamma: 99.0,
};
const START: StochasticStart = StochasticStart {
    disagreement_squared: 1.0,
    distance_squared: 2.0,
    gap: 3.0,
};

#[test]
fn the_rate_has_its_hand_evaluated_constants() {
    // room = 0.75·(0.9801/1.25 − 0.5) = 0.21306; ζ = max{9801, 400·5·4/0.21306 = 37548.108…};
    // ζ̃ = ((6·0.25·2 + 0.5)·400·10 + 2ζ·10/5)/10 = 1400 + 0.4ζ.
    let rate = CONSTANTS.rate(&START, &RATE).unwrap();
    assert!((rate.disagreement - 8000.0 / 0.213_06).abs() < 1e-6);
    assert!((rate.distance - 1400.0 - 0.4 * rate.disagreement).abs() < 1e-7);
    assert!((rate.disagreement_squared_at(1) - rate.disagreement / 1e4).abs() < 1e-12);
    assert!((rate.distance_squared_at(1) - rate.distance / 100.0).abs() < 1e-9);
}

#[test]
fn the_proofs_recursion_stays_below_the_rate() {
    // (45) for the disagreement and (43) for the mean's distance, with equality.
    let rate = CONSTANTS.rate(&START, &RATE).unwrap();
    let (mut apart, mut distance) = (1.0, 2.0);
    let square = 0.25;
    for iteration in 0..5000 {
        assert!(apart <= rate.disagreement_squared_at(iteration) * (1.0 + 1e-12));
        assert!(distance <= rate.distance_squared_at(iteration) * (1.0 + 1e-12));
        let eta = RATE.at(iteration);
        distance = (1.0 - eta / 10.0) * distance
            + eta * eta * (6.0 * 0.25 * 2.0 + 0.5)
            + 2.0 * (1.0 - 2.0 * eta) / 5.0 * apart;
        let pull = (1.0 + square) / (1.0 - square) * 5.0 * 4.0;
        apart = (1.0 + square) / 2.0 * apart + eta * eta * pull;
    }
}

#[test]
fn the_recursion_over_windows_stays_below_the_rate_after_the_first() {
    // (56) from a first window that keeps the bound.
    let window = 3_u64;
    let constants = StochasticDecefl {
        window,
        ..CONSTANTS
    };
    let rate = constants.rate(&START, &RATE).unwrap();
    let mut apart = vec![1.0; 3];
    for iteration in 3..3000_u64 {
        let eta = RATE.at(iteration - window);
        let pull = 9.0 * 1.25 / 0.75 * 5.0 * 4.0;
        let next: f64 = 0.625 * apart[(iteration - window) as usize] + eta * eta * pull;
        assert!(next <= rate.disagreement_squared_at(iteration) * (1.0 + 1e-12));
        apart.push(next);
    }
}

#[test]
fn a_window_of_one_is_the_fixed_overlay() {
    for lambda in [0.0, 0.3, 0.9] {
        let constants = StochasticDecefl {
            lambda,
            ..CONSTANTS
        };
        let square: f64 = lambda * lambda;
        let fixed = ((2.0 * (1.0 + square)).sqrt() + 1.0 + square) / (1.0 - square);
        assert!((constants.least_gamma().unwrap() - fixed).abs() < 1e-10);
        let share = fixed / (fixed + 1.0);
        assert!((share - ((1.0 + square) / 2.0).sqrt()).abs() < 1e-12);
    }
}

#[test]
fn the_constants_shrink_with_lambda_and_the_window() {
    let rate = |constants: StochasticDecefl| constants.rate(&START, &RATE).unwrap();
    let base = rate(CONSTANTS);
    assert!(
        rate(StochasticDecefl {
            lambda: 0.4,
            ..CONSTANTS
        })
        .distance
            < base.distance
    );
    assert!(
        rate(StochasticDecefl {
            lambda: 0.0,
            ..CONSTANTS
        })
        .disagreement
            > 0.0
    );
    assert!(
        rate(StochasticDecefl {
            window: 2,
            ..CONSTANTS
        })
        .disagreement
            > base.disagreement
    );
    assert!(
        rate(StochasticDecefl {
            heterogeneity: 1.0,
            ..CONSTANTS
        })
        .distance
            > base.distance
    );
}

#[test]
fn each_condition_of_the_rate_is_checked() {
    let fits = |delta, gamma| CONSTANTS.check_rate(&HarmonicRate { delta, gamma });
    fits(20.0, 80.0).unwrap();
    assert_eq!(
        fits(20.0, 79.0).unwrap_err().to_string(),
        "the first learning rate delta/Gamma is 0.25316455696202533, but must be at most 1/(2L) = 0.25"
    );
    assert_eq!(
        fits(10.0, 80.0).unwrap_err().to_string(),
        "delta is 10, but must be above m/mu = 10"
    );
    let slow = StochasticDecefl {
        lambda: 0.99,
        ..CONSTANTS
    };
    assert_eq!(
        slow.check_rate(&RATE).unwrap_err().to_string(),
        "Gamma is 99, but must be above 199.5037751492221"
    );
    let long = StochasticDecefl {
        window: 50,
        ..CONSTANTS
    };
    assert_eq!(
        long.check_rate(&RATE).unwrap_err().to_string(),
        "Gamma is 99, but must be above 237.74258867227934"
    );
    let small = StochasticDecefl {
        smoothness: 1e-3,
        convexity: 1e-3,
        examples: 1,
        ..CONSTANTS
    };
    let least = small.least_gamma().unwrap();
    let at = |gamma| {
        small.check_rate(&HarmonicRate {
            delta: 1001.0,
            gamma,
        })
    };
    assert_eq!(
        at(least).unwrap_err().to_string(),
        "Gamma is 3.7748517734455866, but must be above 3.7748517734455866"
    );
    at(least * 1.001).unwrap();
}

#[test]
fn a_constant_rate_is_the_proofs_recursion_unrolled() {
    // e <- (1 − ημ/(2m)) e + C/2 from the gap on; the bound leaves out the −(1 − ·)^t Ξ_1 only.
    let eta = 0.1;
    let apart = 1.0 + 2.0 * 0.01 * 5.0 * 4.0 * 1.25 / 0.5625;
    let added =
        (0.1 * 25.0 * 4.0 + 0.01 * 4.0) / 5.0 * apart + 0.1 * 25.0 * 0.5 + 0.01 * 2.0 * (0.5 + 0.5);
    let (mut error, mut power) = (3.0, 1.0);
    for iteration in 0..200 {
        let floor = 10.0 / 0.1 * added;
        let bound = CONSTANTS
            .constant_rate_bound(&START, eta, iteration)
            .unwrap();
        assert!((bound - error - power * floor).abs() < 1e-9 * bound);
        error = 0.995 * error + added / 2.0;
        power *= 0.995;
    }
}

#[test]
fn a_constant_rate_has_a_largest_value_and_no_window() {
    let at = |eta| CONSTANTS.constant_rate_bound(&START, eta, 10);
    at(0.125).unwrap();
    assert_eq!(
        at(0.126).unwrap_err().to_string(),
        "the learning rate eta is 0.126, but must be above 0 and at most K/(2mL) = 0.125"
    );
    assert_eq!(
        at(0.0).unwrap_err().to_string(),
        "the learning rate eta is 0, but must be above 0 and at most K/(2mL) = 0.125"
    );
    assert_eq!(
        at(f64::NAN).unwrap_err().to_string(),
        "the learning rate eta is NaN, but must be above 0 and at most K/(2mL) = 0.125"
    );
    let window = StochasticDecefl {
        window: 2,
        ..CONSTANTS
    };
    assert_eq!(
        window
            .constant_rate_bound(&START, 0.1, 10)
            .unwrap_err()
            .to_string(),
        "the window B is 2, but must be 1: the overlay is fixed"
    );
}
