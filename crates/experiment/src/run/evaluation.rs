//! When models are judged, and on what.

use meshfold_algorithms::{Algorithm, AlgorithmError, RowKind, SentModels};
use meshfold_engine::{EngineError, Key, Learner, Purpose, Score, Split, Stack, stream};
use rand::seq::index;

use crate::config::evaluate::Evaluate;
use crate::config::membership::AttackedModels;
use crate::config::test_examples::TestExamples;
use crate::results::clients::spool::RowScore;
use crate::results::run_error::RunError;
use crate::run::client_views::{ClientMeasurements, OwnScores, Views};
use crate::run::evaluation_result::EvaluationResult;
use crate::run::inferred_membership::InferredMembership;
use crate::run::local_tests::{LocalScores, LocalTests};
use crate::run::membership::MembershipAttack;

/// The judge of a run: which rounds, which examples.
#[derive(Debug)]
pub(crate) struct Judge {
    every: usize,
    rounds: usize,
    /// What a row of the models stands for.
    pub(crate) kind: RowKind,
    test: Samples,
    /// None if the dataset keeps nothing apart for validation, or if nobody asked.
    validation: Option<Samples>,
    /// Whether records have figures on the rows' own training examples.
    on_shards: bool,
    /// The clients' own test sets, if they have any.
    local_tests: Option<LocalTests>,
    /// Attacks on the models, if that was asked for.
    attack: Option<MembershipAttack>,
    /// What is measured for the table of clients.
    views: Option<ClientMeasurements>,
}

/// How many examples of each kind there are to judge on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldOut {
    pub(crate) test: usize,
    pub(crate) validation: usize,
}

/// The sampled examples of a set, ascending; all if absent.
#[derive(Debug)]
struct Samples {
    usual: Option<Vec<u32>>,
    /// Those of the last round.
    last: Option<Vec<u32>>,
}

impl Samples {
    fn at(&self, is_last: bool) -> Option<&[u32]> {
        let sample = if is_last { &self.last } else { &self.usual };
        sample.as_deref()
    }
}

/// When models are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// Rounds done.
    pub(crate) round: usize,
    /// Whether no round is left.
    pub(crate) is_last: bool,
}

/// The models of a run after a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Models<'a> {
    /// Those that the method keeps.
    pub(crate) kept: &'a Stack,
    /// Those that clients sent in the round, if somebody asks for them.
    pub(crate) sent: &'a SentModels,
}

impl Judge {
    /// The judge of a run over `rounds` rounds. If not all examples are asked for, the subset is drawn once, so that all
    /// records but the last are of the same examples.
    pub(crate) fn new(
        kind: RowKind,
        evaluate: &Evaluate,
        rounds: usize,
        held_out: HeldOut,
        seed: u64,
    ) -> Self {
        let (usual, last) = (
            evaluate.examples,
            evaluate.last.unwrap_or(evaluate.examples),
        );
        let test = |asked| sample(asked, held_out.test, seed, Key::default());
        let validation = |asked| {
            let asked = evaluate.validation.unwrap_or(asked);
            let key = Key {
                row: 1,
                ..Key::default()
            };
            sample(asked, held_out.validation, seed, key)
        };
        let is_validated =
            held_out.validation > 0 && evaluate.validation != Some(TestExamples::Count(0));
        Self {
            every: evaluate.every.max(1),
            rounds,
            kind,
            test: Samples {
                usual: test(usual),
                last: test(last),
            },
            validation: is_validated.then(|| Samples {
                usual: validation(usual),
                last: validation(last),
            }),
            on_shards: evaluate.judges_shards(),
            local_tests: None,
            attack: None,
            views: None,
        }
    }

    /// The judge, who measures `views`, too.
    pub(crate) fn with_views(self, views: ClientMeasurements) -> Self {
        Self {
            views: Some(views),
            ..self
        }
    }

    /// The judge, who judges on these `local_tests`, too.
    pub(crate) fn with_local_tests(self, local_tests: Option<LocalTests>) -> Self {
        Self {
            local_tests,
            ..self
        }
    }

    /// The judge, who carries out this `attack`, too.
    pub(crate) fn with_attack(self, attack: Option<MembershipAttack>) -> Self {
        Self { attack, ..self }
    }

    /// Whether the models are judged after `round`: the start, every so many rounds, and the end.
    pub(crate) fn is_due(&self, round: usize) -> bool {
        round.is_multiple_of(self.every) || round == self.rounds
    }

