//! `gn_lenet`: LeNet with group normalisation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, Sketch, Window};
use crate::error::EngineError;
use crate::network::checks::refuse;

/// Where [`gn_lenet`](GnLenet) normalises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormPlace {
    /// Convolution, maximum, normalisation, ReLU in the first layer; convolution, normalisation, maximum, ReLU in the
    /// others.
    #[default]
    AfterPool,
    /// Convolution, normalisation, ReLU, maximum throughout.
    BeforeRelu,
}

/// Parameters of [`Model::GnLenet`](super::Model::GnLenet).
///
/// Three convolutions of 5 × 5 (stride 1, a border of 2, with biases; 32, 32 and 64 channels), each with group normalisation in two groups
/// (1e-5 is added to the variance) and a maximum of 3 × 3 with stride 2, then one dense layer. On 3 × 32 × 32 it has 85,354 parameters.
///
/// # Source
/// D-Cliques, section 2.2: the GN-LeNet of Hsieh et al., The non-IID data quagmire of decentralized machine learning
/// (2020).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GnLenet {
    /// Places that a maximum may look beyond the border: 0 leaves 3 × 3 of 32 × 32 in the end, 1 leaves 4 × 4.
    pub pool_padding: usize,
    /// Where it normalises.
    pub norm: NormPlace,
}

impl Architecture for GnLenet {
    fn check(&self) -> Result<(), EngineError> {
        // A maximum over places of the border alone is of no number. PyTorch has the same limit.
        if self.pool_padding <= 1 {
            return Ok(());
        }
        let found = self.pool_padding.to_string();
        let needed = "at most 1, half the side of the 3 x 3 places under a maximum";
        refuse("pool_padding", "pool_padding", found, needed)
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        for (layer, channels) in [32, 32, 64].into_iter().enumerate() {
            sketch.convolution(channels, Window::square(5, 1, 2), true);
            let pool = Window::square(3, 2, self.pool_padding);
            match self.norm {
                NormPlace::AfterPool if layer == 0 => {
                    sketch.max_pool(pool);
                    sketch.group_norm(2);
                    sketch.relu();
                }
                NormPlace::AfterPool => {
                    sketch.group_norm(2);
                    sketch.max_pool(pool);
                    sketch.relu();
                }
                NormPlace::BeforeRelu => {
                    sketch.group_norm(2);
                    sketch.relu();
                    sketch.max_pool(pool);
                }
            }
        }
        sketch.dense(outputs, true);
    }
}
