//! Clients and edges that fail and messages that are lost, as a configuration names them.

use crate::TopologyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

mod failure_state;

pub use failure_state::FailureState;

/// All failures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Failures(pub Vec<Failure>);

/// Some clients or some edges that fail for good or for a time, or messages that are lost.
///
/// A failed client neither trains nor exchanges, unless it `loses` its inputs alone. It is not judged either.
///
/// # Interpretation
/// Which of them fail is drawn once, unless `redraw` says otherwise. Who fails is known when a round begins: nothing is sent to it, and
/// nobody waits for it, so that failures cost no simulated time. Of `messages` nobody knows before that they will be lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The clients that fail; either these, `edges` or `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Target<u32>>,
    /// The edges that fail, by their ends; an edge that an overlay does not have is disregarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Target<(u32, u32)>>,
    /// The messages that are lost on their way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageLoss>,
    /// The first round without them, from 1.
    #[serde(default = "first_round")]
    pub from_round: usize,
    /// The round in which they are back; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_round: Option<usize>,
    /// How often they are drawn.
    #[serde(default)]
    pub redraw: FailureRedraw,
    /// What the clients left do about their overlay.
    #[serde(default)]
    pub repair: Repair,
    /// What a client that fails loses.
    #[serde(default, skip_serializing_if = "Loses::is_everything")]
    #[schemars(extend("default" = "everything"))]
    pub loses: Loses,
}

/// How many messages are lost on their way.
///
/// In each round every link loses what is sent over it in one direction with this probability, independently of other links and of the
/// other direction. A method with several exchanges in a round, such as `d_cliques`, then loses all of them. The sender does not know: a lost message counts among the bytes sent and takes its time. The receiver mixes what
/// arrives, and gives the weight of a lost message to its own model. Rows of the mixing matrix still sum to 1, and columns do not, so that
/// the plain mean of the models drifts. `push_sum` sends shares of a total, and what is lost of them is gone: its weights shrink, and its steps
/// grow as one over them, until it diverges.
///
/// In `fedavg`, `fedprox` and `scaffold` the messages between the server and the participants are lost, in either direction; in `p_fedavg`
/// those between servers and their clients and those among servers. A server averages what arrives.
///
/// It is for methods that average what arrives: with `aggregation` or `quantise`, and in methods that need exchanges to go both ways, it is
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageLoss {
    /// The probability that a message is lost, from 0 to below 1.
    pub probability: f64,
}

/// How many clients or edges fail, or which.
///
/// # Interpretation
/// A share is taken to the nearest number, but above 0 at least one fails and at least one is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target<T> {
    /// This share of them, from 0 to below 1, drawn uniformly.
    Share(f64),
    /// So many, drawn uniformly; at most all edges that there are.
    Count(usize),
    /// These.
    List(Vec<T>),
}

/// How often those who fail are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureRedraw {
    /// Once.
    #[default]
    Never,
    /// In every round.
    EachRound,
}

/// What is done about an overlay whose nodes fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Nothing.
    #[default]
    None,
    /// The overlay's protocol links the nodes left, see [`VirtualRings::rebuild`](crate::VirtualRings::rebuild).
    Protocol,
}

/// What a client that fails loses.
///
/// # Source
/// `inputs`: Hua et al., section 5.2, of Fig. 9: "we mask the input of the dropped nodes to simulate the communication failure. All
/// the dropped nodes are randomly selected and excluded from the final results."
///
/// # Interpretation
/// The sentence can mean three things. (a) The examples of a dropped node are masked: none of their positions counts in its loss,
/// whose gradient then is zero. The node stays in the overlay, and passes on what it averages. This is `inputs`. (b) What a dropped
/// node gives its neighbours as their input is masked. They average without it, so that it might as well be gone: `everything`,
/// with the weights of the overlay that is left. (c) The input is blank and the labels stay. The node trains on, and learns how
/// frequent its labels are. No setting does this. The first is taken, as the sentence is about the language model, whose examples
/// are padded and masked, and as the section says that the failure "causes the loss of corresponding training samples". It leaves
/// the overlay whole, which the section says of neither task: it is the mildest reading, and `everything` the harshest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Loses {
    /// Its links and its examples: it neither trains nor exchanges.
    #[default]
    Everything,
    /// Its examples alone: it does not train, but averages and sends as before.
    Inputs,
}

impl Loses {
    /// Whether this is the default, which a configuration may leave out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::Everything
    }
}

fn first_round() -> usize {
    1
}

