//! Why a theorem gives no bound.

use thiserror::Error;

/// Why a theorem gives no bound for the values it was given.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BoundError {
    /// A constant lies outside of the theorem's conditions.
    #[error("{quantity} is {found}, but {needed}")]
    Outside {
        /// The constant.
        quantity: &'static str,
        /// Its value.
        found: f64,
        /// The theorem's condition.
        needed: String,
    },
    /// All conditions hold, and still the value is beyond the largest number.
    #[error("{quantity} is {found}, which is no number to compare with")]
    NotFinite {
        /// What was evaluated.
        quantity: &'static str,
        /// What came out.
        found: f64,
    },
}

/// Refuses `found` unless `holds`; a comparison with NaN does not hold.
pub(crate) fn require(
    quantity: &'static str,
    found: f64,
    holds: bool,
    needed: impl Into<String>,
) -> Result<(), BoundError> {
    if holds {
        return Ok(());
    }
    Err(BoundError::Outside {
        quantity,
        found,
        needed: needed.into(),
    })
}

/// Refuses what is not a finite number above zero.
pub(crate) fn positive(quantity: &'static str, found: f64) -> Result<(), BoundError> {
    let holds = found > 0.0 && found.is_finite();
    require(quantity, found, holds, "must be finite and above 0")
}

/// Refuses what is not a finite number from zero up.
pub(crate) fn not_negative(quantity: &'static str, found: f64) -> Result<(), BoundError> {
    let holds = found >= 0.0 && found.is_finite();
    require(quantity, found, holds, "must be finite and at least 0")
}

/// Refuses a smoothness below the strong convexity, and either that is not a finite number above zero.
pub(crate) fn convex_and_smooth(convexity: f64, smoothness: f64) -> Result<(), BoundError> {
    positive("the convexity mu", convexity)?;
    positive("the smoothness L", smoothness)?;
    require(
        "the smoothness L",
        smoothness,
        smoothness >= convexity,
        format!("must be at least the convexity mu = {convexity}"),
    )
}

/// Refuses a mixing constant outside of `[0, 1)`.
pub(crate) fn contracting(quantity: &'static str, found: f64) -> Result<(), BoundError> {
    let holds = (0.0..1.0).contains(&found);
    require(
        quantity,
        found,
        holds,
        "must be at least 0 and below 1: the overlay has to be connected",
    )
}

/// Refuses a count of zero.
pub(crate) fn at_least_one(quantity: &'static str, found: u64) -> Result<(), BoundError> {
    require(quantity, found as f64, found >= 1, "must be at least 1")
}

/// Passes on a value that is a finite number.
pub(crate) fn finite(quantity: &'static str, found: f64) -> Result<f64, BoundError> {
    if found.is_finite() {
        Ok(found)
    } else {
        Err(BoundError::NotFinite { quantity, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_condition_accepts_nan_or_infinity() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let said = positive("L", value).unwrap_err().to_string();
            assert!(
                said.starts_with("L is") && said.ends_with(", but must be finite and above 0"),
                "{said}"
            );
            let said = not_negative("L", value).unwrap_err().to_string();
            assert!(
                said.starts_with("L is") && said.ends_with(", but must be finite and at least 0"),
                "{said}"
            );
            let said = contracting("lambda", value).unwrap_err().to_string();
            assert!(
                said.starts_with("lambda is")
                    && said.ends_with(
                        ", but must be at least 0 and below 1: the overlay has to be connected"
                    ),
                "{said}"
            );
            let said = finite("bound", value).unwrap_err().to_string();
            assert!(
                said.starts_with("bound is")
                    && said.ends_with(", which is no number to compare with"),
                "{said}"
            );
        }
    }

    #[test]
    fn each_condition_ends_where_it_says() {
        assert_eq!(
            positive("L", 0.0).unwrap_err().to_string(),
            "L is 0, but must be finite and above 0"
        );
        positive("L", 1e-300).unwrap();
        not_negative("L", 0.0).unwrap();
        let said = not_negative("L", -1e-300).unwrap_err().to_string();
        assert!(
            said.ends_with("1, but must be finite and at least 0"),
            "{said}"
        );
        contracting("lambda", 0.0).unwrap();
        assert_eq!(
            contracting("lambda", 1.0).unwrap_err().to_string(),
            "lambda is 1, but must be at least 0 and below 1: the overlay has to be connected"
        );
        at_least_one("T", 1).unwrap();
        assert_eq!(
            at_least_one("T", 0).unwrap_err().to_string(),
            "T is 0, but must be at least 1"
        );
    }

    #[test]
    fn the_message_names_what_was_found_and_what_is_needed() {
        let error = contracting("lambda", 1.5).unwrap_err().to_string();
        assert!(
            error.starts_with("lambda is 1.5, but must be at least 0 and below 1"),
            "{error}"
        );
    }
}
