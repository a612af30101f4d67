//! Data folders, downloads and partitions, as a program uses them.
#![allow(clippy::unwrap_used)]

mod fetch;
mod glyphs_hardness;
mod paper_partitions;
mod partition_errors;
mod partitions;
mod pieces;
