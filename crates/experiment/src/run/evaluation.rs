//! When models are judged, on what, and what is learnt: the one place where values come back from the device.

use meshfold_algorithms::{Algorithm, RowKind};
use meshfold_engine::{EngineError, Key, Learner, Purpose, Score, Split, Stack, Tally, stream};
use rand::seq::index;

use crate::config::run_config::{Evaluate, TestExamples};
use crate::results::records::Measurements;
use crate::results::records::{Record, Spread};

/// The judge of a run: which rounds, which examples.
#[derive(Debug)]
pub(crate) struct Judge {
    every: usize,
    rounds: usize,
    /// What a row of the models stands for.
    pub(crate) kind: RowKind,
    /// Indices of the test examples that stand for all, ascending; all if absent.
    subset: Option<Vec<u32>>,
    /// Those of the last round.
    last: Option<Vec<u32>>,
    on_shards: bool,
}

/// What one evaluation finds.
#[derive(Debug)]
pub(crate) struct Verdict {
    tally: Tally,
    scores: Vec<(u32, Score)>,
    mean_model: Score,
    consensus_distance: f64,
    on_shards: Option<Vec<Score>>,
}

impl Judge {
    /// The judge of a run over `rounds` rounds. If not all of the `examples` test examples are asked for, the subset
    /// is drawn once, so that all its records but the last are of the same examples.
    pub(crate) fn new(
        kind: RowKind,
        evaluate: &Evaluate,
        rounds: usize,
        examples: usize,
        seed: u64,
    ) -> Self {
        let subset = |asked: TestExamples| {
            let count = asked.count().filter(|count| *count < examples)?;
            let mut rng = stream(seed, Purpose::Evaluation, Key::default());
            let mut chosen: Vec<u32> = index::sample(&mut rng, examples, count)
                .iter()
                .map(|example| example as u32)
                .collect();
            chosen.sort_unstable();
            Some(chosen)
        };
        Self {
            every: evaluate.every.max(1),
            rounds,
            kind,
            subset: subset(evaluate.examples),
            last: subset(evaluate.last.unwrap_or(evaluate.examples)),
            on_shards: evaluate.train,
        }
    }

    /// Whether the models are judged after `round`: the start, every so many rounds, and the end.
    pub(crate) fn is_due(&self, round: usize) -> bool {
        round.is_multiple_of(self.every) || round == self.rounds
    }

    /// Judges the deployed models and the rows after `round`. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`] if a model, one of its training losses or its test loss is not finite.
    pub(crate) fn judge(
        &self,
        learner: &mut Learner,
        algorithm: &dyn Algorithm,
        models: &Stack,
        alive: &[bool],
        round: usize,
    ) -> Result<Verdict, EngineError> {
        let kind = self.kind;
        let rows_alive = alive_rows(kind, models, alive);
        learner.expect_finite(models, &rows_alive, round)?;
        let deployed = algorithm.deployed(models);
        let deployed_alive = alive_rows(kind, deployed, alive);
        let subset = match round == self.rounds {
            true => self.last.as_deref(),
            false => self.subset.as_deref(),
        };
        let scores = of_the_living(
            &learner.evaluate(deployed, Split::Test, subset)?,
            &deployed_alive,
        );
        if let Some((row, _)) = scores.iter().find(|(_, score)| !score.loss.is_finite()) {
            return Err(EngineError::NonFinite {
                round,
                row: *row as usize,
            });
        }
        let mean_model =
            learner.evaluate(&deployed.mean_row(&deployed_alive), Split::Test, subset)?[0];
        let on_shards = match kind {
            RowKind::Client if self.on_shards => Some(on_shards(learner, models, &rows_alive)?),
            _ => None,
        };
        Ok(Verdict {
            tally: learner.tally(),
            scores,
            mean_model,
            consensus_distance: models.consensus_distance(&rows_alive),
            on_shards,
        })
    }
}

