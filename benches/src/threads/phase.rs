//! The phases of a run.

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The plan of all runs.
    Plan,
    /// The first run of a sweep reads or draws the examples.
    Dataset,
    /// Claim, digests, first models, their scores, and the files that are known before the first round.
    Beginning,
    /// Training and mixing.
    Rounds,
    /// Scores of the models, and their records.
    Judging,
    /// The table of clients, the summary and `DONE`.
    Ending,
    /// The run's page.
    Page,
    /// The page and the tables of all runs.
    SweepPage,
}

impl Phase {
    pub(super) const ALL: [Self; 8] = [
        Self::Plan,
        Self::Dataset,
        Self::Beginning,
        Self::Rounds,
        Self::Judging,
        Self::Ending,
        Self::Page,
        Self::SweepPage,
    ];

    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "the plan",
            Self::Dataset => "the dataset",
            Self::Beginning => "beginnings of runs",
            Self::Rounds => "rounds",
            Self::Judging => "judging",
            Self::Ending => "ends of runs",
            Self::Page => "pages of runs",
            Self::SweepPage => "page and tables of all runs",
        }
    }
}
