//! How well each client's model does on the client's own local test set.

use meshfold_algorithms::RowKind;
use meshfold_engine::{
    Amount, EngineError, Key, Learner, LocalWork, Purpose, RowWork, Score, Sgd, Split, Stack,
    stream,
};
use rand::RngExt;

use crate::config::fine_tune::FineTune;
use crate::plan::run_plan::RunPlan;

/// Judges on local test sets the models that clients would use: their own, or those of their servers.
#[derive(Debug)]
pub(crate) struct LocalTests {
    /// Number of clients `N`.
    clients: usize,
    /// The clients that have a local test set, each with the row of its model.
    judged: Vec<(u32, u32)>,
    /// The row of each client's model, `[N]`; none where no model belongs to a client.
    rows: Vec<Option<u32>>,
    /// Whether row `i` is the model of client `i`.
    is_row_of_client: bool,
    /// Local steps before the models are judged once more.
    fine_tuning: Option<FineTuning>,
}

/// Local steps that leave the models of the run as they are.
#[derive(Debug)]
struct FineTuning {
    amount: Amount,
    sgd: Sgd,
    /// Keys the mini-batches.
    seed: u64,
}

/// The scores of all clients, `[N]`; none of a client without a local test set or a model.
#[derive(Debug)]
pub(crate) struct LocalScores {
    /// With the models as they are.
    pub(crate) plain: Vec<Option<Score>>,
    /// With fine-tuned models, if that was asked for.
    pub(crate) fine_tuned: Option<Vec<Option<Score>>>,
}

impl LocalTests {
    /// The local test sets of `plan`, if it has any; its models stand for `kind`.
    pub(crate) fn new(plan: &RunPlan, kind: RowKind) -> Option<Self> {
        let (partition, clients) = (&plan.partition, plan.partition.clients());
        let rows: Vec<Option<u32>> = match kind {
            RowKind::Client => (0..clients as u32).map(Some).collect(),
            RowKind::Server => of_servers(plan),
            RowKind::Walker => vec![None; clients],
        };
        let has_test = |client: &u32| !partition.local_test(*client as usize).is_empty();
        let judged = (0..).zip(&rows);
        let judged = judged.filter_map(|(client, row)| Some((client, (*row)?)));
        let judged: Vec<(u32, u32)> = judged.filter(|(client, _)| has_test(client)).collect();
        partition.has_local_tests().then_some(Self {
            clients,
            judged,
            rows,
            is_row_of_client: kind == RowKind::Client,
            fine_tuning: FineTuning::new(plan),
        })
    }

    /// The clients that have the model of a server, each with the row of that server; none where rows are clients or walkers.
    pub(crate) fn served(&self) -> impl Iterator<Item = (u32, usize)> {
        let rows = self.rows.iter().filter(|_| !self.is_row_of_client);
        let clients = (0..).zip(rows);
        clients.filter_map(|(client, row)| Some((client, (*row)? as usize)))
    }

    /// The scores of all clients of the `deployed` models.
    ///
    /// # Errors
    /// Those of the engine, and if a model is no longer finite after fine-tuning.
    pub(crate) fn measure(
        &self,
        learner: &mut Learner,
        deployed: &Stack,
    ) -> Result<LocalScores, EngineError> {
        let none = || vec![None; self.clients];
        let mut scores = LocalScores {
            plain: none(),
            fine_tuned: self.fine_tuning.as_ref().map(|_| none()),
        };
        if self.is_row_of_client {
            let all: Vec<u32> = (0..self.clients as u32).collect();
            self.judge(learner, &all, deployed, &mut scores)?;
            return Ok(scores);
        }
        for some in self.judged.chunks(FineTune::AT_ONCE) {
            let (clients, rows): (Vec<u32>, Vec<u32>) = some.iter().copied().unzip();
            self.judge(learner, &clients, &deployed.gather(&rows)?, &mut scores)?;
        }
        Ok(scores)
    }

    /// Sets the scores of `clients`, whose models are the rows of `models`.
    fn judge(
        &self,
        learner: &mut Learner,
        clients: &[u32],
        models: &Stack,
        scores: &mut LocalScores,
    ) -> Result<(), EngineError> {
        self.put(
            learner.evaluate(models, Split::LocalTests(clients), None)?,
            clients,
            &mut scores.plain,
        );
        let (Some(fine_tuning), Some(scores)) = (&self.fine_tuning, &mut scores.fine_tuned) else {
            return Ok(());
        };
        let mut tuned = models.duplicate();
        fine_tuning.train(learner, clients, &mut tuned)?;
        let found = learner.evaluate(&tuned, Split::LocalTests(clients), None)?;
        self.put(found, clients, scores);
        let is_broken = |score: &Option<Score>| score.is_some_and(|score| !score.loss.is_finite());
        match scores.iter().position(is_broken) {
            None => Ok(()),
            Some(client) => Err(EngineError::Setting {
                what: "evaluate.fine_tune.learning_rate",
                found: format!("so high that the model of client {client} becomes infinite or NaN"),
                needed: "lower",
            }),
        }
    }

    /// Puts what was `found` of `clients` to the `scores` of those that are judged.
    fn put(&self, found: Vec<Score>, clients: &[u32], scores: &mut [Option<Score>]) {
        for (client, score) in clients.iter().zip(found) {
            let judged = self
                .judged
                .binary_search_by_key(client, |(client, _)| *client);
            scores[*client as usize] = judged.is_ok().then_some(score);
        }
    }
}

impl FineTuning {
    /// What `plan` asks for.
    fn new(plan: &RunPlan) -> Option<Self> {
        let training = plan.config.evaluate.fine_tune.as_ref()?.training();
        let key = Key {
            row: 2,
            ..Key::default()
        };
        let seed = plan.config.seed_of(Purpose::Evaluation);
        Some(Self {
            amount: training.local.amount(),
            sgd: training.sgd,
            seed: stream(seed, Purpose::Evaluation, key).random(),
        })
    }

    /// Trains `models`, the rows of which belong to `clients`, apart from the training of the run.
    fn train(
        &self,
        learner: &mut Learner,
        clients: &[u32],
        models: &mut Stack,
    ) -> Result<(), EngineError> {
        let row = |client: &u32| RowWork {
            client: *client,
            amount: self.amount,
        };
        let rows: Vec<RowWork> = clients.iter().map(row).collect();
        learner.train_aside(models, &LocalWork::new(1, &rows, &self.sgd), self.seed)
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