    /// Judges the deployed models and the rows at `when`. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`] if a model, one of its training losses or its test loss is not finite; [`AlgorithmError::NonFinite`] if it is
    /// something else that the method trains.
    pub(crate) fn judge(
        &self,
        learner: &mut Learner,
        algorithm: &dyn Algorithm,
        models: Models<'_>,
        alive: &[bool],
        when: When,
    ) -> Result<EvaluationResult, RunError> {
        let (kind, When { round, is_last }) = (self.kind, when);
        let Models { kept: models, sent } = models;
        let rows_alive = alive_rows(kind, models, alive);
        learner
            .expect_finite(models, &rows_alive, round)
            .map_err(|error| blamed(error, algorithm, models))?;
        let deployed = algorithm.deployed(models);
        let deployed_alive = alive_rows(kind, deployed, alive);
        let subset = self.test.at(is_last);
        let tested = learner.evaluate(deployed, Split::Test, subset)?;
        expect_finite(&tested, &deployed_alive, round)?;
        let validation = self
            .validation
            .as_ref()
            .map(|samples| learner.evaluate(deployed, Split::Validation, samples.at(is_last)));
        let validation = validation.transpose()?;
        if let Some(scores) = &validation {
            expect_finite(scores, &deployed_alive, round)?;
        }
        let validation = validation.map(|scores| of_the_living(scores, &deployed_alive));
        let mean_model =
            learner.evaluate(&deployed.mean_row(&deployed_alive), Split::Test, subset)?[0];
        let on_shards = match kind {
            RowKind::Client if self.on_shards => Some(on_shards(learner, models)?),
            _ => None,
        };
        if let Some(scores) = &on_shards {
            expect_finite(scores, &rows_alive, round)?;
        }
        let local_tests = self.local_tests.as_ref();
        let on_local_tests = local_tests.map(|tests| tests.measure(learner, deployed));
        let on_local_tests = on_local_tests.transpose()?;
        if let Some(scores) = &on_local_tests {
            let loss = |score: &Option<Score>| score.unwrap_or_default();
            let scores: Vec<Score> = scores.plain.iter().map(loss).collect();
            expect_finite(&scores, alive, round)?;
        }
        let membership = self.membership(learner, deployed, sent)?;
        let own = OwnScores {
            shards: on_shards.as_deref(),
            local_tests: on_local_tests.as_ref(),
            membership: membership.as_deref(),
        };
        let views = self
            .views
            .as_ref()
            .map(|views| views.measure(learner, deployed, subset, own));
        let views = views
            .transpose()?
            .unwrap_or_else(|| Views::absent(tested.len()));
        let served = self.served(&tested, own, alive);
        let (on_local_tests, fine_tuned) = match local_tests.zip(on_local_tests) {
            Some((tests, LocalScores { plain, fine_tuned })) => {
                let of_clients = |scores| those_of(tests.sized(scores), alive);
                (Some(of_clients(plain)), fine_tuned.map(of_clients))
            }
            None => (None, None),
        };
        let rows = tested.into_iter().zip(views.figures).zip(0..);
        let rows = rows.map(|((score, views), row)| RowScore {
            row,
            is_served: false,
            score,
            views,
        });
        Ok(EvaluationResult {
            tally: learner.tally(),
            scores: of_the_living(rows.collect(), &deployed_alive),
            served,
            validation,
            mean_model,
            consensus_distance: models.consensus_distance(&rows_alive),
            on_shards: on_shards.map(|scores| of_the_living(scores, &rows_alive)),
            on_local_tests,
            fine_tuned,
            membership: membership.map(|found| those_of(found, alive)),
            own_labels: views
                .own_labels
                .map(|accuracies| those_of(accuracies, &deployed_alive)),
        })
    }
}

impl Judge {
    /// What attackers find out of each client, `[N]`, if there are any; nothing before clients have sent what they attack.
    fn membership(
        &self,
        learner: &Learner,
        deployed: &Stack,
        sent: &SentModels,
    ) -> Result<Option<Vec<Option<InferredMembership>>>, EngineError> {
        let Some(attack) = &self.attack else {
            return Ok(None);
        };
        let attacked = match attack.models {
            AttackedModels::AfterRound => Some((deployed, &[][..])),
            AttackedModels::Sent => sent.models().map(|models| (models, sent.senders())),
        };
        let found = attacked.map(|(models, sent)| {
            let is_there = |client: u32| sent.get(client as usize).copied().unwrap_or(true);
            attack.measure(learner, models, is_there)
        });
        found.transpose()
    }

    /// The clients alive that have the model of a server, which is `tested`, with the scores on their `own` examples.
    fn served(&self, tested: &[Score], own: OwnScores<'_>, alive: &[bool]) -> Vec<RowScore> {
        let rows = self.local_tests.as_ref().map(LocalTests::rows);
        let rows = rows.or_else(|| Some(self.attack.as_ref()?.rows()));
        let (Some(rows), Some(views)) = (rows, &self.views) else {
            return Vec::new();
        };
        let served = rows.served();
        let served = served.filter(|(client, _)| alive[*client as usize]);
        let score = |(client, row): (u32, usize)| RowScore {
            row: client,
            is_served: true,
            score: tested[row],
            views: views.of_served(client as usize, own),
        };
        served.map(score).collect()
    }
}

/// So many of `examples` examples, drawn without replacement; none if all are asked for.
fn sample(asked: TestExamples, examples: usize, seed: u64, key: Key) -> Option<Vec<u32>> {
    let count = asked.count().filter(|count| *count < examples)?;
    let mut rng = stream(seed, Purpose::Evaluation, key);
    let mut chosen: Vec<u32> = index::sample(&mut rng, examples, count)
        .iter()
        .map(|example| example as u32)
        .collect();
    chosen.sort_unstable();
    Some(chosen)
}

