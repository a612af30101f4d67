//! The page about runs that go on: kept in memory, and drawn anew when their files have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use meshfold_experiment::results::{
    FileStates, RecordedRun, ResultsError, folder_name, run_folders, sweep_order,
};

use crate::document::plotly_script::Script;
use crate::document::{Document, Following};
use crate::left_out::LeftOut;
use crate::page;
use crate::runs::gathering::Gathered;
use crate::runs::order;

/// After the runs were read and drawn, the page stays for this many times as long as that took. So following large
/// sweeps does not take the processor from the runs.
const REST: u32 = 20;

/// Follows the runs in a folder, which may have none yet, or may not be there. Nothing is written, and nothing is locked.
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    /// Seconds between two questions of an open page.
    every: u16,
    /// Tells the pages of this follower from those of others.
    name: u128,
    seen: Seen,
    gathered: Gathered,
    page: Option<LivePage>,
    /// Pages drawn.
    drawn: u64,
    rests_until: Instant,
}

/// The page as it was last drawn.
#[derive(Clone, Debug)]
pub struct LivePage {
    /// The whole page.
    pub html: Arc<Vec<u8>>,
    /// Names this version of it, in letters, digits and hyphens.
    pub tag: String,
}

/// What was there when the runs were last read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    runs: BTreeMap<PathBuf, FileStates>,
    /// The places of the runs in their sweep, by their ids.
    places: BTreeMap<String, usize>,
    /// Why the folder cannot be listed, if it has something to list.
    fault: Option<String>,
}

impl Seen {
    fn of(folder: &Path) -> Self {
        let (folders, fault) = match run_folders(folder) {
            Ok(folders) => (folders, None),
            Err(ResultsError::NotARun { .. }) => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let state = |folder: PathBuf| {
            let states = FileStates::of(&folder);
            (folder, states)
        };
        Self {
            runs: folders.into_iter().map(state).collect(),
            places: sweep_order::places(folder),
            fault,
        }
    }
}

impl Follower {
    /// Follows the runs in `folder`, the folder of a run or one that holds such folders. An open page asks for a newer one
    /// every so many seconds.
    pub fn new(folder: &Path, every: u16) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            folder: folder.to_owned(),
            every,
            name: since.unwrap_or_default().as_nanos(),
            seen: Seen::default(),
            gathered: Gathered::default(),
            page: None,
            drawn: 0,
            rests_until: Instant::now(),
        }
    }

    /// The page about the runs as they are, or as they were a moment ago.
    pub fn page(&mut self) -> LivePage {
        let began = Instant::now();
        if let Some(page) = &self.page
            && began < self.rests_until
        {
            return page.clone();
        }
        let page = self.look();
        self.page = Some(page.clone());
        self.rests_until = Instant::now() + REST * began.elapsed();
        page
    }

    fn look(&mut self) -> LivePage {
        let seen = Seen::of(&self.folder);
        if let Some(page) = &self.page
            && seen == self.seen
        {
            return page.clone();
        }
        self.read(&seen);
        self.seen = seen;
        self.drawn += 1;
        let mut document = self.document();
        let tag = format!("{:x}-{}", self.name, self.drawn);
        document.following = Some(self.following(tag.clone()));
        let mut html = Vec::new();
        let written = document.write(&mut html);
        written.expect("memory takes whatever is written");
        LivePage {
            html: Arc::new(html),
            tag,
        }
    }

    /// Reads the runs that have changed, and forgets those that are gone.
    fn read(&mut self, seen: &Seen) {
        let is_same = |folder: &Path| {
            let states = seen.runs.get(folder);
            states.is_some() && states == self.seen.runs.get(folder)
        };
        let Gathered { runs, left_out } = &mut self.gathered;
        runs.retain(|run| is_same(&run.folder));
        left_out.retain(|run| is_same(run.folder()));
        for folder in seen.runs.keys().filter(|folder| !is_same(folder)) {
            match RecordedRun::read(folder) {
                Ok(run) => runs.push(run),
                Err(error) => left_out.push(LeftOut::new(folder, error)),
            }
        }
        order::sort(&self.folder, runs);
        left_out.sort_by(|a, b| a.folder().cmp(b.folder()));
    }

    /// The page. Where a file was replaced while it was read, the runs are looked at again.
    fn document(&mut self) -> Document {
        let Gathered { runs, left_out } = &self.gathered;
        let title = folder_name(&self.folder);
        if runs.is_empty() {
            let words = match (&self.seen.fault, left_out.is_empty()) {
                (Some(fault), _) => fault,
                (None, true) => "No runs yet.",
                (None, false) => "No run can be shown yet.",
            };
            return page::without_runs(&title, words, left_out);
        }
        page::page(&self.gathered, Script::Inside).unwrap_or_else(|error| {
            self.seen = Seen::default();
            page::without_runs(&title, &error.to_string(), left_out)
        })
    }

    fn following(&self, tag: String) -> Following {
        let standing = self.standing();
        Following {
            tag,
            words: standing.words(),
            every: self.every,
            is_over: standing.is_over(),
        }
    }

    /// How many runs there are, those included that their sweep has yet to begin, and how many of them have ended.
    fn standing(&self) -> Standing {
        let Gathered { runs, left_out } = &self.gathered;
        let damaged = left_out.iter().filter(|run| run.is_damaged());
        let mut ids: BTreeSet<String> = self.seen.places.keys().cloned().collect();
        ids.extend(runs.iter().map(|run| run.id.clone()));
        ids.extend(damaged.clone().map(|run| folder_name(run.folder())));
        Standing {
            runs: ids.len(),
            finished: runs.iter().filter(|run| run.is_finished).count(),
            failed: runs.iter().filter(|run| run.failure.is_some()).count(),
            damaged: damaged.filter(|run| run.is_finished()).count(),
        }
    }
}

/// How many runs have ended in which way.
#[derive(Debug, PartialEq, Eq)]
struct Standing {
    runs: usize,
    finished: usize,
    failed: usize,
    /// Those that were finished and have been damaged since.
    damaged: usize,
}

impl Standing {
    fn is_over(&self) -> bool {
        self.runs > 0 && self.finished + self.failed + self.damaged == self.runs
    }

    fn words(&self) -> String {
        let asks = match self.is_over() {
            true => "This page asks for news no longer; load it again to look again.",
            false => "This page follows the runs.",
        };
        let standing = match self.runs {
            0 => return "This page waits for the first run.".to_owned(),
            1 if self.finished == 1 => "The run is finished.".to_owned(),
            runs if self.finished == runs => format!("All {runs} runs are finished."),
            runs => {
                let counts = [(self.failed, "failed"), (self.damaged, "damaged")];
                let others = counts.into_iter().filter(|(count, _)| *count > 0);
                let others: String = others
                    .map(|(count, word)| format!(", {count} {word}"))
                    .collect();
                format!("{} of {runs} runs finished{others}.", self.finished)
            }
        };
        format!("{standing} {asks}")
    }
}
