//! Sums of vectors.

/// `to += terms`.
pub(super) fn accumulate(to: &mut [f64], terms: &[f64]) {
    for (to, term) in to.iter_mut().zip(terms) {
        *to += term;
    }
}

/// `to += Σ_p terms[p]` over the places of `terms`; does nothing if `to` is empty.
pub(super) fn accumulate_places(to: &mut [f64], terms: &[f64]) {
    for terms in terms.chunks_exact(to.len().max(1)) {
        accumulate(to, terms);
    }
}