/// Which rows of `stack` count: clients as they are alive, servers and walkers always.
pub(crate) fn alive_rows(kind: RowKind, stack: &Stack, alive: &[bool]) -> Vec<bool> {
    match kind {
        RowKind::Client => alive.to_vec(),
        RowKind::Server | RowKind::Walker => vec![true; stack.rows()],
    }
}

/// The items of the rows that are alive.
fn of_the_living<T>(of_rows: Vec<T>, alive: &[bool]) -> Vec<T> {
    let rows = of_rows.into_iter().zip(alive);
    rows.filter_map(|(item, alive)| alive.then_some(item))
        .collect()
}

/// The items of those that are alive and have one.
fn those_of<T>(of_all: Vec<Option<T>>, alive: &[bool]) -> Vec<T> {
    let living = of_the_living(of_all, alive);
    living.into_iter().flatten().collect()
}

/// Requires that the losses of the models that are alive are finite.
///
/// # Errors
/// [`EngineError::NonFinite`], which names the first that is not.
fn expect_finite(scores: &[Score], alive: &[bool], round: usize) -> Result<(), EngineError> {
    let mut rows = scores.iter().zip(alive);
    match rows.position(|(score, alive)| *alive && !score.loss.is_finite()) {
        Some(row) => Err(EngineError::NonFinite { round, row }),
        None => Ok(()),
    }
}

/// `error` as the method explains it, if the model of the row that it names is finite.
fn blamed(error: EngineError, algorithm: &dyn Algorithm, models: &Stack) -> RunError {
    let EngineError::NonFinite { round, row } = error else {
        return error.into();
    };
    if models.finite_rows().get(row) == Some(&false) {
        return error.into();
    }
    match algorithm.trained_aside(round, row) {
        Some(what) => AlgorithmError::NonFinite { what, round }.into(),
        None => error.into(),
    }
}

/// Each client's row on the client's own training examples.
fn on_shards(learner: &mut Learner, models: &Stack) -> Result<Vec<Score>, EngineError> {
    let clients: Vec<u32> = (0..models.rows() as u32).collect();
    learner.evaluate(models, Split::Shards(&clients), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD_OUT: HeldOut = HeldOut {
        test: 1000,
        validation: 500,
    };

    fn judge(evaluate: &Evaluate) -> Judge {
        Judge::new(RowKind::Client, evaluate, 10, HELD_OUT, 1)
    }

    /// How many examples are judged, in most rounds and in the last; all if absent.
    fn sizes(samples: &Samples) -> [Option<usize>; 2] {
        [false, true].map(|is_last| samples.at(is_last).map(<[u32]>::len))
    }

    #[test]
    fn the_start_every_few_rounds_and_the_end_are_judged() {
        let judge = judge(&Evaluate {
            every: 4,
            ..Evaluate::default()
        });
        let due: Vec<usize> = (0..=10).filter(|round| judge.is_due(*round)).collect();
        assert_eq!(due, [0, 4, 8, 10]);
    }

    #[test]
    fn the_last_round_may_be_judged_on_other_examples() {
        let of = |last| {
            let judge = judge(&Evaluate {
                examples: TestExamples::Count(100),
                last,
                ..Evaluate::default()
            });
            [&judge.test, judge.validation.as_ref().unwrap()].map(sizes)
        };
        assert_eq!(of(None), [[Some(100); 2]; 2]);
        assert_eq!(of(Some(TestExamples::All)), [[Some(100), None]; 2]);
        let some = [[Some(100), Some(300)]; 2];
        assert_eq!(of(Some(TestExamples::Count(300))), some);
    }

    #[test]
    fn validation_may_take_other_examples_than_the_test_or_none() {
        let of = |count| {
            let judge = judge(&Evaluate {
                validation: Some(TestExamples::Count(count)),
                ..Evaluate::default()
            });
            judge.validation.as_ref().map(sizes)
        };
        assert_eq!(of(0), None);
        assert_eq!(of(20), Some([Some(20); 2]));
        assert_eq!(of(500), Some([None; 2]));
        let nothing_apart = HeldOut {
            validation: 0,
            ..HELD_OUT
        };
        let judge = Judge::new(RowKind::Client, &Evaluate::default(), 10, nothing_apart, 1);
        assert!(judge.validation.is_none());
    }

    #[test]
    fn a_subset_is_drawn_once_without_repetition() {
        let subset = |count| {
            judge(&Evaluate {
                examples: TestExamples::Count(count),
                ..Evaluate::default()
            })
            .test
            .usual
        };
        let chosen = subset(100).unwrap();
        assert_eq!(chosen.len(), 100);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen[99] < 1000);
        assert_eq!(subset(100).unwrap(), chosen);
        assert_eq!(subset(1000), None, "all that there are is no subset");
    }
}
