//! The engine of Meshfold: every client's model in one stack, trained and mixed as one.
//!
//! A [`Stack`] holds all `R` model copies of a run as one `[R, P]` array on a [`Device`]. A [`Learner`] holds the
//! network, the examples, and which client owns which. Its [`Learner::train`] runs the local steps of all rows on the
//! device, and [`Stack::mix`] averages rows over an overlay. On the processor the rows are trained in blocks that stay
//! in cache; on a GPU (feature `gpu`) as batched products. Both give the same models within f32 rounding. On one device
//! kind, the same seed gives the same bits.
//!
//! The feature `own-models` (part of `gpu`) adds models that users write with burn (`OwnModel`, `RowByRow`),
//! `Stack::tensor`, and burn itself as `burn`. A [`HostModel`] needs no feature. `vulkan` compiles GPU kernels to
//! SPIR-V, `cuda` runs them through CUDA, and `mpi` deals the rows of a run over MPI processes.

mod backend;
mod batched;
mod blocked;
mod cpu;
mod device;
mod error;
mod kernels;
mod network;
pub mod oracle;
mod processor;
mod ranks;
mod shared_memory;
mod shared_work;
mod stack;
#[cfg(feature = "gpu")]
mod stacked;
mod stream;
mod training;

pub use backend::reading::Reading;
pub use backend::rows::MomentumRule;
/// burn, the tensor library that own models are written with, in the version that the engine uses.
#[cfg(feature = "own-models")]
pub use burn;
pub use device::Device;
pub use device::request::DeviceRequest;
pub use error::EngineError;
pub use kernels::Instructions;
pub use network::Network;
pub use network::dropout::{Dropout, LeftOut};
pub use network::host_model::{HostModel, LentExamples, LentRows, ReturnedGradient, TakeGradients};
pub use network::initial::Initial;
pub use network::layout::{ALIGNMENT, Block, Layout};
pub use network::model::{
    CharLstm, Dnn8, GnLenet, Head, Judged, Linear, Mlp, Model, NormPlace, Resnet, Targets, WordLstm,
};
#[cfg(feature = "own-models")]
pub use network::own::{OwnModel, Parameters, RowByRow};
pub use network::own_models::{OwnModelName, OwnModels};
pub use network::parameter::Parameter;
pub use network::precision::Precision;
pub use processor::row_memory::RowMemory;
pub use ranks::{Ranks, Sent, WeakRanks};
pub use shared_work::SharedWork;
pub use stack::Stack;
pub use stack::mixing::Mixing;
pub use stack::quantiser::{NormScope, Quantiser, uniform};
pub use stack::row_lists::RowLists;
#[cfg(feature = "gpu")]
pub use stacked::{Launched, Trace, is_told_by_runs};
pub use stream::{Key, Purpose, stream, threefry};
pub use training::learner::{GradientsOn, Learner, LearnerState, Start};
pub use training::local_work::{Anchor, LocalWork, Velocity};
pub use training::row_examples::{ExampleSet, RowExamples};
pub use training::schedule::{
    Constant, Cosine, Harmonic, InverseTime, LearningRate, Milestones, OwnSchedule, Per, Power,
    Progress, Restart, Schedule, Step,
};
pub use training::score::{Score, Split};
pub use training::tally::Tally;
pub use training::trained_layers::TrainedLayers;
pub use training::work::{Amount, BatchSize, Draw, RowWork, Sgd, WorkloadSize};
