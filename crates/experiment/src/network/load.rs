//! The bytes that each node sends and receives in an exchange.

use meshfold_algorithms::{Exchange, Message};

/// Bytes that each node sends and receives in one exchange.
///
/// A message from a node to itself crosses no link and is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// Bytes sent, by node.
    pub(super) sent: Vec<u64>,
    /// Bytes received, by node; as long as `sent`.
    pub(super) received: Vec<u64>,
}

impl Load {
    /// The load of a whole exchange.
    pub(super) fn of(exchange: &Exchange) -> Self {
        match exchange {
            Exchange::Messages(messages) => Self::of_messages(messages),
            Exchange::Neighbours { bytes, degrees } => {
                let each: Vec<u64> = degrees
                    .iter()
                    .map(|degree| bytes * u64::from(*degree))
                    .collect();
                Self {
                    sent: each.clone(),
                    received: each,
                }
            }
        }
    }

    /// The load of some messages.
    pub(super) fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut load = Self::default();
        for message in messages.into_iter().filter(|message| crosses(message)) {
            let nodes = message.from.max(message.to) as usize + 1;
            if load.sent.len() < nodes {
                load.sent.resize(nodes, 0);
                load.received.resize(nodes, 0);
            }
            load.sent[message.from as usize] += message.bytes;
            load.received[message.to as usize] += message.bytes;
        }
        load
    }

    /// Every node that sends or receives, with the bytes sent and received.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        (0..)
            .zip(self.sent.iter().zip(&self.received))
            .map(|(node, (sent, received))| (node, *sent, *received))
            .filter(|(_, sent, received)| sent + received > 0)
    }
}

/// Whether a message leaves its node.
pub(super) fn crosses(message: &Message) -> bool {
    message.from != message.to
}

/// Whether nothing crosses a link.
pub(super) fn is_silent(exchange: &Exchange) -> bool {
    match exchange {
        Exchange::Messages(messages) => !messages.iter().any(crosses),
        Exchange::Neighbours { degrees, .. } => degrees.iter().all(|degree| *degree == 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_sends_to_each_neighbour_and_receives_as_much() {
        let load = Load::of(&Exchange::Neighbours {
            bytes: 5,
            degrees: vec![1, 2, 0, 1],
        });
        let nodes: Vec<_> = load.nodes().collect();
        assert_eq!(nodes, [(0, 5, 5), (1, 10, 10), (3, 5, 5)]);
    }

    #[test]
    fn a_message_to_oneself_is_no_load() {
        let message = |from, to, bytes| Message { from, to, bytes };
        let exchange = Exchange::Messages(vec![
            message(0, 2, 7),
            message(2, 1, 3),
            message(0, 1, 1),
            message(1, 1, 9),
        ]);
        let nodes: Vec<_> = Load::of(&exchange).nodes().collect();
        assert_eq!(nodes, [(0, 8, 0), (1, 0, 4), (2, 3, 7)]);
        assert!(!is_silent(&exchange));
        assert!(is_silent(&Exchange::Messages(vec![message(1, 1, 9)])));
        assert!(is_silent(&Exchange::Neighbours {
            bytes: 4,
            degrees: vec![0, 0],
        }));
    }
}
