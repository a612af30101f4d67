//! Numbers of kernels that were chosen by estimate. A build with the feature `tuning` lets one try others.

/// `chosen`; or what `MESHFOLD_TUNE_` and `name` say in the environment, in a build with the feature `tuning`. Results of such trials may
/// differ in their last bits.
pub(crate) fn tuned(name: &str, chosen: usize) -> usize {
    if cfg!(feature = "tuning") {
        let tried = std::env::var(format!("MESHFOLD_TUNE_{name}")).ok();
        return tried.and_then(|tried| tried.parse().ok()).unwrap_or(chosen);
    }
    chosen
}
