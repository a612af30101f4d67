//! What would cross the network in a round: phases in order, each of computing or of messages.

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Sending node: a client, or `N + s` for server `s`.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// Size of the message.
    pub bytes: u64,
}

/// Messages that may travel at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchange {
    /// Messages one by one.
    Messages(Vec<Message>),
    /// Every node sends `bytes` to each of its `degrees[i]` neighbours and receives as much.
    Neighbours {
        /// Bytes of one message.
        bytes: u64,
        /// Neighbours of each node, `[N]`.
        degrees: Vec<u32>,
    },
}

/// One phase of a round; a barrier stands between phases, but none between the local steps of walks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Local steps of each client, `[N]`.
    Compute {
        /// Steps of each client.
        steps: Vec<u32>,
    },
    /// Local steps of each walk at the client that it visits, `[M]`. Walks do not wait for each other.
    Visits {
        /// Where each walk is.
        clients: Vec<u32>,
        /// Steps of each walk there.
        steps: Vec<u32>,
    },
    /// Messages.
    Exchange(Exchange),
}

/// The phases of one round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    phases: Vec<Phase>,
    messages_as_printed: Option<u64>,
    lasts_until_deadline: bool,
    /// The places of phases that last until the deadline, ascending.
    until_deadline: Vec<usize>,
}

impl Traffic {
    /// The phases in order.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Forgets all phases.
    pub fn clear(&mut self) {
        self.phases.clear();
        self.messages_as_printed = None;
        self.lasts_until_deadline = false;
        self.until_deadline.clear();
    }

    /// Notes that a deadline cut off somebody's work in this round, so that the others wait for it.
    pub fn wait_for_deadline(&mut self) {
        self.lasts_until_deadline = true;
    }

    /// Whether the computing of this round lasts until the deadline for stragglers, if not longer.
    pub fn lasts_until_deadline(&self) -> bool {
        self.lasts_until_deadline
    }

    /// Notes that the deadline cut off somebody's work in the last phase, so that all others wait for it before they go on: where a round
    /// has the work of several deadlines.
    pub fn end_at_deadline(&mut self) {
        self.until_deadline.extend(self.phases.len().checked_sub(1));
    }

    /// Whether the phase at `place` lasts until a deadline of its own, if not longer.
    pub fn ends_at_deadline(&self, place: usize) -> bool {
        self.until_deadline.contains(&place)
    }

    /// Whether anybody has made local steps.
    pub fn has_work(&self) -> bool {
        let works = |phase: &Phase| match phase {
            Phase::Compute { steps } | Phase::Visits { steps, .. } => {
                steps.iter().any(|of| *of > 0)
            }
            Phase::Exchange(_) => false,
        };
        self.phases.iter().any(works)
    }

    /// Sets how many messages the paper counts in this round, where that differs from the number sent.
    pub fn count_as_printed(&mut self, messages: u64) {
        self.messages_as_printed = Some(messages);
    }

    /// Messages that the paper counts, if that differs from [`Traffic::messages_total`].
    pub fn messages_as_printed(&self) -> Option<u64> {
        self.messages_as_printed
    }

    /// Messages sent.
    pub fn messages_total(&self) -> u64 {
        self.exchanges()
            .map(|exchange| match exchange {
                Exchange::Messages(messages) => messages.len() as u64,
                Exchange::Neighbours { degrees, .. } => {
                    degrees.iter().map(|degree| u64::from(*degree)).sum()
                }
            })
            .sum()
    }

    /// Adds local steps of each client. Without a message since the last ones they belong to the same phase: nobody waits in between.
    pub fn compute(&mut self, steps: Vec<u32>) {
        match self.phases.last_mut() {
            Some(Phase::Compute { steps: before }) if before.len() == steps.len() => {
                before
                    .iter_mut()
                    .zip(steps)
                    .for_each(|(all, more)| *all = all.saturating_add(more));
            }
            _ => self.phases.push(Phase::Compute { steps }),
        }
    }

