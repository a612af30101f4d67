//! The runs that fit into a budget of time.

use std::collections::BTreeSet;

use crate::planned::{Planned, PlannedRow};

/// What one more seed of a row needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The row's place in [`Planned::rows`].
    pub row: usize,
    /// Which seed it is, from 0.
    pub seed: usize,
    /// Its runs.
    pub runs: Vec<usize>,
}

/// What the rows need: the first seeds of all rows, then the second ones, and so on. Within these, rows that tell more
/// come first, then those that take less time. `seconds` is what each run takes, 0 for a finished one.
pub fn tasks(planned: &Planned<'_>, seconds: &[f64]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for (index, row) in planned.rows.iter().enumerate() {
        for seed in 0.. {
            let runs = runs_of(row, seed);
            if runs.is_empty() {
                break;
            }
            tasks.push(Task {
                row: index,
                seed,
                runs,
            });
        }
    }
    let cost = |task: &Task| task.runs.iter().map(|run| seconds[*run]).sum::<f64>();
    let telling = |task: &Task| planned.rows[task.row].row.telling;
    tasks.sort_by(|one, other| {
        let order = one.seed.cmp(&other.seed);
        let order = order.then_with(|| telling(one).cmp(&telling(other)));
        order.then_with(|| cost(one).total_cmp(&cost(other)))
    });
    tasks
}

/// The runs that the values of a row take from one more seed, each once.
fn runs_of(row: &PlannedRow<'_>, seed: usize) -> Vec<usize> {
    let values = row
        .readings
        .iter()
        .flat_map(|reading| reading.values.values());
    let needed = values.filter(|value| value.read.needs_runs());
    let runs: BTreeSet<usize> = needed
        .filter_map(|value| value.runs.get(seed).copied())
        .collect();
    runs.into_iter().collect()
}

/// The runs of `tasks` in their order, each once, as far as they take `within` seconds. A task that does not fit is left out, and
/// those after it are still tried. Without `within` all are taken.
pub fn chosen(tasks: &[Task], seconds: &[f64], within: Option<f64>) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut taken = 0.0;
    for task in tasks {
        let new: Vec<usize> = task
            .runs
            .iter()
            .copied()
            .filter(|run| !chosen.contains(run))
            .collect();
        let more: f64 = new.iter().map(|run| seconds[*run]).sum();
        if within.is_none_or(|within| taken + more <= within) {
            taken += more;
            chosen.extend(new);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_do_not_fit_leave_room_for_others_and_shared_runs_cost_once() {
        let task = |row, runs: &[usize]| Task {
            row,
            seed: 0,
            runs: runs.to_vec(),
        };
        let tasks = [task(0, &[0, 1]), task(1, &[2]), task(2, &[1, 3])];
        let seconds = [10.0, 10.0, 100.0, 5.0];
        assert_eq!(chosen(&tasks, &seconds, Some(25.0)), [0, 1, 3]);
        assert_eq!(chosen(&tasks, &seconds, Some(24.0)), [0, 1]);
        assert_eq!(chosen(&tasks, &seconds, None), [0, 1, 2, 3]);
    }
}
