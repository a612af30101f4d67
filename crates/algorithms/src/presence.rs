//! Remembers which clients are absent: what a method keeps of a client that is gone may do harm.

/// The clients that were absent in the last round.
#[derive(Debug, Clone)]
pub struct PresenceTracker(Vec<bool>);

/// The name among the numbers of a checkpoint.
const NAME: &str = "absent";

impl PresenceTracker {
    /// A tracker of `clients` clients, none of them absent.
    pub fn nobody(clients: usize) -> Self {
        Self(vec![false; clients])
    }

    /// Notes who is absent now, `[N]`. Returns whether that has changed.
    pub fn changes_to(&mut self, now: impl Iterator<Item = bool>) -> bool {
        let now: Vec<bool> = now.collect();
        let changes = now != self.0;
        self.0 = now;
        changes
    }

    /// The numbers for a checkpoint: 1 for each absent client, `[N]`.
    pub fn numbers(&self) -> (String, Vec<f64>) {
        let number = |absent: &bool| f64::from(u8::from(*absent));
        (NAME.to_owned(), self.0.iter().map(number).collect())
    }

    /// Whether `numbers` under `name` can be those of this tracker.
    pub fn may_be(&self, name: &str, numbers: &[f64]) -> bool {
        name == NAME && numbers.len() == self.0.len()
    }

    /// Takes back what a checkpoint holds under `name`, if it is this.
    pub fn restore(&mut self, name: &str, numbers: &[f64]) {
        if name == NAME {
            self.0 = numbers.iter().map(|number| *number != 0.0).collect();
        }
    }
}

/// Says that a method keeps the [`PresenceTracker`] in its field `$field`, and nothing else, as numbers of a checkpoint.
#[macro_export]
macro_rules! keeps_presence {
    ($field:ident) => {
        fn numbers(&self) -> Vec<(String, Vec<f64>)> {
            vec![self.$field.numbers()]
        }

        fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
            self.$field.may_be(name, numbers)
        }

        fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
            self.$field.restore(name, &numbers);
        }
    };
}
