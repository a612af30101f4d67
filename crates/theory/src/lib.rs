//! The papers' mathematics: bounds, costs and speed-ups, as functions of given or measured constants.
//!
//! Everything here is arithmetic in `f64`. No function knows a run: the caller hands in what a run measures. Where the
//! conditions of a theorem fail, the answer is a [`BoundError`] that names the condition, never a NaN.
//!
//! The last column says what of Meshfold asks for a quantity; runs do by `evaluate.theory`. Those with a dash are for readers who compare a
//! paper with their runs.
//!
//! | quantity | here | paper | its measured inputs | asked for by |
//! |---|---|---|---|---|
//! | convergence of DFedAvgM | [`DfedavgmDescent`], [`DfedavgmRate`] | Hua (2.2), Section 2.1 | λ: `overlay.json` | – |
//! | learning rate of DFedAvgM | [`dfedavgm_rate_limit`] | Hua, Theorem 2.2 | – | – |
//! | generalization of DFedAvgM | [`DfedavgmStability`] | Hua (2.3) | C_λ: `overlay.json` | – |
//! | κ and λ by degree | [`ramanujan_kappa`], [`ramanujan_lambda`] | Hua (3.2) | κ, λ: `overlay.json` | plans, `meshfold overlay` |
//! | κ and λ of other overlays | [`regular_kappa`], [`ring_kappa`], [`laplacian_lambda`], [`best_laplacian_lambda`] | Hua, Section 3 | κ, λ, θ: `overlay.json` | – |
//! | convergence of P-FedAvg | [`PFedavg`] | Liu (10), (11) | p: `overlay.json` | runs |
//! | non-iid degree Γ | [`linear_degree`], [`logistic_degree`] | Liu, Assumption 6 | examples of the clients | runs |
//! | L, μ, G, σ², f* and x* of logistic regression | [`LogisticProblem`] | the assumptions of all | examples of the clients | runs |
//! | gradient noise `Σ q²σ²/B` | [`gradient_noise`] | Liu (10) | variances of gradients | runs |
//! | convergence of DFedRW | [`RandomWalk`], [`WalkTerms`] | Wang (15), (16) | λ_P: `overlay.json`; δ², γ̂ below | runs |
//! | mixing time, τ^k | [`MixingTime`], [`walk_distance`] | Wang (8), (26) | λ_P: `overlay.json` | – |
//! | when quantising saves | [`Quantised`], [`RoundsToError`], [`saving_bits_limit`] | Wang (17), Proposition 1 | rounds to a target: `summary.json` | pages: [`saving_bits_limit`] |
//! | bits, interval, variance of a message | [`quantised_message_bits`], [`quantisation_interval`], [`quantisation_variance`] | Wang (12), Lemma 3 | – | runs: [`quantised_message_bits`] |
//! | local dissimilarity δ² | [`local_dissimilarity`] | Wang (3) | norms of gradients | runs |
//! | inexactness γ, γ̂ | [`inexactness`], [`walk_inexactness`] | Wang (4), (5) | norms of gradients | runs: [`inexactness`] |
//! | weighted average of iterates | [`IterateWeights`] | Wang below (15), Liu below (10) | – | runs |
//! | convergence of DeceFL | [`Decefl`] | Yuan (5), (6) | λ: `overlay.json` | runs |
//! | the same, stochastic or time-varying | [`StochasticDecefl`] | Yuan, Supplementary Information, (9), (10), (12), (15) | λ: `overlay.json` | – |
//! | bytes and seconds of a round | [`dfedrw_busiest_bytes`], [`dfedrw_seconds`], [`fedavg_seconds`] | Wang (18), Section VI-F | – | tests of the network's clock, but for [`dfedrw_busiest_bytes`] |
//! | speed-up by several servers | [`speed_up`] | Liu (17)-(20) | – | `meshfold speedup` |
//!
//! λ, κ, C_λ, p, θ* and λ_P of a given overlay come from [`Spectrum`](meshfold_topology::Spectrum). D-Cliques (Bellet
//! et al.) states no bound: its Section IV says that existing analyses hold for it but do not capture its benefit. Its
//! measure, the skew of cliques (3), belongs to the overlay's construction.

mod bound_error;
mod decefl;
mod decefl_stochastic;
mod dfedavgm;
mod dfedrw;
mod dfedrw_cost;
mod expander;
mod heterogeneity;
mod iterate_weights;
mod mixing_time;
mod non_iid_degree;
mod p_fedavg;
mod quantisation;
mod speed_up;

pub use bound_error::BoundError;
pub use decefl::{Decefl, DeceflRate, DeceflStart, HarmonicRate};
pub use decefl_stochastic::{StochasticDecefl, StochasticRate, StochasticStart};
pub use dfedavgm::{
    DfedavgmDescent, DfedavgmRate, DfedavgmRateTerms, DfedavgmStability, dfedavgm_rate_limit,
};
pub use dfedrw::{PowerSteps, RandomWalk, WalkQuantisation, WalkTerms};
pub use dfedrw_cost::{dfedrw_busiest_bytes, dfedrw_seconds, fedavg_seconds};
pub use expander::{
    best_laplacian_lambda, laplacian_lambda, ramanujan_kappa, ramanujan_lambda, regular_kappa,
    ring_kappa,
};
pub use heterogeneity::{inexactness, local_dissimilarity, walk_inexactness};
pub use iterate_weights::IterateWeights;
pub use mixing_time::{MixingTime, walk_distance};
pub use non_iid_degree::{
    Features, Labelled, LogisticClient, LogisticProblem, NonIidDegree, Shares, linear_degree,
    logistic_degree,
};
pub use p_fedavg::{ClientNoise, PFedavg, gradient_noise};
pub use quantisation::{
    FULL_BITS, MESSAGE_OVERHEAD_BITS, Quantised, RoundsToError, full_message_bits,
    quantisation_interval, quantisation_variance, quantised_message_bits, saving_bits_limit,
};
pub use speed_up::{
    Capacities, Delay, Delays, ExchangeDelay, ParallelServers, RoundSeconds, speed_up,
};
