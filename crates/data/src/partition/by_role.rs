//! `by_role`: the role that speaks a text owns it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_owner::deals_by_owner;

/// One client per role, or the roles dealt at random to `clients` clients, whose numbers of roles differ by at most one.
///
/// # Source
/// McMahan et al. (arXiv:1602.05629) and LEAF (arXiv:1812.01097): each speaking role of Shakespeare's plays is a client.
/// Hua et al., section 5.1: "we split the original dataset into 100 subsets. Each subset contains only a small fraction
/// of the roles' dialogue", which is `clients: 100`.
///
/// # Interpretation
/// One client per role: the clients are in ascending order of the roles' numbers, that of their first words. Roles are
/// dealt whole and regardless of how much they say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByRole {
    /// Number of clients `N`; as many as there are roles if absent.
    pub clients: Option<usize>,
}

deals_by_owner!(ByRole, "role");

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::{Labelled, Partitioner};

    #[test]
    fn more_clients_than_examples_are_told_of_the_roles() {
        let examples = Labelled::new(&[0, 1, 0], 2).with_owners(&[4, 4, 7]);
        let by_role = Partitioner::ByRole(ByRole { clients: Some(99) });
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(
            by_role.split(examples, &mut rng).unwrap_err().to_string(),
            "partition: 99 clients but only 2 roles of training examples; at most 2 clients"
        );
    }
}
