//! A finished run that differs from another in its number of rounds alone: the longer one goes on from its checkpoint.

use std::ffi::OsString;
use std::fs;

use meshfold_algorithms::Method;

use crate::config::id::run_id;
use crate::config::run_config::RunConfig;
use crate::files::whole_file::{persist, temporary};
use crate::plan::run_plan::RunPlan;
use crate::results::checkpoint::{CheckpointFile, Origin, VerifiedCheckpoint};
use crate::results::run_error::RunError;
use crate::results::run_folder::{CHECKPOINT, METRICS, RunFolder, SPOOL};
use crate::results::run_folders::subfolders;

/// A finished run of fewer rounds, and the checkpoint of its last round.
#[derive(Debug)]
pub(super) struct ShorterRun {
    folder: RunFolder,
    pub(super) checkpoint: VerifiedCheckpoint,
}

impl ShorterRun {
    /// The one that went furthest, among the runs beside `folder`, of those that are `plan` with fewer rounds and that the version,
    /// the device kind and the data of `origin` brought to their end. Only runs that kept their checkpoint come into question.
    ///
    pub(super) fn find(plan: &RunPlan, folder: &RunFolder, origin: &Origin) -> Option<Self> {
        if !may_be_lengthened(&plan.config) {
            return None;
        }
        let beside = subfolders(folder.path().parent()?).ok()?;
        let found = beside.into_iter().filter_map(|path| {
            let is_other = path != folder.path();
            let other = RunFolder::at(path);
            (is_other && is_shorter(plan, &other)).then(|| Self::open(other, origin))?
        });
        found.max_by_key(|run| run.checkpoint.saved.round)
    }

    /// The run in `folder`, if its checkpoint is of the version, the device kind and the data of `origin`.
    fn open(folder: RunFolder, origin: &Origin) -> Option<Self> {
        let id = folder.path().file_name()?.to_str()?;
        let checkpoint = CheckpointFile::new(folder.file(CHECKPOINT))
            .of_run(id)
            .ok()?;
        let by = &checkpoint.saved.origin;
        let is_alike = by.by == origin.by && by.data == origin.data;
        // One that ended before its first round has nothing to go on from.
        let has_begun = checkpoint.saved.round > 0;
        (is_alike && has_begun).then_some(Self { folder, checkpoint })
    }

    /// Copies the records and the scores of the run to `folder`.
    pub(super) fn copy_to(&self, folder: &RunFolder) -> Result<(), RunError> {
        for name in [METRICS, SPOOL] {
            let target = folder.file(name);
            let copied = temporary(folder.path()).and_then(|mut copy| {
                let mut found = fs::File::open(self.folder.file(name))?;
                std::io::copy(&mut found, &mut copy)?;
                persist(copy, &target)
            });
            copied.map_err(|source| RunError::write(&target, source))?;
        }
        Ok(())
    }
}

/// Whether a run of more rounds may go on from one of `config`. A method of a program's own may know how many rounds its run has, so
/// its runs are never shorter ones of others.
pub(crate) fn may_be_lengthened(config: &RunConfig) -> bool {
    !matches!(config.algorithm, Method::Own(_))
}

/// Whether the run in `folder` is finished, is `plan` but for fewer rounds, and has what a longer run needs.
fn is_shorter(plan: &RunPlan, folder: &RunFolder) -> bool {
    let has = |name: &str| folder.file(name).is_file();
    if !has(CHECKPOINT) || !has(SPOOL) || !has(METRICS) || folder.done().is_none() {
        return false;
    }
    let rounds = folder.config(&plan.own).map(|config| config.rounds);
    let of_rounds = |rounds| {
        let config = plan.config.clone();
        OsString::from(run_id(&RunConfig { rounds, ..config }))
    };
    let name = folder.path().file_name();
    rounds.is_some_and(|rounds| {
        rounds < plan.config.rounds && name == Some(of_rounds(rounds).as_os_str())
    })
}
