//! Overlays under churn as a file asks for them.

use meshfold_topology::protocol::Churn;

use crate::config::error::ConfigError;
use crate::config::experiment::{take_sweep, values};
use crate::config::fault::ConfigFault;
use crate::config::label::value_label;
use crate::config::mistakes;
use crate::config::reader;
use crate::config::source::ExperimentSource;
use crate::config::sweep;
use crate::config::variation::joined;
use crate::config::written;
use crate::plan::memory;

/// Bytes that a node takes for each ring, and once besides. Measured: 110 to 330.
const NODE_BYTES: u64 = 350;

/// One simulation of an overlay under churn.
#[derive(Clone, Debug, PartialEq)]
pub struct ChurnRun {
    /// What is simulated; every value is checked.
    pub churn: Churn,
    /// The paths that the sweep sets in this simulation and a short text of each value; empty if there is no sweep.
    pub variation: Vec<(String, String)>,
}

impl ChurnRun {
    /// What sets the simulation apart in its sweep, such as `share=0.1`; its nodes if there is no sweep.
    pub fn label(&self) -> String {
        if self.variation.is_empty() {
            format!("{} nodes", self.churn.nodes)
        } else {
            joined(&self.variation)
        }
    }

    /// The configuration as YAML, defaults included.
    pub fn to_yaml(&self) -> String {
        written::yaml(&self.churn)
    }
}

/// All simulations that the text of `source` asks for, in the order of its sweep.
///
/// The keys are those of [`Churn`], and `sweep`, as experiments have it.
///
/// # Errors
/// [`ConfigError`] of the first value that is at fault, pointing at where it was written.
///
/// ```
/// use meshfold_experiment::{ExperimentSource, plan_churn};
///
/// let yaml = "
/// nodes: 300
/// spaces: 3
/// events: [{at_seconds: 5, fail: {share: 0.3}}]
/// until_seconds: 30
/// ";
/// let runs = plan_churn(&ExperimentSource::new("churn.yaml", yaml))?;
/// assert_eq!(runs[0].churn.timeout_seconds, 3.0);
///
/// let error = plan_churn(&ExperimentSource::new("churn.yaml", yaml.replace("0.3", "1.3"))).unwrap_err();
/// assert_eq!(error.to_string(), "events.0.fail.share is 1.3, needed a share above 0 and below 1");
/// assert_eq!(error.line(), Some(4));
/// # Ok::<(), meshfold_experiment::ConfigError>(())
/// ```
pub fn plan_churn(source: &ExperimentSource) -> Result<Vec<ChurnRun>, ConfigError> {
    read(source).map_err(|first| mistakes::all::<Churn>(source, first, |_| Vec::new()))
}

/// [`plan_churn`] up to the first mistake.
fn read(source: &ExperimentSource) -> Result<Vec<ChurnRun>, ConfigError> {
    let mut base = values(source)?;
    let variations = take_sweep(&mut base, source)?;
    let mut runs = Vec::new();
    for variation in &variations {
        let tree = sweep::run_of(&base, variation, source)?;
        let churn: Churn = reader::read(&tree, source).map_err(|error| error.knowing(&tree))?;
        let variation: Vec<(String, String)> = variation
            .iter()
            .map(|entry| (entry.key.clone(), value_label(&entry.value)))
            .collect();
        if let Err(error) = churn.check() {
            let place = tree.locate(&error.setting);
            let fault = ConfigFault::from(error);
            return Err(fault.at(source, place, "").in_run(&variation));
        }
        if let Some(fault) = too_large(&churn, memory::available()) {
            let place = tree.locate("nodes");
            return Err(fault.at(source, place, "nodes").in_run(&variation));
        }
        runs.push(ChurnRun { churn, variation });
    }
    Ok(runs)
}

