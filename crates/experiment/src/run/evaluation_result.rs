//! What one evaluation finds, and what is recorded of it.

use meshfold_algorithms::{OwnFigure, OwnFigures};
use meshfold_engine::{Score, Tally};

use crate::results::clients::spool::{RowScore, Scores};
use crate::results::metrics::record::{Record, Spread};
use crate::run::inferred_membership::InferredMembership;
use crate::run::local_tests::LocalScore;

/// What one evaluation finds.
#[derive(Debug)]
pub(crate) struct EvaluationResult {
    pub(super) tally: Tally,
    pub(super) scores: Vec<RowScore>,
    /// Of the clients alive that have the model of a server, if they have local test sets or are attacked.
    pub(super) served: Vec<RowScore>,
    pub(super) validation: Option<Vec<Score>>,
    pub(super) mean_model: Score,
    pub(super) consensus_distance: f64,
    pub(super) on_shards: Option<Vec<Score>>,
    /// Scores of the clients on their local test sets, and those after fine-tuning.
    pub(super) on_local_tests: Option<Vec<LocalScore>>,
    pub(super) fine_tuned: Option<Vec<LocalScore>>,
    /// What attackers find out of each client alive, if there are any.
    pub(super) membership: Option<Vec<InferredMembership>>,
    /// Accuracies on test examples of the clients' own labels.
    pub(super) own_labels: Option<Vec<f64>>,
}

impl EvaluationResult {
    /// The scores of the deployed models alive, then those of clients that have the model of a server, with what the method recorded of
    /// each row.
    pub(crate) fn scores(&self, figures: &OwnFigures) -> Scores {
        let of_rows = figures.iter().filter_map(|(name, figure)| match figure {
            OwnFigure::Rows(of_rows) => Some((name.to_owned(), of_rows)),
            OwnFigure::Number(_) => None,
        });
        let (own, of_rows): (Vec<String>, Vec<&Vec<f64>>) = of_rows.unzip();
        let mut rows = [self.scores.as_slice(), &self.served].concat();
        for row in &mut rows {
            let at = Some(row.row as usize).filter(|_| !row.is_served);
            let recorded = |of_rows: &&Vec<f64>| of_rows.get(at?).copied();
            let recorded = of_rows.iter().map(recorded);
            row.views
                .extend(recorded.map(|figure| figure.unwrap_or(f64::NAN)));
        }
        Scores { own, rows }
    }

    /// The record of this evaluation, without the figures that do not come from the models.
    pub(crate) fn record(&self, round: usize) -> Record {
        let scores = || self.scores.iter().map(|row| &row.score);
        let shards = self.on_shards.as_deref();
        let validation = self.validation.as_deref();
        let some = |scores: &'_ &[LocalScore]| !scores.is_empty();
        let local_tests = self.on_local_tests.as_deref().filter(some);
        let fine_tuned = self.fine_tuned.as_deref().filter(some);
        let own_labels = self.own_labels.as_deref().filter(|rows| !rows.is_empty());
        let membership = self.membership.as_deref().filter(|rows| !rows.is_empty());
        let membership = membership.map(spreads_of_attack);
        let of_attack = |figure: usize| membership.map(|spreads| spreads[figure]);
        Record {
            round,
            local_steps: self.tally.local_steps,
            examples_seen: self.tally.examples_seen,
            train_loss: self.tally.train_loss,
            test_accuracy: spread(scores(), |score| score.accuracy),
            test_loss: spread(scores(), |score| score.loss),
            validation_accuracy: validation
                .map(|scores| spread(scores.iter(), |score| score.accuracy)),
            validation_loss: validation.map(|scores| spread(scores.iter(), |score| score.loss)),
            mean_model_accuracy: self.mean_model.accuracy,
            consensus_distance: self.consensus_distance,
            train_shard_loss: shards.map(|scores| spread(scores.iter(), |score| score.loss)),
            local_test_loss: local_tests.map(|scores| local_spread(scores, |score| score.loss)),
            local_test_accuracy: local_tests
                .map(|scores| local_spread(scores, |score| score.accuracy)),
            fine_tuned_loss: fine_tuned.map(|scores| local_spread(scores, |score| score.loss)),
            fine_tuned_accuracy: fine_tuned
                .map(|scores| local_spread(scores, |score| score.accuracy)),
            membership_accuracy: of_attack(0),
            membership_auc: of_attack(1),
            membership_tpr: of_attack(2),
            own_labels_accuracy: own_labels.map(Spread::of),
            train_accuracy: shards.map(|scores| spread(scores.iter(), |score| score.accuracy)),
            ..Record::default()
        }
    }
}

fn spread<'a>(scores: impl Iterator<Item = &'a Score>, figure: fn(&Score) -> f64) -> Spread {
    Spread::of(&scores.map(figure).collect::<Vec<_>>())
}

/// The spread of a figure on local test sets, with the mean over their examples.
fn local_spread(scores: &[LocalScore], figure: fn(&Score) -> f64) -> Spread {
    let figures: Vec<f64> = scores.iter().map(|local| figure(&local.score)).collect();
    let examples: Vec<usize> = scores.iter().map(|local| local.examples).collect();
    Spread::weighted(&figures, &examples)
}

/// The spreads of what attackers find out: the first three of [`InferredMembership::figures`].
fn spreads_of_attack(found: &[InferredMembership]) -> [Spread; 3] {
    let figures = found.iter().map(|found| found.figures());
    let figures: Vec<[f64; 4]> = figures.collect();
    [0, 1, 2].map(|figure| {
        let of_all: Vec<f64> = figures.iter().map(|figures| figures[figure]).collect();
        Spread::of(&of_all)
    })
}
