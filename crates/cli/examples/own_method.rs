//! The program `meshfold` with a method of its own: CHOCO-SGD, gossip of compressed differences.
//!
//! ```sh
//! cargo run --release -p meshfold --example own_method -- run FILE
//! ```
//!
//! Its configurations may say `algorithm: {own: {name: choco, gamma: 0.4, keep: 0.01, batch_size: 20, learning_rate: 0.1}}`.

use std::process::ExitCode;

use meshfold::Own;
use meshfold::algorithms::training::Training;
use meshfold::algorithms::{
    Algorithm, AlgorithmError, Forecast, KeptStack, MethodSpec, Profile, Round, Setting,
    messages_over, method_config, no_limits, usual,
};
use meshfold::engine::{Stack, Velocity};
use meshfold::topology::Overlay;

method_config! {
    /// Local steps, then gossip of compressed differences.
    ///
    /// # Source
    /// Koloskova et al., Decentralized stochastic optimization and gossip algorithms with compressed communication (2019),
    /// Algorithm 2; the operator is `top_k`.
    ///
    /// # Interpretation
    /// Momentum, where it is used, is zero at the start of each round.
    pub struct Choco(
        local = "meshfold::algorithms::training::one_step",
        momentum = "meshfold::algorithms::training::no_momentum"
    ) {
        /// Step size γ of the gossip, in `(0, 1]`.
        pub gamma: f32,
        /// Share of the parameters that is sent, in `(0, 1]`.
        pub keep: f64,
    }
}

struct ChocoState {
    training: Training,
    gamma: f32,
    /// Parameters that are sent.
    kept: usize,
    /// x̂, the models as all neighbours know them, `[R, P]`.
    copies: [KeptStack; 1],
}

impl Algorithm for ChocoState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        round.train(models, Velocity::Fresh, &work)?; // line 2
        let (plus, minus) = (vec![1.0; rows.len()], vec![-1.0; rows.len()]);
        let copies = self.copies[0].or_zeros(models);
        let mut sent = models.duplicate();
        sent.add_scaled(copies, &minus)?;
        sent.keep_largest(self.kept); // line 3
        let norms = sent.squared_row_norms().into_iter().map(f64::sqrt);
        round.record("sent_norm", norms.collect::<Vec<f64>>())?; // own.sent_norm in records
        round.exchange_models(8 * self.kept as u64); // lines 4 to 6: values and indices
        copies.add_scaled(&sent, &plus)?; // line 7
        let mut mixed = copies.duplicate();
        mixed.mix(round.mixing())?;
        mixed.add_scaled(copies, &minus)?;
        models.add_scaled(&mixed, &vec![self.gamma; rows.len()])?; // line 8
        Ok(())
    }

    fn kept(&self) -> &[KeptStack] {
        &self.copies
    }

    fn kept_mut(&mut self) -> &mut [KeptStack] {
        &mut self.copies
    }
}

impl MethodSpec for Choco {
    fn profile(&self) -> Profile<'_> {
        Profile::gossip()
    }

    usual!(training, steps_per_round, message_scope);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        for (key, value) in [("gamma", f64::from(self.gamma)), ("keep", self.keep)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(AlgorithmError::OwnSetting {
                    key: key.to_owned(),
                    found: value.to_string(),
                    needed: "it must be above 0 and at most 1".to_owned(),
                });
            }
        }
        Ok(())
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        // Copies, what is sent, what is mixed and where mixing writes to.
        (4 + usize::from(self.momentum > 0.0)) * clients
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        Forecast {
            local_steps: self.training_keys().steps_of_all(setting),
            bytes: overlay.map_or(0, messages_over) * 8 * self.kept(setting) as u64,
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(ChocoState {
            training: self.training_keys(),
            gamma: self.gamma,
            kept: self.kept(setting),
            copies: [KeptStack::new("copies", setting.clients)],
        })
    }
}

impl Choco {
    /// Parameters that are sent.
    fn kept(&self, setting: &Setting) -> usize {
        ((self.keep * setting.layout.parameters() as f64) as usize).max(1)
    }
}

/// What the program has of its own.
pub fn own() -> Own {
    Own::new().method::<Choco>("choco")
}

fn main() -> ExitCode {
    meshfold::program(own())
}
