//! Dividing the runs of a sweep among processes.

use crate::plan::run_plan::RunPlan;

/// The cost of beginning and ending a run, in multiply-adds of one thread: about ten milliseconds.
const PER_RUN: f64 = 2.5e8;
/// The same for a round, however little there is to do.
const PER_ROUND: f64 = 2.5e5;
/// The same for a local step, however small the model is.
const PER_STEP: f64 = 2.5e4;

/// Divides `plans` into `parts` parts of about equal work. Returns the places of each part's runs, ascending. With more
/// parts than runs, some are empty.
///
/// Runs are dealt by size, the largest first, each to the part with the least work so far; among equals, to the part
/// with the smallest models, so that memory is level, too. The result depends on the plans alone: every process that
/// plans the same experiment finds the same parts.
pub fn divide(plans: &[RunPlan], parts: usize) -> Vec<Vec<usize>> {
    // The estimate of memory is that of a device; the size of the models is the same everywhere.
    let size = |plan: &RunPlan| plan.rows.count as u64 * plan.parameters as u64;
    let weights: Vec<(f64, u64)> = plans.iter().map(|plan| (work(plan), size(plan))).collect();
    divided(&weights, parts)
}

/// The work of a run in multiply-adds. It does not depend on the machine.
pub fn work(plan: &RunPlan) -> f64 {
    let rounds = plan.config.rounds as f64;
    let steps = rounds * plan.local_steps_per_round;
    plan.multiply_adds as f64 + PER_STEP * steps + PER_ROUND * rounds + PER_RUN
}

/// The places of `weights` (work, size of the models) in each part.
fn divided(weights: &[(f64, u64)], parts: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..weights.len()).collect();
    let by_size = |a: &usize, b: &usize| {
        let (a, b) = (weights[*a], weights[*b]);
        b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
    };
    places.sort_by(by_size);
    let mut loads = vec![(0.0_f64, 0_u64); parts];
    let mut divided = vec![Vec::new(); parts];
    for place in places {
        let least = (0..parts).min_by(|a, b| {
            let (a, b) = (loads[*a], loads[*b]);
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        let Some(least) = least else { break };
        loads[least].0 += weights[place].0;
        loads[least].1 = loads[least].1.saturating_add(weights[place].1);
        divided[least].push(place);
    }
    for part in &mut divided {
        part.sort_unstable();
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_part_and_parts_have_about_equal_work() {
        let weights: Vec<(f64, u64)> = (0..100_u64)
            .map(|run| (((run * 37) % 101 + 1) as f64, run % 7))
            .collect();
        for parts in [1, 2, 7, 16] {
            let divided = divided(&weights, parts);
            let mut all: Vec<usize> = divided.iter().flatten().copied().collect();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..100), "{parts}");
            let load = |part: &Vec<usize>| part.iter().map(|run| weights[*run].0).sum::<f64>();
            let loads: Vec<f64> = divided.iter().map(load).collect();
            let (least, most) = loads
                .iter()
                .fold((f64::MAX, 0.0_f64), |(l, m), x| (l.min(*x), m.max(*x)));
            assert!(most - least <= 5.0, "{loads:?}");
        }
    }

    #[test]
    fn of_parts_with_equal_work_the_one_with_smaller_models_gets_the_next_run() {
        let weights = [(4.0, 100), (4.0, 1), (1.0, 5)];
        assert_eq!(divided(&weights, 2), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn runs_that_are_alike_are_dealt_in_turn() {
        assert_eq!(divided(&[(1.0, 1); 5], 2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(divided(&[(1.0, 1)], 3), [vec![0], vec![], vec![]]);
        assert!(divided(&[(1.0, 1)], 0).is_empty());
    }
}
