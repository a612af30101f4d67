//! Sizes and ways of messages, as methods in Python give them.

use meshfold_algorithms::{Message, Round};
use meshfold_topology::Overlay;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::number_lists::{clients, one_or_each};

/// The largest message: more bytes, summed over rounds, might be too many for a count.
const MOST_BYTES: u64 = 1_000_000_000_000;

/// Who sends to whom in a call of `send`.
pub(super) enum Ways {
    /// Each client alive to all that hear it on the overlay.
    Neighbours,
    /// These pairs of sender and receiver.
    Pairs(Vec<(u32, u32)>),
    /// The server and these clients, or all that are alive.
    Server {
        sends: bool,
        clients: Option<Vec<u32>>,
    },
}

/// The arguments of `send` that say who sends to whom.
pub(super) struct Ends<'a, 'py> {
    pub(super) edges: Option<&'a Bound<'py, PyAny>>,
    pub(super) to: Option<&'a Bound<'py, PyAny>>,
    pub(super) from: Option<&'a Bound<'py, PyAny>>,
}

/// What `to` or `from_` names.
enum End {
    Server,
    Clients(Vec<u32>),
}

impl Ends<'_, '_> {
    /// The ways between `count` clients, and the server if the method `has_server`.
    pub(super) fn ways(&self, count: usize, has_server: bool) -> PyResult<Ways> {
        let refused = |reason: &str| Err(PyValueError::new_err(format!("send: {reason}")));
        let named = [(self.to, "`to`"), (self.from, "`from_`")];
        let [to, from] = named.map(|(given, name)| given.map(|given| end(given, name, count)));
        let (to, from) = (to.transpose()?, from.transpose()?);
        let (sends, clients) = match (to, from, self.edges) {
            (None, None, None) => return Ok(Ways::Neighbours),
            (None, None, Some(edges)) => return Ok(Ways::Pairs(pairs(edges, count)?)),
            (_, _, Some(_)) => return refused("give `edges`, or `to` and `from_`, not both"),
            (Some(End::Server), Some(End::Server), None) => {
                return refused("the server cannot send to itself");
            }
            (Some(End::Server), from, None) => (false, from),
            (to, Some(End::Server), None) => (true, to),
            (_, _, None) => {
                return refused(
                    "`to` or `from_` must be \"server\": name the messages between clients by `edges`",
                );
            }
        };
        if !has_server {
            return Err(PyRuntimeError::new_err(
                "send: this method has no server: write `server = True` in its class",
            ));
        }
        let clients = clients.and_then(End::clients);
        Ok(Ways::Server { sends, clients })
    }
}

impl End {
    fn clients(self) -> Option<Vec<u32>> {
        match self {
            Self::Server => None,
            Self::Clients(clients) => Some(clients),
        }
    }
}

fn end(given: &Bound<'_, PyAny>, name: &str, count: usize) -> PyResult<End> {
    match given.extract::<String>() {
        Ok(text) if text == "server" => Ok(End::Server),
        Ok(text) => Err(PyTypeError::new_err(format!(
            "send: {name} is {text:?}, needed \"server\" or numbers of clients"
        ))),
        Err(_) => Ok(End::Clients(clients(
            given,
            &format!("send: {name}"),
            count,
        )?)),
    }
}

impl Ways {
    /// How many messages there may be, and what each is called, in a round of `count` clients.
    pub(super) fn messages(&self, count: usize) -> (usize, &'static str) {
        match self {
            Self::Pairs(pairs) => (pairs.len(), "edge"),
            Self::Server {
                clients: Some(clients),
                ..
            } => (clients.len(), "client"),
            Self::Neighbours | Self::Server { clients: None, .. } => (count, "client"),
        }
    }

    /// Whether they are the edges of an undirected overlay as `round` lists them, each in one direction.
    pub(super) fn are_one_way(&self, round: &Round<'_>) -> bool {
        match (self, round.overlay) {
            (Self::Pairs(pairs), Some(overlay)) if !overlay.is_directed() && !pairs.is_empty() => {
                overlay.edge_count() == pairs.len() && overlay.edges().eq(pairs.iter().copied())
            }
            _ => false,
        }
    }

