//! The edges of each round with their weights, as a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use meshfold_experiment::{OverlaysOfRounds, RunPlan};

use crate::failure::Failure;
use crate::figures::count;

/// Writes who sends to whom in the first `rounds` rounds of each of `plans` to `file`, as CSV: the id of the run, the round, the sender, the
/// receiver, and the weight that the receiver gives to the sender's model.
///
/// # Errors
/// [`Failure::Refused`] if the overlay of a round cannot be drawn, [`Failure::Broken`] if the file cannot be written.
pub(super) fn write(plans: &[RunPlan], rounds: usize, file: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::unwritten(file, error);
    let mut out = BufWriter::new(File::create(file).map_err(failed)?);
    writeln!(out, "run,round,sender,receiver,weight").map_err(failed)?;
    let (mut edges, mut runs) = (0, 0);
    for plan in plans.iter().filter(|plan| plan.overlay.is_some()) {
        runs += 1;
        let mut overlays = OverlaysOfRounds::of(plan);
        for round in 1..=rounds.min(plan.config.rounds) {
            let overlay = overlays.in_round(round).map_err(|error| {
                Failure::refused(format_args!("{}, round {round}: {error}", plan.label()))
            })?;
            let Some((overlay, weights)) = overlay else {
                break;
            };
            for receiver in 0..overlay.nodes() {
                for sender in overlay.neighbours(receiver).iter() {
                    let weight = weights.weight(receiver, *sender as usize);
                    writeln!(out, "{},{round},{sender},{receiver},{weight}", plan.id)
                        .map_err(failed)?;
                    edges += 1;
                }
            }
        }
    }
    out.flush().map_err(failed)?;
    let [runs, edges] = [runs, edges].map(count);
    let longest = plans.iter().map(|plan| plan.config.rounds).max();
    let ends = longest.filter(|longest| *longest < rounds);
    let ends = ends.map_or_else(String::new, |longest| {
        format!(", which have {longest} rounds")
    });
    writeln!(
        io::stdout().lock(),
        "{}: {edges} messages of {runs} runs{ends}",
        file.display()
    )?;
    Ok(())
}
