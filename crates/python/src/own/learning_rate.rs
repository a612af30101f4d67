//! Learning rates that are functions in Python.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use meshfold_engine::{OwnSchedule, Per, Progress, Restart};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::gate;

use super::traceback::raised;

/// Rates that are remembered, at most: those of the steps of a round, usually, in a few MB.
const MOST: usize = 1 << 16;

/// What a function may be one of, by the names of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Round,
    Steps,
    StepsInRound,
    Epochs,
    EpochsInRound,
}

impl Count {
    fn named(name: &str) -> PyResult<Self> {
        match name {
            "round" => Ok(Self::Round),
            "steps" => Ok(Self::Steps),
            "steps_in_round" => Ok(Self::StepsInRound),
            "epochs" => Ok(Self::Epochs),
            "epochs_in_round" => Ok(Self::EpochsInRound),
            _ => Err(PyValueError::new_err(format!("nothing counts `{name}`"))),
        }
    }

    fn of(self, progress: &Progress) -> u64 {
        match self {
            Self::Round => progress.rounds + 1,
            Self::Steps => progress.steps[0],
            Self::StepsInRound => progress.steps[1],
            Self::Epochs => progress.epochs[0],
            Self::EpochsInRound => progress.epochs[1],
        }
    }

    /// What a schedule of the engine counts by.
    fn counting(self) -> (Per, Restart) {
        match self {
            Self::Round => (Per::Round, Restart::Never),
            Self::Steps => (Per::Step, Restart::Never),
            Self::StepsInRound => (Per::Step, Restart::Round),
            Self::Epochs => (Per::Epoch, Restart::Never),
            Self::EpochsInRound => (Per::Epoch, Restart::Round),
        }
    }
}

/// A function of some counts. It is called once for each of their values, and its rates are remembered.
pub(super) struct RateByFunction {
    function: Py<PyAny>,
    counts: Vec<Count>,
    known: RwLock<HashMap<Vec<u64>, f64>>,
}

impl RateByFunction {
    /// `function(*counts)` returns the rate.
    ///
    /// # Errors
    /// If there is no such count.
    pub(super) fn new(function: Py<PyAny>, counts: &[String]) -> PyResult<Self> {
        let counts = counts.iter().map(|name| Count::named(name));
        Ok(Self {
            function,
            counts: counts.collect::<PyResult<_>>()?,
            known: RwLock::default(),
        })
    }

    /// The count that moves on most often, which the rate is said to be a function of.
    fn finest(&self) -> (Per, Restart) {
        let order = [
            Count::Steps,
            Count::Epochs,
            Count::StepsInRound,
            Count::EpochsInRound,
        ];
        let named = order.iter().find(|count| self.counts.contains(count));
        named.unwrap_or(&Count::Round).counting()
    }
}

impl OwnSchedule for RateByFunction {
    /// No number if the function fails, which [`Self::try_rate`] has told before.
    fn rate(&self, progress: &Progress) -> f64 {
        self.try_rate(progress).unwrap_or(f64::NAN)
    }

    fn try_rate(&self, progress: &Progress) -> Result<f64, String> {
        let counts = self.counts.iter().map(|count| count.of(progress));
        let counts: Vec<u64> = counts.collect();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = known.get(&counts) {
            return Ok(*rate);
        }
        drop(known);
        let rate = gate::attach(|py| -> PyResult<f64> {
            let function = self.function.bind(py);
            function.call1((counts.clone(),))?.extract()
        });
        let rate = rate.map_err(|error| raised(&error))?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(counts, rate);
        Ok(rate)
    }

    fn per(&self) -> Per {
        self.finest().0
    }

    fn restart(&self) -> Restart {
        self.finest().1
    }
}
