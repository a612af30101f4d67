//! How well each client's model does on the client's own local test set.

use meshfold_algorithms::RowKind;
use meshfold_engine::{EngineError, Learner, Score, Split, Stack};

use crate::plan::run_plan::RunPlan;

/// Rows that are copied at once where clients share models.
const COPIES: usize = 64;

/// Judges on local test sets the models that clients would use: their own, or those of their servers.
#[derive(Debug)]
pub(crate) struct LocalTests {
    /// Number of clients `N`.
    clients: usize,
    /// The clients that have a local test set, each with the row of its model.
    judged: Vec<(u32, u32)>,
    /// Whether row `i` is the model of client `i`.
    is_row_of_client: bool,
}

impl LocalTests {
    /// The local test sets of `plan`, if it has any; its models stand for `kind`.
    pub(crate) fn new(plan: &RunPlan, kind: RowKind) -> Option<Self> {
        let (partition, clients) = (&plan.partition, plan.partition.clients());
        let rows = match kind {
            RowKind::Client => (0..clients as u32).map(Some).collect(),
            RowKind::Server => of_servers(plan),
            RowKind::Walker => vec![None; clients],
        };
        let has_test = |client: &u32| !partition.local_test(*client as usize).is_empty();
        let judged = (0..).zip(rows).filter(|(client, _)| has_test(client));
        partition.has_local_tests().then(|| Self {
            clients,
            judged: judged
                .filter_map(|(client, row)| Some((client, row?)))
                .collect(),
            is_row_of_client: kind == RowKind::Client,
        })
    }

    /// The scores of all clients of the `deployed` models, `[N]`; none of a client without a local test set or a model.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn measure(
        &self,
        learner: &mut Learner,
        deployed: &Stack,
    ) -> Result<Vec<Option<Score>>, EngineError> {
        let mut scores = vec![None; self.clients];
        if self.is_row_of_client {
            let all: Vec<u32> = (0..self.clients as u32).collect();
            let of_all = learner.evaluate(deployed, Split::LocalTests(&all), None)?;
            for (client, row) in &self.judged {
                scores[*client as usize] = Some(of_all[*row as usize]);
            }
            return Ok(scores);
        }
        for some in self.judged.chunks(COPIES) {
            let (clients, rows): (Vec<u32>, Vec<u32>) = some.iter().copied().unzip();
            let copies = deployed.gather(&rows)?;
            let of_some = learner.evaluate(&copies, Split::LocalTests(&clients), None)?;
            for (client, score) in clients.into_iter().zip(of_some) {
                scores[client as usize] = Some(score);
            }
        }
        Ok(scores)
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
