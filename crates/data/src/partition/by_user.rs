//! `by_user`: who posted a text owns it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_owner::deals_by_owner;

/// One client per user, or the users dealt at random to `clients` clients, whose numbers of users differ by at most one.
///
/// # Source
/// DFedRW, section VI-A: "each Reddit user corresponding to an independent federated learning device".
///
/// # Interpretation
/// One client per user: the clients are in ascending order of the users' numbers, that of their first comments. Users of
/// test comments alone are no clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByUser {
    /// Number of clients `N`; as many as there are users if absent.
    pub clients: Option<usize>,
}

deals_by_owner!(ByUser, "user");
