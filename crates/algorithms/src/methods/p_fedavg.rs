//! P-FedAvg: federated averaging with parallel servers that mix over an overlay of their own.

use crate::error::AlgorithmError;
use crate::method_spec::{IterateWeighting, MethodSpec, Profile};
use crate::participation::Weighting;
use crate::round::{Algorithm, Forecast, Round, Setting, messages_over};
use crate::servers::{PerServer, ServerParticipants, Servers, Way};
use crate::traffic::Message;
use crate::training::Training;
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Mixing, RowWork, Stack, Velocity};
use meshfold_topology::{MixingMatrix, Overlay};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::PFedavg`](crate::Method::PFedavg).
    ///
    /// # Source
    /// Liu et al., Algorithm 1: server `i` chooses `K_i` of its clients, each takes `E` local steps from the server's
    /// model `w_i`; `v_i` is the mean of what they reach (line 8), and `w_i <- Σ_j W_ij v_j` (line 10).
    ///
    /// # Interpretation
    /// Line 8 is a plain mean. With `weighting: examples` a client's loss counts `M · N_i · p_j` as in (2), by which its
    /// learning rate is multiplied. A server none of whose clients is alive keeps its model and goes on mixing. Momentum is zero at the
    /// start of each round. Messages may be lost between servers and their clients, in either direction, and among servers. A server
    /// averages the models that reach it, or keeps its own if none does; among servers the weight of a lost message is its receiver's.
    #[derive(JsonSchema)]
    pub struct PFedavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// The servers and their clients.
        pub servers: Servers,
        /// How many clients each server chooses in a round; all by default.
        #[serde(default)]
        pub participation: PerServer,
        /// Whether clients count by their examples.
        #[serde(default = "uniform")]
        pub weighting: Weighting,
    }
}

fn uniform() -> Weighting {
    Weighting::Uniform
}

struct PFedavgState {
    training: Training,
    participation: PerServer,
    groups: Vec<Vec<u32>>,
    /// `M · N_i · p_j` of each client, `[N]`, if clients count by their examples.
    loss_scales: Option<Vec<f32>>,
    setting: Setting,
}

impl Algorithm for PFedavgState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let ServerParticipants {
            sent_to,
            in_time,
            arrives,
        } = self
            .participation
            .choose(&self.groups, round, &self.training); // line 4
        round
            .traffic
            .messages(sent_to.messages(&self.setting, Way::Down));
        let servers = &in_time.servers;
        // The servers' own models stand behind the slots, for those that choose nobody.
        let origin: Vec<u32> = servers
            .iter()
            .copied()
            .chain(0..self.groups.len() as u32)
            .collect();
        let mut slot_models = models.gather(&origin)?; // line 6: clients start from x_i
        let mut rows = in_time.rows.clone();
        rows.extend((0..self.groups.len()).map(|_| RowWork {
            client: 0,
            amount: meshfold_engine::Amount::Idle,
        }));
        let scales: Option<Vec<f32>> = self
            .loss_scales
            .as_ref()
            .map(|scales| rows.iter().map(|row| scales[row.client as usize]).collect());
        let mut work = round.work(&rows, &self.training);
        work.rate_scales = scales.as_deref();
        round.train(&mut slot_models, Velocity::Fresh, &work)?; // lines 13-17
        round
            .traffic
            .messages(in_time.messages(&self.setting, Way::Up));
        slot_models.mix(&Mixing::new(&means(servers, &arrives, self.groups.len())?))?; // line 8
        let traffic = self.mixing_messages(round);
        round.traffic.messages(traffic); // line 9
        slot_models.mix(round.mixing())?; // line 10
        *models = slot_models;
        Ok(())
    }
}

impl PFedavgState {
    /// The messages among the servers.
    fn mixing_messages(&self, round: &Round<'_>) -> Vec<Message> {
        let (nodes, bytes) = (self.setting.clients as u32, self.setting.model_bytes());
        let message = |(from, to)| Message {
            from: nodes + from,
            to: nodes + to,
            bytes,
        };
        round.sent_over().arcs().map(message).collect()
    }
}

impl MethodSpec for PFedavg {
    fn profile(&self) -> Profile<'_> {
        Profile {
            iterate_weighting: IterateWeighting::InverseSquare,
            asked_per_server: self.participation.different(),
            may_lose_messages: true,
            ..Profile::servers_on_overlay(&self.servers)
        }
    }

    usual!(training, steps_per_round, message_scope);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        self.servers.check()?;
        self.participation.check(&self.training_keys())
    }

    fn check_clients(&self, clients: usize) -> Result<(), AlgorithmError> {
        self.servers.check_clients(clients)
    }

    no_limits!(check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        let slots = match self.participation.per_server {
            Some(count) => count.saturating_mul(self.servers.count),
            None => clients,
        };
        // Behind the slots stand the servers' models; averages and mixing write into three stacks more.
        slots.saturating_add(4 * self.servers.count)
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let groups = self.servers.clients(setting);
        let training = self.training_keys();
        let (local_steps, slots) = self.participation.expected(&groups, &training, setting);
        let mixing = overlay.map_or(0, messages_over);
        Forecast {
            local_steps,
            bytes: slots
                .saturating_mul(2)
                .saturating_add(mixing)
                .saturating_mul(setting.model_bytes()),
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let groups = self.servers.clients(setting);
        let loss_scales = (self.weighting == Weighting::Examples).then(|| {
            let mut scales = vec![0.0; setting.clients];
            for client in groups
                .iter()
                .flat_map(|group| group.iter().map(|c| (*c, group.len())))
            {
                let (client, peers) = client;
                let share = setting.shard_sizes[client as usize] as f64 / setting.examples() as f64;
                scales[client as usize] = ((groups.len() * peers) as f64 * share) as f32;
            }
            scales
        });
        Box::new(PFedavgState {
            training: self.training_keys(),
            participation: self.participation,
            groups,
            loss_scales,
            setting: setting.clone(),
        })
    }
}

/// `v_i`: the plain mean of those of server `i`'s slots whose model `arrives`; a server to which none does keeps its own, column
/// `slots + i`.
fn means(servers: &[u32], arrives: &[bool], count: usize) -> Result<MixingMatrix, AlgorithmError> {
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); count];
    for (slot, server) in (0..).zip(servers) {
        if arrives[slot as usize] {
            rows[*server as usize].push((slot, 1.0));
        }
    }
    for (server, row) in (0..).zip(&mut rows) {
        if row.is_empty() {
            row.push((servers.len() as u32 + server, 1.0));
        }
        let share = 1.0 / row.len() as f64;
        row.iter_mut().for_each(|(_, weight)| *weight = share);
    }
    Ok(MixingMatrix::from_rows(servers.len() + count, rows)?)
}
