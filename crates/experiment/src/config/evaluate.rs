//! When and on what models are judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::absent::or_null;
use crate::config::client_view::ClientView;
use crate::config::fine_tune::FineTune;
use crate::config::local_test::LocalTest;
use crate::config::membership::{AttackedModels, Membership};
use crate::config::quantity::Quantity;
use crate::config::test_examples::TestExamples;
use crate::figure_kind::reaches;

/// When and on what models are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Evaluate {
    /// Rounds from one evaluation to the next; the last round is always judged.
    #[schemars(extend("unit" = "rounds"))]
    pub every: usize,
    /// Test examples that models are judged on.
    #[schemars(extend("unit" = "examples"))]
    pub examples: TestExamples,
    /// Those of the last round, if they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "examples"))]
    pub last: Option<TestExamples>,
    /// Validation examples that models are judged on, if the dataset keeps some apart; as many as test examples if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "examples"))]
    pub validation: Option<TestExamples>,
    /// Whether rows are also judged on their own training shards.
    pub train: bool,
    /// The local test set of each client, on which its model is judged. A share of the client's examples is drawn at random, and nobody
    /// trains on it. It is rounded, at least one example is in it and one is left; a client with a single example has none. `owners` takes
    /// no training examples: the set has the test examples of all owners whose training examples the client has, with a partition by owners
    /// such as `by_writer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "share of 1"))]
    pub local_test: Option<LocalTest>,
    /// Local steps that each client makes from its model before it is judged on its local test set once more. The models of the run stay
    /// as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fine_tune: Option<FineTune>,
    /// How well an attacker who has a client's model tells which examples the client trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub membership: Option<Membership>,
    /// What is measured of each model besides its accuracy on all test examples.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<ClientView>>")]
    pub clients: Vec<ClientView>,
    /// Mean accuracies, as fractions, whose first rounds are reported.
    #[schemars(extend("unit" = "share of 1"))]
    pub targets: Vec<f64>,
    /// Whether the run ends at the first evaluation that reaches all targets, and after its last round at the latest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub stop_at_targets: bool,
    /// Quantities of the papers' bounds that are recorded.
    #[serde(deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Quantity>>")]
    pub theory: Vec<Quantity>,
}

impl Evaluate {
    /// Whether a run whose mean test accuracy is `accuracy` ends for it.
    pub(crate) fn ends_at(&self, accuracy: f64) -> bool {
        self.stop_at_targets
            && self
                .targets
                .iter()
                .all(|target| reaches("test_accuracy", accuracy, *target))
    }

    /// The most test examples, of `all`, that models are judged on at once.
    pub(crate) fn most_examples(&self, all: usize) -> usize {
        let asked = [Some(self.examples), self.last].into_iter().flatten();
        let counts = asked.map(|examples| examples.count().unwrap_or(all).min(all));
        counts.max().unwrap_or(all)
    }

    /// The most validation examples, of `all`, that models are judged on at once.
    pub(crate) fn most_validation(&self, all: usize) -> usize {
        let asked = self.validation.and_then(TestExamples::count);
        match self.validation {
            Some(_) => asked.unwrap_or(all).min(all),
            None => self.most_examples(all),
        }
    }

    /// Whether rows are judged on their own training shards.
    pub(crate) fn judges_shards(&self) -> bool {
        self.train || self.clients.contains(&ClientView::Own)
    }

    /// Whether models are measured by more than their score on all test examples, for `clients.parquet`.
    pub(crate) fn views_clients(&self) -> bool {
        !self.clients.is_empty() || self.local_test.is_some() || self.membership.is_some()
    }

    /// Whether an attacker has the models that clients send, so that these are kept.
    pub(crate) fn attacks_sent_models(&self) -> bool {
        let asked = self.membership.as_ref();
        asked.is_some_and(|asked| asked.models == AttackedModels::Sent)
    }

    /// Whether all training examples are measured before the first round.
    pub(crate) fn measures_examples(&self) -> bool {
        self.theory.iter().any(|quantity| quantity.is_of_examples())
    }

    /// Rows that measuring needs besides the models, of which there are `rows` for `clients` clients.
    pub(crate) fn extra_rows(&self, rows: usize, clients: usize) -> usize {
        let own = |quantity: &Quantity| match quantity {
            Quantity::Inexactness => rows,
            Quantity::Dissimilarity | Quantity::GradientNorm | Quantity::AveragedIterates => 3,
            Quantity::CliqueSkew | Quantity::NonIidDegree => 0,
            // The mean, and a row for each client that is judged at once; for bounds the averaged iterates besides.
            Quantity::MeanModelLoss => 65,
            Quantity::Bound => 68,
        };
        let tuned = self.fine_tune.as_ref();
        let tuned = tuned.map_or(0, |_| FineTune::extra_rows(rows, clients));
        let sent = if self.attacks_sent_models() { rows } else { 0 };
        self.theory.iter().map(own).sum::<usize>() + tuned + sent
    }
}

impl Default for Evaluate {
    fn default() -> Self {
        Self {
            every: 1,
            examples: TestExamples::All,
            last: None,
            validation: None,
            train: false,
            local_test: None,
            fine_tune: None,
            membership: None,
            clients: Vec::new(),
            targets: Vec::new(),
            stop_at_targets: false,
            theory: Vec::new(),
        }
    }
}