impl Failures {
    /// Checks that the failures make sense for `nodes` nodes.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] with the path of the value at fault below `failures`, such as `0.clients.share`.
    pub fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        for (index, failure) in self.0.iter().enumerate() {
            failure.check(nodes).map_err(|wrong| {
                let setting = match wrong.below {
                    "" => index.to_string(),
                    below => format!("{index}.{below}"),
                };
                TopologyError::setting(setting, wrong.found, wrong.needed)
            })?;
        }
        Ok(())
    }
}

/// A value that cannot be.
struct Wrong {
    below: &'static str,
    found: String,
    needed: String,
}

fn wrong<T>(below: &'static str, found: impl ToString, needed: impl ToString) -> Result<T, Wrong> {
    Err(Wrong {
        below,
        found: found.to_string(),
        needed: needed.to_string(),
    })
}

impl Failure {
    /// Whether it is in force in a round, counted from 1.
    #[must_use]
    pub fn is_in_force(&self, round: usize) -> bool {
        round >= self.from_round && self.until_round.is_none_or(|until| round < until)
    }

    fn check(&self, nodes: usize) -> Result<(), Wrong> {
        match (&self.clients, &self.edges, &self.messages) {
            (Some(clients), None, None) => clients.check_clients(nodes)?,
            (None, Some(edges), None) => edges.check_edges(nodes)?,
            (None, None, Some(messages)) => messages.check()?,
            (None, None, None) => {
                return wrong("", "neither clients nor edges nor messages", "one of them");
            }
            several => {
                let named = [
                    several.0.is_some().then_some("clients"),
                    several.1.is_some().then_some("edges"),
                    several.2.is_some().then_some("messages"),
                ];
                let named: Vec<&str> = named.into_iter().flatten().collect();
                return wrong("", named.join(" and "), "one of them");
            }
        }
        if self.from_round == 0 {
            return wrong("from_round", 0, "a round, counted from 1");
        }
        if let Some(until) = self.until_round.filter(|until| *until <= self.from_round) {
            let needed = format!("a round after from_round = {}", self.from_round);
            return wrong("until_round", until, needed);
        }
        if self.redraw == FailureRedraw::EachRound && self.messages.is_some() {
            let needed = "no `redraw`, for every message of every round is drawn by itself";
            return wrong("redraw", "each_round", needed);
        }
        let links = match (&self.edges, &self.messages) {
            (Some(_), _) => Some("edges"),
            (_, Some(_)) => Some("messages"),
            (None, None) => None,
        };
        if let (Repair::Protocol, Some(links)) = (self.repair, links) {
            let needed = format!("none, for {links} are not repaired");
            return wrong("repair", "protocol", needed);
        }
        if let (Loses::Inputs, Some(links)) = (self.loses, links) {
            let needed = format!("everything, for {links} have no inputs");
            return wrong("loses", "inputs", needed);
        }
        if self.loses == Loses::Inputs && self.repair == Repair::Protocol {
            return wrong(
                "repair",
                "protocol",
                "none, for who loses its inputs keeps its links",
            );
        }
        Ok(())
    }
}

impl MessageLoss {
    fn check(self) -> Result<(), Wrong> {
        match (0.0..1.0).contains(&self.probability) {
            true => Ok(()),
            false => wrong(
                "messages.probability",
                self.probability,
                "a probability from 0 to below 1",
            ),
        }
    }
}

impl Target<u32> {
    fn check_clients(&self, nodes: usize) -> Result<(), Wrong> {
        match self {
            Self::Share(share) => check_share(*share, "clients.share"),
            Self::Count(count) if *count >= nodes => {
                wrong("clients.count", count, format!("fewer than all {nodes}"))
            }
            Self::Count(_) => Ok(()),
            Self::List(list) => match list.iter().find(|client| **client as usize >= nodes) {
                Some(client) => {
                    let needed =
                        format!("numbers of clients from 0 to {}", nodes.saturating_sub(1));
                    wrong("clients.list", format!("client {client}"), needed)
                }
                None if BTreeSet::from_iter(list).len() == nodes => wrong(
                    "clients.list",
                    "all clients",
                    format!("fewer than all {nodes}"),
                ),
                None => Ok(()),
            },
        }
    }
}

impl Target<(u32, u32)> {
    fn check_edges(&self, nodes: usize) -> Result<(), Wrong> {
        let no_edge = |(a, b): &&(u32, u32)| a == b || *a.max(b) as usize >= nodes;
        match self {
            Self::Share(share) => check_share(*share, "edges.share"),
            Self::Count(_) => Ok(()),
            Self::List(list) => match list.iter().find(no_edge) {
                Some((a, b)) => {
                    let needed = format!(
                        "pairs of two different nodes, numbered from 0 to {}",
                        nodes.saturating_sub(1)
                    );
                    wrong("edges.list", format!("{a}-{b}"), needed)
                }
                None => Ok(()),
            },
        }
    }
}

