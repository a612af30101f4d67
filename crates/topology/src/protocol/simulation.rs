//! The simulation: nodes, the clock, and what happens to them.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::churn::{Change, Churn, Start};
use super::clock::{Clock, Time};
use super::coordinates::{Address, Coordinates, Slot};
use super::error::ChurnError;
use super::measurement::Measurement;
use super::message::Message;
use super::network::Network;
use super::node::{Node, Turn};
use super::post::Post;
use super::trace::{ChurnTrace, EventKind};

/// Simulates the protocol.
///
/// The same `churn` gives the same trace. All draws come from its seed. There is one stream each for the first
/// coordinates, those of later nodes, latencies, the nodes' own draws, and the nodes that events hit.
///
/// # Errors
/// [`ChurnError`] of the first setting that cannot work.
///
/// # Complexity
/// Every message is an event. Ten thousand nodes on three rings send 60,000 heartbeats per interval.
pub fn simulate(churn: &Churn) -> Result<ChurnTrace, ChurnError> {
    churn.check()?;
    let mut simulation = Simulation::new(churn);
    match churn.start {
        Start::Built => simulation.build(),
        Start::Grown => simulation.grow(),
    }
    simulation.run();
    Ok(simulation.into_trace())
}

/// What each stream of draws is for.
#[derive(Clone, Copy)]
enum Purpose {
    Coordinates = 0,
    LaterCoordinates = 1,
    Latencies = 2,
    Nodes = 3,
    Events = 4,
}

/// An event of the simulation.
#[derive(Debug)]
enum Event {
    /// A message arrives.
    Arrival {
        from: Address,
        to: Address,
        message: Message,
    },
    /// A node asks for a member, through which it joins.
    Join(Address),
    /// A heartbeat of a node is due.
    Tick(Address),
    /// What the configuration plans.
    Change(Change),
    Sample,
}

