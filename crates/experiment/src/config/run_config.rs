//! The configuration of one run: every value that decides its result.

use meshfold_algorithms::{Method, Policy, Stragglers};
use meshfold_data::{Augment, DatasetConfig, Partitioner};
use meshfold_engine::{Model, Precision, Purpose};
use meshfold_topology::{Failures, Topology, Weights};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

use crate::config::budget::Budget;
use crate::config::client_view::ClientView;
use crate::config::error::ConfigError;
use crate::config::fine_tune::FineTune;
use crate::config::initial_models::InitialModels;
use crate::config::membership::{AttackedModels, Membership};
use crate::config::quantity::Quantity;
use crate::config::seeds::Seeds;
use crate::config::source::ExperimentSource;
use crate::config::written;
use crate::network::SimulatedNetwork;
use crate::results::figure_kind::reaches;

/// One run as it is carried out: an experiment without its `sweep`, every default filled in.
///
/// It is written to `config.yaml` of the run and reads back as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Name of the experiment and of its folder of results.
    pub name: String,
    /// The seed of all random draws of the run, except those that have a seed of their own.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Seeds of parts of the run that are drawn from another.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "Seeds::are_absent"
    )]
    #[schemars(with = "Option<Seeds>")]
    pub seeds: Seeds,
    /// The examples.
    pub dataset: DatasetConfig,
    /// Who owns which training example; it fixes the number of clients.
    pub partition: Partitioner,
    /// From which models the rows start.
    #[serde(default)]
    pub start: InitialModels,
    /// The overlay that models are exchanged over, for the methods that use one.
    ///
    /// The file of an edge list is given from the folder of the experiment's file, together with its SHA-256.
    #[serde(default)]
    pub topology: Option<Topology>,
    /// Mixing weights on the overlay; where a topology is given without, the method's own, or else `prescribed` on overlays that bring
    /// weights (`base_graph`, `equi_static`, `equi_dyn`, `matcha`), `uniform` on `one_peer`, and `metropolis_hastings` on all
    /// others. No model is mixed by them in `dfedrw` and with `aggregation`.
    #[serde(default)]
    pub weights: Option<Weights>,
    /// The model that is trained.
    pub model: Model,
    /// How precise the operands of products are; `f32` if absent. `bf16` is for the processor.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "Precision::is_usual"
    )]
    #[schemars(with = "Option<Precision>")]
    pub precision: Precision,
    /// How training images are augmented, for datasets of images; not at all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub augment: Option<Augment>,
    /// The learning method.
    pub algorithm: Method,
    /// Communication rounds.
    #[schemars(extend("unit" = "rounds"))]
    pub rounds: usize,
    /// What the run may spend before it ends; as much as its rounds take if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Who cannot finish a round's work in time; nobody if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<Stragglers>,
    /// Clients and edges that fail.
    #[serde(
        default,
        deserialize_with = "or_null",
        skip_serializing_if = "no_failures"
    )]
    #[schemars(with = "Option<Failures>")]
    pub failures: Failures,
    /// The network that the time of a round is simulated on; if absent, no time is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<SimulatedNetwork>,
    /// When and on what the models are judged.
    #[serde(default)]
    pub evaluate: Evaluate,
    /// When the state is saved, so that an interrupted run can be resumed; never if absent.
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
}

/// `null` is the default, as it is of the other settings that may be absent.
fn or_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(value).map(Option::unwrap_or_default)
}

fn no_failures(failures: &Failures) -> bool {
    failures.0.is_empty()
}

fn first_seed() -> u64 {
    1
}

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
    /// The share of each client's examples that is its local test set: drawn at random, nobody trains on it, and the client's model is
    /// judged on it. Rounded, at least one example is in it and one is left; a client with a single example has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "share of 1"))]
    pub local_test: Option<f64>,
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
    #[serde(skip_serializing_if = "is_false")]
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

/// Test or validation examples that models are judged on: `all`, or a number of them drawn once per run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestExamples {
    /// The whole set.
    All,
    /// So many, drawn without replacement.
    Count(usize),
}

impl TestExamples {
    /// How many; `None` for all.
    pub fn count(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Count(count) => Some(count),
        }
    }
}

impl Serialize for TestExamples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Count(count) => serializer.serialize_u64(*count as u64),
        }
    }
}

