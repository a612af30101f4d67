//! Tests of the program that draw their cases at random: kills, damaged files, hostile configurations, long runs and large
//! sweeps.
//!
//! Every test takes cases until its time is over. A case is drawn from the seed, the name of the test and the number of
//! the case alone, so that each can be repeated. Environment variables say how much is done:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `MESHFOLD_SOAK_SEED` | what all cases are drawn from | 1 |
//! | `MESHFOLD_SOAK_SECONDS` | seconds after which a test begins no further case | 8 |
//! | `MESHFOLD_SOAK_CASES` | the most cases of a test | no limit |
//! | `MESHFOLD_SOAK_CASE` | the only case to do | all |
//! | `MESHFOLD_SOAK_ROUNDS` | rounds of the runs whose memory is watched | 3,000 |
//! | `MESHFOLD_SOAK_RUNS` | runs of the large sweep | 150 |
//! | `MESHFOLD_SOAK_FOLDER` | where the folders of cases lie; those of failures are kept | the system's folder for temporary files |
//!
//! `.ci/soak` runs these tests for hours.

// Signals, and the memory and time of processes, are asked for as Linux has them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod killed_sweeps;
mod kills;
mod rivals;

mod corruption;
mod damage;

mod commands;
mod configurations;
mod edge_values;
mod examination;
mod experiment_text;
mod faults;
mod flow_yaml;
mod random_runs;
mod reference;
mod worker;

mod flat_memory;
mod large_sweep;

#[path = "../program/default_signals.rs"]
mod default_signals;
mod dice;
mod interrupting;
mod outcome;
mod process_figures;
mod program;
mod session;
mod subject;
mod undisturbed;
