//! How many neighbours a node seems to have.

/// The decays γ for which effective numbers of neighbours are reported.
pub const DECAYS: [f64; 3] = [0.9, 0.99, 0.999];

/// Effective number of neighbours of a symmetric W with these eigenvalues λ:
/// `n_W(γ) = (1 / (1 - γ)) / (1/N Σ λi² / (1 - γ λi²))`.
///
/// Every node adds noise of variance one to its value, the values are mixed and shrink by √γ, again and again. `n_W` says how many
/// times smaller the variance becomes than that of a node alone. It is 1 where nobody mixes, and N on the complete overlay. The
/// decay γ, at least 0 and less than 1, says for how long noise counts: about `1 / (1 - γ)` exchanges.
///
/// # Source
/// T. Vogels, H. Hendrikx and M. Jaggi, "Beyond spectral gap: the role of the topology in decentralized learning", NeurIPS 2022.
pub fn effective_neighbours(eigenvalues: &[f64], decay: f64) -> f64 {
    let variance = |value: &f64| match value * value {
        square if decay * square < 1.0 => square / (1.0 - decay * square),
        _ => f64::INFINITY,
    };
    let mean = eigenvalues.iter().map(variance).sum::<f64>() / eigenvalues.len() as f64;
    1.0 / ((1.0 - decay) * mean)
}
