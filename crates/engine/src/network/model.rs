//! Models as a configuration names them, and what is true of each.

// To add one: ARCHITECTURE.md, "Adding a model".
mod cnn_emnist;
mod dnn8;
mod gn_lenet;
mod lenet;
mod linear;
mod logistic;
mod lstm;
mod mlp;
mod resnet;
mod two_convolutions;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::cnn_emnist::CnnEmnist;
pub use self::dnn8::Dnn8;
pub use self::gn_lenet::{GnLenet, NormPlace};
use self::lenet::Lenet;
pub use self::linear::{Linear, Targets};
use self::logistic::{BinaryLogistic, Logistic};
pub use self::lstm::{CharLstm, Judged, WordLstm};
pub use self::mlp::{Head, Mlp};
pub use self::resnet::Resnet;
use self::two_convolutions::TwoConvolutions;
use super::layer::Window;
use super::loss::Loss;
use super::own_models::OwnModelName;
use super::sketch::Sketch;
use crate::error::EngineError;

/// A model as a configuration names it.
///
/// Initial weights are those of PyTorch's layers. Weights and biases of dense layers and convolutions are uniform in `±1/√n`, where `n` is
/// how many numbers an output sums over: the inputs of a dense layer; of a convolution the places of its window times the channels that
/// it reads. Those of long short-term memory are uniform in `±1/√h` with `h` units; each gate has one bias where PyTorch has two, of which
/// only the sum counts, and it starts as one of them does. Vectors of characters and words are normal with mean 0 and deviation 1. Factors
/// of group normalisation are 1 and its offsets 0. `start` says whether all clients have the same draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A linear map judged by its squared error.
    Linear(Linear),
    /// Multinomial logistic regression.
    Logistic,
    /// Logistic regression of two classes with one output `z`, the logit of the second: its sigmoid is that class's probability,
    /// cross-entropy its loss, and the class is the second if the sigmoid is above one half (DeceFL, SI 5.1).
    BinaryLogistic,
    /// Dense layers with ReLU between them.
    Mlp(Mlp),
    /// The network of DeceFL's experiments, with eight hidden layers.
    Dnn8(Dnn8),
    /// LeNet with group normalisation.
    GnLenet(GnLenet),
    /// Two convolutions of 5 × 5 with a border of 2 and 32 and 64 channels, each with ReLU and halved by a maximum of 2 × 2, and a hidden
    /// layer of 2048 units: P-FedAvg's network for FEMNIST.
    CnnFemnist,
    /// The same convolutions and a hidden layer of 512 units: P-FedAvg's network for CIFAR-10.
    CnnCifar,
    /// Two convolutions of 3 × 3 without a border with 32 and 64 channels, a maximum of 2 × 2, and a hidden layer of 128 units.
    /// Training steps leave out a quarter of what the maximum gives and half of the hidden units. It is the network for EMNIST of
    /// Reddi et al., Adaptive federated optimization (2021), which FedJAX and pfl-research ship.
    CnnEmnist,
    /// Two convolutions of 5 × 5 without a border with 6 and 16 channels, each halved by a maximum of 2 × 2, and hidden layers of
    /// 120 and 84 units: LeNet-5 (LeCun et al., 1998) with ReLU and maxima, as in PyTorch's and Flower's tutorials.
    Lenet,
    /// A residual network.
    Resnet(Resnet),
    /// A recurrent network that reads characters.
    CharLstm(CharLstm),
    /// A recurrent network that reads words.
    WordLstm(WordLstm),
    /// A model of the user's own, by its name.
    Own(#[schemars(with = "String")] OwnModelName),
}

impl Model {
    /// What is true of the model.
    ///
    /// # Errors
    /// [`EngineError::OwnModel`] for a model of the user's own, whose layers the engine does not know.
    pub(super) fn architecture(&self) -> Result<&dyn Architecture, EngineError> {
        Ok(match self {
            Self::Linear(linear) => linear,
            Self::Logistic => &Logistic,
            Self::BinaryLogistic => &BinaryLogistic,
            Self::Mlp(mlp) => mlp,
            Self::Dnn8(dnn8) => dnn8,
            Self::GnLenet(gn_lenet) => gn_lenet,
            Self::CnnFemnist => &TwoConvolutions { hidden: 2048 },
            Self::CnnCifar => &TwoConvolutions { hidden: 512 },
            Self::CnnEmnist => &CnnEmnist,
            Self::Lenet => &Lenet,
            Self::Resnet(resnet) => resnet,
            Self::CharLstm(lstm) => lstm,
            Self::WordLstm(lstm) => lstm,
            Self::Own(name) => {
                return Err(EngineError::OwnModel {
                    reason: format!("`{}` is no model of the engine's", name.name),
                });
            }
        })
    }
}

/// What is true of a model of the engine.
pub(super) trait Architecture {
    /// Whether the model reads tokens, not numbers. Then it has an output for each symbol of the text.
    fn reads_tokens(&self) -> bool {
        false
    }

    /// Whether what follows every token of a window is judged.
    fn judges_every_position(&self) -> bool {
        false
    }

    /// Checks the settings. What is multiplied or shifted by a setting in [`draw`](Self::draw) must not overflow.
    ///
    /// # Errors
    /// [`EngineError::ModelSetting`].
    fn check(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// The loss on examples of `classes` classes.
    ///
    /// # Errors
    /// [`EngineError::ModelSetting`] if it cannot judge so many classes.
    fn loss(&self, _classes: usize) -> Result<Loss, EngineError> {
        Ok(Loss::CrossEntropy)
    }

    /// Draws the layers. The last one has so many `outputs`, at each judged position. Called after [`check`](Self::check).
    fn draw(&self, sketch: &mut Sketch, outputs: usize);
}