/// What is wrong with a simulation that needs more than the `available` bytes.
fn too_large(churn: &Churn, available: Option<u64>) -> Option<ConfigFault> {
    let joins = churn.events.iter().filter_map(|event| event.join);
    let nodes = joins.fold(churn.nodes, |nodes, join| nodes.saturating_add(join.count));
    // Neighbours, and messages on their way, of each node on each ring.
    let needed = (nodes as u64)
        .saturating_mul(churn.spaces as u64 + 1)
        .saturating_mul(NODE_BYTES);
    let available = available.filter(|available| needed > *available)?;
    Some(ConfigFault::ChurnMemory {
        nodes,
        spaces: churn.spaces,
        needed,
        available,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_topology::protocol::{Latency, Start};

    const YAML: &str = "\
nodes: 20
spaces: 2
latency: {uniform: [20, 120]}
start: grown
events:
  - {at_seconds: 1, join: {count: 2}}
  - at_seconds: 5
    fail: {share: 0.1}
until_seconds: 20
";

    fn refused(yaml: &str) -> (String, Option<usize>) {
        let error = plan_churn(&ExperimentSource::new("c.yaml", yaml)).unwrap_err();
        (error.to_string(), error.line())
    }

    #[test]
    fn a_file_is_read_with_its_overrides_and_its_sweep() {
        let source = ExperimentSource::new("c.yaml", YAML)
            .with_overrides(["seed=7", "sweep.grid.events.1.fail.share=[0.2, 0.4]"]);
        let runs = plan_churn(&source).unwrap();
        let labels: Vec<String> = runs.iter().map(ChurnRun::label).collect();
        assert_eq!(labels, ["share=0.2", "share=0.4"]);
        let churn = &runs[1].churn;
        assert_eq!((churn.seed, churn.start), (7, Start::Grown));
        assert_eq!(churn.latency, Latency::Uniform([20.0, 120.0]));
        assert_eq!(churn.events[1].fail.unwrap().share, 0.4);
    }

    #[test]
    fn a_simulation_beyond_the_memory_is_refused_with_the_figure() {
        let runs = plan_churn(&ExperimentSource::new("c.yaml", YAML)).unwrap();
        // 22 nodes, two of which join later, on two rings.
        let needed = 22 * 3 * NODE_BYTES;
        assert!(too_large(&runs[0].churn, Some(needed)).is_none());
        assert!(too_large(&runs[0].churn, None).is_none());
        let fault = too_large(&runs[0].churn, Some(1 << 10)).unwrap();
        assert_eq!(
            fault.to_string(),
            "a simulation of 22 nodes on 2 rings needs about 22.6 KiB, 1.0 KiB are available"
        );
    }

    #[test]
    fn what_is_written_out_reads_as_the_same() {
        let runs = plan_churn(&ExperimentSource::new("c.yaml", YAML)).unwrap();
        let again = plan_churn(&ExperimentSource::new("c.yaml", runs[0].to_yaml())).unwrap();
        assert_eq!(runs, again);
    }

    #[test]
    fn mistakes_point_at_their_line() {
        for (old, new, message, line) in [
            ("spaces: 2", "spaecs: 2", "unknown key `spaecs`", 2),
            (
                "nodes: 20",
                "nodes: 1",
                "nodes is 1, needed 2 to 1000000 nodes",
                1,
            ),
            (
                "[20, 120]",
                "[-20, 120]",
                "latency.uniform is [-20, 120], needed two numbers of milliseconds, 0 or more, the smaller one first",
                3,
            ),
            (
                "start: grown",
                "start: gorwn",
                "start: unknown choice `gorwn`",
                4,
            ),
            (
                "share: 0.1",
                "share: 1",
                "events.1.fail.share is 1, needed a share above 0 and below 1",
                8,
            ),
            (
                "at_seconds: 5",
                "at_seconds: 0.5",
                "events.1.at_seconds is 0.5, needed 1 to 20 seconds, events in the order of time",
                7,
            ),
            (
                "join: {count: 2}",
                "jion: {count: 2}",
                "events.0: unknown key `jion`",
                6,
            ),
            (
                "{at_seconds: 1, join: {count: 2}}",
                "{at_seconds: 1}",
                "events.0 is without a change, needed exactly one of join, leave and fail",
                6,
            ),
        ] {
            let refused = refused(&YAML.replace(old, new));
            assert_eq!(refused, (message.to_owned(), Some(line)));
        }
    }
}