fn check_share(share: f64, below: &'static str) -> Result<(), Wrong> {
    match (0.0..1.0).contains(&share) {
        true => Ok(()),
        false => wrong(below, share, "a share from 0 to below 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let failures: Failures = serde_json::from_str(text).unwrap();
        match failures.check(10) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn failures_that_cannot_be_point_at_their_key() {
        for (text, expected) in [
            (
                r#"[{"clients": {"share": 0.1}}, {"clients": {"share": 1}}]"#,
                "1.clients.share: found 1, needed a share from 0 to below 1",
            ),
            (
                r#"[{"edges": {"share": -0.1}}]"#,
                "0.edges.share: found -0.1, needed a share from 0 to below 1",
            ),
            (
                r#"[{"clients": {"count": 10}}]"#,
                "0.clients.count: found 10, needed fewer than all 10",
            ),
            (
                r#"[{"clients": {"list": [3, 10]}}]"#,
                "0.clients.list: found client 10, needed numbers of clients from 0 to 9",
            ),
            (
                r#"[{"clients": {"list": [9, 8, 7, 6, 5, 5, 4, 3, 2, 1, 0]}}]"#,
                "0.clients.list: found all clients, needed fewer than all 10",
            ),
            (
                r#"[{"edges": {"list": [[0, 1], [4, 12]]}}]"#,
                "0.edges.list: found 4-12, needed pairs of two different nodes, numbered from 0 to 9",
            ),
            (
                r#"[{"edges": {"list": [[4, 4]]}}]"#,
                "0.edges.list: found 4-4, needed pairs of two different nodes, numbered from 0 to 9",
            ),
            (
                r#"[{"clients": {"count": 1}, "edges": {"share": 0.1}}]"#,
                "0: found clients and edges, needed one of them",
            ),
            (
                r#"[{}]"#,
                "0: found neither clients nor edges nor messages, needed one of them",
            ),
            (
                r#"[{"messages": {"probability": 0.1}, "edges": {"share": 0.1}}]"#,
                "0: found edges and messages, needed one of them",
            ),
            (
                r#"[{"messages": {"probability": 1}}]"#,
                "0.messages.probability: found 1, needed a probability from 0 to below 1",
            ),
            (
                r#"[{"messages": {"probability": 0.1}, "redraw": "each_round"}]"#,
                "0.redraw: found each_round, needed no `redraw`, for every message of every round is drawn by itself",
            ),
            (
                r#"[{"messages": {"probability": 0.1}, "loses": "inputs"}]"#,
                "0.loses: found inputs, needed everything, for messages have no inputs",
            ),
            (
                r#"[{"messages": {"probability": 0.1}, "repair": "protocol"}]"#,
                "0.repair: found protocol, needed none, for messages are not repaired",
            ),
            (
                r#"[{"clients": {"count": 1}, "from_round": 0}]"#,
                "0.from_round: found 0, needed a round, counted from 1",
            ),
            (
                r#"[{"clients": {"count": 1}, "from_round": 5, "until_round": 5}]"#,
                "0.until_round: found 5, needed a round after from_round = 5",
            ),
            (
                r#"[{"edges": {"share": 0.1}, "repair": "protocol"}]"#,
                "0.repair: found protocol, needed none, for edges are not repaired",
            ),
            (
                r#"[{"edges": {"share": 0.1}, "loses": "inputs"}]"#,
                "0.loses: found inputs, needed everything, for edges have no inputs",
            ),
            (
                r#"[{"clients": {"share": 0.1}, "loses": "inputs", "repair": "protocol"}]"#,
                "0.repair: found protocol, needed none, for who loses its inputs keeps its links",
            ),
        ] {
            assert_eq!(message(text), expected);
        }
    }

    #[test]
    fn failures_that_can_be_are_accepted() {
        assert_eq!(message("[]"), "");
        for text in [
            r#"[{"clients": {"share": 0}}]"#,
            r#"[{"clients": {"share": 0.999}}]"#,
            r#"[{"clients": {"count": 9}, "from_round": 3, "until_round": 4}]"#,
            r#"[{"clients": {"list": [0, 9]}, "repair": "protocol"}]"#,
            r#"[{"edges": {"list": [[9, 0]]}, "redraw": "each_round"}]"#,
            r#"[{"clients": {"share": 0.2}, "loses": "inputs"}]"#,
            r#"[{"messages": {"probability": 0}, "from_round": 2, "until_round": 9}]"#,
        ] {
            assert_eq!(message(text), "", "{text}");
        }
    }
}
