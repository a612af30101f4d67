//! The engine of Meshfold: every client's model in one stack, trained and mixed as one.
//!
//! A [`Stack`] holds all `R` model copies of a run as one `[R, P]` array on a [`Device`]. A [`Learner`] holds the
//! examples, who owns which of them, and the model; its [`Learner::train`] runs the local steps of all rows without
//! leaving the device, and [`Stack::mix`] averages rows over an overlay. On the processor the rows are trained in
//! blocks that stay in cache; on a GPU (feature `gpu`) as batched products. Both give the same models within f32
//! rounding, and the same bits for the same seed on one device kind.

mod architecture;
mod batches;
mod blocked;
mod blocks;
mod device;
mod dropout;
mod error;
mod kernels;
mod layer;
mod layout;
mod learner;
mod loss;
mod mixing;
mod model;
mod network;
pub mod oracle;
mod own;
mod quantiser;
mod recycled;
mod schedule;
mod score;
mod stack;
#[cfg(feature = "gpu")]
mod stacked;
mod stream;
mod tally;
mod verbs;
mod work;

/// The tensors that models of a user's own are written in, in the version that the engine has.
pub use burn;
pub use device::{Cpu, Device, DeviceRequest};
pub use dropout::Dropout;
pub use error::EngineError;
pub use kernels::Instructions;
pub use layout::{ALIGNMENT, Block, Layout};
pub use learner::{Learner, LearnerState, Start};
pub use mixing::Mixing;
pub use model::{
    CharLstm, Dnn8, GnLenet, Judged, Linear, Mlp, Model, NormPlace, Resnet, Targets, WordLstm,
};
pub use network::Network;
pub use own::{Initial, OwnModel, OwnModels, Parameter, Parameters, RowByRow};
pub use quantiser::{NormScope, Quantiser, uniform};
pub use schedule::{
    Harmonic, InverseTime, LearningRate, Per, Power, Progress, Restart, Schedule, Step,
};
pub use score::{Score, Split};
pub use stack::Stack;
#[cfg(feature = "gpu")]
pub use stacked::{Launched, Trace, is_told_by_runs};
pub use stream::{Key, Purpose, stream, threefry};
pub use tally::Tally;
pub use work::{Amount, Anchor, BatchSize, Demand, Draw, LocalWork, RowWork, Sgd, Velocity};
