//! Sizes and ways of messages, as methods in Python give them.

use meshfold_algorithms::Message;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::whole_numbers::one_or_each;

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

/// The pairs of sender and receiver in `edges`, `[E, 2]`: two clients that take part, of which `alive` says who does.
pub(super) fn pairs(edges: &Bound<'_, PyAny>, alive: &[bool]) -> PyResult<Vec<(u32, u32)>> {
    let arrays = edges.py().import("meshfold._arrays")?;
    let found = arrays.call_method1("pairs", (edges, "send: `edges`", alive.len()))?;
    let found = found.cast_into::<PyArray2<u32>>()?;
    let pairs: Vec<(u32, u32)> = found
        .readonly()
        .as_slice()?
        .chunks_exact(2)
        .map(|ends| (ends[0], ends[1]))
        .collect();
    for (from, to) in &pairs {
        if from == to {
            return Err(PyValueError::new_err(format!(
                "send: an edge goes from client {from} to itself"
            )));
        }
        for client in [from, to] {
            if !alive[*client as usize] {
                return Err(PyValueError::new_err(format!(
                    "send: the edge from {from} to {to} names client {client}, which takes no part in this round: see `round.alive`"
                )));
            }
        }
    }
    Ok(pairs)
}

/// The messages over `pairs`, of `bytes` each; those without bytes are not sent.
pub(super) fn over(pairs: &[(u32, u32)], bytes: &[u64]) -> Vec<Message> {
    let messages = pairs.iter().zip(bytes);
    let messages = messages.map(|(&(from, to), &bytes)| Message { from, to, bytes });
    messages.filter(|message| message.bytes > 0).collect()
}
