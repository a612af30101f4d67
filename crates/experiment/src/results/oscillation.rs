//! How far a curve goes up and down.

/// How far the points `(round, value)` of a curve lie from the line between their neighbours, the mean over all points but the
/// first and the last. `None` of fewer than three points.
///
/// At even distances that is the mean of `|a_t − (a_{t−1} + a_{t+1}) / 2|`. A straight line has none, however steep. A curve
/// that jumps by `h` up and down in turn has `h`. Curves are to be compared that were evaluated at the same rounds.
///
/// # Source
/// DFedRW (Wang et al.), Section VI-B, which compares "oscillation amplitudes" of test accuracies by eye.
///
/// # Interpretation
/// The paper defines no amplitude. Distances from the line between the neighbours leave out the trend, which a deviation over
/// some rounds does not.
pub(crate) fn oscillation(points: &[(usize, f64)]) -> Option<f64> {
    let bend = |three: &[(usize, f64)]| {
        let [(before, low), (round, value), (after, high)] = [three[0], three[1], three[2]];
        let share = (round - before) as f64 / (after - before) as f64;
        (value - ((1.0 - share) * low + share * high)).abs()
    };
    let count = points.len().checked_sub(2).filter(|count| *count > 0)?;
    Some(points.windows(3).map(bend).sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evenly(values: &[f64]) -> Option<f64> {
        let rounds = (0..).step_by(5);
        oscillation(&rounds.zip(values.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn a_line_does_not_oscillate_and_a_saw_does() {
        assert_eq!(evenly(&[0.25, 0.5, 0.75, 1.0]), Some(0.0));
        assert_eq!(evenly(&[0.5, 0.75, 0.5, 0.75, 0.5]), Some(0.25));
        assert_eq!(evenly(&[0.0, 1.0, 0.5]), Some(0.75));
    }

    #[test]
    fn a_line_does_not_oscillate_where_its_last_point_comes_sooner() {
        let line = [(0, 0.0), (8, 0.5), (16, 1.0), (17, 1.0625)];
        assert_eq!(oscillation(&line), Some(0.0));
    }

    #[test]
    fn a_trend_adds_nothing() {
        let flat = [0.5, 0.75, 0.5, 0.75, 0.5];
        let rising: Vec<f64> = (0..)
            .zip(flat)
            .map(|(t, value)| value + f64::from(t))
            .collect();
        assert_eq!(evenly(&rising), evenly(&flat));
    }

    #[test]
    fn two_points_are_no_curve() {
        assert_eq!(evenly(&[]), None);
        assert_eq!(evenly(&[0.1, 0.9]), None);
    }
}
