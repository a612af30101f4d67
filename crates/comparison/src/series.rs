//! The course of one run: a figure at each of its evaluations.

use meshfold_experiment::results::Figures;
use meshfold_statistics::Spread;

/// What is drawn around a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Band {
    /// The 95 % interval of the mean by Student's t; around a median, the quartiles.
    #[default]
    Interval,
    /// The standard deviation of the runs.
    Deviation,
    /// The standard error of the mean.
    Error,
    /// The 5 % and 95 % quantiles of the clients, each the mean or the median over the runs.
    Quantiles,
    /// The least and the largest value of any client; of any run, for figures that clients do not have.
    Range,
    /// Nothing.
    None,
}

impl Band {
    /// What of the runs lies between the mean and its ends; absent for what the clients have, and for nothing.
    pub(crate) fn spread(self) -> Option<Spread> {
        match self {
            Self::Interval => Some(Spread::Interval),
            Self::Deviation => Some(Spread::Deviation),
            Self::Error => Some(Spread::Error),
            Self::Quantiles | Self::Range | Self::None => None,
        }
    }

    /// The figures of the clients at its ends, around the figure `y`.
    pub(crate) fn ends(self, y: &str) -> Option<(String, String)> {
        let (low, high) = match self {
            Self::Quantiles => ("p5", "p95"),
            Self::Range => ("min", "max"),
            Self::Interval | Self::Deviation | Self::Error | Self::None => return None,
        };
        Some((format!("{y}.{low}"), format!("{y}.{high}")))
    }
}

/// A figure, and how it spreads over the clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Samples over the progress of a run, ascending, each place once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series(Vec<(f64, Sample)>);

impl Series {
    /// The figure `y` of each evaluation that has it and `x`. Of evaluations at the same `x` the last counts.
    pub(crate) fn of(evaluations: &[Figures], x: &str, y: &str, band: Band) -> Self {
        let (low, high) = band.ends(y).unwrap_or_default();
        let mut samples: Vec<(f64, Sample)> = Vec::new();
        for figures in evaluations {
            let (Some(&x), Some(&value)) = (figures.get(x), figures.get(y)) else {
                continue;
            };
            let sample = Sample {
                value,
                low: figures.get(&low).copied().unwrap_or(value),
                high: figures.get(&high).copied().unwrap_or(value),
            };
            while samples.last().is_some_and(|(place, _)| *place >= x) {
                samples.pop();
            }
            samples.push((x, sample));
        }
        Self(samples)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places of all series between the last of their starts and the first of their ends.
    pub(crate) fn common_places(all: &[&Self]) -> Vec<f64> {
        let start = all.iter().filter_map(|series| series.0.first());
        let start = start.map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
        let end = all.iter().filter_map(|series| series.0.last());
        let end = end.map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        let places = all.iter().flat_map(|series| &series.0).map(|(x, _)| *x);
        let mut places: Vec<f64> = places.filter(|x| (start..=end).contains(x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The sample at `x`, on the straight line between its neighbours; `None` outside of the series.
    pub(crate) fn at(&self, x: f64) -> Option<Sample> {
        let index = self.0.partition_point(|(place, _)| *place < x);
        let (behind, after) = *self.0.get(index)?;
        if behind == x {
            return Some(after);
        }
        let (ahead, before) = *self.0.get(index.checked_sub(1)?)?;
        let share = (x - ahead) / (behind - ahead);
        let between = |from: f64, to: f64| from + share * (to - from);
        Some(Sample {
            value: between(before.value, after.value),
            low: between(before.low, after.low),
            high: between(before.high, after.high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: &[(f64, f64)]) -> Series {
        let evaluations: Vec<Figures> = points
            .iter()
            .map(|(x, y)| [("x".to_owned(), *x), ("y".to_owned(), *y)].into())
            .collect();
        Series::of(&evaluations, "x", "y", Band::Interval)
    }

    #[test]
    fn values_between_evaluations_lie_on_straight_lines() {
        let series = series(&[(0.0, 1.0), (10.0, 3.0), (20.0, 2.0)]);
        let value = |x| series.at(x).map(|sample| sample.value);
        assert_eq!(value(0.0), Some(1.0));
        assert_eq!(value(5.0), Some(2.0));
        assert_eq!(value(20.0), Some(2.0));
        assert_eq!(value(20.5), None);
        assert_eq!(value(-0.5), None);
    }

    #[test]
    fn curves_share_the_places_that_all_runs_reach() {
        let (a, b) = (
            series(&[(0.0, 1.0), (4.0, 1.0), (8.0, 1.0)]),
            series(&[(1.0, 1.0), (4.0, 1.0), (7.0, 1.0)]),
        );
        assert_eq!(Series::common_places(&[&a, &b]), [1.0, 4.0, 7.0]);
        assert!(Series::common_places(&[]).is_empty());
    }

    #[test]
    fn of_evaluations_at_one_place_the_last_counts() {
        let series = series(&[(0.0, 1.0), (3.0, 2.0), (3.0, 5.0)]);
        assert_eq!(series.0.len(), 2);
        assert_eq!(series.at(3.0).map(|sample| sample.value), Some(5.0));
    }

    #[test]
    fn the_spread_of_clients_is_that_of_the_figures() {
        let figures = [("x", 1.0), ("y", 0.5), ("y.min", 0.25), ("y.max", 0.75)]
            .map(|(name, value)| (name.to_owned(), value));
        let sample = |band| {
            Series::of(&[figures.clone().into()], "x", "y", band)
                .at(1.0)
                .unwrap()
        };
        let range = sample(Band::Range);
        assert_eq!((range.low, range.high), (0.25, 0.75));
        let none = sample(Band::Interval);
        assert_eq!((none.low, none.high), (0.5, 0.5));
    }
}
