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
            _ if name.contains("accuracy") => Self::Share,
            _ if name.contains("loss") => Self::Nats,
            _ if name.starts_with("bytes") => Self::Bytes,
            _ if name.ends_with("seconds") => Self::Seconds,
            _ => Self::Number,
        }
    }

    /// Accuracies should be high, all other figures low.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self == Self::Share
    }

    /// Whether `value` is at least `target`, or at most where less is better.
    #[must_use]
    pub fn reaches(self, value: f64, target: f64) -> bool {
        match self.more_is_better() {
            true => value >= target,
            false => value <= target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_reached_from_above_and_accuracies_from_below() {
        assert!(FigureKind::of("test_accuracy").reaches(0.9, 0.8));
        assert!(!FigureKind::of("test_accuracy").reaches(0.7, 0.8));
        assert!(FigureKind::of("train_loss.max").reaches(0.7, 0.8));
        assert!(!FigureKind::of("simulated_seconds").reaches(9.0, 8.0));
    }
}
