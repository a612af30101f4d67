//! What DFedRW states of its own cost in closed form.

/// Bytes of the busiest device in one round of DFedRW: `2 Σ_m θ^m Γ^m φ + |N_c| |N_A| φ`.
///
/// `visits` is Σ_m θ^m Γ^m, how often walks come to the device; `receivers` |N_c|, the devices that receive its model;
/// `aggregated` |N_A|, the devices whose models it averages; `model_bytes` φ.
///
/// # Source
/// DFedRW (Wang et al.), (18).
///
/// # Interpretation
/// As printed. A device that sends |N_c| models and receives |N_A| has `(|N_c| + |N_A|) φ` bytes in messages, which is what
/// a count of the messages gives.
#[must_use]
pub fn dfedrw_busiest_bytes(visits: u64, receivers: u64, aggregated: u64, model_bytes: u64) -> u64 {
    (2 * visits + receivers * aggregated) * model_bytes
}

/// Seconds of a round of FedAvg: `T_A = K T_p + 2 T_c` for K epochs of T_p and messages of T_c seconds.
///
/// # Source
/// DFedRW (Wang et al.), section VI-F.
#[must_use]
pub fn fedavg_seconds(epochs: u32, epoch_seconds: f64, message_seconds: f64) -> f64 {
    f64::from(epochs) * epoch_seconds + 2.0 * message_seconds
}

/// Seconds of a round of DFedRW: `T_R = K T_p + (K + 1) T_c` for walks of K epochs of T_p and messages of T_c seconds.
///
/// # Source
/// DFedRW (Wang et al.), section VI-F.
#[must_use]
pub fn dfedrw_seconds(epochs: u32, epoch_seconds: f64, message_seconds: f64) -> f64 {
    f64::from(epochs) * epoch_seconds + (f64::from(epochs) + 1.0) * message_seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_three_hops_without_computing_costs_twice_that_of_fedavg() {
        assert_eq!(fedavg_seconds(3, 0.0, 1.0), 2.0);
        assert_eq!(dfedrw_seconds(3, 0.0, 1.0), 4.0);
        assert_eq!(fedavg_seconds(3, 0.5, 1.0), 3.5);
        assert_eq!(dfedrw_seconds(3, 0.5, 1.0), 5.5);
    }

    #[test]
    fn one_hop_costs_as_much_as_fedavg() {
        assert_eq!(dfedrw_seconds(1, 0.3, 0.7), fedavg_seconds(1, 0.3, 0.7));
    }

    /// The levels of Table IV are whole rounds: 64, 132, 316, 760 T_c of FedAvg, 88, 152, 252, 536 T_c of DFedRW.
    #[test]
    fn table_four_has_whole_rounds() {
        let rounds = |total: f64, round: f64| total / round;
        let fedavg = [64.0, 132.0, 316.0, 760.0].map(|t| rounds(t, fedavg_seconds(3, 0.0, 1.0)));
        let dfedrw = [88.0, 152.0, 252.0, 536.0].map(|t| rounds(t, dfedrw_seconds(3, 0.0, 1.0)));
        assert_eq!(fedavg, [32.0, 66.0, 158.0, 380.0]);
        assert_eq!(dfedrw, [22.0, 38.0, 63.0, 134.0]);
    }

    /// Section VI-E, |N_A| = 5 receivers and senders, two visits, a model of 3FNN: 784-200-200-10.
    #[test]
    fn the_printed_aggregation_is_a_product() {
        let model = 4 * (785 * 200 + 201 * 200 + 201 * 10);
        assert_eq!(dfedrw_busiest_bytes(2, 5, 5, model), 29 * model);
        assert_eq!(
            dfedrw_busiest_bytes(0, 5, 5, model),
            25 * model,
            "DFedAvg has C_agg alone"
        );
    }
}