impl<'de> Deserialize<'de> for TestExamples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Examples;
        impl Visitor<'_> for Examples {
            type Value = TestExamples;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all` or a number of examples")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<TestExamples, E> {
                let count = usize::try_from(value);
                count
                    .map(TestExamples::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<TestExamples, E> {
                let count = usize::try_from(value);
                count
                    .map(TestExamples::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<TestExamples, E> {
                match value {
                    "all" => Ok(TestExamples::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Examples)
    }
}

impl JsonSchema for TestExamples {
    fn schema_name() -> Cow<'static, str> {
        "TestExamples".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`all`, or a number of them drawn once per run.",
            "anyOf": [{ "const": "all" }, { "type": "integer", "minimum": 0 }],
        })
    }
}

/// When the state of a run is saved. The id of a run does not depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Rounds from one checkpoint to the next. If absent, the state is saved only when the run is interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "rounds"))]
    pub every: Option<usize>,
    /// Whether a finished run keeps a checkpoint of its last round, from which `meshfold runs models` takes the trained models, and a run of
    /// more `rounds` goes on.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(extend("default" = false))]
    pub keep: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl RunConfig {
    /// The seed of what is drawn for `purpose`.
    pub(crate) fn seed_of(&self, purpose: Purpose) -> u64 {
        self.seeds.of(purpose).unwrap_or(self.seed)
    }

    /// What becomes of stragglers, if there are any: what the configuration says, or else what the method does.
    pub(crate) fn straggler_policy(&self) -> Option<Policy> {
        let stragglers = self.stragglers.as_ref()?;
        let usual = self.algorithm.profile().straggler_policy;
        Some(stragglers.policy.unwrap_or(usual))
    }

    /// Reads the configuration of one run, such as a `config.yaml`; a variant may be bare, as in an experiment.
    ///
    /// # Errors
    /// [`ConfigError`], pointing into the text.
    pub fn read(source: &ExperimentSource) -> Result<Self, ConfigError> {
        source.parse()
    }

    /// The configuration as JSON, with the keys of the YAML.
    pub fn to_json(&self) -> serde_json::Value {
        written::json(self)
    }

    /// The configuration as YAML, as `config.yaml` holds it.
    pub fn to_yaml(&self) -> String {
        written::yaml(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "\
name: a run
dataset: {glyphs: {train: 600, test: 100}}
partition: {dirichlet: {clients: 10, alpha: 0.5}}
topology: {erdos_renyi: {p: log}}
weights: {laplacian: {theta: 0.25}}
model: {mlp: {hidden: [20]}}
algorithm:
  dfedavgm:
    local: {steps: 30}
    batch_size: full
    learning_rate: {inverse_time: {initial: 0.1, scale: 10}}
    clip_norm: 10
rounds: 50
evaluate: {examples: 50, targets: [0.65]}
checkpoint: {every: 10}
";

    #[test]
    fn what_may_be_absent_may_be_written_as_null() {
        let read = |more: &str| {
            let text = format!("{YAML}{more}");
            RunConfig::read(&ExperimentSource::new("e.yaml", text)).unwrap()
        };
        let without = read("");
        for none in [
            "failures: null",
            "seeds: null",
            "precision: null",
            "augment: null",
        ] {
            assert_eq!(read(none), without, "{none}");
        }
        let evaluate = "evaluate: {examples: 50, targets: [0.65]";
        let more = YAML.replace(
            evaluate,
            &format!("{evaluate}, clients: null, theory: null"),
        );
        let source = ExperimentSource::new("e.yaml", more);
        assert_eq!(RunConfig::read(&source).unwrap(), without);
        assert_eq!(read("failures: []\n"), without);
        assert!(!without.to_yaml().contains("failures"));
    }

    #[test]
    fn a_configuration_reads_back_with_its_defaults() {
        let config = RunConfig::read(&ExperimentSource::new("e.yaml", YAML)).unwrap();
        assert_eq!(
            (config.seed, &config.start, config.evaluate.every),
            (1, &InitialModels::Same, 1)
        );
        let yaml = config.to_yaml();
        for default in [
            "seed: 1",
            "start: same",
            "momentum: 0.9",
            "draw: shuffled",
            "min_examples: 1",
            "train: false",
        ] {
            assert!(yaml.contains(default), "{default} in\n{yaml}");
        }
        assert_eq!(
            RunConfig::read(&ExperimentSource::new("config.yaml", yaml.clone())).unwrap(),
            config
        );
        // What came later is left out where it says nothing new, so that runs keep their ids.
        assert!(!yaml.contains("nesterov"), "{yaml}");
        let momentum = yaml.lines().find(|line| line.contains("momentum: 0.9"));
        let momentum = momentum.unwrap();
        let said = momentum.replace("momentum: 0.9", "nesterov: false");
        let said = yaml.replace(momentum, &format!("{momentum}\n{said}"));
        assert_eq!(
            RunConfig::read(&ExperimentSource::new("config.yaml", said)).unwrap(),
            config
        );
        // As any other reader of YAML has it.
        let tree: serde_json::Value = serde_yaml::from_str(&yaml).unwrap();
        assert_eq!(serde_json::from_value::<RunConfig>(tree).unwrap(), config);
    }

    #[test]
    fn every_choice_may_be_bare_where_its_fields_have_defaults() {
        let with = |key: &str, bare: &str, map: &str| {
            let read = |value: &str| {
                let others = YAML
                    .lines()
                    .filter(|line| !line.starts_with(&format!("{key}:")));
                let yaml = others
                    .chain([format!("{key}: {value}").as_str()])
                    .collect::<Vec<_>>()
                    .join("\n");
                RunConfig::read(&ExperimentSource::new("e.yaml", yaml))
                    .unwrap_or_else(|error| panic!("{key}: {value}: {error}"))
            };
            assert_eq!(read(bare), read(map), "{key}: {bare}");
        };
        for dataset in [
            "consensus",
            "glyphs",
            "mnist",
            "fashion_mnist",
            "shakespeare",
            "reddit",
            "cwru",
        ] {
            with("dataset", dataset, &format!("{{{dataset}: {{}}}}"));
        }
        for partition in ["two_label_power_law", "by_writer", "by_role", "by_user"] {
            with("partition", partition, &format!("{{{partition}: {{}}}}"));
        }
        let topologies = [
            "path",
            "ring",
            "grid",
            "torus",
            "complete",
            "star",
            "balanced_tree",
            "exponential",
        ];
        for topology in topologies.into_iter().chain(["ring_plus_matching"]) {
            with("topology", topology, &format!("{{{topology}: {{}}}}"));
        }
        for weights in ["metropolis_hastings", "max_degree", "laplacian", "uniform"] {
            with("weights", weights, &format!("{{{weights}: {{}}}}"));
        }
        for model in ["linear", "logistic", "dnn8"] {
            with("model", model, &format!("{{{model}: {{}}}}"));
        }
        with("start", "independent", "{independent: {}}");
        with("evaluate", "{examples: all}", "{}");
    }
}
