//! Figures of a run's overlay as figures of the run, which tables and figures name.

use meshfold_experiment::results::RecordedRun;

use crate::column::Column;

/// A figure of the overlay of a run. Of an overlay that changes it is that of round 1, unless it follows from λ.
pub(crate) struct OverlayFigure {
    pub(crate) name: &'static str,
    /// What is written along an axis.
    pub(crate) title: &'static str,
    /// What it means.
    about: &'static str,
    of: fn(&RecordedRun) -> Option<f64>,
    /// Whether it is about round 1 alone, though the overlay of a run changes.
    pub(crate) is_of_round_1: fn(&RecordedRun) -> bool,
}

static ALL: [OverlayFigure; 6] = [
    OverlayFigure {
        name: "lambda",
        title: "λ",
        about: "λ of an exchange: over the period or the draws of an overlay that changes, if that is known, otherwise that of the overlay in round 1.",
        of: RecordedRun::lambda,
        is_of_round_1: RecordedRun::lambda_is_of_round_1,
    },
    OverlayFigure {
        name: "gap",
        title: "Spectral gap 1 − λ",
        about: "Spectral gap 1 − λ, of the same λ.",
        of: |run| Some(1.0 - run.lambda()?),
        is_of_round_1: RecordedRun::lambda_is_of_round_1,
    },
    OverlayFigure {
        name: "mean_degree",
        title: "Mean degree",
        about: "Mean number of neighbours on the overlay, of one that changes in round 1.",
        of: |run| Some(run.overlay_summary.as_ref()?.degree.mean),
        is_of_round_1: |run| run.overlay_changes,
    },
    OverlayFigure {
        name: "diameter",
        title: "Diameter",
        about: "Most edges on a shortest path between two nodes of the overlay, of one that changes in round 1.",
        of: |run| Some(run.overlay_summary.as_ref()?.diameter? as f64),
        is_of_round_1: |run| run.overlay_changes,
    },
    OverlayFigure {
        name: "mean_distance",
        title: "Mean distance",
        about: "Mean number of edges on the shortest paths between nodes of the overlay, of one that changes in round 1.",
        of: |run| run.overlay_summary.as_ref()?.mean_distance,
        is_of_round_1: |run| run.overlay_changes,
    },
    OverlayFigure {
        name: "clustering",
        title: "Clustering coefficient",
        about: "Mean clustering coefficient of the nodes of the overlay, of one that changes in round 1.",
        of: |run| run.overlay_summary.as_ref()?.clustering,
        is_of_round_1: |run| run.overlay_changes,
    },
];

impl OverlayFigure {
    /// All, in the order of their columns.
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    /// The one that is called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|figure| figure.name == name)
    }

    /// Its value; none without an overlay, or where it is not known.
    pub(crate) fn value(&self, run: &RecordedRun) -> Option<f64> {
        (self.of)(run)
    }

    pub(crate) fn column(&self) -> Column {
        Column::number(self.name, self.about)
    }
}
