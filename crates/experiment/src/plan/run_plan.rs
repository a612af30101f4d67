//! A run that can be carried out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshfold_algorithms::Rows;
use meshfold_data::{DatasetSummary, Input, OwnFiles, Partition};
use meshfold_engine::Network;
use meshfold_topology::OverlaySummary;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::own::Own;
use crate::config::run_config::RunConfig;
use crate::config::variation::{joined, named};
use crate::network::Clock;
use crate::plan::memory::Footprint;
use crate::plan::placement::Placement;
use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::population::Population;

/// A run that can be carried out.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Hash of the configuration without its name: the same id is the same run.
    pub id: String,
    /// Every value of the run.
    pub config: RunConfig,
    /// The paths that the sweep sets in this run and a short text of each value; empty if there is no sweep.
    pub variation: Vec<(String, String)>,
    /// Number of clients `N`.
    pub clients: usize,
    /// The models that exist between rounds, `R`.
    pub rows: Rows,
    /// Parameters of a model, `P`.
    pub parameters: usize,
    /// The model, fitted to the examples.
    pub model: Network,
    /// Estimate of the most memory that the run holds at once, in bytes: of the machine, and of a GPU that it runs on. Over
    /// several ranks, that of the rank that needs most.
    pub memory_bytes: u64,
    /// What fills that memory where one process has all rows.
    pub(crate) footprint: Footprint,
    /// Where its rows lie, if it was planned for a device of several ranks. No result depends on it.
    pub placement: Option<Arc<Placement>>,
    /// Expected local steps of all rows in a round in which nobody fails or falls behind.
    pub local_steps_per_round: f64,
    /// Expected bytes sent in such a round, each message counted once.
    pub bytes_per_round: u64,
    /// Estimate of the multiply-adds of the whole run, if nobody fails or falls behind: those of the local steps, of mixing
    /// and of judging the models. It is good enough to compare runs, and to tell seconds from days.
    pub multiply_adds: u64,
    /// About how many seconds the run takes alone on the device that it is planned for, which may be wrong by a factor of
    /// ten.
    pub seconds: f64,
    /// The overlay and its weights, if the method exchanges over one.
    pub overlay: Option<Arc<PlannedOverlay>>,
    /// Sizes, labels and owners of the examples.
    pub dataset: Arc<DatasetSummary>,
    /// The files of the dataset, if they are the user's own.
    pub files: Arc<OwnFiles>,
    /// Who owns which training example.
    pub partition: Arc<Partition>,
    /// The clients, and the nodes of the overlay, by what they hold.
    pub population: Population,
    /// The clock that tells how long a round takes, if a network is described.
    pub clock: Option<Clock>,
    /// Warnings: what will work but may not be intended.
    pub warnings: Vec<String>,
    /// The program's own parts that its configuration may name.
    pub(crate) own: Own,
}

/// The facts of a [`RunPlan`], in the order in which `meshfold plan --json` lists them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary<'a> {
    /// See [`RunPlan::id`].
    pub id: &'a str,
    /// See [`RunPlan::label`].
    pub label: String,
    /// Sizes of an example: channels, height and width of numbers, or the tokens of a text.
    pub example_shape: Vec<usize>,
    /// Number of classes `C`.
    pub classes: usize,
    /// See [`RunPlan::clients`].
    pub clients: usize,
    /// Number of rows `R`.
    pub rows: usize,
    /// See [`RunPlan::parameters`].
    pub parameters: usize,
    /// See [`RunPlan::memory_bytes`].
    pub memory_bytes: u64,
    /// See [`RunPlan::local_steps_per_round`].
    pub local_steps_per_round: f64,
    /// See [`RunPlan::bytes_per_round`].
    pub bytes_per_round: u64,
    /// See [`RunPlan::multiply_adds`].
    pub multiply_adds: u64,
    /// `λ` of an exchange, see [`PlannedOverlay::lambda`].
    pub lambda: Option<f64>,
    /// See [`PlannedOverlay::lambda_of_period`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda_of_period: Option<f64>,
    /// Figures of the overlay, if there is one; of one that changes, as it is in round 1.
    pub overlay: Option<&'a OverlaySummary>,
}

impl RunPlan {
    /// What sets the run apart in its sweep, such as `topology=ring, seed=2`; the name if there is no sweep.
    pub fn label(&self) -> String {
        if self.variation.is_empty() {
            self.config.name.clone()
        } else {
            joined(&self.variation)
        }
    }

    /// What sets the run apart from `others`, such as `alpha` with `0.1`: settings of the sweep, but for its seed, that some of these do
    /// not share with it.
    pub fn settings_among(&self, others: &[&Self]) -> Vec<(String, String)> {
        let is_shared = |setting: &&(String, String)| {
            others.iter().all(|other| other.variation.contains(setting))
        };
        let settings = self.variation.iter();
        let apart = settings.filter(|setting| setting.0 != "seed" && !is_shared(setting));
        let apart: Vec<(String, String)> = apart.cloned().collect();
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        named(&apart).map(owned).collect()
    }

    /// The folder of the run below that of all `results`.
    pub fn folder(&self, results: &Path) -> PathBuf {
        results.join(&self.config.name).join(&self.id)
    }

    /// The settings that the sweep varies, by their paths, with the values of this run; empty if there is no sweep.
    pub fn settings(&self) -> Map<String, Value> {
        let config = self.config.to_json();
        let value = |path: &str| {
            let pointer = format!("/{}", path.replace('.', "/"));
            config.pointer(&pointer).cloned().unwrap_or_default()
        };
        let paths = self.variation.iter().map(|(path, _)| path);
        paths.map(|path| (path.clone(), value(path))).collect()
    }

    /// Whether the run exchanges over an overlay of cliques.
    pub fn has_cliques(&self) -> bool {
        let planned = self.overlay.as_ref();
        planned.is_some_and(|planned| planned.overlay.groups().is_some())
    }

    /// The facts, for `meshfold plan --json`.
    pub fn summary(&self) -> PlanSummary<'_> {
        let overlay = self.overlay.as_ref();
        PlanSummary {
            id: &self.id,
            label: self.label(),
            example_shape: match self.dataset.input() {
                Input::Numbers(shape) => vec![shape.channels, shape.height, shape.width],
                Input::Tokens { window } => vec![window],
            },
            classes: self.dataset.classes(),
            clients: self.clients,
            rows: self.rows.count,
            parameters: self.parameters,
            memory_bytes: self.memory_bytes,
            local_steps_per_round: self.local_steps_per_round,
            bytes_per_round: self.bytes_per_round,
            multiply_adds: self.multiply_adds,
            lambda: overlay.and_then(|planned| planned.lambda()),
            lambda_of_period: overlay.and_then(|planned| planned.lambda_of_period()),
            overlay: overlay.map(|planned| &planned.summary),
        }
    }
}
