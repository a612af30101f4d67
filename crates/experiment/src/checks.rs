//! Checks of the values of a run that need neither its examples nor its overlay.

use meshfold_algorithms::{AlgorithmError, OverlayUse};

use crate::config::RunConfig;
use crate::error::ConfigError;
use crate::experiment::Resolved;
use crate::fault::Fault;
use crate::fault_path;

/// Checks the values that stand for themselves.
pub(crate) fn numbers(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let config = &run.config;
    if !is_folder_name(&config.name) {
        let needed = "the name of a folder: without `/`, `\\` or control characters, not starting with a dot";
        return Err(run.wrong("name", format!("the text {:?}", config.name), needed));
    }
    if config.rounds == 0 {
        return Err(run.wrong("rounds", 0, "at least 1"));
    }
    if config.evaluate.every == 0 {
        return Err(run.wrong(
            "evaluate.every",
            0,
            "at least 1 round from one evaluation to the next",
        ));
    }
    if config
        .checkpoint
        .as_ref()
        .is_some_and(|checkpoint| checkpoint.every == 0)
    {
        return Err(run.wrong(
            "checkpoint.every",
            0,
            "at least 1 round from one checkpoint to the next",
        ));
    }
    let targets = config.evaluate.targets.iter().enumerate();
    if let Some((index, target)) = targets
        .into_iter()
        .find(|(_, target)| !(**target > 0.0 && **target <= 1.0))
    {
        let needed = "an accuracy as a fraction, above 0 and up to 1";
        return Err(run.wrong(&format!("evaluate.targets.{index}"), target, needed));
    }
    if let Err(error) = config.dataset.validate() {
        let path = fault_path::of_dataset(&error, run.choice("dataset"));
        return Err(run.error(error, &path));
    }
    // How many of the pooled examples are held out is known once they are dealt.
    let dimensions = config.dataset.expected();
    let most = match config.partition.pools() {
        true => dimensions.examples_train + dimensions.examples_test,
        false => dimensions.examples_test,
    };
    test_examples(run, most)
}

/// Checks that there are as many test examples as models are to be judged on, of `most`.
pub(crate) fn test_examples(run: &Resolved<'_>, most: usize) -> Result<(), ConfigError> {
    match run.config.evaluate.examples.count() {
        Some(count) if count == 0 || count > most => Err(run.wrong(
            "evaluate.examples",
            count,
            format!("1 to {most}, the test examples, or `all`"),
        )),
        _ => Ok(()),
    }
}

/// Checks the method's settings and whether it has the overlay that it needs, and no other.
pub(crate) fn method(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let RunConfig {
        algorithm,
        topology,
        weights,
        ..
    } = &run.config;
    let method = algorithm.name();
    algorithm.check().map_err(|error| match error {
        AlgorithmError::Setting { key, found, needed } => {
            let path = format!("algorithm.{method}.{key}");
            let found = run.tree.get(&path).map_or(found, ToString::to_string);
            run.error(AlgorithmError::Setting { key, found, needed }, &path)
        }
        error => run.error(error, &format!("algorithm.{method}")),
    })?;
    match (algorithm.overlay_use(), topology) {
        (OverlayUse::Required, None) => {
            Err(run.error(Fault::OverlayNeeded { method }, "algorithm"))
        }
        (OverlayUse::Refused, Some(_)) => {
            Err(run.error(Fault::OverlayRefused { method }, "topology"))
        }
        (_, None) if weights.is_some() => Err(run.error(Fault::WeightsWithoutOverlay, "weights")),
        _ => Ok(()),
    }
}

/// Whether results can be kept in a folder of this name, beside others and inside the folder of results.
fn is_folder_name(name: &str) -> bool {
    let plain = |character: char| !matches!(character, '/' | '\\') && !character.is_control();
    (1..=200).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('.')
        && name.trim() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_folder_are_refused() {
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "a\\b",
            "a\n",
            " a",
            &"a".repeat(201),
        ] {
            assert!(!is_folder_name(name), "{name:?}");
        }
        for name in ["mnist one-label", "ü", "a.b", "<script>"] {
            assert!(is_folder_name(name), "{name:?}");
        }
    }
}
