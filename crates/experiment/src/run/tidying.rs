//! Removes what a killed process left in the folder of a finished run.

use crate::files::whole_file::remove_leftovers;
use crate::plan::run_plan::RunPlan;
use crate::results::claim::Claim;
use crate::results::run_folder::{CHECKPOINT, CLIENTS, RunFolder, SPOOL};
use crate::run::journal::keeps;

/// Removes the leftovers, unless another process has the run.
pub(crate) fn tidy(folder: &RunFolder, plan: &RunPlan) {
    let is_left = [SPOOL, CHECKPOINT].map(|name| folder.file(name).exists());
    remove_leftovers(folder.path());
    if is_left == [false, false] && !Claim::is_left(folder.path()) {
        return;
    }
    // The claim of a process that was killed goes with this one.
    let Ok(_claim) = Claim::take(folder.path()) else {
        return;
    };
    let config = folder.config(&plan.own);
    let is_whole = folder.done().is_some() && folder.file(CLIENTS).is_file();
    if is_whole && config.is_some_and(|config| !keeps(&config)) {
        // What cannot be removed does no harm.
        for left in [SPOOL, CHECKPOINT] {
            folder.remove(left).ok();
        }
    }
}
