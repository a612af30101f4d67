//! What a run may spend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run may spend in time and messages, so that methods whose rounds differ can be compared. The run ends at the first
/// evaluation at which one of these is spent, and after its last round at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Seconds on the simulated network, or by the clock of a method that simulates time itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "seconds"))]
    pub seconds: Option<f64>,
    /// Bytes that all nodes together send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "bytes"))]
    pub bytes: Option<f64>,
}

impl Budget {
    /// Whether `seconds` on the simulated network or `bytes` of messages use the budget up.
    pub(crate) fn is_spent(&self, seconds: f64, bytes: f64) -> bool {
        let reaches = |spent: f64, most: Option<f64>| most.is_some_and(|most| spent >= most);
        reaches(seconds, self.seconds) || reaches(bytes, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_when_one_of_its_parts_is() {
        let (time, both) = (
            Budget {
                seconds: Some(5.0),
                bytes: None,
            },
            Budget {
                seconds: Some(5.0),
                bytes: Some(100.0),
            },
        );
        assert!(!time.is_spent(4.9, 1e9));
        assert!(time.is_spent(5.0, 0.0));
        assert!(!both.is_spent(4.9, 99.0));
        assert!(both.is_spent(0.0, 100.0));
    }
}
