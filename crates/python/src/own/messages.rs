//! Sizes and ways of messages, as methods in Python give them.

use meshfold_algorithms::{Message, Round};
use meshfold_topology::Overlay;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::number_lists::one_or_each;

/// The largest message: more bytes, summed over rounds, might be too many for a count.
const MOST_BYTES: u64 = 1_000_000_000_000;

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
pub(super) fn pairs(edges: &Bound<'_, PyAny>, count: usize) -> PyResult<Vec<(u32, u32)>> {
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
pub(super) fn expect_there(pairs: &[(u32, u32)], round: &Round<'_>) -> PyResult<()> {
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
pub(super) fn over(pairs: &[(u32, u32)], bytes: &[u64]) -> Vec<Message> {
    let messages = pairs.iter().zip(bytes);
    let messages = messages.map(|(&(from, to), &bytes)| Message { from, to, bytes });
    messages.filter(|message| message.bytes > 0).collect()
}
