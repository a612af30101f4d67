//! What methods that count local steps themselves know of the simulated network.

/// The speeds of clients and links in a round.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkSpeeds {
    /// Seconds of a local step of each client in this round, `[N]`; `None` if the network says nothing of computing.
    pub step_seconds: Option<Vec<f64>>,
    /// The same without what is drawn for each round.
    pub usual_step_seconds: Option<Vec<f64>>,
    /// The links; `None` if they differ from node to node, from edge to edge or in time.
    pub links: Option<EvenLinks>,
}

/// Links that are the same for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvenLinks {
    /// Seconds from the sending of a message to its arrival, without those of its bytes.
    pub latency_seconds: f64,
    /// Bytes that a node sends in a second; `None` if bytes take no time.
    pub bytes_per_second: Option<f64>,
}
