//! What is written of a run while it goes on.
//!
//! A kill at any moment must leave a finished run, or one that resumes from its last checkpoint or starts again. So the order
//! of writes matters: records come before the checkpoint that counts them, and everything comes before `DONE`. The checkpoint
//! and the spool are removed after `DONE`, unless they are to be kept for a run of more rounds.

use std::path::{Path, PathBuf};
use std::time::Instant;

use meshfold_data::TrainingList;

use crate::config::edge_list;
use crate::config::run_config::{self, RunConfig};
use crate::files::whole_file::remove_leftovers;
use crate::plan::run_plan::RunPlan;
use crate::results::checkpoint::{
    CheckpointFile, Origin, Saved, SavedParameter, VerifiedCheckpoint,
};
use crate::results::claim::Claim;
use crate::results::clients::writer::ClientScores;
use crate::results::data_digests::DataDigests;
use crate::results::metrics::record::Record;
use crate::results::metrics::writer::Metrics;
use crate::results::names::{NAMES, Names};
use crate::results::run_error::RunError;
use crate::results::run_folder::{
    CHECKPOINT, CLIENTS, CONFIG, DONE, Done, ENVIRONMENT, FAILURE, METRICS, RunFolder, SPOOL,
};
use crate::results::summary::Seconds;
use crate::run::client_views;
use crate::run::digests::name_of;
use crate::run::ending::{Ending, RunReport};
use crate::run::environment::Environment;
use crate::run::observer::Resumed;
use crate::run::run_state::RunState;
use crate::run::shorter_run::ShorterRun;
use crate::run::summing_up;

/// The folder of checkpoints of earlier versions, which are not read.
const EARLIER: &str = "checkpoint";

/// The files of a run in progress.
#[derive(Debug)]
pub(crate) struct Journal<'a> {
    plan: &'a RunPlan,
    folder: RunFolder,
    origin: Origin,
    metrics: Metrics,
    clients: ClientScores,
    checkpoint: CheckpointFile,
    /// The checkpoint in the folder, or that of a shorter run, until the run goes on from it.
    found: Option<VerifiedCheckpoint>,
    records: Vec<Record>,
    /// The round of the checkpoint that is in the folder.
    saved: Option<usize>,
    /// Let go of after all files.
    claim: Claim,
}

/// What opening the folder of a run comes to.
#[derive(Debug)]
pub(crate) enum Opened<'a> {
    /// This process has the run.
    Begun(Box<Journal<'a>>),
    /// The run is finished already.
    Finished(Done),
}

