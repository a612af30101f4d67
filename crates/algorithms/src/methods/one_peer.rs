//! D-SGD in which every client hears from one other a round.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::traffic::Message;
use crate::training::Training;
use crate::velocity::KeptVelocity;
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::{Mixing, Stack};
use meshfold_topology::{MixingMatrix, OnePeer as Exponential, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::OnePeer`](crate::Method::OnePeer): decentralized SGD in which every client hears from one other a round.
    ///
    /// After local work `w_i <- (w_i + w_j) / 2` with `j = i − 2^((t−1) mod ⌈log2 N⌉)` modulo N in round t. If N is a power of two, all models
    /// are equal after `⌈log2 N⌉` rounds without training.
    ///
    /// # Source
    /// Ying et al., Exponential graph is provably efficient for decentralized deep training (2021), (6); Assran et al.
    /// (2019), Section 4.
    ///
    /// # Interpretation
    /// Clients that are not alive, or late, are left out: the others count as `0..N'`. Momentum, where it is used, is each
    /// client's own and kept between rounds.
    #[derive(JsonSchema)]
    pub struct OnePeer(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

struct OnePeerState {
    training: Training,
    setting: Setting,
    velocity: KeptVelocity,
}

impl Algorithm for OnePeerState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let velocity = self.velocity.of_training(models, &self.training);
        round.train(models, velocity, &work)?;
        let alive: Vec<u32> = crate::participation::alive(round).collect();
        let pairs = pairs(&alive, round.number);
        let mut halves: Vec<Vec<(u32, f64)>> = (0..self.setting.clients as u32)
            .map(|own| vec![(own, 1.0)])
            .collect();
        for (to, from) in &pairs {
            halves[*to as usize] = vec![(*to, 0.5), (*from, 0.5)];
        }
        let bytes = self.setting.model_bytes();
        let message = |(to, from)| Message { from, to, bytes };
        round
            .traffic
            .messages(pairs.into_iter().map(message).collect());
        round.show(models);
        let matrix = MixingMatrix::from_rows(self.setting.clients, halves)?;
        models.mix(&Mixing::new(&matrix))?; // (6)
        Ok(())
    }

    keeps_stack!(velocity);
}

impl MethodSpec for OnePeer {
    fn profile(&self) -> Profile<'_> {
        Profile {
            shows_models: true,
            ..Profile::without_overlay()
        }
    }

    usual!(training, steps_per_round);

    no_limits!(check_keys, check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        if self.momentum > 0.0 {
            2 * clients
        } else {
            clients
        }
    }

    fn message_scope(&self, setting: &Setting, rounds: usize, undisturbed: bool) -> MessageScope {
        if !undisturbed {
            return MessageScope::AnyTwo;
        }
        let clients: Vec<u32> = (0..setting.clients as u32).collect();
        let of_rounds = 1..=rounds.min(Exponential {}.period(clients.len()));
        let messages = of_rounds.flat_map(|round| pairs(&clients, round));
        MessageScope::Pairs(messages.map(|(to, from)| (from, to)).collect())
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        Forecast {
            local_steps: self.training_keys().steps_of_all(setting),
            bytes: pairs(&(0..setting.clients as u32).collect::<Vec<_>>(), 1).len() as u64
                * setting.model_bytes(),
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(OnePeerState {
            training: self.training_keys(),
            setting: setting.clone(),
            velocity: KeptVelocity::new(setting.clients),
        })
    }
}

/// Whom each client alive hears from in `round`, `(to, from)`.
fn pairs(alive: &[u32], round: usize) -> Vec<(u32, u32)> {
    let count = alive.len();
    if count < 2 {
        return Vec::new();
    }
    let hop = 1 << ((round - 1) % Exponential {}.period(count));
    (0..count)
        .map(|at| (alive[at], alive[(at + count - hop) % count]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_double_and_start_again() {
        let from = |round| pairs(&[0, 1, 2, 3, 4], round)[0].1;
        assert_eq!([1, 2, 3, 4].map(from), [4, 3, 1, 4]);
        assert!(pairs(&[3], 1).is_empty());
    }

    #[test]
    fn eight_clients_are_equal_after_three_rounds() {
        let alive: Vec<u32> = (0..8).collect();
        let mut values: Vec<f64> = (0..8).map(f64::from).collect();
        for round in 1..=3 {
            let before = values.clone();
            for (to, from) in pairs(&alive, round) {
                values[to as usize] = (before[to as usize] + before[from as usize]) / 2.0;
            }
        }
        assert_eq!(values, [3.5; 8]);
    }
}
