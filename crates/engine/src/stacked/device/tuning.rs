//! Constants of kernels that were chosen by estimate. A build with the feature `tuning` can try others.

/// `chosen`; or with the feature `tuning`, the value of the environment variable `MESHFOLD_TUNE_` + `name`, if it is
/// set. Results of such trials may differ in their last bits.
pub(crate) fn tuned(name: &str, chosen: usize) -> usize {
    if cfg!(feature = "tuning") {
        let tried = std::env::var(format!("MESHFOLD_TUNE_{name}")).ok();
        return tried.and_then(|tried| tried.parse().ok()).unwrap_or(chosen);
    }
    chosen
}
