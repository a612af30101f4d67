//! Seeds of the parts of a run, so that one part can be drawn anew while the others stay.

use meshfold_engine::Purpose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The seeds of parts of a run. A part without one takes the seed of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Seeds {
    /// On which examples models are judged when not on all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<u64>,
    /// Who holds which example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u64>,
    /// The overlay and mixing weights that are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<u64>,
    /// The first models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Mini-batches, the units that dropout leaves out, and how images are augmented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<u64>,
    /// Who fails or falls behind, which messages are lost, and how fast the simulated network and its clients are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// What a method draws: participants, servers, walks, whom a client averages, rounding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<u64>,
}

impl Seeds {
    /// The seed of the part that draws for `purpose`; none if it takes that of the run.
    pub(crate) fn of(&self, purpose: Purpose) -> Option<u64> {
        match purpose {
            Purpose::Evaluation => self.data,
            Purpose::Partition => self.partition,
            Purpose::Overlay | Purpose::Weights => self.topology,
            Purpose::Initialisation => self.start,
            Purpose::Batches | Purpose::Dropout | Purpose::Augmentation => self.batches,
            Purpose::Failure | Purpose::Stragglers | Purpose::Network => self.failures,
            Purpose::Participation
            | Purpose::Quantisation
            | Purpose::Walk
            | Purpose::Aggregation
            | Purpose::Assignment => self.methods,
        }
    }

    /// Whether every part takes the seed of the run.
    pub(crate) fn are_absent(&self) -> bool {
        *self == Self::default()
    }
}
