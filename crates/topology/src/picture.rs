//! How an overlay is drawn: where its nodes are, and which of its edges are drawn where they are many.

mod forces;
mod places;
mod sample;

pub use places::places;
pub use sample::sampled_edges;
