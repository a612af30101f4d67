//! The mixing workload: products of the whole stack with a sparse matrix, nothing else; and copies of it, to compare with.

use crate::BenchError;
use crate::case::Case;
use crate::clock::{Protocol, rounded};
use crate::over_ranks::Count;
use crate::training::{record, regular_mixing};
use meshfold_engine::{Device, Layout, Stack};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::sync::Arc;

/// Models of random numbers.
fn models(case: &Case, device: &Device) -> Result<Stack, BenchError> {
    let mut layout = Layout::default();
    layout.push("row", 1, case.parameters);
    let layout = Arc::new(layout);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut values = vec![0.0; case.clients * layout.width()];
    for row in values.chunks_exact_mut(layout.width()) {
        row[..case.parameters].fill_with(|| rng.random_range(-1.0f32..1.0));
    }
    Ok(Stack::from_host(device, &layout, values)?)
}

/// Times what `work` does to all models, and says how many bytes a second that is if each model is read and written once.
fn timed(
    case: &Case,
    device: &Device,
    protocol: Protocol,
    mut work: impl FnMut(&mut Stack) -> Result<(), BenchError>,
) -> Result<Value, BenchError> {
    let mut stack = models(case, device)?;
    let count_sent = Count::begin(device);
    let timing = protocol.time(|| {
        for _ in 0..case.rounds {
            work(&mut stack)?;
        }
        device.wait();
        Ok::<f64, BenchError>(0.0)
    })?;
    let mut record = record(case, device, &timing, case.parameters, 0.0);
    let [median, _, _] = timing.spread();
    let bytes = (4 * case.clients * case.parameters * case.rounds) as f64;
    record["gbps_read_once"] = rounded(2.0 * bytes / median / 1e9).into();
    record["gbps_per_edge"] = rounded((case.degree + 2) as f64 * bytes / median / 1e9).into();
    count_sent.end(&mut record, protocol.repeats() * case.rounds);
    Ok(record)
}

/// Times copies of all models.
pub(crate) fn copies(
    case: &Case,
    device: &Device,
    protocol: Protocol,
) -> Result<Value, BenchError> {
    let alone = Case {
        degree: 0,
        ..case.clone()
    };
    timed(&alone, device, protocol, |stack| {
        *stack = stack.duplicate();
        Ok(())
    })
}

/// Times mixing.
pub(crate) fn run(case: &Case, device: &Device, protocol: Protocol) -> Result<Value, BenchError> {
    let mixing = regular_mixing(case.clients, case.degree)?;
    timed(case, device, protocol, |stack| Ok(stack.mix(&mixing)?))
}