    /// Counts messages of these sizes in `round`; those without bytes are not sent.
    pub(super) fn count(&self, sizes: &[u64], round: &mut Round<'_>) -> PyResult<()> {
        let messages = match self {
            Self::Neighbours => {
                round.exchange_sizes(sizes);
                return Ok(());
            }
            Self::Pairs(pairs) => {
                expect_there(pairs, round)?;
                over(pairs, sizes)
            }
            Self::Server { sends, clients } => {
                with_server(*sends, clients.as_deref(), sizes, round)?
            }
        };
        round.traffic.messages(messages);
        Ok(())
    }
}

/// The messages of the server, which `sends` or receives, and these `clients`, or all alive.
fn with_server(
    sends: bool,
    clients: Option<&[u32]>,
    sizes: &[u64],
    round: &Round<'_>,
) -> PyResult<Vec<Message>> {
    let is_alive = |client: u32| round.alive[client as usize];
    let server = round.alive.len() as u32;
    let way = |client: u32| match sends {
        true => (server, client),
        false => (client, server),
    };
    let listed = clients.unwrap_or_default();
    if let Some(absent) = listed.iter().find(|client| !is_alive(**client)) {
        let name = if sends { "to" } else { "from_" };
        return Err(PyValueError::new_err(format!(
            "send: `{name}` names client {absent}, which takes no part in this round: see `round.alive`"
        )));
    }
    Ok(match clients {
        Some(clients) => {
            let pairs: Vec<_> = clients.iter().map(|client| way(*client)).collect();
            over(&pairs, sizes)
        }
        None => {
            let alive = (0..server)
                .zip(sizes)
                .filter(|(client, _)| is_alive(*client));
            let (pairs, sizes): (Vec<_>, Vec<_>) =
                alive.map(|(client, size)| (way(client), *size)).unzip();
            over(&pairs, &sizes)
        }
    })
}

/// The bytes of each of `count` messages or clients, called `each`: whole numbers, or one for all.
pub(super) fn sizes(bytes: &Bound<'_, PyAny>, count: usize, each: &str) -> PyResult<Vec<u64>> {
    let sizes = one_or_each(bytes, "send: `bytes`", count, each)?;
    let size = |size: i128| u64::try_from(size).ok().filter(|size| *size <= MOST_BYTES);
    let checked = sizes.into_iter().map(|found| {
        size(found).ok_or_else(|| {
            PyValueError::new_err(format!(
                "send: found a message of {found} bytes, needed a whole number from 0 to {MOST_BYTES}"
            ))
        })
    });
    checked.collect()
}

/// The pairs of sender and receiver in `edges`, `[E, 2]`: two of `count` clients each.
fn pairs(edges: &Bound<'_, PyAny>, count: usize) -> PyResult<Vec<(u32, u32)>> {
    let arrays = edges.py().import("meshfold._arrays")?;
    let found = arrays.call_method1("pairs", (edges, "send: `edges`", count))?;
    let found = found.cast_into::<PyArray2<u32>>()?;
    let pairs: Vec<(u32, u32)> = found
        .readonly()
        .as_slice()?
        .chunks_exact(2)
        .map(|ends| (ends[0], ends[1]))
        .collect();
    match pairs.iter().find(|(from, to)| from == to) {
        None => Ok(pairs),
        Some((from, _)) => Err(PyValueError::new_err(format!(
            "send: an edge goes from client {from} to itself"
        ))),
    }
}

/// Makes sure that both ends of each pair take part in `round`, or that it is a link of the overlay, over which a straggler may receive.
fn expect_there(pairs: &[(u32, u32)], round: &Round<'_>) -> PyResult<()> {
    for &(from, to) in pairs {
        let hears = || {
            let hears = |overlay: &Overlay| overlay.listeners(from as usize).contains(&to);
            round.overlay.is_some_and(hears)
        };
        let absent = [from, to]
            .into_iter()
            .find(|client| !round.alive[*client as usize]);
        if let Some(client) = absent
            && !hears()
        {
            return Err(PyValueError::new_err(format!(
                "send: the edge from {from} to {to} names client {client}, which takes no part in this round: see `round.alive`"
            )));
        }
    }
    Ok(())
}

/// The messages over `pairs`, of `bytes` each; those without bytes are not sent.
fn over(pairs: &[(u32, u32)], bytes: &[u64]) -> Vec<Message> {
    let messages = pairs.iter().zip(bytes);
    let messages = messages.map(|(&(from, to), &bytes)| Message { from, to, bytes });
    messages.filter(|message| message.bytes > 0).collect()
}
