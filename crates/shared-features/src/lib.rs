//! Nothing but features: Cargo compiles a crate anew for every other set of its features.
//!
//! `cargo run`, the tests of the workspace and the Python package ask for different features of the crates that they share: of `syn`,
//! say, on which every derived `Serialize` rests. Whatever depends on this crate asks for all of them, so that each crate is compiled
//! once.
