//! What each client owns, by what the examples are.

use crate::results::label_counts::LabelCounts;
use crate::results::text_counts::TextCounts;

/// The content of a `partition.csv`.
#[derive(Clone, Debug, PartialEq)]
pub enum Holdings {
    /// Examples of labels.
    Labels(LabelCounts),
    /// Windows of a text.
    Text(TextCounts),
}

impl Holdings {
    /// Reads either table; `clients` is the least number of them.
    ///
    /// # Errors
    /// The number of the first line that cannot be read, from 1, and what stands there.
    pub fn parse(csv: &str, clients: usize) -> Result<Self, String> {
        match TextCounts::is_table(csv) {
            true => TextCounts::parse(csv).map(Self::Text),
            false => LabelCounts::parse(csv, clients).map(Self::Labels),
        }
    }

    /// How many examples the clients hold together.
    pub fn examples(&self) -> u64 {
        let of_clients = match self {
            Self::Labels(counts) => counts.examples(),
            Self::Text(counts) => counts.examples.clone(),
        };
        of_clients.into_iter().map(u64::from).sum()
    }

    /// Whether the table is one of a run with so many clients. Clients without examples stand in the table of a text only.
    pub fn fits(&self, clients: usize) -> bool {
        match self {
            Self::Labels(counts) => counts.holders() <= clients,
            Self::Text(counts) => counts.clients() == clients,
        }
    }
}
