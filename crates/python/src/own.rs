//! Parts of an experiment that are written in Python.

mod absent_rows;
mod batch;
mod compression;
mod example_arrays;
mod figure;
mod layers;
mod learning_rate;
mod memory;
mod messages;
mod method;
mod mixing;
mod model;
mod number_lists;
mod overlay;
pub(crate) mod parts;
mod planned_round;
mod read;
mod round;
mod row_edges;
mod row_work;
mod scale;
mod side_calls;
mod slopes;
pub(crate) mod stack;
mod start;
mod uses;
mod views;
mod writes;

pub(crate) use batch::PyBatch;
pub(crate) use mixing::PyMixing;
pub(crate) use planned_round::PyPlannedRound;
pub(crate) use read::{OwnClass, own};
pub(crate) use round::{PyNetwork, PyRound};
pub(crate) use start::PyStart;
