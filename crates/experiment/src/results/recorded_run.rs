//! What a run left in its folder.

use std::collections::BTreeSet;
use std::path::PathBuf;

use meshfold_algorithms::RowKind;
use meshfold_topology::{Overlay, OverlaySummary, parse_edge_list};

use crate::config::budget::Budget;
use crate::figure_kind::reaches;
use crate::results::clients::last_evaluation::RowAccuracy;
use crate::results::data_digests::DataDigests;
use crate::results::holdings::Holdings;
use crate::results::metrics::evaluations::Evaluation;
use crate::results::results_error::ResultsError;
use crate::results::run_folder::ENVIRONMENT;
use crate::results::run_text::{expect_whole_lines, parsed};
use crate::results::settings::Settings;

/// One run as it stands on disk, finished or not.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Where it lies.
    pub folder: PathBuf,
    /// The folder's name.
    pub id: String,
    /// What `config.yaml` says.
    pub settings: Settings,
    /// The top-level settings that its sweep varies; none before the run has ended, or if there is no sweep.
    pub swept: BTreeSet<String>,
    /// In the order of their rounds.
    pub evaluations: Vec<Evaluation>,
    /// Number of clients, where the settings say it or the run has ended.
    pub clients: Option<usize>,
    /// Models between rounds, `R`: those of clients, servers or walkers. Known once the run has ended.
    pub rows: Option<usize>,
    /// Absent if the method uses no overlay, or the file was not written.
    /// Of overlays that change it is about the one in round 1.
    pub overlay_summary: Option<OverlaySummary>,
    /// Whether later rounds have other overlays than round 1.
    pub overlay_changes: bool,
    /// `λ` of an exchange over a period, the root of [`lambda_of_period`](Self::lambda_of_period), or over all draws of an overlay.
    pub lambda_per_exchange: Option<f64>,
    /// `λ` of the overlays of a period together, if they change, repeat, and it was found.
    pub lambda_of_period: Option<f64>,
    /// Parameters of a model, `P`, once the run has ended.
    pub parameters: Option<u64>,
    /// Seconds of processor time that it took, once it has ended; absent where runs shared the program.
    pub processor_seconds: Option<f64>,
    /// Whose models were judged, once the run has ended.
    pub models_of: Option<RowKind>,
    /// Ascending by row; empty if there is no `clients.parquet`.
    pub final_accuracies: Vec<RowAccuracy>,
    /// Whether it went through all its rounds.
    pub is_finished: bool,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// What whoever looks at the run should know of it, such as that it is not finished.
    pub notices: Vec<String>,
}

impl RecordedRun {
    /// The overlay, absent as its summary is. It is read when asked for: the edges of many runs can be much to hold. Those of
    /// a complete overlay are known without their list.
    ///
    /// # Errors
    /// As [`RecordedRun::read`].
    pub fn overlay(&self) -> Result<Option<Overlay>, ResultsError> {
        match &self.overlay_summary {
            Some(summary) if summary.is_complete() && !summary.directed => {
                Ok(Overlay::complete(summary.nodes).ok())
            }
            Some(summary) => parsed(&self.folder.join("overlay.edges"), |text| {
                overlay(summary, text)
            }),
            None => Ok(None),
        }
    }

    /// `λ` of an exchange: over a period of overlays that repeat or over the draws of one, if that is known; otherwise that of the overlay
    /// in round 1.
    pub fn lambda(&self) -> Option<f64> {
        let first = || self.overlay_summary.as_ref()?.lambda;
        self.lambda_per_exchange.or_else(first)
    }

    /// Whether [`lambda`](Self::lambda) is that of the overlay in round 1 alone, though later rounds have others.
    pub fn lambda_is_of_round_1(&self) -> bool {
        self.overlay_changes && self.lambda_per_exchange.is_none()
    }

    /// Who owns how many examples of what, if that was written.
    ///
    /// # Errors
    /// As [`RecordedRun::read`].
    pub fn partition(&self) -> Result<Option<Holdings>, ResultsError> {
        let clients = self.clients.unwrap_or(0);
        parsed(&self.folder.join("partition.csv"), |text| {
            expect_whole_lines(text)?;
            Holdings::parse(text, clients)
        })
    }

    /// SHA-256 of the training examples and of the test examples, if they were written. Runs with the same settings of the dataset
    /// differ in them where a file was replaced.
    pub fn examples(&self) -> Option<[String; 2]> {
        let data = DataDigests::recorded(&self.folder.join(ENVIRONMENT))?;
        Some([data.train, data.test])
    }

    /// Whether the last evaluation is that of the run's end: after its last round, or where its budget is spent or its targets are reached.
    pub(crate) fn is_at_its_end(&self) -> bool {
        let Some(last) = self.last() else {
            return false;
        };
        let spent = (last.simulated_seconds, last.bytes_total);
        let is_spent = |budget: Budget| {
            budget.is_spent(spent.0.unwrap_or_default(), spent.1.unwrap_or_default())
        };
        let accuracy = last.test_accuracy.mean;
        let has_reached = || accuracy.is_some_and(|mean| self.settings.evaluate().ends_at(mean));
        let is_last = Some(last.round) == self.settings.rounds();
        is_last || self.settings.budget().is_some_and(is_spent) || has_reached()
    }

    /// Whether the last evaluation was made on other test examples than those before (`evaluate.last`).
    pub fn ends_on_other_examples(&self) -> bool {
        let evaluate = self.settings.get("evaluate");
        let last = evaluate.get("last").filter(|last| !last.is_null());
        self.is_at_its_end() && last.is_some_and(|last| evaluate.get("examples") != Some(last))
    }

    /// The first evaluation at which the mean accuracy was at least `target`, of those on the same test examples.
    pub fn reaching(&self, target: f64) -> Option<&Evaluation> {
        let alike = self.evaluations.len() - usize::from(self.ends_on_other_examples());
        let mut evaluations = self.evaluations[..alike].iter();
        evaluations.find(|evaluation| {
            let mean = evaluation.test_accuracy.mean;
            mean.is_some_and(|mean| reaches("test_accuracy", mean, target))
        })
    }

    /// The last evaluation.
    pub fn last(&self) -> Option<&Evaluation> {
        self.evaluations.last()
    }
}

/// The overlay that `text` lists, which must have the figures of its summary.
fn overlay(summary: &OverlaySummary, text: &str) -> Result<Overlay, String> {
    expect_whole_lines(text)?;
    let pairs = parse_edge_list(text).map_err(|error| error.to_string())?;
    let (found, edges) = (pairs.len(), summary.edges);
    if found != edges {
        return Err(format!(
            "it lists {found} edges, overlay.json counts {edges}"
        ));
    }
    let read = match summary.directed {
        true => Overlay::directed(summary.nodes, pairs),
        false => Overlay::from_edges(summary.nodes, pairs),
    };
    read.map_err(|error| error.to_string())
}
