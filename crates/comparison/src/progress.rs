//! How far a run is, in one of several measures.

use meshfold_experiment::results::{Figures, Holdings, RecordedRun};

use crate::error::TableError;

/// What measures how far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Communication rounds.
    Rounds,
    /// Local steps of all rows.
    Steps,
    /// Training examples seen, divided by those that the clients hold.
    Epochs,
    /// Training examples seen by all rows.
    Examples,
    /// Bytes sent.
    Bytes,
    /// Seconds on the simulated network.
    Seconds,
}

/// The name under which epochs are added to the figures of a run.
const EPOCHS: &str = "epochs";

impl Progress {
    /// The figure that holds it.
    pub(crate) fn figure(self) -> &'static str {
        match self {
            Self::Rounds => "round",
            Self::Steps => "local_steps",
            Self::Epochs => EPOCHS,
            Self::Examples => "examples_seen",
            Self::Bytes => "bytes_total",
            Self::Seconds => "simulated_seconds",
        }
    }

    /// Adds what the records of `run` do not hold themselves.
    ///
    /// # Errors
    /// What stands in the way of reading the run's partition.
    pub(crate) fn complete(
        self,
        run: &RecordedRun,
        figures: &mut [Figures],
    ) -> Result<(), TableError> {
        if self != Self::Epochs {
            return Ok(());
        }
        let held = run.partition()?.as_ref().map_or(0, Holdings::examples);
        for figures in figures.iter_mut().filter(|_| held > 0) {
            let seen = figures.get("examples_seen").copied();
            figures.extend(seen.map(|seen| (EPOCHS.to_owned(), seen / held as f64)));
        }
        Ok(())
    }
}