/// All nodes and what lies between them.
pub(super) struct Simulation<'a> {
    churn: &'a Churn,
    clock: Clock<Event>,
    network: Network,
    pub(super) coordinates: Coordinates,
    /// By address; `None` for nodes that are gone or not there yet.
    pub(super) nodes: Vec<Option<Node>>,
    /// The nodes alive, ascending.
    alive: Vec<Address>,
    later_coordinates: ChaCha8Rng,
    node_draws: ChaCha8Rng,
    event_draws: ChaCha8Rng,
    measurement: Measurement,
    post: Post,
    letters: Vec<(Address, Message)>,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(churn: &'a Churn) -> Self {
        let stream = |purpose: Purpose| {
            let mut draws = ChaCha8Rng::seed_from_u64(churn.seed);
            draws.set_stream(purpose as u64);
            draws
        };
        let mut draws = stream(Purpose::Coordinates);
        Self {
            churn,
            clock: Clock::new(),
            network: Network::new(churn.latency, stream(Purpose::Latencies)),
            coordinates: Coordinates::draw(churn.nodes, churn.spaces, &mut draws),
            nodes: (0..churn.nodes).map(|_| None).collect(),
            alive: Vec::new(),
            later_coordinates: stream(Purpose::LaterCoordinates),
            node_draws: stream(Purpose::Nodes),
            event_draws: stream(Purpose::Events),
            measurement: Measurement::new(churn.spaces),
            post: Post::default(),
            letters: Vec::new(),
        }
    }

    /// Every node begins with its correct neighbours and knows theirs.
    pub(super) fn build(&mut self) {
        let addresses = 0..self.churn.nodes as Address;
        for address in addresses.clone() {
            self.enter(Node::new(address, self.churn.spaces));
        }
        for address in addresses.clone() {
            for slot in Slot::all(self.churn.spaces) {
                let correct = &self.measurement.correct;
                let neighbour = correct.neighbour(address, slot, &self.coordinates);
                let neighbour = neighbour.expect("there are at least two nodes");
                self.act(address, |node, turn| {
                    node.put(slot, neighbour, turn);
                });
            }
        }
        for address in addresses.clone() {
            let node = self.nodes[address as usize]
                .as_ref()
                .expect("it was made above");
            let table = node.table.clone();
            for contact in node.contacts().collect::<Vec<_>>() {
                self.act(contact, |node, turn| {
                    node.hear(address, table.clone(), turn.now);
                });
            }
        }
        self.compare(addresses);
    }

    /// The nodes join one after another, each when the messages of the one before have ended.
    pub(super) fn grow(&mut self) {
        let sent = self.network.sent;
        for address in 0..self.churn.nodes as Address {
            self.begin_join(address);
            while let Some(event) = self.clock.next(Time::FAR) {
                self.happen(event);
            }
        }
        self.clock = Clock::new();
        for node in self.nodes.iter_mut().flatten() {
            node.start_clock();
        }
        self.measurement.restart();
        let joins = self.churn.nodes - 1;
        self.measurement
            .event(Time::default(), EventKind::Grow, joins, sent);
        self.measurement.close(&self.network.sent, &self.nodes);
        self.network.sent = Default::default();
    }

    /// Plans what the configuration asks for, and follows the clock to its end.
    pub(super) fn run(&mut self) {
        for event in &self.churn.events {
            let change = event.change().expect("the events were checked");
            self.clock
                .plan(Time::from_seconds(event.at_seconds), Event::Change(change));
        }
        self.clock.plan(Time::default(), Event::Sample);
        for address in self.alive.clone() {
            let phase = self.churn.heartbeat_seconds * self.node_draws.random::<f64>();
            self.clock
                .plan(Time::from_seconds(phase), Event::Tick(address));
        }
        let end = Time::from_seconds(self.churn.until_seconds);
        while let Some(event) = self.clock.next(end) {
            self.happen(event);
        }
        self.measurement.close(&self.network.sent, &self.nodes);
    }

    fn into_trace(self) -> ChurnTrace {
        self.measurement.into_trace()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival { from, to, message } => {
                self.act(to, |node, turn| node.receive(from, message, turn));
            }
            Event::Join(address) => {
                if let Some(member) = self.member_for(address) {
                    self.act(address, |node, turn| node.join(member, turn));
                }
            }
            Event::Tick(address) if self.is_alive(address) => {
                self.act(address, Node::tick);
                self.plan_tick(address);
            }
            Event::Tick(_) => {}
            Event::Change(change) => self.change(change),
            Event::Sample => {
                self.measurement
                    .sample(self.clock.now(), &self.network.sent);
                let next = Time::from_seconds(self.churn.sample_seconds);
                self.clock.plan(next, Event::Sample);
            }
        }
    }

    fn plan_tick(&mut self, address: Address) {
        let heartbeat = Time::from_seconds(self.churn.heartbeat_seconds);
        self.clock.plan(heartbeat, Event::Tick(address));
    }

    fn change(&mut self, change: Change) {
        self.measurement.close(&self.network.sent, &self.nodes);
        let sent = self.network.sent;
        let nodes = change.nodes(self.alive.len());
        let kind = match change {
            Change::Join(_) => {
                self.join(nodes);
                EventKind::Join
            }
            Change::Leave(_) => {
                let leaving = self.draw(nodes);
                for &address in &leaving {
                    self.act(address, Node::leave);
                }
                self.depart(&leaving);
                EventKind::Leave
            }
            Change::Fail(_) => {
                let failing = self.draw(nodes);
                self.depart(&failing);
                EventKind::Fail
            }
        };
        self.measurement.event(self.clock.now(), kind, nodes, sent);
    }

    fn join(&mut self, nodes: usize) {
        for _ in 0..nodes {
            let address = self.coordinates.add(&mut self.later_coordinates);
            self.nodes.push(None);
            self.begin_join(address);
            self.plan_tick(address);
        }
    }

    /// A new node appears, and asks a member if there is one.
    fn begin_join(&mut self, address: Address) {
        let member = self.member_for(address);
        self.enter(Node::new(address, self.churn.spaces));
        if let Some(member) = member {
            self.act(address, |node, turn| node.join(member, turn));
        }
        self.compare([address]);
    }

    /// A node alive other than `address`, drawn at random: what a list of members would answer.
    fn member_for(&mut self, address: Address) -> Option<Address> {
        let own = self.alive.binary_search(&address);
        let others = self.alive.len() - usize::from(own.is_ok());
        if others == 0 {
            return None;
        }
        let mut index = self.event_draws.random_range(0..others);
        index += usize::from(own.is_ok_and(|own| index >= own));
        Some(self.alive[index])
    }

    /// Draws that many of the nodes alive.
    fn draw(&mut self, nodes: usize) -> Vec<Address> {
        let mut drawn = self.alive.clone();
        for index in 0..nodes {
            let other = self.event_draws.random_range(index..drawn.len());
            drawn.swap(index, other);
        }
        drawn.truncate(nodes);
        drawn
    }

    fn is_alive(&self, address: Address) -> bool {
        self.nodes[address as usize].is_some()
    }

    fn enter(&mut self, node: Node) {
        let address = node.address;
        let place = self.alive.partition_point(|&other| other < address);
        self.alive.insert(place, address);
        self.nodes[address as usize] = Some(node);
        let concerned = self.measurement.census(address, true, &self.coordinates);
        self.compare(concerned);
    }

    fn depart(&mut self, departing: &[Address]) {
        let mut concerned = Vec::new();
        for &address in departing {
            self.nodes[address as usize] = None;
            concerned.extend(self.measurement.census(address, false, &self.coordinates));
        }
        let nodes = &self.nodes;
        self.alive
            .retain(|&address| nodes[address as usize].is_some());
        self.compare(concerned);
    }

    /// Compares those of `addresses` that are alive with the correct rings.
    fn compare(&mut self, addresses: impl IntoIterator<Item = Address>) {
        let now = self.clock.now();
        for address in addresses {
            if let Some(node) = &self.nodes[address as usize] {
                self.measurement.compare(node, now, &self.coordinates);
            }
        }
    }

    /// Lets a node act if it is alive, and sends what it wrote.
    fn act(&mut self, address: Address, action: impl FnOnce(&mut Node, &mut Turn<'_>)) {
        let Some(node) = self.nodes[address as usize].as_mut() else {
            return;
        };
        let mut turn = Turn {
            now: self.clock.now(),
            heartbeat: Time::from_seconds(self.churn.heartbeat_seconds),
            timeout: Time::from_seconds(self.churn.timeout_seconds),
            coordinates: &self.coordinates,
            draws: &mut self.node_draws,
            post: &mut self.post,
        };
        action(node, &mut turn);
        let (changed, seeks_member) = (self.post.changed, self.post.seeks_member);
        self.post.write(node, &mut self.letters);
        for (to, message) in self.letters.drain(..) {
            let takes = self.network.send(&message);
            let from = address;
            self.clock.plan(takes, Event::Arrival { from, to, message });
        }
        if changed {
            self.compare([address]);
        }
        if seeks_member {
            self.clock.plan(Time::default(), Event::Join(address));
        }
    }
}
