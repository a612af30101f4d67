//! Models as a configuration names them.

use super::own_models::OwnModelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model as a configuration names it.
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
    /// Two convolutions of 5 × 5 with 32 and 64 channels, each halved by a maximum of 2 × 2, and a hidden layer of 2048
    /// units: P-FedAvg's network for FEMNIST.
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

/// What the outputs of a [`linear`](Linear) model are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// One output per class: one for the label, zero for the others.
    #[default]
    OneHot,
    /// One output: the label as a number. The labels of a table, and texts in an array, are numbered in their order: what is learnt is the
    /// place of the label, from 0.
    Value,
}

/// Parameters of [`Model::Linear`]: `½ ‖W x + b − target‖²` per example.
///
/// The loss of a client is a quadratic whose curvature and minimum are those of its own examples.
///
/// # Source
/// DeceFL, Supplementary Information, section 4 (16) and its example 4.5, which has one weight and no bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// What the outputs are compared with.
    pub targets: Targets,
    /// Whether every output has a bias.
    pub bias: bool,
}

impl Default for Linear {
    fn default() -> Self {
        Self {
            targets: Targets::OneHot,
            bias: true,
        }
    }
}

/// What the outputs of a network say of the classes.
///
/// # Source
/// DeceFL, Supplementary Information, section 5.1: a sigmoid in the output layer for two classes, softmax for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// One output per class, the logits of a softmax.
    #[default]
    Softmax,
    /// One output, the logit of the second of two classes.
    Sigmoid,
}

impl Head {
    /// Whether a configuration need not say it.
    #[must_use]
    pub fn is_softmax(&self) -> bool {
        *self == Self::Softmax
    }
}

/// Parameters of [`Model::Mlp`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Width of each hidden layer.
    pub hidden: Vec<usize>,
    /// Share of the hidden units that a training step leaves out, in `[0, 1)`.
    #[serde(default)]
    pub dropout: f32,
    /// What the outputs say of the classes; `sigmoid` is for data of two.
    #[serde(default, skip_serializing_if = "Head::is_softmax")]
    #[schemars(extend("default" = "softmax"))]
    pub head: Head,
}

/// Parameters of [`Model::Dnn8`]: hidden layers of 256, 512, 512, 256, 256, 128, 128 and 64 units, each with ReLU and
/// dropout. Two classes have one output, the logit of the second.
///
/// # Source
/// DeceFL, Supplementary Information, section 5.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dnn8 {
    /// Share of the hidden units that a training step leaves out, in `[0, 1)`.
    pub dropout: f32,
}

impl Default for Dnn8 {
    fn default() -> Self {
        Self { dropout: 0.3 }
    }
}

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

/// Parameters of [`Model::GnLenet`]: three convolutions of 5 × 5 (padding 2; 32, 32 and 64 channels), each with group
/// normalisation in two groups and a maximum of 3 × 3 with stride 2, then one dense layer. On 3 × 32 × 32 it has 85,354
/// parameters.
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

/// Parameters of [`Model::Resnet`]: a convolution of 3 × 3, then four stages of residual blocks of two such convolutions,
/// each stage after the first with twice the channels on half the grid, group normalisation after every convolution,
/// the mean over the grid and one dense layer. Signals (of height 1) have windows of 3 in place of 3 × 3.
///
/// # Source
/// He et al., Deep residual learning for image recognition (2016), in the form for small images: no maximum and no stride
/// before the first stage. Wu and He, Group normalization (2018).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resnet {
    /// Layers: 10 has one block per stage, 18 has two.
    pub depth: usize,
    /// Channels of the first stage.
    pub width: usize,
    /// Groups that channels are normalised in.
    pub groups: usize,
}

impl Default for Resnet {
    fn default() -> Self {
        Self {
            depth: 18,
            width: 64,
            groups: 32,
        }
    }
}

impl Resnet {
    /// Blocks of each of the four stages, which have two layers each: the first convolution and the dense layer are the
    /// other two.
    pub(crate) fn blocks_per_stage(&self) -> usize {
        self.depth.saturating_sub(2) / 8
    }
}

/// Which positions of a window a recurrent network is judged on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// What follows every token of the window is to be foretold, from those before it.
    EveryPosition,
    /// What follows the window alone.
    Last,
}

