//! `cwru`: faults of ball bearings, to be recognised by vibrations.

mod conditions;
mod spectrum;

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::conditions::{Condition, FOUR, FOUR_NAMES, LOADS, TEN, TEN_NAMES};
use self::spectrum::{BINS, WINDOW};
use super::Dataset;
use crate::datasets::standard::Standard;
use crate::files::fault::Fault;
use crate::files::payload;
use crate::files::regular;
use crate::formats::mat5::{self, MatArray};
use crate::{
    DataError, DataFolder, DatasetSummary, Examples, Input, Manifest, Published, Shape, Splits,
};

const NAME: &str = "cwru";
/// Windows used of each recording.
const WINDOWS: usize = 400;
/// A recording is cut to a multiple of this many samples.
const BLOCK: usize = 6000;
/// Numbers of an example: the frequencies of two channels.
const FEATURES: usize = 2 * BINS;
const SHAPE: Shape = Shape {
    channels: 2,
    height: 1,
    width: BINS,
};
/// About how many bytes a file takes with its channels as numbers and the features of its windows.
const RECORDING: usize = 8 << 20;
/// The most bytes of a file that no manifest describes.
const MOST_BYTES: u64 = 64 << 20;

/// Settings of the Case Western Reserve University bearing data: 300 numbers (drive end, then fan end), 10 or 4 classes.
///
/// Training examples are 400 windows of 300 samples of each class and load, in the order of the classes and within a
/// class of the loads and of time: that of `explicit: {order: file}`. Labels are, in this order, normal, B007, B014, B021,
/// IR007, IR014, IR021, OR007, OR014, OR021, or normal, B007, IR007, OR007.
///
/// # Source
/// DeceFL, section "CWRU bearing dataset" and Supplementary Information 5.3; the authors' program, `dataset_cwru.py`: a
/// recording is cut to a multiple of 6,000 samples, the first 400 windows count; features are `|FFT| / 150` at the bins
/// 0 to 149; `StandardScaler` (mean, population deviation) of the training examples.
///
/// # Interpretation
/// The normal recordings are used as they are, though most likely sampled at 48 kHz and the faults at 12 kHz, as the
/// authors' program does. A feature that never varies keeps its scale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cwru {
    /// Number of classes: 4 or 10.
    pub task: usize,
    /// The motor load, 0 to 3 horse powers, whose recordings are the test set; the others are for training.
    pub test_load: usize,
    /// Which normal recordings.
    pub normal: NormalRecordings,
}

/// Which recordings of a sound bearing are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormalRecordings {
    /// That of each load, like the faults.
    #[default]
    All,
    /// That of load 0 alone, twice as long as the others: its first 400 windows for training, the next 400 for testing.
    Halves,
}

impl Default for Cwru {
    fn default() -> Self {
        Self {
            task: 10,
            test_load: 3,
            normal: NormalRecordings::All,
        }
    }
}

/// Windows of one recording.
struct Recording {
    label: u16,
    condition: Condition,
    load: usize,
    /// How many windows stand before the first that is used.
    skipped: usize,
}

impl Dataset for Cwru {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Checks the settings.
    fn validate(&self) -> Result<(), DataError> {
        if ![4, 10].contains(&self.task) {
            return Err(DataError::setting(
                NAME,
                "task",
                self.task,
                "4 or 10 classes",
            ));
        }
        DataError::expect_between(NAME, "test_load", self.test_load, 0..=LOADS - 1)
    }

