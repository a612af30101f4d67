//! What the names of figures in `metrics.jsonl` say of them.

/// In what a figure is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// A fraction, which is shown in per cent: an accuracy.
    Share,
    /// Nats: a loss.
    Nats,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A number without a unit.
    Number,
}

impl FigureKind {
    /// That of the figure called `name`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            // What it takes to reach an accuracy.
            _ if name.starts_with("seconds_to=") => Self::Seconds,
            _ if name.contains("accuracy") || name.starts_with("membership_tpr") => Self::Share,
            // What a method calls a loss may be of any unit.
            _ if name.contains("loss") && !name.starts_with("own.") => Self::Nats,
            _ if name.starts_with("bytes") => Self::Bytes,
            _ if name.ends_with("seconds") => Self::Seconds,
            _ => Self::Number,
        }
    }
}

/// Whether more of the figure called `name` is better: accuracies should be high; those of attackers (`membership_…`), how far accuracies
/// spread (`.std`), and all other figures, low.
#[must_use]
pub fn more_is_better(name: &str) -> bool {
    let is_of_attackers = name.starts_with("membership_");
    FigureKind::of(name) == FigureKind::Share && !is_of_attackers && !name.ends_with(".std")
}

/// How far a value may be off its target for rounding, relative to the target: a mean of accuracies that is .7 in decimals may lie
/// below the number .7.
const ROUNDING: f64 = 1e-12;

/// Whether `value` of the figure called `name` is at least `target`, or at most where less is better.
#[must_use]
pub fn reaches(name: &str, value: f64, target: f64) -> bool {
    let rounding = ROUNDING * target.abs();
    match more_is_better(name) {
        true => value >= target - rounding,
        false => value <= target + rounding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_reached_from_above_and_accuracies_from_below() {
        assert!(reaches("test_accuracy", 0.9, 0.8));
        assert!(!reaches("test_accuracy", 0.7, 0.8));
        let sum: f64 = [0.6, 0.7, 0.8].iter().sum();
        assert!(sum / 3.0 < 0.7 && reaches("test_accuracy", sum / 3.0, 0.7));
        assert!(reaches("train_loss.max", 0.7, 0.8));
        assert!(!reaches("simulated_seconds", 9.0, 8.0));
    }

    #[test]
    fn figures_of_a_method_have_no_unit_but_that_of_accuracies() {
        assert_eq!(FigureKind::of("own.quantisation_loss"), FigureKind::Number);
        assert_eq!(FigureKind::of("own.bytes_saved"), FigureKind::Number);
        assert!(more_is_better("own.kept_accuracy.min"));
    }

    #[test]
    fn clients_that_agree_are_better_than_clients_that_do_not() {
        assert!(more_is_better("test_accuracy.min"));
        assert!(!more_is_better("test_accuracy.std") && !more_is_better("test_loss"));
    }

    #[test]
    fn attackers_are_to_find_out_little() {
        assert_eq!(FigureKind::of("membership_tpr.max"), FigureKind::Share);
        assert!(!more_is_better("membership_accuracy") && !more_is_better("membership_auc.p90"));
    }
}
