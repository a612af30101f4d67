//! What curves are drawn over.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use meshfold_experiment::results::Progress;

use crate::error::TableError;
use crate::grouping::Group;
use crate::judged::Judged;
use crate::name::Name;

/// What measures how far a run is, or what else curves go over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Horizontal {
    /// One of the measures that every figure may be drawn over.
    Progress(Progress),
    /// The clients of a run, from that with the least value to that with the largest, in a [`Plot`](crate::Plot) alone.
    Clients,
    /// A figure of `metrics.jsonl` that does not decrease along a run, such as `wall_seconds`. In a [`Plot`](crate::Plot) also a setting
    /// whose values are numbers, or a figure of the overlay such as `lambda`, if no figure is called so.
    Figure(String),
}

/// What the clients of a run are called as an axis.
pub(crate) const SHARE_OF_CLIENTS: &str = "share_of_clients";

impl FromStr for Horizontal {
    type Err = Infallible;

    /// Reads `bytes`, `bytes_total`, `own.seconds`: what is no measure of progress is a figure or a setting.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        if text == SHARE_OF_CLIENTS {
            return Ok(Self::Clients);
        }
        let mut all = Progress::ALL.into_iter();
        let way = all.find(|way| way.name() == text || way.figure() == text);
        Ok(way.map_or_else(|| Self::Figure(text.to_owned()), Self::Progress))
    }
}

impl fmt::Display for Horizontal {
    /// Writes it as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Progress(way) => way.name(),
            Self::Clients => SHARE_OF_CLIENTS,
            Self::Figure(name) => name,
        })
    }
}

impl Horizontal {
    /// The figure of an evaluation that holds it.
    pub(crate) fn figure(&self) -> &str {
        match self {
            Self::Progress(way) => way.figure(),
            Self::Clients => SHARE_OF_CLIENTS,
            Self::Figure(name) => name,
        }
    }

    /// Requires that the runs of `groups` never go back.
    ///
    /// # Errors
    /// [`TableError::Decreases`], which names the first run and round.
    pub(crate) fn expect_to_advance(
        &self,
        groups: &[Group<'_>],
        over: &Name,
    ) -> Result<(), TableError> {
        let runs = groups
            .iter()
            .flat_map(|group| group.runs.iter().map(move |run| (group, run)));
        for (group, run) in runs {
            if let Some((round, [from, to])) = self.step_back(run) {
                return Err(TableError::Decreases {
                    written: self.to_string(),
                    run: format!(
                        "{}, {} {}",
                        group.name(),
                        over.written,
                        over.text(&run.fields)
                    ),
                    round,
                    from,
                    to,
                });
            }
        }
        Ok(())
    }

    /// The first round after which the figure of `run` is less than at the evaluation before, and both values.
    fn step_back(&self, run: &Judged) -> Option<(f64, [f64; 2])> {
        let place = |figures: &meshfold_experiment::results::Figures| {
            let round = figures.get("round").copied().unwrap_or_default();
            Some((round, *figures.get(self.figure())?))
        };
        let places: Vec<(f64, f64)> = run.figures.iter().filter_map(place).collect();
        let back = places.windows(2).find(|pair| pair[1].1 < pair[0].1)?;
        Some((back[1].0, [back[0].1, back[1].1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Horizontal {
        text.parse().unwrap()
    }

    #[test]
    fn progress_goes_by_its_name_and_by_that_of_its_figure() {
        for text in ["bytes", "bytes_total"] {
            assert_eq!(read(text), Horizontal::Progress(Progress::Bytes));
        }
        assert_eq!(read("wall_seconds").figure(), "wall_seconds");
        assert_eq!(read("rounds").figure(), "round");
    }

    #[test]
    fn a_step_back_is_found() {
        let at = |round: f64, gap: f64| [("round", round), ("own.gap", gap)];
        let evaluations = [at(0.0, 1.0), at(5.0, 1.0), at(10.0, 0.5), at(15.0, 0.25)];
        let run = |count: usize| {
            let evaluations: Vec<&[(&str, f64)]> = evaluations[..count]
                .iter()
                .map(|figures| figures.as_slice())
                .collect();
            Judged::finished("seed: 1", &evaluations)
        };
        let gap = read("own.gap");
        assert_eq!(gap.step_back(&run(2)), None);
        assert_eq!(gap.step_back(&run(4)), Some((10.0, [1.0, 0.5])));
        assert_eq!(read("rounds").step_back(&run(4)), None);
    }
}
