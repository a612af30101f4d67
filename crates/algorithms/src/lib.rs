//! Decentralized and federated learning methods, each written as in the algorithm box of its paper, with the engine's
//! verbs.
//!
//! A [`Method`] is a method as a configuration names it, and a [`MethodSpec`] describes it. [`Method::build`] makes the
//! [`Algorithm`] of a run. Its [`Algorithm::round`] advances all models by one communication round and reports the
//! [`Traffic`] that the round would cause.

pub mod aggregation;
mod error;
mod kept;
mod lost_messages;
mod message_scope;
mod method_spec;
mod methods;
mod network_speeds;
mod own_figures;
pub mod participation;
pub mod presence;
pub mod quantise;
mod round;
mod sent_models;
pub mod servers;
mod stragglers;
mod traffic;
pub mod training;
pub mod velocity;

// For macros.
#[doc(hidden)]
pub use {meshfold_engine, meshfold_topology};

pub use aggregation::PartialAggregation;
pub use error::AlgorithmError;
pub use kept::KeptStack;
pub use lost_messages::{Direction, LostMessages};
pub use message_scope::{MessageScope, Pair};
pub use method_spec::{
    Holders, IterateWeighting, MethodSpec, OverlayUse, Profile, RowKind, Rows, ServerNodes,
    StragglerUnit,
};
pub use methods::*;
pub use network_speeds::{EvenLinks, NetworkSpeeds};
pub use own_figures::{OwnFigure, OwnFigures};
pub use participation::{Participation, Weighting};
pub use quantise::{Aggregate, Quantise};
pub use round::{Algorithm, Forecast, Round, Setting, messages_over};
pub use sent_models::SentModels;
pub use servers::{Assign, PerServer, Servers};
pub use stragglers::{
    Completion, PartialWork, Policy, StragglerContext, Stragglers, VisitWork, Work, steps_in_time,
};
pub use traffic::{Exchange, Message, Phase, Traffic};
pub use training::{BatchSetting, Local, StepsPerRound, Training};