impl<'a> Journal<'a> {
    /// Makes the folder and claims it for this process. With `again` an earlier run is forgotten.
    ///
    /// # Errors
    /// [`RunError::Busy`] if another process has it. [`RunError::OtherDevice`] and [`RunError::OtherData`], before anything is
    /// changed, if the run was begun on another device kind or with other data. [`RunError::Folder`] and [`RunError::Write`]
    /// if it cannot be written to.
    pub(crate) fn open(
        plan: &'a RunPlan,
        folder: RunFolder,
        origin: Origin,
        again: bool,
    ) -> Result<Opened<'a>, RunError> {
        folder.prepare()?;
        let claim = Claim::take(folder.path())?;
        // Another process may have finished the run before it was claimed.
        if let Some(by) = folder.done().filter(|_| !again) {
            return Ok(Opened::Finished(by));
        }
        remove_leftovers(folder.path());
        if again {
            for forgotten in [DONE, CHECKPOINT, EARLIER] {
                folder.remove(forgotten)?;
            }
        }
        let checkpoint = CheckpointFile::new(folder.file(CHECKPOINT));
        let mut found = checkpoint.open(&origin);
        if let Some(found) = &found {
            expect_same_origin(found, &origin, plan, folder.path())?;
        } else if !again && let Some(shorter) = ShorterRun::find(plan, &folder, &origin) {
            shorter.copy_to(&folder)?;
            found = Some(shorter.checkpoint);
        }
        for outdated in [CLIENTS, "summary.json", "report.html", FAILURE] {
            folder.remove(outdated)?;
        }
        Ok(Opened::Begun(Box::new(Self {
            metrics: Metrics::open(folder.file(METRICS))?,
            clients: ClientScores::open(folder.file(SPOOL), client_views::columns(plan))?,
            records: Vec::new(),
            saved: None,
            checkpoint,
            found,
            plan,
            folder,
            origin,
            claim,
        })))
    }

    /// The plan that is run.
    pub(crate) fn plan(&self) -> &RunPlan {
        self.plan
    }

    /// `round` is done, as whoever looks at the claim may know.
    pub(crate) fn done(&self, round: usize) {
        self.claim.done(round);
    }

    /// Digests of the data of the run.
    pub(crate) fn data(&self) -> &DataDigests {
        &self.origin.data
    }

    /// Brings `state` to the checkpoint, if there is one that fits and its records are unchanged. Records after it are cut
    /// off; without a checkpoint all are.
    pub(crate) fn resume(&mut self, state: &mut RunState<'_>) -> Result<Option<Resumed>, RunError> {
        if let Some(found) = self.found.take() {
            let misfit = state.misfit(&found);
            match misfit.map_or_else(|| self.keep(&found.saved), |misfit| Ok(Some(misfit)))? {
                None => {
                    let Saved { round, origin, .. } = &found.saved;
                    let shorter = (origin.run != self.plan.id).then(|| origin.run.clone());
                    let resumed = Resumed {
                        round: *round,
                        shorter,
                    };
                    // A run that goes on from another one's checkpoint has none of its own yet.
                    self.saved = resumed.shorter.is_none().then_some(resumed.round);
                    self.claim.begin_after(resumed.round);
                    state.restore(found)?;
                    if let Some(record) = self.last(state.round()) {
                        state.look_at(record);
                    }
                    return Ok(Some(resumed));
                }
                Some(reason) => found.report(&reason),
            }
        }
        for unusable in [CHECKPOINT, EARLIER] {
            self.folder.remove(unusable)?;
        }
        self.records = self.metrics.keep(0)?;
        self.clients.keep(0)?;
        Ok(None)
    }

    /// The last record, if it is that of `round`.
    fn last(&self, round: usize) -> Option<&Record> {
        self.records.last().filter(|record| record.round == round)
    }

    /// Whether the models of `round` have been judged.
    pub(crate) fn has(&self, round: usize) -> bool {
        self.last(round).is_some()
    }

    /// Keeps the records that `saved` counts and cuts off later ones. Returns what is wrong with them, if anything is.
    fn keep(&mut self, saved: &Saved) -> Result<Option<String>, RunError> {
        self.records = match self.metrics.keep(saved.records) {
            Err(error @ RunError::Record { .. }) => return Ok(Some(error.to_string())),
            kept => kept?,
        };
        let evaluations = self.clients.keep(saved.records)?;
        let counts = [self.records.len(), evaluations];
        let last = self.records.last().map_or(0, |record| record.round);
        let is_whole =
            counts == [saved.records; 2] && last <= saved.round && self.written() == saved.written;
        Ok((!is_whole).then(|| "records before it are missing or have changed".to_owned()))
    }

    /// SHA-256 of the records, then of the clients' scores.
    fn written(&self) -> [String; 2] {
        [self.metrics.digest(), self.clients.digest()]
    }

    /// Writes what is known of the run before its first round.
    pub(crate) fn begin(
        &self,
        environment: &Environment,
        train: &TrainingList<'_>,
    ) -> Result<(), RunError> {
        let (plan, folder) = (self.plan, &self.folder);
        folder.write(CONFIG, plan.config.to_yaml().as_bytes())?;
        folder.write_json(ENVIRONMENT, environment)?;
        let shards = match train.windows() {
            Some(windows) => plan.partition.to_text_csv(windows, train.classes()),
            None => plan.partition.to_csv(train.labels(), train.classes()),
        };
        folder.write("partition.csv", shards.as_bytes())?;
        match Names::of(train, &plan.partition, plan.files.digest().is_some()) {
            Some(names) => folder.write_json(NAMES, &names)?,
            None => folder.remove(NAMES)?,
        }
        if let Some(planned) = &plan.overlay {
            let overlay = &planned.overlay;
            folder.write_in_pieces("overlay.edges", |file| edge_list::write(overlay, file))?;
            folder.write_json("overlay.json", &planned.figures())?;
        }
        Ok(())
    }

    /// The file that says under what the run is made.
    pub(crate) fn environment(&self) -> PathBuf {
        self.folder.file(ENVIRONMENT)
    }

    /// The run in a line of the log.
    pub(crate) fn called(&self) -> String {
        format!("{} {}", self.plan.config.name, self.plan.id)
    }

    /// Judges the models and writes the record.
    pub(crate) fn record(&mut self, state: &mut RunState<'_>) -> Result<&Record, RunError> {
        let (record, scores) = state.evaluate()?;
        self.claim.verify()?;
        self.clients.append(record.round, &scores)?;
        self.metrics.append(&record)?;
        let (round, accuracy) = (record.round, record.test_accuracy.mean);
        let seconds = record.wall_seconds;
        tracing::info!(
            "{}: round {round}, test accuracy {:.2} %, after {seconds:.2} s of work",
            self.called(),
            100.0 * accuracy
        );
        Ok(self.records.push_mut(record))
    }

    /// Writes a checkpoint if one is due. After the last round it is written only if it is to be kept.
    ///
    /// That one is written before the models of the last round are judged. A longer run, which goes on from it, may judge them on other
    /// examples, or not at all.
    pub(crate) fn save_if_due(&mut self, state: &RunState<'_>) -> Result<(), RunError> {
        let config = &self.plan.config;
        let is_due = |checkpoint: &run_config::Checkpoint| match state.is_done() {
            true => checkpoint.keep,
            false => checkpoint
                .every
                .is_some_and(|every| state.round().is_multiple_of(every.max(1))),
        };
        match config.checkpoint.as_ref().is_some_and(is_due) {
            true => self.save(state),
            false => Ok(()),
        }
    }

    /// Writes a checkpoint, unless none are asked for, or the run has yet to begin.
    pub(crate) fn save(&mut self, state: &RunState<'_>) -> Result<(), RunError> {
        let round = state.round();
        let has_begun = round > 0 || state.is_done();
        if self.plan.config.checkpoint.is_none() || !has_begun || self.saved == Some(round) {
            return Ok(());
        }
        self.claim.verify()?;
        self.metrics.sync()?;
        self.clients.sync()?;
        let saved = Saved {
            origin: self.origin.clone(),
            round,
            records: self.records.len(),
            written: self.written(),
            totals: state.totals(),
            node_seconds: state.node_seconds(),
            learner: state.learner_state(),
            numbers: state.numbers(),
            iterates: *state.theory().weights(),
            gradients: state.theory().gradients_before().to_vec(),
            parameters: SavedParameter::all(state.layout()),
            alive: state.rows_alive(),
        };
        let begun = Instant::now();
        self.checkpoint.save(&saved, &state.stacks())?;
        self.saved = Some(round);
        let seconds = begun.elapsed().as_secs_f64();
        tracing::info!(
            "{}: checkpoint of round {round}, written in {seconds:.2} s",
            self.called()
        );
        Ok(())
    }

    /// Writes what the run came to. `DONE` comes after everything that it vouches for.
    pub(crate) fn end(
        mut self,
        state: &RunState<'_>,
        ending: Ending,
        resumed_from: Option<usize>,
    ) -> Result<RunReport, RunError> {
        let folder = &self.folder;
        self.claim.verify()?;
        self.clients
            .write_table(&folder.file(CLIENTS), state.row_kind())?;
        let totals = state.totals();
        let seconds = Seconds {
            rounds: totals.round_seconds,
            judging: totals.judging_seconds,
            all: totals.wall_seconds,
            processor: totals.processor_seconds,
        };
        tracing::info!(
            "{}: {} in round {}: {:.2} s of work, of which rounds {:.2} s and judging {:.2} s",
            self.called(),
            ending.name(),
            state.round(),
            seconds.all,
            seconds.rounds,
            seconds.judging
        );
        let summary = summing_up::summary(self.plan, &self.records, &ending, seconds);
        folder.write_json("summary.json", &summary)?;
        self.metrics.sync()?;
        if matches!(ending, Ending::Finished) {
            // Another process may have written a report of the unfinished run.
            folder.remove("report.html")?;
            self.claim.verify()?;
            folder.seal(&self.origin.by)?;
            if !keeps(&self.plan.config) {
                folder.remove(SPOOL)?;
                folder.remove(CHECKPOINT)?;
                self.saved = None;
            }
        }
        Ok(RunReport {
            id: self.plan.id.clone(),
            folder: folder.path().to_owned(),
            ending,
            resumed_from,
            checkpoint: self.saved,
            data: Some(self.origin.data),
            last: self.records.into_iter().last(),
            summary: Some(summary),
        })
    }
}

