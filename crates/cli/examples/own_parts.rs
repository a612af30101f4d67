//! The program `meshfold` with a dataset, a partition, an overlay, mixing weights and a learning rate of its own.
//!
//! ```sh
//! cargo run --release -p meshfold --example own_parts -- run FILE
//! ```

use std::f64::consts::PI;
use std::process::ExitCode;
use std::sync::Arc;

use meshfold::Own;
use meshfold::data::{
    DataError, DataFolder, Examples, Labelled, OwnDataset, OwnPartition, PartitionError, Shape,
    Splits,
};
use meshfold::engine::{OwnSchedule, Per, Progress};
use meshfold::topology::{
    MixingMatrix, Nodes, Overlay, OverlayChange, OwnOverlay, OwnWeights, TopologyError, Weights,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Clouds of points around the corners of a cube: `dataset: {own: {name: clouds, examples: 2000}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clouds {
    /// Training examples; there are a tenth as many to test with.
    examples: usize,
    /// Features, of which class `k` has number `k` one higher.
    #[serde(default = "eight")]
    features: usize,
    #[serde(default)]
    seed: u64,
}

fn eight() -> usize {
    8
}

impl OwnDataset for Clouds {
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        if self.examples < 10 || self.features < 2 {
            return Err(DataError::Own {
                reason: "clouds need at least 10 examples and 2 features".to_owned(),
            });
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut draw = |count: usize| {
            let labels: Vec<u16> = (0..count).map(|i| (i % self.features) as u16).collect();
            let mut features = Vec::with_capacity(count * self.features);
            for label in &labels {
                for feature in 0..self.features {
                    let noise: f32 = StandardNormal.sample(&mut rng);
                    let centre = f32::from(u8::from(feature == usize::from(*label)));
                    features.push(centre + 0.3 * noise);
                }
            }
            let shape = Shape::flat(self.features);
            Examples::numbers(features, labels, shape, self.features).map(Arc::new)
        };
        Ok(Splits {
            train: draw(self.examples)?,
            test: draw(self.examples / 10)?,
            validation: None,
        })
    }
}

/// Client `i` holds the examples of labels `i` and `i + 1`: `partition: {own: {name: pairs, clients: 8}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    clients: usize,
}

impl OwnPartition for Pairs {
    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Vec<u32>>, PartitionError> {
        let mut order: Vec<u32> = (0..examples.examples as u32).collect();
        order.shuffle(rng);
        let mut clients = vec![Vec::new(); self.clients];
        for (place, example) in order.into_iter().enumerate() {
            let label = usize::from(examples.labels[example as usize]);
            clients[(label + place % 2) % self.clients].push(example);
        }
        Ok(clients)
    }

    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }
}

/// Every round half of the clients exchange in pairs: `topology: {own: {name: dating}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dating {
    /// Pairs for every client, at most one half.
    #[serde(default = "quarter")]
    pairs: f64,
}

fn quarter() -> f64 {
    0.25
}

impl OwnOverlay for Dating {
    fn overlay(
        &self,
        _draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError> {
        if !(0.0..=0.5).contains(&self.pairs) {
            let needed = "a share from 0 to 0.5";
            return Err(TopologyError::setting("own.pairs", self.pairs, needed));
        }
        let mut order: Vec<u32> = (0..nodes.count as u32).collect();
        order.shuffle(rng);
        let pairs = (self.pairs * nodes.count as f64) as usize;
        let pairs = order.chunks_exact(2).take(pairs);
        Overlay::from_edges(nodes.count, pairs.map(|pair| (pair[0], pair[1])))
    }

    fn change(&self) -> OverlayChange {
        OverlayChange::EachRound
    }

    fn edges(&self, nodes: usize) -> f64 {
        self.pairs * nodes as f64
    }
}

/// Metropolis-Hastings weights of which a share stays at home: `weights: {own: {name: lazy, share: 0.5}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lazy {
    share: f64,
}

impl OwnWeights for Lazy {
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let usual = Weights::default().matrix(overlay)?;
        let row = |i: usize| -> Vec<(u32, f64)> {
            let own = |j: u32| if j as usize == i { self.share } else { 0.0 };
            let weights = usual.row(i);
            weights
                .map(|(j, weight)| (j, (1.0 - self.share) * weight + own(j)))
                .collect()
        };
        MixingMatrix::from_rows(overlay.nodes(), (0..overlay.nodes()).map(row).collect())
    }
}

/// Half a cosine over the rounds: `learning_rate: {own: {name: cosine, initial: 0.1, rounds: 100}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cosine {
    initial: f64,
    rounds: f64,
}

impl OwnSchedule for Cosine {
    fn rate(&self, progress: &Progress) -> f64 {
        let share = (progress.rounds as f64 / self.rounds).min(1.0);
        self.initial * (1.0 + (PI * share).cos()) / 2.0
    }

    fn per(&self) -> Per {
        Per::Round
    }

    fn fault(&self) -> Option<&'static str> {
        let positive = self.initial > 0.0 && self.rounds >= 1.0;
        (!positive).then_some("cosine needs initial > 0 and rounds >= 1")
    }
}

/// What the program has of its own.
pub fn own() -> Own {
    Own::new()
        .dataset::<Clouds>("clouds")
        .partition::<Pairs>("pairs")
        .overlay::<Dating>("dating")
        .weights::<Lazy>("lazy")
        .schedule::<Cosine>("cosine")
}

fn main() -> ExitCode {
    meshfold::program(own())
}
