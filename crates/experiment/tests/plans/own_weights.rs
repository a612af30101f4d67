//! Mixing weights of a program's own, in a sweep over seeds.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, Own, RunPlan, plan};
use meshfold_topology::{MixingMatrix, Overlay, OwnWeights, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::YAML;

/// Each node gives each neighbour the same weight, which is drawn.
#[derive(Serialize, Deserialize)]
struct Drawn {}

impl OwnWeights for Drawn {
    fn matrix(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        even(overlay, rng.random_range(0.1..0.3))
    }
}

/// Each node gives each neighbour the same weight, which depends on the examples of node 0.
#[derive(Serialize, Deserialize)]
struct Informed {}

impl OwnWeights for Informed {
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let examples = overlay.examples().expect("clients hold examples");
        even(overlay, 1.0 / (4 + examples[0]) as f64)
    }
}

/// The matrix on a ring in which every neighbour has this weight.
fn even(overlay: &Overlay, weight: f64) -> Result<MixingMatrix, TopologyError> {
    let nodes = overlay.nodes();
    let rows = (0..nodes as u32).map(|node| {
        let neighbours = overlay.neighbours(node as usize).iter();
        let mut row: Vec<(u32, f64)> = neighbours.map(|other| (*other, weight)).collect();
        row.push((node, 1.0 - 2.0 * weight));
        row
    });
    MixingMatrix::from_rows(nodes, rows.collect())
}

fn plans(weights: &str, seeds: &str) -> Vec<RunPlan> {
    let yaml = YAML.replace(
        "{shards: {clients: 10}}",
        "{dirichlet: {clients: 10, alpha: 1}}",
    );
    let yaml = format!(
        "{yaml}weights: {{own: {{name: {weights}}}}}\nsweep: {{grid: {{seed: {seeds}}}}}\n"
    );
    let own = Own::new()
        .weights::<Drawn>("drawn")
        .weights::<Informed>("informed");
    let source = ExperimentSource::new("tiny.yaml", yaml).with_own(own);
    plan(&source, &DataFolder::new("nowhere")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_seed_has_the_same_weights_alone_and_in_a_sweep() {
    for weights in ["drawn", "informed"] {
        let matrix = |plan: &RunPlan| MixingMatrix::clone(&plan.overlay.as_ref().unwrap().matrix);
        let together: Vec<MixingMatrix> = plans(weights, "[1, 2]").iter().map(matrix).collect();
        let alone: Vec<MixingMatrix> = ["[1]", "[2]"]
            .iter()
            .map(|seed| matrix(&plans(weights, seed)[0]))
            .collect();
        assert_ne!(alone[0], alone[1], "{weights}");
        assert_eq!(together, alone, "{weights}");
    }
}
