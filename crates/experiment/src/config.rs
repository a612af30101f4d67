//! What the file of an experiment says: its text, its values with their places, and the errors that point into it.
//!
//! [`source`] holds the text and [`tree`] its values. [`overrides`] and [`sweep`] change them, [`reader`] gives them
//! types, and [`experiment`] holds the runs that result. A [`fault`] at a place is an [`error`]; [`mistakes`] finds all
//! of them. [`schema`] describes all settings from the types that read them.

mod absent;
pub(crate) mod brief;
pub(crate) mod budget;
pub(crate) mod client_view;
mod correction;
mod decode_error;
pub(crate) mod edge_list;
pub(crate) mod error;
pub(crate) mod evaluate;
pub(crate) mod excerpt;
pub(crate) mod experiment;
pub(crate) mod fault;
pub(crate) mod fault_path;
pub(crate) mod fine_tune;
pub(crate) mod id;
pub(crate) mod initial_models;
pub(crate) mod label;
pub(crate) mod local_test;
pub(crate) mod membership;
pub(crate) mod mistakes;
mod overrides;
pub(crate) mod own;
pub(crate) mod place;
pub(crate) mod quantity;
pub(crate) mod reader;
pub(crate) mod run_config;
pub(crate) mod schema;
pub(crate) mod seeds;
pub(crate) mod source;
mod source_file;
pub(crate) mod sweep;
pub(crate) mod test_examples;
pub(crate) mod tree;
mod tree_access;
mod variant;
pub(crate) mod variation;
pub(crate) mod written;
mod yaml_error;
