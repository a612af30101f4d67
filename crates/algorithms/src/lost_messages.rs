//! Messages that a method loses itself, as nobody else knows when or between whom they go.

use meshfold_engine::{Key, Purpose, stream};
use rand::RngExt;

/// How many messages of a round a method is to lose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostMessages {
    /// The probability that a message is lost.
    pub probability: f64,
    /// The seed of what fails: `seeds.failures`, or else the run's seed.
    pub seed: u64,
}

/// Which way a message goes between a client and a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the server.
    Down,
    /// To the server.
    Up,
}

impl LostMessages {
    /// Nothing is lost.
    pub const NONE: Self = Self {
        probability: 0.0,
        seed: 0,
    };

    /// Whether the message of a round between a client and its server is lost. Other messages have no say in it.
    pub fn is_lost(self, round: usize, client: u32, direction: Direction) -> bool {
        let key = Key {
            round: round as u64,
            row: client,
            // Clients and links that fail are drawn at step 0.
            step: match direction {
                Direction::Down => 1,
                Direction::Up => 2,
            },
            ..Key::default()
        };
        self.probability > 0.0
            && stream(self.seed, Purpose::Failure, key).random::<f64>() < self.probability
    }
}
