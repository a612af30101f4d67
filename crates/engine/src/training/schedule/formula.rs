//! What all formulas of schedules have in common.

use super::{Per, Restart};

/// A learning rate as a function of a count `t`, which begins at 0.
pub(super) trait Formula: Counted {
    /// The rate of the local step before which `t` counts were done.
    fn rate(&self, t: f64) -> f64;

    /// What is wrong with the parameters, if anything is.
    fn fault(&self) -> Option<&'static str>;
}

/// The keys that all formulas have.
pub(super) trait Counted {
    /// What is counted, and when the count begins anew.
    fn counting(&self) -> (Per, Restart);

    /// Counts something else.
    fn count(&mut self, per: Per);

    /// Counts over which the rate rises to that of the formula.
    fn warmup(&self) -> f64;
}

/// Whether a parameter is a finite number above 0.
pub(super) fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// Whether a formula has no warm-up.
pub(super) fn is_zero(warmup: &f64) -> bool {
    *warmup == 0.0
}

/// Declares the parameters of a formula, and adds the keys that all formulas have.
macro_rules! formula {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
            /// What is counted.
            #[serde(default)]
            pub per: $crate::training::schedule::Per,
            /// When the count begins anew.
            #[serde(default)]
            pub restart: $crate::training::schedule::Restart,
            /// Counts over which the rate rises to that of the formula: before count `warmup` it is `(t + 1) / warmup` of it.
            #[serde(default, skip_serializing_if = "crate::training::schedule::formula::is_zero")]
            #[schemars(extend("default" = 0))]
            pub warmup: f64,
        }

        impl $crate::training::schedule::formula::Counted for $name {
            fn counting(
                &self,
            ) -> (
                $crate::training::schedule::Per,
                $crate::training::schedule::Restart,
            ) {
                (self.per, self.restart)
            }

            fn count(&mut self, per: $crate::training::schedule::Per) {
                self.per = per;
            }

            fn warmup(&self) -> f64 {
                self.warmup
            }
        }
    };
}
pub(super) use formula;
