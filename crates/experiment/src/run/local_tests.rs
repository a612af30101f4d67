//! How well each client's model does on the client's own local test set.

use meshfold_algorithms::RowKind;
use meshfold_engine::{
    Amount, EngineError, Key, Learner, LocalWork, Purpose, RowWork, Score, Sgd, Split, Stack,
    stream,
};
use rand::RngExt;

use crate::config::fine_tune::FineTune;
use crate::plan::run_plan::RunPlan;
use crate::run::client_rows::ClientRows;

/// Judges on local test sets the models that clients would use: their own, or those of their servers.
#[derive(Debug)]
pub(crate) struct LocalTests {
    rows: ClientRows,
    /// The clients that have a local test set, each with the row of its model.
    judged: Vec<(u32, u32)>,
    /// The size of each client's local test set, `[N]`.
    sizes: Vec<usize>,
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

/// The score of a client on its local test set, and of how many examples that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalScore {
    pub(crate) score: Score,
    pub(crate) examples: usize,
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
        let (partition, rows) = (&plan.partition, ClientRows::new(plan, kind));
        partition.has_local_tests().then(|| {
            let sizes = partition.local_test_sizes();
            let has_test = |(client, _): &(u32, u32)| sizes[*client as usize] > 0;
            Self {
                judged: rows.with_models().filter(has_test).collect(),
                rows,
                sizes,
                fine_tuning: FineTuning::new(plan),
            }
        })
    }

    /// Which model each client would use.
    pub(crate) fn rows(&self) -> &ClientRows {
        &self.rows
    }

    /// The `scores` of all clients, `[N]`, with how many examples they are of.
    pub(crate) fn sized(&self, scores: Vec<Option<Score>>) -> Vec<Option<LocalScore>> {
        let sized = |(score, examples): (Option<Score>, &usize)| {
            score.map(|score| LocalScore {
                score,
                examples: *examples,
            })
        };
        scores.into_iter().zip(&self.sizes).map(sized).collect()
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
        let none = || vec![None; self.rows.clients()];
        let mut scores = LocalScores {
            plain: none(),
            fine_tuned: self.fine_tuning.as_ref().map(|_| none()),
        };
        if self.rows.are_clients {
            let all: Vec<u32> = (0..self.rows.clients() as u32).collect();
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
