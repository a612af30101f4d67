//! Figures for print of what is planned: partitions and overlays.

mod overlays;
mod partitions;

use meshfold_comparison::{Naming, TableError, panel_titles};
use meshfold_data::DataError;
use meshfold_experiment::RunPlan;
use meshfold_figure::{Drawing, PageError};

pub use overlays::overlays;
pub(crate) use partitions::different;
pub use partitions::partitions;

/// The most panels of a figure.
const MOST_PANELS: usize = 12;

/// A figure, and what a reader must know.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The page.
    pub drawing: Drawing,
    /// How many panels there are.
    pub panels: usize,
    /// What is not drawn.
    pub notes: Vec<String>,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Words were asked for a name that stands for nothing.
    #[error(transparent)]
    Names(#[from] TableError),
    /// There is no such page.
    #[error(transparent)]
    Page(#[from] PageError),
    /// No run has what is to be drawn.
    #[error("found no overlay: the method exchanges over none")]
    NoOverlay,
    /// The overlay of a round cannot be built.
    #[error("{run}, round {round}: {error}")]
    Overlay {
        /// What sets the run apart in its sweep.
        run: String,
        /// Counted from 1.
        round: usize,
        /// Why.
        error: meshfold_topology::TopologyError,
    },
    /// Some examples have labels and others are of a text.
    #[error(
        "found partitions of labels and of texts, which have no axes in common; draw the runs of one dataset"
    )]
    Unlike,
    /// There are too many panels.
    #[error(
        "found {found} {what}, needed at most {MOST_PANELS}: a figure has a panel for each; leave values of the sweep out"
    )]
    Panels {
        /// How many there would be.
        found: usize,
        /// What they show.
        what: &'static str,
    },
}

/// What sets each of the plans that are `shown` apart from the others, with the words that were `asked` for.
fn titles(shown: &[&RunPlan], asked: &[Naming]) -> Result<Vec<String>, DrawError> {
    let settings = shown.iter().map(|plan| plan.settings_among(shown));
    Ok(panel_titles(asked, &settings.collect::<Vec<_>>())?)
}

/// Requires that so many panels are drawn at most.
fn expect_few(found: usize, what: &'static str) -> Result<(), DrawError> {
    match found <= MOST_PANELS {
        true => Ok(()),
        false => Err(DrawError::Panels { found, what }),
    }
}
