//! How far a curve goes up and down.

/// The mean of `|a_t − (a_{t−1} + a_{t+1}) / 2|` over all values but the first and the last, `[T]`: how far each lies from the middle of
/// its neighbours. `None` of fewer than three values.
///
/// A straight line has none, however steep. A curve that jumps by `h` up and down in turn has `h`. Curves are to be compared that
/// were evaluated at the same rounds.
///
/// # Source
/// DFedRW (Wang et al.), Section VI-B, which compares "oscillation amplitudes" of test accuracies by eye.
///
/// # Interpretation
/// The paper defines no amplitude. Distances from the middle of the neighbours leave out the trend, which a deviation over
/// some rounds does not.
pub(crate) fn oscillation(values: &[f64]) -> Option<f64> {
    let bends = values
        .windows(3)
        .map(|three| (three[1] - 0.5 * (three[0] + three[2])).abs());
    let count = values.len().checked_sub(2).filter(|count| *count > 0)?;
    Some(bends.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_does_not_oscillate_and_a_saw_does() {
        assert_eq!(oscillation(&[0.25, 0.5, 0.75, 1.0]), Some(0.0));
        assert_eq!(oscillation(&[0.5, 0.75, 0.5, 0.75, 0.5]), Some(0.25));
        assert_eq!(oscillation(&[0.0, 1.0, 0.5]), Some(0.75));
    }

    #[test]
    fn a_trend_adds_nothing() {
        let flat = [0.5, 0.75, 0.5, 0.75, 0.5];
        let rising: Vec<f64> = (0..)
            .zip(flat)
            .map(|(t, value)| value + f64::from(t))
            .collect();
        assert_eq!(oscillation(&rising), oscillation(&flat));
    }

    #[test]
    fn two_values_are_no_curve() {
        assert_eq!(oscillation(&[]), None);
        assert_eq!(oscillation(&[0.1, 0.9]), None);
    }
}
