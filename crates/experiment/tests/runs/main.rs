//! Whole runs on a tiny dataset: what they write, and that breaking off, resuming and repeating change nothing.

#![allow(clippy::unwrap_used)]

mod bounds;
mod breaking_off;
mod broken;
mod budget;
mod changing;
mod checkpoints;
mod client_views;
mod damaged;
mod fine_tuning;
mod finishing;
mod longer;
mod membership;
mod models;
mod other_data;
mod prescribed_weights;
mod seeds;
mod side_by_side;
mod stopping;
mod tests_of_owners;
mod tiny;
mod what_is_written;
