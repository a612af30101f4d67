//! The horizontal axes that the page can switch between.

use crate::document::quantity_text::significant_values;
use crate::runs::curves::Curves;
use crate::runs::group::Group;
use meshfold_experiment::results::{FigureKind, Progress};
use serde::Serialize;

/// One axis and where every group stands on it.
#[derive(Debug, Serialize)]
pub(crate) struct Axis {
    /// By which the page's script knows it, and `meshfold figure` all but the clock.
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    /// Whether it is logarithmic.
    pub(crate) log: bool,
    /// A value for each evaluation of each group.
    values: Vec<Vec<Option<f64>>>,
}

/// Every measure of progress, and seconds on the clock, each if a group has it.
pub(crate) fn axes(groups: &[Group<'_>]) -> Vec<Axis> {
    let axis = |key, title, unit, of: &dyn Fn(&Curves) -> Vec<Option<f64>>| {
        let figures = |group: &Group<'_>| significant_values(&of(&group.curves), 6);
        let values: Vec<Vec<Option<f64>>> = groups.iter().map(figures).collect();
        let log = spans_decades(&values);
        Axis {
            key,
            title,
            unit,
            log,
            values,
        }
    };
    let measures = Progress::ALL.into_iter().map(|progress| {
        let unit = match FigureKind::of(progress.figure()) {
            FigureKind::Bytes => "B",
            FigureKind::Seconds => "s",
            _ => "",
        };
        axis(progress.name(), progress.title(), unit, &|curves| {
            curves.progress(progress)
        })
    });
    let mut axes: Vec<Axis> = measures.collect();
    axes.push(axis("clock", "Wall-clock time", "s", &|curves| {
        curves.wall_seconds.clone()
    }));
    axes.retain(|axis| {
        axis.values
            .iter()
            .flatten()
            .flatten()
            .any(|value| *value > 0.0)
    });
    axes
}

/// Whether the groups end so far apart that a linear axis would press all but one against its start.
fn spans_decades(values: &[Vec<Option<f64>>]) -> bool {
    let last =
        |values: &Vec<Option<f64>>| values.last().copied().flatten().filter(|end| *end > 0.0);
    let ends: Vec<f64> = values.iter().filter_map(last).collect();
    let lowest = ends.iter().copied().fold(f64::INFINITY, f64::min);
    ends.iter().any(|end| *end > 6.0 * lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_if_the_groups_end_far_apart() {
        let ending = |end| vec![Some(0.0), Some(end)];
        assert!(!spans_decades(&[ending(10.0), ending(30.0)]));
        assert!(spans_decades(&[ending(10.0), ending(500.0)]));
        assert!(!spans_decades(&[vec![], vec![None], ending(5.0)]));
    }
}