/// Checks that `found` was written on the device kind and with the data of `origin`.
fn expect_same_origin(
    found: &VerifiedCheckpoint,
    origin: &Origin,
    plan: &RunPlan,
    folder: &Path,
) -> Result<(), RunError> {
    let begun = &found.saved.origin;
    if begun.by.device != origin.by.device {
        return Err(RunError::OtherDevice {
            path: folder.to_owned(),
            begun_on: begun.by.device.clone(),
            device: origin.by.device.clone(),
            round: found.saved.round,
        });
    }
    match begun.data.changed_in(&origin.data) {
        Some(changed) => Err(RunError::OtherData {
            path: folder.to_owned(),
            dataset: name_of(&plan.config.dataset),
            changed,
        }),
        None => Ok(()),
    }
}

/// Whether the checkpoint of a finished run is kept.
pub(super) fn keeps(config: &RunConfig) -> bool {
    let checkpoint = config.checkpoint.as_ref();
    checkpoint.is_some_and(|checkpoint| checkpoint.keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;
    use meshfold_data::DataFolder;
    use std::fs;
    use tempfile::TempDir;

    const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 3}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 20, learning_rate: 0.05}}
rounds: 5
";

    fn plan() -> RunPlan {
        let source = ExperimentSource::new("tiny.yaml", YAML);
        let mut plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        plans.remove(0)
    }

    fn by() -> Done {
        Done {
            meshfold: "1.2.3".to_owned(),
            device: "cpu/portable".to_owned(),
        }
    }

    fn open<'a>(
        plan: &'a RunPlan,
        results: &TempDir,
        again: bool,
    ) -> (RunFolder, Result<Opened<'a>, RunError>) {
        let folder = RunFolder::new(results.path(), "tiny", &plan.id).unwrap();
        let origin = Origin {
            run: plan.id.clone(),
            by: by(),
            data: DataDigests::default(),
        };
        let opened = Journal::open(plan, folder.clone(), origin, again);
        (folder, opened)
    }

    #[test]
    fn a_run_that_another_process_has_just_finished_is_left_as_it_is() {
        let (plan, results) = (plan(), tempfile::tempdir().unwrap());
        let (folder, first) = open(&plan, &results, false);
        assert!(matches!(first, Ok(Opened::Begun(_))));
        // Another process found the run unfinished and comes while the first one has it.
        let (_, second) = open(&plan, &results, false);
        assert!(matches!(second, Err(RunError::Busy { .. })));
        let written = [METRICS, CLIENTS, "summary.json", "report.html"];
        for name in written {
            fs::write(folder.file(name), name).unwrap();
        }
        folder.write_json(DONE, &by()).unwrap();
        drop(first);
        match open(&plan, &results, false).1.unwrap() {
            Opened::Finished(found) => assert_eq!(found, by()),
            Opened::Begun(journal) => panic!("{journal:?}"),
        }
        for name in written {
            assert_eq!(fs::read_to_string(folder.file(name)).unwrap(), name);
        }
        assert!(matches!(
            open(&plan, &results, true).1,
            Ok(Opened::Begun(_))
        ));
        assert!(folder.done().is_none() && !folder.file(CLIENTS).exists());
    }
}
