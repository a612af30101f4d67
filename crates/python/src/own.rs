//! Parts of an experiment that are written in Python.

mod method;
pub(crate) mod parts;
mod read;
mod round;
pub(crate) mod stack;

pub(crate) use read::{OwnClass, own};
pub(crate) use round::{PyMixing, PyRound};
