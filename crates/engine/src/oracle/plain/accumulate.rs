//! Sums of vectors.

/// `to += terms`.
pub(super) fn accumulate(to: &mut [f64], terms: &[f64]) {
    for (to, term) in to.iter_mut().zip(terms) {
        *to += term;
    }
}
