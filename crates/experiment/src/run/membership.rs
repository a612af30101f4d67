//! How well an attacker who has a client's model tells which examples the client trained on.

use meshfold_algorithms::RowKind;
use meshfold_engine::{EngineError, ExampleSet, Key, Learner, Purpose, RowExamples, Stack, stream};
use rand::seq::index;

use crate::config::membership::{AttackedModels, NonMembers};
use crate::plan::run_plan::RunPlan;
use crate::run::client_rows::ClientRows;
use crate::run::inferred_membership::{InferredMembership, modified_entropy};

/// Attacks on the models that clients use or send.
#[derive(Debug)]
pub(crate) struct MembershipAttack {
    /// Which models attackers have.
    pub(crate) models: AttackedModels,
    rows: ClientRows,
    /// The clients with a model, in their order.
    targets: Vec<Target>,
    /// The set that non-members are counted in.
    others_of: ExampleSet,
    /// Clients that are attacked at once, so that what their models output takes little memory.
    at_once: usize,
}

/// A client, and the examples that the attacker guesses at.
#[derive(Debug)]
struct Target {
    client: u32,
    /// The row of its model.
    row: u32,
    members: Group,
    non_members: Group,
}

/// Examples and their labels; no labels on a rank that does not know them.
#[derive(Debug, Default)]
struct Group {
    examples: Vec<u32>,
    labels: Vec<u16>,
}

/// Numbers that the models of the clients that are attacked at once may output.
const OUTPUTS: usize = 1 << 24;

/// Models that are attacked at once where clients share models.
const MODELS: usize = 64;

impl MembershipAttack {
    /// That which `plan` asks for, if it asks for any; its models stand for `kind`. `of_training` and `of_test` are the labels of all
    /// training and test examples; a rank that does not record what is measured may not have the former.
    pub(crate) fn new(
        plan: &RunPlan,
        kind: RowKind,
        of_training: Option<&[u16]>,
        of_test: &[u16],
    ) -> Option<Self> {
        let asked = plan.config.evaluate.membership?;
        let (partition, seed) = (&plan.partition, plan.config.seed_of(Purpose::Evaluation));
        let rows = ClientRows::new(plan, kind);
        let tests: Vec<u32> = (0..of_test.len() as u32).collect();
        let (others_of, labels_of_others) = match asked.non_members {
            NonMembers::Test => (ExampleSet::Test, Some(of_test)),
            NonMembers::LocalTest => match ExampleSet::of_local_tests(partition) {
                ExampleSet::Test => (ExampleSet::Test, Some(of_test)),
                set => (set, of_training),
            },
        };
        let target = |(client, row): (u32, u32)| {
            let shard = partition.shard(client as usize).to_vec();
            let others = match asked.non_members {
                NonMembers::Test => tests.clone(),
                NonMembers::LocalTest => partition.local_test(client as usize).to_vec(),
            };
            let most = shard.len().min(others.len());
            let count = asked.examples.count().unwrap_or(most).min(most);
            let key = Key {
                row: client,
                step: 1,
                ..Key::default()
            };
            let mut rng = stream(seed, Purpose::Evaluation, key);
            let mut group = |examples: Vec<u32>, labels| {
                let chosen = index::sample(&mut rng, examples.len(), count);
                let mut chosen: Vec<u32> = chosen.iter().map(|place| examples[place]).collect();
                chosen.sort_unstable();
                Group::of(chosen, labels)
            };
            Target {
                client,
                row,
                members: group(shard, of_training),
                non_members: group(others, labels_of_others),
            }
        };
        let targets: Vec<Target> = rows.with_models().map(target).collect();
        let most = targets.iter().map(|target| target.members.examples.len());
        let outputs = most.max().unwrap_or(0) * plan.model.outputs();
        Some(Self {
            models: asked.models,
            at_once: (OUTPUTS / outputs.max(1)).max(1),
            rows,
            targets,
            others_of,
        })
    }

    /// Which model each client would use.
    pub(crate) fn rows(&self) -> &ClientRows {
        &self.rows
    }

    /// What the attackers find out who have the rows of `models`, of each client, `[N]`: nothing of clients whose model they have not
    /// (`is_there`), without a model or without examples. On a rank that does not know the labels they find out nothing.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn measure(
        &self,
        learner: &Learner,
        models: &Stack,
        is_there: impl Fn(u32) -> bool,
    ) -> Result<Vec<Option<InferredMembership>>, EngineError> {
        let mut found = vec![None; self.rows.clients()];
        let at_once = match self.rows.are_clients {
            true => self.at_once,
            false => self.at_once.min(MODELS),
        };
        let targets = self.targets.iter();
        let targets: Vec<&Target> = targets.filter(|target| is_there(target.client)).collect();
        for targets in targets.chunks(at_once) {
            let rows: Vec<u32> = targets.iter().map(|target| target.row).collect();
            let attacked = match self.rows.are_clients {
                true => None,
                false => Some(models.gather(&rows)?),
            };
            // Where rows are clients, those of others have no examples and nothing to do.
            let place = |target: usize| match attacked {
                None => rows[target] as usize,
                Some(_) => target,
            };
            let attacked = attacked.as_ref().unwrap_or(models);
            let scores = |set: ExampleSet, group: fn(&Target) -> &Group| {
                let mut lists = vec![Vec::new(); attacked.rows()];
                for (index, target) in targets.iter().enumerate() {
                    lists[place(index)].clone_from(&group(target).examples);
                }
                let outputs = learner.outputs(attacked, &RowExamples::each(set, lists))?;
                let of = |(index, target): (usize, &&Target)| {
                    group(target).scores(&outputs[place(index)])
                };
                Ok::<Vec<Vec<f64>>, EngineError>(targets.iter().enumerate().map(of).collect())
            };
            let members = scores(ExampleSet::Train, |target| &target.members)?;
            let others = scores(self.others_of, |target| &target.non_members)?;
            for ((target, members), others) in targets.iter().zip(members).zip(others) {
                found[target.client as usize] = InferredMembership::of(&members, &others);
            }
        }
        Ok(found)
    }
}

impl Group {
    /// These `examples`, with their labels among `all`.
    fn of(examples: Vec<u32>, all: Option<&[u16]>) -> Self {
        let of = |labels: &[u16]| {
            examples
                .iter()
                .map(|index| labels[*index as usize])
                .collect()
        };
        Self {
            labels: all.map(of).unwrap_or_default(),
            examples,
        }
    }

    /// The scores of the examples for which a model has these `outputs`, `[B, C]`.
    fn scores(&self, outputs: &[f32]) -> Vec<f64> {
        let classes = outputs.len() / self.examples.len().max(1);
        let examples = outputs.chunks_exact(classes.max(1)).zip(&self.labels);
        let score = |(outputs, label): (&[f32], &u16)| match outputs {
            // The softmax of two logits of which the first is zero.
            [one] => modified_entropy(&[0.0, *one], usize::from(*label)),
            logits => modified_entropy(logits, usize::from(*label)),
        };
        examples.map(score).collect()
    }
}
