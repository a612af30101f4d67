//! What is written of a run while it goes on.

use meshfold_data::{Features, Splits};

use crate::checkpoint::{CheckpointFolder, Saved};
use crate::clients::ClientScores;
use crate::course::Course;
use crate::ending::{Ending, RunReport};
use crate::environment::Environment;
use crate::plan::RunPlan;
use crate::records::{Metrics, Record};
use crate::results::{DONE, Done, RunFolder};
use crate::run_error::RunError;
use crate::summary::{Seconds, Summary};

/// Scores of all evaluations, until `clients.parquet` is made of them.
const SPOOL: &str = "clients.spool";

/// The folder of the newest checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// The files of a run in progress.
#[derive(Debug)]
pub(crate) struct Journal<'a> {
    plan: &'a RunPlan,
    folder: RunFolder,
    by: Done,
    metrics: Metrics,
    clients: ClientScores,
    checkpoint: CheckpointFolder,
    records: Vec<Record>,
    /// The round of the checkpoint that is in the folder.
    saved: Option<usize>,
}

impl<'a> Journal<'a> {
    /// Makes the folder and takes it for this process; with `again` an earlier run is forgotten.
    pub(crate) fn open(
        plan: &'a RunPlan,
        folder: RunFolder,
        by: Done,
        again: bool,
    ) -> Result<Self, RunError> {
        folder.prepare()?;
        let metrics = Metrics::open(folder.file("metrics.jsonl"))?;
        if again {
            folder.remove(DONE)?;
            folder.remove(CHECKPOINT)?;
        }
        for outdated in ["clients.parquet", "summary.json", "report.html"] {
            folder.remove(outdated)?;
        }
        Ok(Self {
            clients: ClientScores::open(folder.file(SPOOL))?,
            checkpoint: CheckpointFolder::new(folder.file(CHECKPOINT)),
            records: Vec::new(),
            saved: None,
            plan,
            folder,
            by,
            metrics,
        })
    }

    /// The plan that is run.
    pub(crate) fn plan(&self) -> &RunPlan {
        self.plan
    }

    /// Brings `course` to the checkpoint, if there is one and all records until then are there. What was written after
    /// it, or everything if there is none, is cut off. Returns the round of the checkpoint.
    pub(crate) fn resume(&mut self, course: &mut Course<'_>) -> Result<Option<usize>, RunError> {
        if let Some((saved, stacks)) = self.checkpoint.load(&self.by) {
            let round = Some(saved.round);
            self.records = self.metrics.keep(round)?;
            let evaluations = self.clients.keep(round)?;
            if (self.records.len(), evaluations) == (saved.records, saved.records) {
                course.restore(&saved, stacks)?;
                self.saved = round;
                return Ok(round);
            }
            tracing::warn!("records before the checkpoint are missing: starting from round 0");
        }
        self.folder.remove(CHECKPOINT)?;
        self.records = self.metrics.keep(None)?;
        self.clients.keep(None)?;
        Ok(None)
    }

    /// Writes what is known of the run before its first round.
    pub(crate) fn begin(&self, environment: &Environment, data: &Splits) -> Result<(), RunError> {
        let (plan, folder) = (self.plan, &self.folder);
        folder.write("config.yaml", plan.config.to_yaml().as_bytes())?;
        folder.write_json("environment.json", environment)?;
        let train = &data.train;
        let shards = match train.features() {
            Features::Tokens(windows) => plan.partition.to_text_csv(windows, train.classes()),
            Features::Bytes { .. } | Features::Numbers(_) => {
                plan.partition.to_csv(train.labels(), train.classes())
            }
        };
        folder.write("partition.csv", shards.as_bytes())?;
        if let Some(planned) = &plan.overlay {
            let edges: String = planned
                .overlay
                .edges()
                .map(|(a, b)| format!("{a} {b}\n"))
                .collect();
            folder.write("overlay.edges", edges.as_bytes())?;
            folder.write_json("overlay.json", &planned.figures())?;
        }
        Ok(())
    }

    /// Judges the models and writes the record.
    pub(crate) fn record(&mut self, course: &mut Course<'_>) -> Result<&Record, RunError> {
        let (record, verdict) = course.evaluate()?;
        self.clients.append(record.round, verdict.scores())?;
        self.metrics.append(&record)?;
        Ok(self.records.push_mut(record))
    }

    /// Takes a checkpoint if one is asked for and due by now.
    pub(crate) fn save_if_due(&mut self, course: &Course<'_>) -> Result<(), RunError> {
        let Some(every) = self
            .plan
            .config
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.every.max(1))
        else {
            return Ok(());
        };
        let (round, last) = (course.round(), self.saved.unwrap_or(0));
        if round / every > last / every || round == self.plan.config.rounds {
            self.save(course)?;
        }
        Ok(())
    }

    /// Takes a checkpoint if any are asked for and the models have moved and just been judged.
    pub(crate) fn save(&mut self, course: &Course<'_>) -> Result<(), RunError> {
        let round = course.round();
        let wanted = self.plan.config.checkpoint.is_some() && course.is_judged() && round > 0;
        if !wanted || self.saved == Some(round) {
            return Ok(());
        }
        self.metrics.sync()?;
        self.clients.sync()?;
        let saved = Saved {
            by: self.by.clone(),
            round,
            records: self.records.len(),
            totals: course.totals(),
            learner: course.learner_state(),
            numbers: course.numbers(),
            iterates: *course.practice().weights(),
        };
        self.checkpoint.save(&saved, &course.stacks())?;
        self.saved = Some(round);
        Ok(())
    }

    /// Writes what the run came to. The mark of a finished run comes last, after everything it vouches for.
    pub(crate) fn end(
        self,
        course: &Course<'_>,
        ending: Ending,
        resumed_from: Option<usize>,
    ) -> Result<RunReport, RunError> {
        let folder = &self.folder;
        self.clients
            .write_table(&folder.file("clients.parquet"), course.row_kind())?;
        let totals = course.totals();
        let seconds = Seconds {
            rounds: totals.round_seconds,
            judging: totals.judging_seconds,
            all: totals.wall_seconds,
        };
        let summary = Summary::of(self.plan, &self.records, &ending, seconds);
        folder.write_json("summary.json", &summary)?;
        self.metrics.sync()?;
        if matches!(ending, Ending::Finished) {
            folder.write_json(DONE, &self.by)?;
            folder.remove(SPOOL)?;
        }
        Ok(RunReport {
            id: self.plan.id.clone(),
            folder: folder.path().to_owned(),
            ending,
            resumed_from,
            last: self.records.into_iter().last(),
            summary: Some(summary),
        })
    }
}