    /// Reads and verifies the recordings.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(NAME)?;
        let read = |recordings: &[Recording]| -> Result<Vec<f64>, DataError> {
            let mut values = vec![0.0; recordings.len() * WINDOWS * FEATURES];
            let parts = values
                .par_chunks_exact_mut(WINDOWS * FEATURES)
                .zip(recordings);
            let read: Vec<Result<(), DataError>> = parts
                .map(|(values, recording)| {
                    values.copy_from_slice(&self.read(recording, manifest, folder)?);
                    Ok(())
                })
                .collect();
            read.into_iter().collect::<Result<(), DataError>>()?;
            Ok(values)
        };
        let (for_training, for_testing) = (self.training(), self.testing());
        let (mut train, mut test) = (read(&for_training)?, read(&for_testing)?);
        let standard = Standard::of(&train, FEATURES);
        standard.apply(&mut train, |number| number);
        standard.apply(&mut test, |number| number);
        let examples = |values: Vec<f64>, recordings: &[Recording]| {
            let values = values.into_iter().map(|value| value as f32).collect();
            let examples = Examples::numbers(values, labels(recordings), SHAPE, self.task)?;
            Ok::<_, DataError>(Arc::new(examples.with_label_names(self.names())))
        };
        Ok(Splits {
            train: examples(train, &for_training)?,
            test: examples(test, &for_testing)?,
            validation: None,
        })
    }

    /// The summary. Every recording has equally many windows, so the files need only be there.
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let manifest = Manifest::by_name(NAME)?;
        for recording in self.training().iter().chain(&self.testing()) {
            self.locate(recording, manifest, folder)?;
        }
        Ok(self.summary_of_windows())
    }

    /// What is known without the files, which is all of it.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        Ok(Some(Published {
            summary: self.summary_of_windows(),
            figures: format!("{WINDOWS} windows of each recording"),
        }))
    }

    /// The features in double precision, and the recordings that `threads` threads read at once, each as it lies in the
    /// file and as numbers.
    fn reading_bytes(&self, summary: &DatasetSummary, threads: usize) -> usize {
        2 * summary.feature_bytes() + threads * RECORDING
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Cwru {
    fn summary_of_windows(&self) -> DatasetSummary {
        let (train, test) = (labels(&self.training()), labels(&self.testing()));
        DatasetSummary::new(Input::Numbers(SHAPE), self.task, &train, &test).of_numbers()
    }

    fn conditions(&self) -> &'static [Condition] {
        match self.task {
            4 => &FOUR,
            _ => &TEN,
        }
    }

    fn names(&self) -> &'static [&'static str] {
        match self.task {
            4 => &FOUR_NAMES,
            _ => &TEN_NAMES,
        }
    }

    fn training(&self) -> Vec<Recording> {
        let loads: Vec<usize> = (0..LOADS).filter(|load| *load != self.test_load).collect();
        self.recordings(&loads, 0)
    }

    fn testing(&self) -> Vec<Recording> {
        self.recordings(&[self.test_load], WINDOWS)
    }

    /// The recordings of all conditions under `loads`. A halved normal recording, under load 0, starts at window
    /// `half`.
    fn recordings(&self, loads: &[usize], half: usize) -> Vec<Recording> {
        let mut recordings = Vec::new();
        for (label, condition) in (0..).zip(self.conditions()) {
            let condition = *condition;
            let halves = condition.is_normal() && self.normal == NormalRecordings::Halves;
            let (loads, skipped) = match halves {
                true => (&[0][..], half),
                false => (loads, 0),
            };
            recordings.extend(loads.iter().map(|&load| Recording {
                label,
                condition,
                load,
                skipped,
            }));
        }
        recordings
    }

    /// Where the recording's file lies.
    fn locate(
        &self,
        recording: &Recording,
        manifest: &Manifest,
        folder: &DataFolder,
    ) -> Result<PathBuf, DataError> {
        let name = recording.condition.file(recording.load);
        if let Some(file) = manifest.files.iter().find(|file| file.name == name) {
            return Ok(manifest.locate(file, folder)?.path());
        }
        let path = manifest.folder(folder).join(&name);
        match regular::first([path.clone()])? {
            Some(path) => Ok(path),
            None => Err(DataError::NoRecording {
                how: manifest
                    .unlisted(&path)
                    .map_or_else(String::new, |file| file.how.clone()),
                path,
                origin: folder.origin(),
            }),
        }
    }

    /// The features of the windows of `recording`, `[400, 300]`.
    fn read(
        &self,
        recording: &Recording,
        manifest: &Manifest,
        folder: &DataFolder,
    ) -> Result<Vec<f64>, DataError> {
        let name = recording.condition.file(recording.load);
        let path = self.locate(recording, manifest, folder)?;
        let content = match manifest.files.iter().find(|file| file.name == name) {
            Some(file) => manifest.read(file, folder)?,
            None => {
                let content = payload::open(&path, MOST_BYTES)
                    .and_then(|content| payload::gather(content, MOST_BYTES));
                content.map_err(|error| payload::fault(NAME, &path, 0, error))?
            }
        };
        features(&content, recording).map_err(|fault| fault.of(NAME, path))
    }
}

/// The features `[400, 300]` of the windows of a file's recording.
fn features(content: &[u8], recording: &Recording) -> Result<Vec<f64>, Fault> {
    let number = recording.condition.number(recording.load);
    let channels = ["DE", "FE"].map(|end| format!("X{number:03}_{end}_time"));
    let arrays = mat5::arrays(content, |name| {
        channels.iter().any(|channel| channel == name)
    })?;
    let fault = |reason: String| Fault::at(0_u64, reason);
    let signal = |channel: &String| {
        let found = arrays.iter().find(|array| &array.name == channel);
        found.ok_or_else(|| fault(format!("no array {channel}")))
    };
    let (drive, fan) = (signal(&channels[0])?, signal(&channels[1])?);
    alike(drive, fan).map_err(fault)?;
    let spectrum = |signal| windows(signal, recording.skipped).map_err(fault);
    let (drive, fan) = (spectrum(drive)?, spectrum(fan)?);
    let both = drive.chunks_exact(BINS).zip(fan.chunks_exact(BINS));
    Ok(both
        .flat_map(|(drive, fan)| [drive, fan].concat())
        .collect())
}

/// Checks that both channels are one row or column of equally many samples.
fn alike(drive: &MatArray, fan: &MatArray) -> Result<(), String> {
    for MatArray {
        name, dimensions, ..
    } in [drive, fan]
    {
        if dimensions.iter().filter(|size| **size != 1).count() > 1 {
            return Err(format!(
                "array {name} is of shape {dimensions:?}, one row or one column needed"
            ));
        }
    }
    let [first, second] = [drive, fan].map(|array| (&array.name, array.values.len()));
    match first.1 == second.1 {
        true => Ok(()),
        false => Err(format!(
            "array {} has {} samples, array {} {}: equally many needed",
            first.0, first.1, second.0, second.1
        )),
    }
}

/// The magnitudes `[400, 150]` of the windows of `signal` after the first `skipped`.
fn windows(signal: &MatArray, skipped: usize) -> Result<Vec<f64>, String> {
    let name = &signal.name;
    let samples = signal.values.len() / BLOCK * BLOCK;
    let needed = (skipped + WINDOWS) * WINDOW;
    if samples < needed {
        let found = signal.values.len();
        return Err(format!("array {name} has {found} samples, {needed} needed"));
    }
    let values = &signal.values[skipped * WINDOW..needed];
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(spectrum::magnitudes(values)),
        false => Err(format!("array {name} has samples that are no numbers")),
    }
}

/// One label for each window of `recordings`.
fn labels(recordings: &[Recording]) -> Vec<u16> {
    let of = |recording: &Recording| [recording.label; WINDOWS];
    recordings.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests;
