//! Which model each client would use.

use meshfold_algorithms::RowKind;

use crate::plan::run_plan::RunPlan;

/// The models that clients would use: their own, or those of their servers.
#[derive(Clone, Debug)]
pub(crate) struct ClientRows {
    /// The row of each client's model, `[N]`; none where no model belongs to a client.
    rows: Vec<Option<u32>>,
    /// Whether row `i` is the model of client `i`.
    pub(crate) are_clients: bool,
}

impl ClientRows {
    /// Those of `plan`, whose models stand for `kind`.
    pub(crate) fn new(plan: &RunPlan, kind: RowKind) -> Self {
        let clients = plan.partition.clients();
        let rows = match kind {
            RowKind::Client => (0..clients as u32).map(Some).collect(),
            RowKind::Server => of_servers(plan),
            RowKind::Walker => vec![None; clients],
        };
        Self {
            rows,
            are_clients: kind == RowKind::Client,
        }
    }

    /// Number of clients `N`.
    pub(crate) fn clients(&self) -> usize {
        self.rows.len()
    }

    /// Each client that has a model, with the row of it.
    pub(crate) fn with_models(&self) -> impl Iterator<Item = (u32, u32)> {
        let clients = (0..).zip(&self.rows);
        clients.filter_map(|(client, row)| Some((client, (*row)?)))
    }

    /// The clients that have the model of a server, each with the row of that server; none where rows are clients or walkers.
    pub(crate) fn served(&self) -> impl Iterator<Item = (u32, usize)> {
        let served = self.with_models().filter(|_| !self.are_clients);
        served.map(|(client, row)| (client, row as usize))
    }
}

/// The server of each client, `[N]`.
fn of_servers(plan: &RunPlan) -> Vec<Option<u32>> {
    let setting = &plan.population.setting;
    let (one, mut servers) = (plan.rows.count == 1, vec![None; setting.clients]);
    if one {
        servers.fill(Some(0));
    }
    let groups = plan.config.algorithm.overlay_groups(setting);
    for (server, group) in (0..).zip(groups.into_iter().flatten()) {
        for client in group {
            servers[client as usize] = Some(server);
        }
    }
    servers
}
