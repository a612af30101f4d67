//! D-SGD over D-Cliques, with clique averaging.

use crate::aggregation::{messages_of, weighted_means};
use crate::error::AlgorithmError;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Forecast, Round, Setting, messages_over};
use crate::training::{Local, Training};
use crate::velocity::{DecayedGradients, KeptVelocity, MomentumStep, decayed_gradients};
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::{Mixing, Stack};
use meshfold_topology::{Overlay, OverlaySummary};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::DCliques`](crate::Method::DCliques).
    ///
    /// # Source
    /// Bellet et al., Figs. 4 and 7, (4) and (5): `g_i` is the mean of the gradients of `i` and the members of its
    /// clique; `v_i <- β v_i + g_i`, `w_i <- w_i − η v_i`, then `w <- W w`. Momentum is kept between rounds.
    ///
    /// # Interpretation
    /// Averaged are the gradients of the clique members that `i` is linked to: where edges inside cliques were removed
    /// or members have failed, those are fewer than the clique. Weight decay is part
    /// of the gradients that are averaged. Without `clique_averaging` it is D-SGD, and so it is in rounds whose overlay
    /// has no cliques.
    #[derive(JsonSchema)]
    pub struct DCliques(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {
        /// Whether gradients are averaged within cliques.
        #[serde(default = "yes")]
        pub clique_averaging: bool,
    }
}

fn yes() -> bool {
    true
}

struct DCliquesState {
    training: Training,
    clique_averaging: bool,
    setting: Setting,
    velocity: KeptVelocity,
}

impl Algorithm for DCliquesState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let DecayedGradients {
            mut gradients,
            rates,
        } = decayed_gradients(models, round, &rows, &self.training)?; // Fig. 4, line 3
        if self.clique_averaging {
            let links = clique_links(round.overlay());
            let sent = clique_links(round.sent_over());
            let messages = messages_of(&sent, self.setting.model_bytes());
            round.traffic.messages(messages);
            let printed = 2 * messages_over(round.sent_over()); // Section IV: gradients and models over all edges
            round.traffic.count_as_printed(printed);
            gradients.mix(&clique_means(&links)?)?; // line 4
        }
        let step = MomentumStep {
            rates: &rates,
            rows: &rows,
            sgd: &self.training.sgd,
        };
        self.velocity.step(models, &mut gradients, &step)?; // line 5; (4), (5)
        round.show(models);
        round.mix(models, self.setting.model_bytes())?; // line 6
        Ok(())
    }

    keeps_stack!(velocity);
}

impl MethodSpec for DCliques {
    fn profile(&self) -> Profile<'_> {
        Profile::gossip()
    }

    usual!(training, steps_per_round, message_scope);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.local == Local::Steps(1) {
            return Ok(());
        }
        let found = format!("{:?}", self.local).to_lowercase();
        let needed = "d_cliques exchanges after every step: it must be {steps: 1}";
        Err(AlgorithmError::setting("local", found, needed))
    }

    fn check_overlay(
        &self,
        overlay: &Overlay,
        _summary: &OverlaySummary,
        _varies: bool,
    ) -> Result<(), AlgorithmError> {
        match overlay.groups() {
            Some(_) => Ok(()),
            None => Err(AlgorithmError::Overlay {
                method: "d_cliques",
                needed: "a topology with cliques, such as d_cliques".to_owned(),
            }),
        }
    }

    no_limits!(check_clients, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        4 * clients
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let links = overlay.map_or(0, |overlay| {
            let inside = if self.clique_averaging {
                clique_links(overlay)
                    .iter()
                    .map(|links| links.len() as u64)
                    .sum()
            } else {
                0
            };
            messages_over(overlay) + inside
        });
        Forecast {
            local_steps: setting.clients as f64,
            bytes: links * setting.model_bytes(),
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(DCliquesState {
            training: self.training_keys(),
            clique_averaging: self.clique_averaging,
            setting: setting.clone(),
            velocity: KeptVelocity::new(setting.clients),
        })
    }
}

/// For each node its neighbours within its own clique, ascending; none where there are no cliques.
fn clique_links(overlay: &Overlay) -> Vec<Vec<u32>> {
    let mut clique_of: Vec<Option<u32>> = vec![None; overlay.nodes()];
    for (clique, members) in (0..).zip(overlay.groups().unwrap_or_default()) {
        for member in members {
            clique_of[*member as usize] = Some(clique);
        }
    }
    let inside = |node: usize| {
        let own = clique_of[node];
        let same = |other: &&u32| own.is_some() && clique_of[**other as usize] == own;
        overlay
            .neighbours(node)
            .iter()
            .filter(same)
            .copied()
            .collect()
    };
    (0..overlay.nodes()).map(inside).collect()
}

/// Row `i` is the mean over `i` and `links[i]`.
fn clique_means(links: &[Vec<u32>]) -> Result<Mixing, AlgorithmError> {
    let with_itself = |(node, others): (u32, &Vec<u32>)| [&others[..], &[node]].concat();
    let averaged: Vec<Vec<u32>> = (0..).zip(links).map(with_itself).collect();
    let means = weighted_means(&averaged, &vec![1; links.len()])?;
    Ok(Mixing::new(&means))
}
