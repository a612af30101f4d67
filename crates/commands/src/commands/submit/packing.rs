//! Which runs go into one job, and which jobs into one array.

use std::collections::BTreeMap;

use meshfold_experiment::{RunPlan, divide};

/// Seconds that a job should take, by the estimate: long beside what the scheduler takes, short beside a time limit.
const SECONDS: f64 = 1200.0;

/// Bytes below which runs are not told apart by their memory.
const SMALL: u64 = 512 << 20;

/// How runs are packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    /// Runs that go side by side in a job.
    pub(super) runs_at_once: usize,
    /// Jobs asked for.
    pub(super) jobs: Option<usize>,
    /// Most jobs at the same time.
    pub(super) jobs_at_once: Option<usize>,
    /// Most elements of an array.
    pub(super) most_elements: usize,
}

/// A job array: jobs that need the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobArray {
    /// The ids of the runs of each job.
    pub(super) elements: Vec<Vec<String>>,
    /// Runs that go side by side in a job.
    pub(super) runs_at_once: usize,
    /// Estimate of the bytes that a job takes.
    pub(super) memory: u64,
}

impl JobArray {
    /// A line for each job: the ids of its runs.
    pub(super) fn lines(&self) -> Vec<String> {
        self.elements.iter().map(|runs| runs.join(",")).collect()
    }

    pub(super) fn runs(&self) -> usize {
        self.elements.iter().map(Vec::len).sum()
    }
}

impl Packing {
    /// Packs `plans`. Runs that take about the same memory share arrays, so that small ones need not ask for what large ones
    /// take; the jobs of an array have about equal work.
    pub(super) fn pack(&self, plans: &[RunPlan]) -> Vec<JobArray> {
        let mut by_memory: BTreeMap<u64, Vec<RunPlan>> = BTreeMap::new();
        for plan in plans {
            let class = plan.memory_bytes.max(SMALL).checked_next_power_of_two();
            by_memory
                .entry(class.unwrap_or(u64::MAX))
                .or_default()
                .push(plan.clone());
        }
        let all: f64 = plans.iter().map(|plan| plan.seconds).sum();
        let mut arrays = Vec::new();
        for plans in by_memory.into_values() {
            let own: f64 = plans.iter().map(|plan| plan.seconds).sum();
            arrays.extend(self.arrays(&plans, if all > 0.0 { own / all } else { 1.0 }));
        }
        arrays
    }

    /// The job arrays of `plans`, whose work is this `share` of all work.
    fn arrays(&self, plans: &[RunPlan], share: f64) -> Vec<JobArray> {
        let seconds: f64 = plans.iter().map(|plan| plan.seconds).sum();
        let jobs = self.jobs_for(plans.len(), seconds, share);
        let parts = divide(plans, jobs);
        let ids = |part: &Vec<usize>| part.iter().map(|run| plans[*run].id.clone()).collect();
        let elements: Vec<Vec<String>> = parts.iter().map(ids).collect();
        let largest = plans
            .iter()
            .map(|plan| plan.memory_bytes)
            .max()
            .unwrap_or(0);
        let array = |elements: &[Vec<String>]| {
            let most = elements.iter().map(Vec::len).max().unwrap_or(1);
            let runs_at_once = most.min(self.runs_at_once);
            let runs = largest.saturating_mul(runs_at_once as u64);
            JobArray {
                elements: elements.to_vec(),
                runs_at_once,
                memory: runs.saturating_add(runs / 4),
            }
        };
        elements.chunks(self.most_elements).map(array).collect()
    }

    /// The number of jobs for `runs` runs that take `seconds` and are a `share` of all work.
    fn jobs_for(&self, runs: usize, seconds: f64, share: f64) -> usize {
        let of_share = |jobs: usize| (jobs as f64 * share).round() as usize;
        let by_work = (seconds / SECONDS).ceil() as usize;
        let jobs = match (self.jobs, self.jobs_at_once) {
            (Some(jobs), _) => of_share(jobs),
            (None, Some(at_once)) => by_work.max(of_share(at_once)),
            (None, None) => by_work,
        };
        jobs.clamp(1, runs.max(1))
    }

    /// How many elements of each of `arrays` job arrays may run at the same time.
    pub(super) fn at_once(&self, arrays: usize) -> Option<usize> {
        self.jobs_at_once.map(|most| (most / arrays.max(1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_data::DataFolder;
    use meshfold_experiment::{ExperimentSource, plan};

    fn plans(runs: usize) -> Vec<RunPlan> {
        let seeds: Vec<String> = (1..=runs).map(|seed| seed.to_string()).collect();
        let yaml = format!(
            "name: tiny\ndataset: {{glyphs: {{train: 60, test: 10}}}}\npartition: {{iid: {{clients: 3}}}}\ntopology: ring\n\
             model: logistic\nalgorithm: {{dsgd: {{batch_size: 20, learning_rate: 0.05}}}}\nrounds: 5\n\
             sweep: {{grid: {{seed: [{}]}}}}\n",
            seeds.join(", ")
        );
        plan(
            &ExperimentSource::new("tiny.yaml", yaml),
            &DataFolder::new("unused"),
        )
        .unwrap()
    }

    fn packing() -> Packing {
        Packing {
            runs_at_once: 4,
            jobs: None,
            jobs_at_once: None,
            most_elements: 1001,
        }
    }

    #[test]
    fn small_runs_share_a_job() {
        let plans = plans(30);
        let arrays = packing().pack(&plans);
        let [array] = arrays.as_slice() else {
            panic!("{arrays:?}")
        };
        assert_eq!((array.elements.len(), array.runs()), (1, 30));
        assert_eq!(array.runs_at_once, 4);
        let run = plans[0].memory_bytes;
        assert_eq!(array.memory, 5 * run, "four at once, and a quarter more");
    }

    #[test]
    fn work_of_hours_is_spread_over_jobs() {
        let mut plans = plans(30);
        for plan in &mut plans {
            plan.seconds = 600.0;
        }
        assert_eq!(packing().pack(&plans)[0].elements.len(), 15);
        let asked = |jobs, jobs_at_once| Packing {
            jobs,
            jobs_at_once,
            ..packing()
        };
        assert_eq!(asked(Some(7), None).pack(&plans)[0].elements.len(), 7);
        assert_eq!(asked(None, Some(20)).pack(&plans)[0].elements.len(), 20);
        assert_eq!(asked(None, Some(5)).pack(&plans)[0].elements.len(), 15);
        assert_eq!(asked(Some(100), None).pack(&plans)[0].elements.len(), 30);
    }

    #[test]
    fn arrays_stay_below_what_the_site_allows() {
        let plans = plans(30);
        let packing = Packing {
            jobs: Some(30),
            jobs_at_once: Some(6),
            most_elements: 12,
            ..packing()
        };
        let arrays = packing.pack(&plans);
        let sizes: Vec<usize> = arrays.iter().map(|array| array.elements.len()).collect();
        assert_eq!(sizes, [12, 12, 6]);
        assert_eq!(packing.at_once(arrays.len()), Some(2));
    }

    #[test]
    fn large_runs_do_not_raise_what_small_ones_ask_for() {
        let mut plans = plans(8);
        plans[3].memory_bytes = 40 << 30;
        let arrays = packing().pack(&plans);
        assert_eq!(arrays.len(), 2);
        assert_eq!(arrays[0].runs(), 7);
        assert_eq!(arrays[1].elements, [[plans[3].id.clone()]]);
        assert_eq!(arrays[1].memory, 50 << 30);
    }
}
