//! How far a run is, in one of several measures.

/// What measures how far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Communication rounds.
    Rounds,
    /// Local steps of all rows.
    Steps,
    /// Training examples seen, divided by those that the clients hold.
    Epochs,
    /// Training examples seen by all rows.
    Examples,
    /// Bytes sent.
    Bytes,
    /// Seconds on the simulated network.
    Seconds,
}

impl Progress {
    /// The figure of an evaluation that holds it. [`epochs`](crate::results::Evaluation::epochs) are in no record.
    pub fn figure(self) -> &'static str {
        match self {
            Self::Rounds => "round",
            Self::Steps => "local_steps",
            Self::Epochs => "epochs",
            Self::Examples => "examples_seen",
            Self::Bytes => "bytes_total",
            Self::Seconds => "simulated_seconds",
        }
    }

    /// What is written along an axis.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rounds => "Rounds",
            Self::Steps => "Local steps of all clients",
            Self::Epochs => "Epochs",
            Self::Examples => "Examples seen",
            Self::Bytes => "Bytes sent",
            Self::Seconds => "Simulated time",
        }
    }
}
