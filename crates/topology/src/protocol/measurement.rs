//! The measurement, which alone sees all nodes.

use petgraph::unionfind::UnionFind;

use super::clock::Time;
use super::coordinates::{Address, Coordinates, Slot};
use super::correct::CorrectRings;
use super::network::Sent;
use super::node::Node;
use super::trace::{ChurnSample, ChurnTrace, EventKind, EventRecord};

/// What an observer of all nodes knows of the overlay.
#[derive(Debug)]
pub(super) struct Measurement {
    pub(super) correct: CorrectRings,
    /// By address; those of nodes that are gone are zero.
    errors: Vec<Errors>,
    /// Sums of `errors`.
    total: Errors,
    /// Nodes alive whose neighbours are not exactly the correct ones.
    erroneous: usize,
    /// Since when all neighbours are correct.
    correct_since: Option<Time>,
    window: Option<Window>,
    trace: ChurnTrace,
}

/// Slots of a node that are not right.
#[derive(Clone, Copy, Debug, Default)]
struct Errors {
    missing: u64,
    wrong: u64,
}

/// An event whose consequences are being watched.
#[derive(Debug)]
struct Window {
    at: Time,
    kind: EventKind,
    nodes: usize,
    alive: usize,
    correct_after: f64,
    sent: Sent,
}

impl Measurement {
    pub(super) fn new(spaces: usize) -> Self {
        Self {
            correct: CorrectRings::new(spaces),
            errors: Vec::new(),
            total: Errors::default(),
            erroneous: 0,
            correct_since: Some(Time::default()),
            window: None,
            trace: ChurnTrace::default(),
        }
    }

    /// Notes whether a node is alive from now on. Returns the nodes whose correct neighbours that may change.
    pub(super) fn census(
        &mut self,
        node: Address,
        is_alive: bool,
        coordinates: &Coordinates,
    ) -> Vec<Address> {
        if is_alive {
            self.correct.enter(node, coordinates);
        } else {
            self.correct.depart(node, coordinates);
            self.note(node, Errors::default());
        }
        Slot::all(coordinates.spaces())
            .filter_map(|slot| self.correct.neighbour(node, slot, coordinates))
            .collect()
    }

    /// Compares the neighbours of `node`, which is alive, with the correct ones.
    pub(super) fn compare(&mut self, node: &Node, now: Time, coordinates: &Coordinates) {
        let mut errors = Errors::default();
        for slot in node.slots() {
            let expected = self.correct.neighbour(node.address, slot, coordinates);
            let found = node.at(slot);
            if found != expected {
                errors.missing += u64::from(expected.is_some());
                errors.wrong += u64::from(found.is_some());
            }
        }
        self.note(node.address, errors);
        self.correct_since = match self.erroneous {
            0 => self.correct_since.or(Some(now)),
            _ => None,
        };
    }

    fn note(&mut self, node: Address, errors: Errors) {
        let index = node as usize;
        if self.errors.len() <= index {
            self.errors.resize(index + 1, Errors::default());
        }
        let before = std::mem::replace(&mut self.errors[index], errors);
        self.total.missing = self.total.missing + errors.missing - before.missing;
        self.total.wrong = self.total.wrong + errors.wrong - before.wrong;
        let is_erroneous = |errors: Errors| usize::from(errors.missing + errors.wrong > 0);
        self.erroneous = self.erroneous + is_erroneous(errors) - is_erroneous(before);
    }

    /// Share of the nodes alive with exactly the correct neighbours.
    fn share(&self) -> f64 {
        let alive = self.correct.nodes();
        (alive - self.erroneous) as f64 / alive as f64
    }

    /// Notes an event in which `nodes` nodes took part; all of them were compared. `sent` counts what was sent before.
    pub(super) fn event(&mut self, at: Time, kind: EventKind, nodes: usize, sent: Sent) {
        self.window = Some(Window {
            at,
            kind,
            nodes,
            alive: self.correct.nodes(),
            correct_after: self.share(),
            sent,
        });
    }

    /// Ends the record of the event before, if there was one; `nodes` are all nodes, by address.
    pub(super) fn close(&mut self, sent: &Sent, nodes: &[Option<Node>]) {
        let Some(window) = self.window.take() else {
            return;
        };
        let sent = sent.since(&window.sent);
        let recovered = self.correct_since.map(|since| since.since(window.at));
        let messages = sent.messages.total();
        self.trace.events.push(EventRecord {
            at_seconds: window.at.seconds(),
            kind: window.kind,
            nodes: window.nodes,
            alive: window.alive,
            correct_after: window.correct_after,
            correct: self.share(),
            components: components(nodes),
            recovered_seconds: recovered.map(Time::seconds),
            messages,
            messages_per_node: messages as f64 / window.nodes as f64,
            kinds: sent.messages,
            hops_per_search: (sent.searches > 0).then(|| sent.hops as f64 / sent.searches as f64),
            heartbeats: sent.heartbeats,
        });
    }

    pub(super) fn sample(&mut self, now: Time, sent: &Sent) {
        self.trace.samples.push(ChurnSample {
            seconds: now.seconds(),
            alive: self.correct.nodes(),
            correct: self.share(),
            missing: self.total.missing,
            wrong: self.total.wrong,
            messages: sent.messages.total(),
            heartbeats: sent.heartbeats,
        });
    }

    /// Starts the clock anew after the overlay was grown.
    pub(super) fn restart(&mut self) {
        self.correct_since = self.correct_since.map(|_| Time::default());
    }

    pub(super) fn into_trace(self) -> ChurnTrace {
        self.trace
    }
}

/// Connected components of the nodes alive, linked to the neighbours that they have.
fn components(nodes: &[Option<Node>]) -> usize {
    let mut sets = UnionFind::<Address>::new(nodes.len());
    let mut components = nodes.iter().flatten().count();
    for node in nodes.iter().flatten() {
        let alive = |contact: &Address| nodes[*contact as usize].is_some();
        for contact in node.contacts().filter(alive) {
            components -= usize::from(sets.union(node.address, contact));
        }
    }
    components
}
