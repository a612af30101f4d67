//! How much clients differ, by the norms of their gradients.

use crate::bound_error::{BoundError, finite, not_negative, positive, require};

/// The local dissimilarity `δ² = (1/n) Σ_i ‖∇F_i(w)‖² / ‖∇f(w)‖²` at one model w.
///
/// `local` holds `‖∇F_i(w)‖²` of each device, `global` is `‖∇f(w)‖²`. With `∇f = (1/n) Σ ∇F_i` it is at least 1, and 1
/// where all devices have the same gradient.
///
/// # Source
/// DFedRW (Wang et al.), Definition 1, (3).
///
/// # Interpretation
/// The definition asks for a δ² no smaller than the quotient; this is the smallest such, the quotient itself. Each
/// device counts once, as in (1), whatever the number of its examples.
///
/// # Errors
/// [`BoundError`] if there is no device, a squared norm is negative or not finite, or the global gradient vanishes,
/// where the definition says nothing.
pub fn local_dissimilarity(local: &[f64], global: f64) -> Result<f64, BoundError> {
    require(
        "the number of devices",
        local.len() as f64,
        !local.is_empty(),
        "must be at least 1",
    )?;
    for &squared_norm in local {
        not_negative("a squared norm of a local gradient", squared_norm)?;
    }
    positive("the squared norm of the global gradient", global)?;
    let mean = local.iter().sum::<f64>() / local.len() as f64;
    finite("delta squared", mean / global)
}

/// The inexactness `γ_i^t = ‖∇F_i(w')‖ / ‖∇F_i(w^t)‖` that local work from `w^t` to `w'` reached.
///
/// `before` is the norm at `w^t`, `after` the norm at `w'`; norms, not squares. 0 is an exact local solution.
///
/// # Source
/// DFedRW (Wang et al.), Definition 2, (4).
///
/// # Interpretation
/// The definition admits γ up to 1 only. A quotient above 1 is returned as it is: the local work raised the gradient,
/// and the bounds, which refuse such a γ, say nothing about it.
///
/// # Errors
/// [`BoundError`] if a norm is negative or not finite, or `before` is zero.
pub fn inexactness(before: f64, after: f64) -> Result<f64, BoundError> {
    positive("the norm of the gradient before local work", before)?;
    not_negative("the norm of the gradient after local work", after)?;
    finite("gamma", after / before)
}

/// The inexactness `γ̂ = Π_q γ_{i^q}^q` of a walk, from those of its visits, in order.
///
/// A walk of no visits has γ̂ = 1: nothing was solved.
///
/// # Source
/// DFedRW (Wang et al.), Lemma 1, (5).
///
/// # Errors
/// [`BoundError`] if an inexactness lies outside of `[0, 1]`, which Definition 2 asks for.
pub fn walk_inexactness(visits: &[f64]) -> Result<f64, BoundError> {
    visits.iter().try_fold(1.0, |product, &gamma| {
        let holds = (0.0..=1.0).contains(&gamma);
        require("gamma of a visit", gamma, holds, "must be from 0 to 1")?;
        Ok(product * gamma)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squared_norm(gradient: &[f64]) -> f64 {
        gradient.iter().map(|value| value * value).sum()
    }

    fn dissimilarity_of(gradients: &[[f64; 2]]) -> f64 {
        let devices = gradients.len() as f64;
        let mean = [0, 1].map(|axis| gradients.iter().map(|g| g[axis]).sum::<f64>() / devices);
        let local: Vec<f64> = gradients.iter().map(|g| squared_norm(g)).collect();
        local_dissimilarity(&local, squared_norm(&mean)).unwrap()
    }

    #[test]
    fn devices_that_agree_have_dissimilarity_one() {
        assert_eq!(dissimilarity_of(&[[3.0, -4.0]; 5]), 1.0);
    }

    #[test]
    fn dissimilarity_is_never_below_one() {
        let gradients: Vec<[f64; 2]> = (0..20)
            .map(|i| [(f64::from(i) * 1.7).sin() + 0.3, (f64::from(i) * 0.9).cos()])
            .collect();
        assert!(dissimilarity_of(&gradients) > 1.0);
    }

    #[test]
    fn orthogonal_gradients_have_as_much_dissimilarity_as_there_are_devices() {
        // Mean (1/2, 1/2): squared norm 1/2 against local norms of 1.
        assert_eq!(dissimilarity_of(&[[1.0, 0.0], [0.0, 1.0]]), 2.0);
    }

    #[test]
    fn dissimilarity_grows_as_two_devices_pull_apart() {
        let pulled = |angle: f64| {
            dissimilarity_of(&[[angle.cos(), angle.sin()], [angle.cos(), -angle.sin()]])
        };
        for step in 1..15 {
            let angle = f64::from(step) * 0.1;
            // The mean is (cos, 0), so δ² = 1 / cos².
            assert!((pulled(angle) - angle.cos().powi(-2)).abs() < 1e-9 * pulled(angle));
            assert!(pulled(angle) > pulled(angle - 0.1));
        }
    }

    #[test]
    fn a_vanishing_global_gradient_has_no_dissimilarity() {
        assert_eq!(
            local_dissimilarity(&[1.0, 1.0], 0.0)
                .unwrap_err()
                .to_string(),
            "the squared norm of the global gradient is 0, but must be finite and above 0"
        );
        assert_eq!(
            local_dissimilarity(&[], 1.0).unwrap_err().to_string(),
            "the number of devices is 0, but must be at least 1"
        );
        assert_eq!(
            local_dissimilarity(&[f64::NAN], 1.0)
                .unwrap_err()
                .to_string(),
            "a squared norm of a local gradient is NaN, but must be finite and at least 0"
        );
    }

    #[test]
    fn gradient_descent_on_a_quadratic_is_inexact_by_its_contraction() {
        // ∇F(w) = h w and w <- (1 − ηh) w, so the norm shrinks by |1 − ηh|.
        let (curvature, rate, start) = (2.0_f64, 0.3, 5.0);
        let end = start * (1.0 - rate * curvature);
        let gamma = inexactness((curvature * start).abs(), (curvature * end).abs()).unwrap();
        assert!((gamma - 0.4).abs() < 1e-15);
    }

    #[test]
    fn a_walk_is_as_inexact_as_the_product_of_its_visits() {
        assert_eq!(walk_inexactness(&[0.5, 0.25, 1.0]).unwrap(), 0.125);
        assert_eq!(walk_inexactness(&[]).unwrap(), 1.0);
        assert_eq!(walk_inexactness(&[0.5, 0.0]).unwrap(), 0.0);
        assert_eq!(
            walk_inexactness(&[0.5, 1.01]).unwrap_err().to_string(),
            "gamma of a visit is 1.01, but must be from 0 to 1"
        );
        assert_eq!(
            inexactness(0.0, 0.0).unwrap_err().to_string(),
            "the norm of the gradient before local work is 0, but must be finite and above 0"
        );
    }
}
