//! Tests of P-FedAvg's bounds.

use super::*;

const CONSTANTS: PFedavg = PFedavg {
    smoothness: 2.0,
    convexity: 0.5,
    gradient_norm: 1.5,
    gradient_noise: 0.25,
    consensus_rate: 0.5,
    non_iid_degree: 0.1,
    local_steps: 20,
};

#[test]
fn full_participation_has_its_hand_evaluated_value() {
    // a = max{64, 40}; A = 8·900 + 6·0.2 + 64·900/0.5·5 + 0.25 = 583201.45; T = 128:
    // 0.5/8·4 + 8·256/(0.5·16384)·A = 0.25 + A/4.
    let bound = CONSTANTS.full_participation(4.0, 128).unwrap();
    assert!((bound - 145_800.612_5).abs() < 1e-8);
}

#[test]
fn the_error_is_the_one_that_the_proof_writes() {
    // A of the proof: 8E²G²((4+p)/p)² + 6LΓ + noise.
    for p in [0.05, 0.1295, 0.5, 1.0] {
        let constants = PFedavg {
            consensus_rate: p,
            ..CONSTANTS
        };
        let error = 8.0 * 900.0 * ((4.0 + p) / p).powi(2) + 6.0 * 0.2 + 0.25;
        let expected = 0.25 + error / 4.0;
        let bound = constants.full_participation(4.0, 128).unwrap();
        assert!((bound - expected).abs() < 1e-12 * expected);
    }
}

#[test]
fn drawing_clients_adds_their_sampling() {
    // Σ 4E²G²/(M²K_i) = 4·900/4·(1/2 + 1/4) = 675, a quarter of which is 168.75.
    let full = CONSTANTS.full_participation(4.0, 128).unwrap();
    let partial = CONSTANTS.partial_participation(4.0, 128, &[2, 4]).unwrap();
    assert!((partial - full - 168.75).abs() < 1e-8);
    let many = CONSTANTS
        .partial_participation(4.0, 128, &[u64::MAX; 2])
        .unwrap();
    assert!((many - full).abs() < 1e-9);
    assert_eq!(
        CONSTANTS
            .partial_participation(4.0, 128, &[])
            .unwrap_err()
            .to_string(),
        "the number of servers M is 0, but must be at least 1"
    );
    assert_eq!(
        CONSTANTS
            .partial_participation(4.0, 128, &[2, 0])
            .unwrap_err()
            .to_string(),
        "the number of clients K_i that a server draws is 0, but must be at least 1"
    );
}

#[test]
fn the_bound_tightens_with_consensus_and_loosens_with_heterogeneity() {
    let bound = |constants: PFedavg| constants.full_participation(4.0, 1000).unwrap();
    let base = bound(CONSTANTS);
    assert!(
        bound(PFedavg {
            consensus_rate: 0.9,
            ..CONSTANTS
        }) < base
    );
    assert!(
        bound(PFedavg {
            non_iid_degree: 0.0,
            ..CONSTANTS
        }) < base
    );
    assert!(
        bound(PFedavg {
            gradient_norm: 1.6,
            ..CONSTANTS
        }) > base
    );
    assert!(
        bound(PFedavg {
            local_steps: 10,
            ..CONSTANTS
        }) < base
    );
}

#[test]
fn the_bound_falls_as_one_over_the_steps() {
    let bound = |steps| CONSTANTS.full_participation(4.0, steps).unwrap();
    let quotient = bound(1_000_000_000) / bound(2_000_000_000);
    assert!((quotient - 2.0).abs() < 1e-6);
}

#[test]
fn more_local_steps_than_the_condition_number_move_the_offset() {
    let long = PFedavg {
        local_steps: 50,
        ..CONSTANTS
    };
    assert_eq!((CONSTANTS.offset(), long.offset()), (64.0, 100.0));
    assert_eq!(CONSTANTS.learning_rate(0), 0.125);
    assert_eq!(CONSTANTS.learning_rate(64), 0.0625);
    assert_eq!(CONSTANTS.iterate_weight(36), 10_000.0);
}

#[test]
fn the_learning_rate_starts_below_a_quarter_of_the_smoothness() {
    assert!(CONSTANTS.learning_rate(0) <= 0.25 / CONSTANTS.smoothness);
}

#[test]
fn constants_out_of_range_have_no_bound() {
    for constants in [
        PFedavg {
            consensus_rate: 0.0,
            ..CONSTANTS
        },
        PFedavg {
            consensus_rate: 1.1,
            ..CONSTANTS
        },
        PFedavg {
            consensus_rate: f64::NAN,
            ..CONSTANTS
        },
        PFedavg {
            convexity: 0.0,
            ..CONSTANTS
        },
        PFedavg {
            smoothness: 0.4,
            ..CONSTANTS
        },
        PFedavg {
            local_steps: 0,
            ..CONSTANTS
        },
        PFedavg {
            non_iid_degree: -0.1,
            ..CONSTANTS
        },
    ] {
        let said = constants
            .full_participation(4.0, 128)
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("the"), "{said}");
    }
    assert_eq!(
        CONSTANTS
            .full_participation(4.0, 0)
            .unwrap_err()
            .to_string(),
        "the number of steps T is 0, but must be at least 1"
    );
}

#[test]
fn noise_averages_out_over_clients_and_batches() {
    let client = ClientNoise {
        variance: 6.0,
        batch_size: 3,
    };
    // One client: σ²/B. Two servers of 2 and 4 such clients: 2·2/16 + 4·2/64.
    assert_eq!(gradient_noise(&[vec![client]]).unwrap(), 2.0);
    let noise = gradient_noise(&[vec![client; 2], vec![client; 4]]).unwrap();
    assert!((noise - 0.375).abs() < 1e-15);
    assert_eq!(
        gradient_noise(&[vec![client], vec![]])
            .unwrap_err()
            .to_string(),
        "the number of clients N_i of a server is 0, but must be at least 1"
    );
    assert_eq!(
        gradient_noise(&[vec![ClientNoise {
            batch_size: 0,
            ..client
        }]])
        .unwrap_err()
        .to_string(),
        "the batch size B_j is 0, but must be at least 1"
    );
}

#[test]
fn every_rate_that_falls_slowly_enough_is_that_of_some_constants() {
    let (delta, gamma) = (
        6.0 / CONSTANTS.convexity,
        30.0 * CONSTANTS.smoothness / CONSTANTS.convexity,
    );
    let found = CONSTANTS.at_rate(delta, gamma).unwrap();
    assert!(found.convexity < CONSTANTS.convexity && found.smoothness > CONSTANTS.smoothness);
    for step in [0, 1, 1000] {
        let rate = delta / (gamma + step as f64);
        assert!((found.learning_rate(step) / rate - 1.0).abs() < 1e-12);
    }
    let own = (4.0 / CONSTANTS.convexity, CONSTANTS.offset());
    assert_eq!(CONSTANTS.at_rate(own.0, own.1).unwrap().offset(), own.1);
    for (delta, gamma, named) in [(own.0 * 0.9, own.1, "delta"), (own.0, own.1 * 0.9, "gamma")] {
        let error = CONSTANTS.at_rate(delta, gamma).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{named} is")), "{error}");
    }
}