impl Judged {
    /// Whether every position counts.
    pub(crate) fn judges_every_position(self) -> bool {
        self == Self::EveryPosition
    }
}

/// Parameters of [`Model::CharLstm`]: a vector per character, layers of long short-term memory and one dense layer. With
/// 90 characters it has 820,522 parameters.
///
/// # Source
/// McMahan et al., Communication-efficient learning (2017), section 3: two layers of 256 nodes on an embedding of 8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CharLstm {
    /// Length of a character's vector.
    pub embedding: usize,
    /// Units of a layer.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// What is judged.
    pub loss: Judged,
}

impl Default for CharLstm {
    fn default() -> Self {
        Self {
            embedding: 8,
            hidden: 256,
            layers: 2,
            loss: Judged::EveryPosition,
        }
    }
}

/// Parameters of [`Model::WordLstm`]: as [`CharLstm`] with words, a vector of 128 each.
///
/// # Source
/// DFedRW, section VI-F, and LEAF (Caldas et al., 2018): the next word of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WordLstm {
    /// Length of a word's vector.
    pub embedding: usize,
    /// Units of a layer.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// What is judged.
    pub loss: Judged,
}

impl Default for WordLstm {
    fn default() -> Self {
        Self {
            embedding: 128,
            hidden: 256,
            layers: 2,
            loss: Judged::Last,
        }
    }
}

/// Hidden layers of [`Dnn8`].
const DNN8: [usize; 8] = [256, 512, 512, 256, 256, 128, 128, 64];

impl Model {
    /// Widths of the hidden layers of a network of dense layers.
    pub(crate) fn hidden(&self) -> &[usize] {
        match self {
            Self::Mlp(mlp) => &mlp.hidden,
            Self::Dnn8(_) => &DNN8,
            Self::Linear(_)
            | Self::Logistic
            | Self::BinaryLogistic
            | Self::GnLenet(_)
            | Self::CnnFemnist
            | Self::CnnCifar
            | Self::CnnEmnist
            | Self::Lenet
            | Self::Resnet(_)
            | Self::CharLstm(_)
            | Self::WordLstm(_)
            | Self::Own(_) => &[],
        }
    }

    /// Share of the hidden units that a training step leaves out of a network of dense layers.
    pub(crate) fn dropout(&self) -> f32 {
        match self {
            Self::Mlp(mlp) => mlp.dropout,
            Self::Dnn8(dnn) => dnn.dropout,
            Self::Linear(_)
            | Self::Logistic
            | Self::BinaryLogistic
            | Self::GnLenet(_)
            | Self::CnnFemnist
            | Self::CnnCifar
            | Self::CnnEmnist
            | Self::Lenet
            | Self::Resnet(_)
            | Self::CharLstm(_)
            | Self::WordLstm(_)
            | Self::Own(_) => 0.0,
        }
    }

    /// Whether the model reads tokens, not numbers.
    pub(crate) fn reads_tokens(&self) -> bool {
        match self {
            Self::CharLstm(_) | Self::WordLstm(_) => true,
            Self::Linear(_)
            | Self::Logistic
            | Self::BinaryLogistic
            | Self::Mlp(_)
            | Self::Dnn8(_)
            | Self::GnLenet(_)
            | Self::CnnFemnist
            | Self::CnnCifar
            | Self::CnnEmnist
            | Self::Lenet
            | Self::Resnet(_)
            | Self::Own(_) => false,
        }
    }

    /// Whether what follows every token of a window is judged.
    pub(crate) fn judges_every_position(&self) -> bool {
        match self {
            Self::CharLstm(lstm) => lstm.loss.judges_every_position(),
            Self::WordLstm(lstm) => lstm.loss.judges_every_position(),
            Self::Linear(_)
            | Self::Logistic
            | Self::BinaryLogistic
            | Self::Mlp(_)
            | Self::Dnn8(_)
            | Self::GnLenet(_)
            | Self::CnnFemnist
            | Self::CnnCifar
            | Self::CnnEmnist
            | Self::Lenet
            | Self::Resnet(_)
            | Self::Own(_) => false,
        }
    }
}
