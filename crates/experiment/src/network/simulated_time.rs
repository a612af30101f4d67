//! How far a run is on its simulated network.

/// The time on the simulated network after some round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedTime {
    /// When the last node has done the round.
    pub seconds: f64,
    /// When each node has, `[N + servers]`. Empty before the first round, and where all wait for each other.
    pub nodes: Vec<f64>,
}
