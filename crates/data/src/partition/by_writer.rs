//! `by_writer`: who wrote an example owns it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_owner::deals_by_owner;

/// One client per writer, or the writers dealt at random to `clients` clients, whose numbers of writers differ by at
/// most one.
///
/// # Source
/// P-FedAvg, section VII-A: FEMNIST "is split among 3,550 unbalanced clients based on character writers".
///
/// # Interpretation
/// One client per writer: the clients are in ascending order of the writers' numbers. Writers of test examples alone
/// are no clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByWriter {
    /// Number of clients `N`; as many as there are writers if absent.
    pub clients: Option<usize>,
}

deals_by_owner!(ByWriter, "writer");
