//! Parts of an experiment that are written in Python.

mod compression;
mod example_arrays;
mod figure;
mod memory;
mod messages;
mod method;
mod mixing;
mod model;
pub(crate) mod parts;
mod read;
mod round;
mod row_work;
pub(crate) mod stack;
mod uses;
mod views;
mod whole_numbers;
mod writes;

pub(crate) use mixing::PyMixing;
pub(crate) use read::{OwnClass, own};
pub(crate) use round::PyRound;
