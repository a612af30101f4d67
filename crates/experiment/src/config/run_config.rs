//! The configuration of one run: every value that decides its result.

use meshfold_algorithms::{Method, Policy, Stragglers};
use meshfold_data::{Augment, DatasetConfig, Partitioner};
use meshfold_engine::{Model, Precision, Purpose};
use meshfold_topology::{Failures, Topology, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::absent::or_null;
use crate::config::budget::Budget;
use crate::config::error::ConfigError;
use crate::config::evaluate::Evaluate;
use crate::config::initial_models::InitialModels;
use crate::config::seeds::Seeds;
use crate::config::source::ExperimentSource;
use crate::config::written;
use crate::network::SimulatedNetwork;

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
    /// weights (`base_graph`, `equi_static`, `equi_dyn`, `matcha`), `uniform` on other directed overlays, such as `one_peer` and `exponential:
    /// {directed: true}`, and `metropolis_hastings` on all others. No model is mixed by them in `dfedrw` and with `aggregation`.
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
    #[schemars(range(min = 1), extend("unit" = "rounds"))]
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

fn no_failures(failures: &Failures) -> bool {
    failures.0.is_empty()
}

fn first_seed() -> u64 {
    1
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub keep: bool,
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
