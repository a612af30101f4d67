//! Overlays, their weights and spectra, and configurations of them.
#![allow(clippy::unwrap_used)]

mod configuration;
mod d_cliques;
mod effective_neighbours;
mod fastest;
mod large_overlays;
mod prescribed_weights;
mod schedules;
mod spectra;
mod value_stability;
mod weights_on_overlays;
