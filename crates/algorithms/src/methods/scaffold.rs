//! SCAFFOLD: federated averaging with control variates.

use crate::error::AlgorithmError;
use crate::kept::KeptStack;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::participation::{Participants, Participation, Weighting, alive, down, up};
use crate::presence::PresenceTracker;
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::Training;
use crate::{keeps_presence, method_config, no_limits, usual};
use meshfold_engine::{LearningRate, Mixing, Per, Stack, Velocity};
use meshfold_topology::{MixingMatrix, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Scaffold`](crate::Method::Scaffold).
    ///
    /// A participant takes `K` steps `y <- y − η (g(y) − c_i + c)` from the server's model `x`; then
    /// `c_i⁺ = c_i − c + (x − y) / (K η)`, `x <- x + η_g mean(y − x)`, `c <- c + |S|/N mean(c_i⁺ − c_i)`.
    ///
    /// # Source
    /// Karimireddy et al., SCAFFOLD: stochastic controlled averaging for federated learning (2020), Algorithm 1,
    /// option II.
    ///
    /// # Interpretation
    /// `K` is the participant's own number of steps. Means over participants are plain, as printed, unless
    /// `weighting: examples`: then `x <- x + η_g Σ_S (n_i / Σ_S n_j) (y_i − x)` and `c <- c + Σ_S (n_i / Σ n_j) (c_i⁺ − c_i)`, where the
    /// last sum is over all clients alive; else the method would tend to the minimum of the plain mean in any case. `N` counts the clients alive, and whenever others are alive than in the round before, `c`
    /// becomes the mean of their variates: those of the dead are not heard of until they are back. Where a schedule's rate is zero,
    /// nothing moves and the variates stay as they are. A message holds a model and a variate, and counts as one message of twice the bytes.
    /// A participant to which the server's message is lost does nothing. One whose own message is lost does not know: it keeps `c_i⁺`, of
    /// which the server hears by its later differences alone, and so `c` is no longer the mean of the variates.
    #[derive(JsonSchema)]
    pub struct Scaffold(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// How many clients take part in a round; all by default.
        #[serde(default)]
        pub participation: Participation,
        /// What the server's means are weighted by.
        #[serde(default = "uniform")]
        pub weighting: Weighting,
        /// The server's step size, η_g.
        #[serde(default = "one")]
        pub global_learning_rate: f32,
    }
}

fn one() -> f32 {
    1.0
}

fn uniform() -> Weighting {
    Weighting::Uniform
}

struct ScaffoldState {
    training: Training,
    participation: Participation,
    weighting: Weighting,
    global_learning_rate: f32,
    setting: Setting,
    /// `c_i`, `[N, P]`, and `c`, `[1, P]`.
    kept: [KeptStack; 2],
    absent: PresenceTracker,
}

impl Algorithm for ScaffoldState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let Participants {
            sent_to,
            rows,
            arrives,
        } = self.participation.choose(round, &self.training);
        let (server, bytes) = (self.setting.clients as u32, 2 * self.setting.model_bytes());
        if !sent_to.is_empty() {
            round.traffic.messages(down(server, &sent_to, bytes)); // (x, c), line 4
        }
        if rows.is_empty() {
            return Ok(());
        }
        let count = rows.len();
        let weight = |client| self.weighting.of_client(client, &self.setting);
        let [variates, variate] = &mut self.kept;
        let (variates, variate) = (variates.or_zeros(models), variate.or_zeros(models));
        if self
            .absent
            .changes_to(round.alive.iter().map(|alive| !alive))
        {
            *variate = match self.weighting {
                Weighting::Uniform => variates.mean_row(round.alive),
                Weighting::Examples => {
                    let living: Vec<u32> = alive(round).collect();
                    let weights = living.iter().map(|client| weight(*client));
                    let all: f64 = weights.clone().sum();
                    let shares = weights.map(|weight| weight / all).collect();
                    let mut mean = variates.gather(&living)?;
                    mean.mix(&Mixing::new(&MixingMatrix::average(1, shares)?))?;
                    mean
                }
            };
        }

        let chosen: Vec<u32> = rows.iter().map(|row| row.client).collect();
        let minus = vec![-1.0; count];
        let start = models.gather(&vec![0; count])?; // line 6
        let mut correction = variate.gather(&vec![0; count])?;
        correction.add_scaled(&variates.gather(&chosen)?, &minus)?; // c − c_i
        let mut slots = start.duplicate();
        let mut work = round.work(&rows, &self.training);
        work.correction = Some(&correction);
        let rates = round.learner.rates(&work)?;
        let steps = round.train(&mut slots, Velocity::Fresh, &work)?; // lines 7-10

        slots.add_scaled(&start, &minus)?; // y − x
        let still = |rate: &f32| *rate == 0.0;
        let per_step = |(rate, steps): (&f32, &u32)| match still(rate) {
            true => 0.0,
            false => -1.0 / (rate * *steps as f32),
        };
        let keep = |rate| if still(rate) { 0.0 } else { -1.0 };
        let mut change = slots.duplicate();
        change.scale_rows(&rates.iter().zip(&steps).map(per_step).collect::<Vec<_>>())?;
        let less: Vec<f32> = rates.iter().map(keep).collect();
        change.add_scaled(&variate.gather(&vec![0; count])?, &less)?; // c_i⁺ − c_i = (x − y)/(Kη) − c
        let mut after = variates.gather(&chosen)?;
        after.add_scaled(&change, &vec![1.0; count])?;
        variates.scatter(&chosen, &after)?; // line 12, option II
        round.traffic.messages(up(server, &rows, bytes)); // (Δy, Δc), line 13

        if !arrives.contains(&true) {
            return Ok(());
        }
        let shares = self.weighting.shares_of(&rows, &arrives, &self.setting);
        let mean = Mixing::new(&MixingMatrix::average(1, shares)?);
        slots.mix(&mean)?; // Δx, line 16
        models.add_scaled(&slots, &[self.global_learning_rate])?; // line 17
        change.mix(&mean)?;
        let heard = chosen.iter().zip(&arrives).filter(|(_, arrives)| **arrives);
        let heard: f64 = heard.map(|(client, _)| weight(*client)).sum();
        let all: f64 = alive(round).map(weight).sum();
        variate.add_scaled(&change, &[heard as f32 / all as f32])?;
        Ok(())
    }

    fn kept(&self) -> &[KeptStack] {
        &self.kept
    }

    fn kept_mut(&mut self) -> &mut [KeptStack] {
        &mut self.kept
    }

    keeps_presence!(absent);
}

impl MethodSpec for Scaffold {
    fn profile(&self) -> Profile<'_> {
        Profile {
            adds_to_gradients: true,
            may_lose_messages: true,
            ..Profile::one_server()
        }
    }

    usual!(training, steps_per_round);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if !(self.global_learning_rate > 0.0 && self.global_learning_rate.is_finite()) {
            let found = self.global_learning_rate.to_string();
            return Err(AlgorithmError::setting(
                "global_learning_rate",
                found,
                "it must be positive and finite",
            ));
        }
        if let Some((key, found)) = self.training_keys().momentum_key() {
            let needed = "scaffold has no momentum: its control variates are of plain steps";
            return Err(AlgorithmError::setting(key, found, needed));
        }
        if !matches!(self.learning_rate.per(), None | Some(Per::Round)) {
            let needed =
                "the control variates need one rate for all steps of a round: `per: round`";
            return Err(AlgorithmError::setting(
                "learning_rate",
                "per step or epoch",
                needed,
            ));
        }
        if self.learning_rate == LearningRate::Constant(0.0) {
            let needed = "scaffold divides by it";
            return Err(AlgorithmError::setting("learning_rate", "0", needed));
        }
        self.participation.check()
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.participation
            .check_clients(clients, &self.training_keys())
    }

    no_limits!(check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        clients + 2 + 5 * self.participation.count(clients)
    }

    fn message_scope(&self, setting: &Setting, _rounds: usize, _undisturbed: bool) -> MessageScope {
        MessageScope::of_one_server(setting.clients)
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        self.participation
            .forecast(&self.training_keys(), setting, 4)
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(ScaffoldState {
            training: self.training_keys(),
            participation: self.participation,
            weighting: self.weighting,
            global_learning_rate: self.global_learning_rate,
            setting: setting.clone(),
            kept: [
                KeptStack::new("variates", setting.clients),
                KeptStack::new("variate", 1),
            ],
            absent: PresenceTracker::nobody(setting.clients),
        })
    }
}