    /// Adds the visits of walks: `steps[m]` of walk `m` at `clients[m]`.
    pub fn visits(&mut self, clients: Vec<u32>, steps: Vec<u32>) {
        self.phases.push(Phase::Visits { clients, steps });
    }

    /// Adds a phase of single messages.
    pub fn messages(&mut self, messages: Vec<Message>) {
        self.phases
            .push(Phase::Exchange(Exchange::Messages(messages)));
    }

    /// Adds a phase in which every node sends `bytes` to each of its neighbours.
    pub fn neighbours(&mut self, bytes: u64, degrees: Vec<u32>) {
        self.phases
            .push(Phase::Exchange(Exchange::Neighbours { bytes, degrees }));
    }

    /// Bytes of all messages, each counted once.
    pub fn bytes_total(&self) -> u64 {
        self.exchanges()
            .map(|exchange| match exchange {
                Exchange::Messages(messages) => {
                    messages.iter().map(|message| message.bytes).sum::<u64>()
                }
                Exchange::Neighbours { bytes, degrees } => degrees
                    .iter()
                    .map(|degree| bytes * u64::from(*degree))
                    .sum(),
            })
            .sum()
    }

    /// Largest number of bytes that one node sends and receives in the round.
    pub fn bytes_busiest_node(&self) -> u64 {
        let mut nodes: Vec<u64> = Vec::new();
        let mut count = |node: usize, bytes: u64| {
            if nodes.len() <= node {
                nodes.resize(node + 1, 0);
            }
            nodes[node] += bytes;
        };
        for exchange in self.exchanges() {
            match exchange {
                Exchange::Messages(messages) => messages.iter().for_each(|message| {
                    count(message.from as usize, message.bytes);
                    count(message.to as usize, message.bytes);
                }),
                Exchange::Neighbours { bytes, degrees } => {
                    degrees
                        .iter()
                        .enumerate()
                        .for_each(|(node, degree)| count(node, 2 * bytes * u64::from(*degree)));
                }
            }
        }
        nodes.into_iter().max().unwrap_or(0)
    }

    /// Which of `nodes` nodes have sent anything, `[nodes]`.
    pub fn senders(&self, nodes: usize) -> Vec<bool> {
        let mut senders = vec![false; nodes];
        let mut note = |node: usize| {
            if let Some(sends) = senders.get_mut(node) {
                *sends = true;
            }
        };
        for exchange in self.exchanges() {
            match exchange {
                Exchange::Messages(messages) => messages
                    .iter()
                    .for_each(|message| note(message.from as usize)),
                Exchange::Neighbours { degrees, .. } => {
                    let linked = degrees.iter().enumerate();
                    linked.for_each(|(node, degree)| {
                        if *degree > 0 {
                            note(node);
                        }
                    });
                }
            }
        }
        senders
    }

    fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.phases.iter().filter_map(|phase| match phase {
            Phase::Exchange(exchange) => Some(exchange),
            Phase::Compute { .. } | Phase::Visits { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_once_in_all_and_at_both_its_ends() {
        let mut traffic = Traffic::default();
        traffic.compute(vec![3, 3, 3]);
        traffic.messages(vec![
            Message {
                from: 3,
                to: 0,
                bytes: 10,
            },
            Message {
                from: 3,
                to: 1,
                bytes: 10,
            },
        ]);
        traffic.neighbours(5, vec![1, 2, 1]);
        assert_eq!(traffic.bytes_total(), 40);
        assert_eq!(
            (traffic.messages_total(), traffic.messages_as_printed()),
            (6, None)
        );
        assert_eq!(traffic.bytes_busiest_node(), 30);
        traffic.clear();
        assert_eq!(
            (traffic.bytes_total(), traffic.bytes_busiest_node()),
            (0, 0)
        );
    }
}
