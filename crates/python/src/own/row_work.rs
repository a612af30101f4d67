//! What the rows of a call are to do: who they work for, and for how many steps.

use meshfold_algorithms::Round;
use meshfold_algorithms::training::Training;
use meshfold_engine::{Amount, RowWork};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::number_lists::{all_clients, each_bool, each_row, one_or_each, up_to};

/// What a method asks of the rows of a stack. It is checked.
pub(super) struct RowRequest {
    /// The client that each row works for; row `i` for client `i` if absent.
    clients: Option<Vec<u32>>,
    /// Local steps of each row; those of the configuration if absent.
    steps: Option<Vec<u32>>,
    /// Which rows do anything; all if absent.
    chosen: Option<Vec<bool>>,
}

/// The most local steps that one call may ask for: more are a difference of unsigned numbers that wrapped around.
const MOST_STEPS: u32 = i32::MAX as u32;

/// `numbers` as local steps, one for each row or client, which is called `each`; `verb` was given them.
pub(super) fn whole_steps(numbers: &[i128], verb: &str, each: &str) -> PyResult<Vec<u32>> {
    up_to(MOST_STEPS, numbers, &format!("{verb}: `steps`"), each)
}

impl RowRequest {
    /// What `clients` and `steps` ask of `rows` rows. There are `count` clients.
    pub(super) fn read(
        verb: &str,
        rows: usize,
        count: usize,
        clients: Option<&Bound<'_, PyAny>>,
        steps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let clients = clients
            .map(|clients| {
                let name = format!("{verb}: `clients`");
                all_clients(&each_row(clients, &name, rows)?, &name, count)
            })
            .transpose()?;
        if clients.is_none() && rows != count {
            return Err(PyValueError::new_err(format!(
                "{verb}: the stack has {rows} rows, but there are {count} clients: say by `clients` whose examples each row is for"
            )));
        }
        let steps = steps.map(|steps| {
            let numbers = one_or_each(steps, &format!("{verb}: `steps`"), rows, "row")?;
            whole_steps(&numbers, verb, "row")
        });
        Ok(Self {
            clients,
            steps: steps.transpose()?,
            chosen: None,
        })
    }

    /// The local steps of the configuration, of rows that work for `clients`; of row `i` for client `i` if absent.
    pub(super) fn of_clients(clients: Option<Vec<u32>>) -> Self {
        Self {
            clients,
            steps: None,
            chosen: None,
        }
    }

    /// The same of the rows alone that `chosen` names, `[R]`; of all if it is absent.
    pub(super) fn only(
        self,
        verb: &str,
        rows: usize,
        chosen: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let chosen = chosen.map(|chosen| each_bool(chosen, &format!("{verb}: `rows`"), rows));
        Ok(Self {
            chosen: chosen.transpose()?,
            ..self
        })
    }

    /// The client that each row is for. There are `count` clients.
    pub(super) fn clients(&self, count: usize) -> Vec<u32> {
        let all = || (0..count as u32).collect();
        self.clients.clone().unwrap_or_else(all)
    }

    /// The work of each row in `round`: clients that take no part are idle, stragglers as far as they come.
    pub(super) fn rows(&self, round: &mut Round<'_>, training: &Training) -> Vec<RowWork> {
        let clients = self.clients(round.alive.len());
        let amount = |row: usize| match &self.steps {
            None => training.local.amount(),
            Some(steps) if steps[row] == 0 => Amount::Idle,
            Some(steps) => Amount::Steps(steps[row]),
        };
        let work = |(row, client)| RowWork {
            client,
            amount: amount(row),
        };
        let rows = clients.into_iter().enumerate().map(work).collect();
        let mut rows = round.rows_alive(rows, training);
        // Who falls behind does not depend on the rows that a call is for.
        for (row, chosen) in rows.iter_mut().zip(self.chosen.iter().flatten()) {
            if !chosen {
                row.amount = Amount::Idle;
            }
        }
        rows
    }
}
