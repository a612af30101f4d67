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
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 6] = [
        Self::Rounds,
        Self::Steps,
        Self::Epochs,
        Self::Examples,
        Self::Bytes,
        Self::Seconds,
    ];

    /// As the command line and the page's script have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Steps => "steps",
            Self::Epochs => "epochs",
            Self::Examples => "examples",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
        }
    }

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
