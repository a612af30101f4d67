//! Parts of an experiment that are written in Python.

mod example_arrays;
mod figure;
mod memory;
mod method;
mod model;
pub(crate) mod parts;
mod read;
mod round;
pub(crate) mod stack;
mod uses;
mod views;
mod writes;

pub(crate) use read::{OwnClass, own};
pub(crate) use round::{PyMixing, PyRound};