/// Which rows of `stack` count: clients as they are alive, servers and walkers always.
pub(crate) fn alive_rows(kind: RowKind, stack: &Stack, alive: &[bool]) -> Vec<bool> {
    match kind {
        RowKind::Client => alive.to_vec(),
        RowKind::Server | RowKind::Walker => vec![true; stack.rows()],
    }
}

fn of_the_living(scores: &[Score], alive: &[bool]) -> Vec<(u32, Score)> {
    (0..)
        .zip(scores)
        .zip(alive)
        .filter(|(_, alive)| **alive)
        .map(|((row, score), _)| (row, *score))
        .collect()
}

/// Each client's row on the client's own training examples.
fn on_shards(
    learner: &mut Learner,
    models: &Stack,
    alive: &[bool],
) -> Result<Vec<Score>, EngineError> {
    let clients: Vec<u32> = (0..models.rows() as u32).collect();
    let scores = learner.evaluate(models, Split::Shards(&clients), None)?;
    Ok(of_the_living(&scores, alive)
        .into_iter()
        .map(|(_, score)| score)
        .collect())
}

impl Verdict {
    /// The deployed models alive, as `(row, score)`.
    pub(crate) fn scores(&self) -> &[(u32, Score)] {
        &self.scores
    }

    /// The record of this verdict; the figures that do not come from the models are left at zero.
    pub(crate) fn record(&self, round: usize) -> Record {
        let scores = || self.scores.iter().map(|(_, score)| score);
        let shards = self.on_shards.as_deref();
        Record {
            round,
            local_steps: self.tally.local_steps,
            examples_seen: self.tally.examples_seen,
            train_loss: self.tally.train_loss,
            test_accuracy: spread(scores(), |score| score.accuracy),
            test_loss: spread(scores(), |score| score.loss),
            mean_model_accuracy: self.mean_model.accuracy,
            consensus_distance: self.consensus_distance,
            bytes_total: 0,
            bytes_busiest_node: 0,
            messages_total: 0,
            simulated_seconds: None,
            wall_seconds: 0.0,
            alive: 0,
            components: None,
            messages_as_printed: None,
            theory: Measurements::new(),
            train_shard_loss: shards.map(|scores| spread(scores.iter(), |score| score.loss)),
            train_accuracy: shards.map(|scores| spread(scores.iter(), |score| score.accuracy)),
        }
    }
}

fn spread<'a>(scores: impl Iterator<Item = &'a Score>, figure: fn(&Score) -> f64) -> Spread {
    Spread::of(&scores.map(figure).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(every: usize, examples: TestExamples) -> Judge {
        let evaluate = Evaluate {
            every,
            examples,
            ..Evaluate::default()
        };
        Judge::new(RowKind::Client, &evaluate, 10, 1000, 1)
    }

    #[test]
    fn the_start_every_few_rounds_and_the_end_are_judged() {
        let judge = judge(4, TestExamples::All);
        let due: Vec<usize> = (0..=10).filter(|round| judge.is_due(*round)).collect();
        assert_eq!(due, [0, 4, 8, 10]);
    }

    #[test]
    fn the_last_round_may_be_judged_on_other_examples() {
        let of = |last| {
            let evaluate = Evaluate {
                examples: TestExamples::Count(100),
                last,
                ..Evaluate::default()
            };
            let judge = Judge::new(RowKind::Client, &evaluate, 10, 1000, 1);
            (
                judge.subset.map(|all| all.len()),
                judge.last.map(|all| all.len()),
            )
        };
        assert_eq!(of(None), (Some(100), Some(100)));
        assert_eq!(of(Some(TestExamples::All)), (Some(100), None));
        assert_eq!(of(Some(TestExamples::Count(300))), (Some(100), Some(300)));
    }

    #[test]
    fn a_subset_is_drawn_once_without_repetition() {
        let subset = |count| judge(1, TestExamples::Count(count)).subset;
        let chosen = subset(100).unwrap();
        assert_eq!(chosen.len(), 100);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen[99] < 1000);
        assert_eq!(subset(100).unwrap(), chosen);
        assert_eq!(subset(1000), None, "all that there are is no subset");
    }
}
