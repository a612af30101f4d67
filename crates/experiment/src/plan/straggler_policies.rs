//! Whether the methods that a sweep compares do the same with stragglers.

use std::collections::{BTreeMap, BTreeSet};

use meshfold_algorithms::Policy;

use crate::plan::run_plan::RunPlan;

/// A sentence about the methods of `plans` if they treat stragglers differently and no setting says so.
pub(super) fn uneven(plans: &[RunPlan]) -> Option<String> {
    let unsaid = plans.iter().filter(|plan| {
        let stragglers = plan.config.stragglers.as_ref();
        stragglers
            .is_some_and(|stragglers| stragglers.policy.is_none() && stragglers.share != Some(0.0))
    });
    let policies = unsaid.filter_map(|plan| {
        let policy = plan.config.straggler_policy()?;
        Some((plan.config.algorithm.name(), policy))
    });
    sentence(policies)
}

fn sentence<'a>(policies: impl Iterator<Item = (&'a str, Policy)>) -> Option<String> {
    let mut methods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (method, policy) in policies {
        methods.entry(policy.name()).or_default().insert(method);
    }
    if methods.len() < 2 {
        return None;
    }
    let say = |(policy, methods): (&&str, &BTreeSet<&str>)| {
        let methods: Vec<&str> = methods.iter().copied().collect();
        format!("`{policy}` under {}", methods.join(", "))
    };
    let parts: Vec<String> = methods.iter().map(say).collect();
    Some(format!(
        "`stragglers.policy` is not set, so late clients are not treated alike under every method: {}. Set `stragglers.policy` to \
         compare the methods under the same one",
        parts.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_with_one_policy_are_not_named() {
        let alike = [("dsgd", Policy::Isolate), ("fedavg", Policy::Isolate)];
        assert_eq!(sentence(alike.into_iter()), None);
        assert_eq!(sentence([].into_iter()), None);
    }

    #[test]
    fn methods_with_different_policies_are_named_once_each() {
        let uneven = [
            ("fedavg", Policy::Isolate),
            ("dfedrw", Policy::Partial),
            ("dfedavg", Policy::Isolate),
            ("dfedavg", Policy::Isolate),
        ];
        let said = sentence(uneven.into_iter()).unwrap();
        let parts = "`isolate` under dfedavg, fedavg; `partial` under dfedrw.";
        assert!(said.contains(parts), "{said}");
    }
}
