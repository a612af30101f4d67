//! D² and exact diffusion: decentralized SGD that corrects for the difference of the clients' losses.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::method_spec::{MethodSpec, Profile};
use crate::presence::PresenceTracker;
use crate::round::{Algorithm, Round, Setting};
use crate::training::{Training, one_plain_step};
use crate::velocity::is_idle;
use crate::{keeps_presence, keeps_stack, method_config, no_limits, usual};
use meshfold_engine::{Stack, Velocity};
use meshfold_topology::{Overlay, OverlaySummary};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::D2`](crate::Method::D2): decentralized SGD that corrects for the difference of the clients' losses.
    ///
    /// `w^{t+1} = W (2 w^t − w^{t−1} − η g^t + η g^{t−1})`, and `w^1 = W (w^0 − η g^0)`.
    ///
    /// # Source
    /// Tang et al., D²: decentralized training over decentralized data (2018), Algorithm 1; it needs a symmetric W with
    /// `λ_N(W) > −1/3` that stays as it is.
    ///
    /// # Interpretation
    /// A client that is not alive keeps its model and `ψ − w`. Once one is gone for good, those left begin anew from
    /// their models: the sum of the corrections would otherwise lack its share for ever.
    #[derive(JsonSchema)]
    pub struct D2(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

method_config! {
    /// Parameters of [`Method::ExactDiffusion`](crate::Method::ExactDiffusion): D² on `(I + W)/2`, for any symmetric W.
    ///
    /// `ψ^{t+1} = w^t − η g^t`, `φ^{t+1} = ψ^{t+1} + w^t − ψ^t` with `φ^1 = ψ^1`, `w^{t+1} = (I + W)/2 φ^{t+1}`. The λ that plans, tables and
    /// pages show is that of W, not that of `(I + W)/2`, by which models are mixed.
    ///
    /// # Source
    /// Yuan, Ying, Zhao, Sayed, Exact diffusion for distributed optimization and learning (2019), Algorithm 1.
    ///
    /// # Interpretation
    /// As for [`d2`](D2), when clients fail. The source has an overlay that stays. On one that changes, differences between models may
    /// grow without bound, at any learning rate; a plan warns of it.
    #[derive(JsonSchema)]
    pub struct ExactDiffusion(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

struct D2State {
    training: Training,
    /// Whether models are mixed by `(I + W)/2`.
    halved: bool,
    setting: Setting,
    /// `ψ^t − w^t`, `[N, P]`: by what the model of each client was corrected and mixed so far. Over all clients it sums up to zero.
    ///
    /// As the difference of two models it would be known to their last digit alone, and such errors add up. It is kept as the sum of all
    /// `(I − W) φ`, which are small where clients nearly agree.
    correction: KeptStack,
    gone: PresenceTracker,
}

impl Algorithm for D2State {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if self.gone.changes_to(round.gone.iter().copied()) {
            self.correction.forget();
        }
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        round.train(models, Velocity::Fresh, &work)?; // ψ^{t+1}
        if let Some(correction) = self.correction.get_mut() {
            let minus = rows.iter().map(|row| -f32::from(!is_idle(row)));
            models.add_scaled(correction, &minus.collect::<Vec<f32>>())?; // φ^{t+1} = ψ^{t+1} + w^t − ψ^t
        }
        let apart = self.disagreement(models, round)?;
        let share = if self.halved { 0.5 } else { 1.0 };
        let shares = vec![share; models.rows()];
        models.add_scaled(
            &apart,
            &shares.iter().map(|share| -share).collect::<Vec<f32>>(),
        )?;
        self.correction
            .or_zeros(models)
            .add_scaled(&apart, &shares)?;
        Ok(())
    }

    keeps_stack!(correction);

    keeps_presence!(gone);
}

impl D2State {
    fn boxed(training: Training, halved: bool, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Self {
            training,
            halved,
            setting: setting.clone(),
            correction: KeptStack::new("correction", setting.clients),
            gone: PresenceTracker::nobody(setting.clients),
        })
    }

    /// `(I − W) models`, `[N, P]`, for which each client sends its model to its neighbours.
    ///
    /// What is mixed are the differences of all rows from one of them: weights such as 1/3 do not quite sum to one in single precision, which
    /// is an error of 1e-8 of what is mixed, and always in the same direction.
    fn disagreement(&self, models: &Stack, round: &mut Round<'_>) -> Result<Stack, AlgorithmError> {
        round.show(models);
        // That of a client that takes part: others may have stayed far behind.
        let first = round.alive.iter().position(|alive| *alive).unwrap_or(0);
        let mut ahead = models.gather(&vec![first as u32; models.rows()])?;
        ahead.add_scaled(models, &vec![-1.0; models.rows()])?;
        let mut apart = ahead.duplicate();
        round.mix(&mut apart, self.setting.model_bytes())?;
        apart.add_scaled(&ahead, &vec![-1.0; models.rows()])?;
        Ok(apart)
    }
}

impl MethodSpec for D2 {
    fn profile(&self) -> Profile<'_> {
        Profile {
            needs_mutual_exchange: true,
            may_lose_messages: false,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope, forecast);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        one_plain_step("d2", &self.training_keys())
    }

    fn check_overlay(
        &self,
        overlay: &Overlay,
        summary: &OverlaySummary,
        varies: bool,
    ) -> Result<(), AlgorithmError> {
        if overlay.is_directed() {
            let needed = "an overlay whose links go both ways: push_sum stands others";
            return Err(misfit("d2", needed.to_owned()));
        }
        if varies {
            let needed = "an overlay whose links stay: gradient_tracking stands links that change";
            return Err(misfit("d2", needed.to_owned()));
        }
        match summary.lambda_n {
            Some(lambda_n) if diverges_at(lambda_n) => Err(misfit(
                "d2",
                format!(
                    "weights with λ_N above -1/3, and not equal to it, these have {lambda_n:.4}: exact_diffusion has no such limit"
                ),
            )),
            _ => Ok(()),
        }
    }

    fn unstable_at(&self, lambda_n: f64) -> Option<String> {
        diverges_at(lambda_n).then(|| {
            format!(
                "the weights of who is alive have λ_N = {lambda_n:.4}, d2 converges only above -1/3: exact_diffusion has \
                 no such limit"
            )
        })
    }

    no_limits!(check_clients);

    fn working_rows(&self, clients: usize) -> usize {
        3 * clients
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        D2State::boxed(self.training_keys(), false, setting)
    }
}

impl MethodSpec for ExactDiffusion {
    fn profile(&self) -> Profile<'_> {
        Profile {
            needs_mutual_exchange: true,
            may_lose_messages: false,
            needs_lasting_overlay: true,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope, forecast);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        one_plain_step("exact_diffusion", &self.training_keys())
    }

    fn check_overlay(
        &self,
        overlay: &Overlay,
        _summary: &OverlaySummary,
        _varies: bool,
    ) -> Result<(), AlgorithmError> {
        if overlay.is_directed() {
            let needed = "an overlay whose links go both ways: gradient_tracking takes directed ones with doubly stochastic weights";
            return Err(misfit("exact_diffusion", needed.to_owned()));
        }
        Ok(())
    }

    no_limits!(check_clients, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        3 * clients
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        D2State::boxed(self.training_keys(), true, setting)
    }
}

fn misfit(method: &'static str, needed: String) -> AlgorithmError {
    AlgorithmError::Overlay { method, needed }
}

/// Whether D2 fails to converge under weights with this least eigenvalue (Tang et al., Assumption 1).
fn diverges_at(lambda_n: f64) -> bool {
    // An even ring has just -1/3, and eigenvalues are computed.
    lambda_n <= -1.0 / 3.0 + 1e-7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_is_too_much_whatever_its_rounding() {
        for lambda_n in [-0.5, -0.333_333_333_333_333_26, -0.333_333_333_333_333_4] {
            assert!(diverges_at(lambda_n), "{lambda_n}");
        }
        assert!(!diverges_at(-0.333_332));
    }
}
