//! Greedy-Swap without global knowledge: the leaders of cliques swap nodes among themselves.

use super::LabelDistributions;
use super::greedy_swap::{Judged, swap_if_lower};
use super::peer_sampling::{LARGEST_VIEW, LEAST_VIEW, Views};
use super::push_sum::push_sum;
use crate::TopologyError;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Least decrease of skew that is no error of estimates, which are right to about 3e-9 after 60 rounds.
const LEAST_DECREASE: f64 = 1e-6;

/// Greedy-Swap by the leaders of cliques, who know their own cliques alone and what others tell them.
///
/// First all nodes average their label distributions by push-sum: each has an estimate of the distribution over all nodes. The node
/// of a clique with the smallest identifier leads it. At each step of `swaps` one leader exchanges views with another one, takes a
/// leader whom it knows then, and sends it the distributions of its members. That one makes one of the swaps that lower the sum of
/// both skews, if there is any.
///
/// # Source
/// D-Cliques (Bellet et al.), Section III-B; Kempe et al. (2003) for averaging; Jelasity et al. (2007) for peer sampling.
///
/// # Interpretation
/// Identifiers are places in the random order that cliques are cut from. Leaders act one at a time, each as likely as any other, as
/// if clocks of their own told them to. Skews are those by the estimate of the leader that is asked, and lower is lower by 1e-6 at
/// least: estimates differ from leader to leader, and would otherwise have like nodes swapped all the time. Who leads a clique after
/// a swap takes over whom its leader knew. Messages are neither lost nor counted as traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leaders {
    /// Rounds of push-sum; the error falls by about 30 % in each.
    #[serde(default = "averaging_rounds")]
    pub averaging_rounds: usize,
    /// Other leaders that a leader knows at a time, 4 to 100, or all if there are no more.
    #[serde(default = "view")]
    pub view: usize,
}

fn averaging_rounds() -> usize {
    60
}

fn view() -> usize {
    8
}

impl Default for Leaders {
    fn default() -> Self {
        Self {
            averaging_rounds: averaging_rounds(),
            view: view(),
        }
    }
}

impl Leaders {
    /// Checks that views are large enough for leaders not to lose sight of each other, and not too large.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if they do not.
    pub(super) fn check(&self) -> Result<(), TopologyError> {
        if (LEAST_VIEW..=LARGEST_VIEW).contains(&self.view) {
            return Ok(());
        }
        let needed = format!("a number from {LEAST_VIEW} to {LARGEST_VIEW}");
        Err(TopologyError::setting(
            "d_cliques.leaders.view",
            self.view,
            needed,
        ))
    }

    /// Takes `steps` steps on `cliques`, each with its nodes in the order of their identifiers.
    pub(super) fn improve(
        &self,
        cliques: &mut [Vec<u32>],
        labels: &LabelDistributions,
        steps: usize,
        rng: &mut ChaCha8Rng,
    ) {
        if cliques.len() < 2 {
            return;
        }
        let nodes: usize = cliques.iter().map(Vec::len).sum();
        let mut identifiers = vec![0; nodes];
        for (identifier, node) in cliques.iter().flatten().enumerate() {
            identifiers[*node as usize] = identifier;
        }
        let estimates = push_sum(labels, nodes as u32, self.averaging_rounds, rng);
        let mut views = Views::new(cliques.len(), self.view);
        for _ in 0..steps {
            let asking = rng.random_range(0..cliques.len());
            views.exchange(asking, rng);
            let asked = views.sample(asking, rng);
            let leader = cliques[asked]
                .iter()
                .min_by_key(|node| identifiers[**node as usize]);
            if let Some(leader) = leader {
                let global = &estimates[*leader as usize];
                let by = Judged {
                    labels,
                    global,
                    least_decrease: LEAST_DECREASE,
                };
                swap_if_lower(cliques, [asking, asked], by, rng);
            }
        }
    }

    /// `leaders` with what is not the default.
    pub(super) fn label(&self) -> String {
        let usual = Self::default();
        let mut label = "leaders".to_owned();
        if self.averaging_rounds != usual.averaging_rounds {
            label += &format!(" averaging_rounds={}", self.averaging_rounds);
        }
        if self.view != usual.view {
            label += &format!(" view={}", self.view);
        }
        label
    }
}
