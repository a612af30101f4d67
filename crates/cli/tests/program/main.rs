//! The program as a user meets it: what it is given, what it writes, and how it ends.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod bars;
mod broken;
mod changing_overlays;
mod churn;
mod claims;
mod client_figures;
mod data;
mod default_signals;
mod devices;
mod drawn;
mod ended_early;
mod experiment_page;
#[cfg(feature = "gpu")]
mod failing_gpu;
mod failure;
mod figure;
mod guide;
mod interruption;
mod judged_at;
mod limits;
mod long_work;
mod maps;
mod memory;
mod names;
#[cfg(target_os = "linux")]
mod narrow;
mod pages;
mod panels;
mod printing;
mod reproduce;
mod running;
mod runs;
mod sandbox;
#[cfg(target_os = "linux")]
mod signals;
mod speed_up;
mod status;
#[cfg(unix)]
mod submit;
mod table;
mod tensorboard;
mod timing;
mod tuned;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watching;
mod words;
mod x_setting;
