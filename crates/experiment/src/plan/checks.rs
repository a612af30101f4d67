//! Checks of the values of a run by themselves and by the number of clients and examples, before there is an overlay.

use meshfold_algorithms::{AlgorithmError, Method, OverlayUse, Policy, StragglerUnit};
use meshfold_data::{AugmentError, Input};
use meshfold_engine::{Device, EngineError, Model};
use meshfold_topology::{Loses, Repair, Topology, TopologyError, Weights};

use crate::bounds::{self, Unsuited};
use crate::config::brief::{brief, quoted};
use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault::ConfigFault;
use crate::config::fault_path;
use crate::config::quantity::Quantity;
use crate::config::run_config::RunConfig;
use crate::network::LinkModel;
use crate::plan::evaluation_checks::{evaluations, targets};
use crate::plan::failure_checks;

/// What is wrong with the values of `run`, as far as they tell by themselves.
pub(crate) fn values(run: &Resolved<'_>) -> Vec<ConfigError> {
    let mut wrong = single_values(run);
    let together = [method(run), theory(run), augmentation(run)];
    wrong.extend(together.into_iter().filter_map(Result::err));
    wrong
}

/// What is wrong with those values that stand for themselves, whatever the others are.
pub(crate) fn single_values(run: &Resolved<'_>) -> Vec<ConfigError> {
    let checks = [
        name,
        rounds,
        budget,
        evaluations,
        checkpoints,
        targets,
        dataset,
    ];
    let checks = checks.iter().map(|check| check(run));
    checks.filter_map(Result::err).collect()
}

fn name(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let name = &run.config.name;
    if is_folder_name(name) {
        return Ok(());
    }
    let needed = format!(
        "the name of a folder: at most {LONGEST_NAME} bytes, without `/`, `\\` or control characters, not starting with a dot, \
         without blanks at its ends"
    );
    Err(run.wrong("name", quoted(name), needed))
}

fn rounds(run: &Resolved<'_>) -> Result<(), ConfigError> {
    match run.config.rounds {
        0 => Err(run.wrong("rounds", 0, "at least 1")),
        _ => Ok(()),
    }
}

fn budget(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let Some(budget) = &run.config.budget else {
        return Ok(());
    };
    let parts = [("seconds", budget.seconds), ("bytes", budget.bytes)];
    for (part, most) in parts {
        let is_wrong = |most: &f64| !(most.is_finite() && *most > 0.0);
        if let Some(most) = most.filter(is_wrong) {
            let needed = "a number above 0";
            return Err(run.wrong(&format!("budget.{part}"), most, needed));
        }
    }
    match (budget.seconds, budget.bytes, &run.config.network) {
        (None, None, _) => Err(run.wrong("budget", "nothing", "`seconds`, `bytes` or both")),
        (Some(seconds), _, None) if !run.config.algorithm.profile().has_own_clock => {
            let needed = "a `network`, as no time is simulated without one";
            Err(run.wrong("budget.seconds", seconds, needed))
        }
        _ => Ok(()),
    }
}

fn checkpoints(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let needed = "at least 1 round from one checkpoint to the next";
    match &run.config.checkpoint {
        Some(checkpoint) if checkpoint.every == Some(0) => {
            Err(run.wrong("checkpoint.every", 0, needed))
        }
        _ => Ok(()),
    }
}

fn dataset(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let valid = run.config.dataset.validate();
    valid.map_err(|error| {
        let path = fault_path::of_dataset(&error, run.choice("dataset"));
        run.error(error, &path)
    })
}

/// Checks that images change. A value that cannot be read would be taken for none.
fn augmentation(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let checked = run.config.augment.map_or(Ok(()), |augment| augment.check());
    checked.map_err(|error| of_augment(run, error))
}

/// Checks that the training examples, of which there are `examples`, can be augmented as they are to be.
pub(crate) fn augmented_examples(
    run: &Resolved<'_>,
    input: Input,
    examples: usize,
) -> Result<(), ConfigError> {
    let augment = run.config.augment;
    let fits = augment.map_or(Ok(()), |augment| augment.fits(input, examples));
    fits.map_err(|error| of_augment(run, error))
}

fn of_augment(run: &Resolved<'_>, error: AugmentError) -> ConfigError {
    let path = match error.setting {
        Some(setting) => format!("augment.{setting}"),
        None => "augment".to_owned(),
    };
    run.wrong(&path, error.found, error.needed)
}

/// Checks that the device that the run is planned for, if it is known, multiplies operands of such precision.
pub(crate) fn precision(run: &Resolved<'_>, device: Option<&Device>) -> Result<(), ConfigError> {
    let known = device.map_or(Ok(()), |device| device.expect(run.config.precision));
    known.map_err(|error| run.error(error, "precision"))
}

/// Checks the method's settings and whether it has the overlay that it needs, and no other.
fn method(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let RunConfig {
        algorithm,
        topology,
        weights,
        ..
    } = &*run.config;
    algorithm.check().map_err(|error| of_method(run, error))?;
    stragglers(run)?;
    links(run)?;
    let method = algorithm.name();
    match (algorithm.profile().overlay, topology) {
        (OverlayUse::Clients | OverlayUse::Servers(_), None) => Err(run.error(
            ConfigFault::OverlayNeeded {
                method: method.to_owned(),
            },
            "algorithm",
        )),
        (OverlayUse::Refused, Some(_)) => Err(run.error(
            ConfigFault::OverlayRefused {
                method: method.to_owned(),
            },
            "topology",
        )),
        (_, None) if weights.is_some() => {
            Err(run.error(ConfigFault::WeightsWithoutOverlay, "weights"))
        }
        _ => own_weights(run),
    }
}

/// Checks that no other weights are asked for than the method has of its own, if it has any.
fn own_weights(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let (method, asked) = (&run.config.algorithm, &run.config.weights);
    match method.profile().own_weights {
        Some(own) if asked.as_ref().is_some_and(|asked| *asked != own) => {
            let found = asked.as_ref().map_or_else(String::new, Weights::label);
            let needed = format!(
                "none: {} has weights of its own, like `{}`",
                method.name(),
                own.label()
            );
            Err(run.wrong("weights", found, needed))
        }
        _ => Ok(()),
    }
}

/// Checks who falls behind, and that the method can do with it what is asked.
fn stragglers(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let config = &run.config;
    let policy = config.straggler_policy();
    let (Some(stragglers), Some(policy)) = (&config.stragglers, policy) else {
        return Ok(());
    };
    stragglers.check().map_err(|error| match &error {
        AlgorithmError::Setting { key, .. } => {
            let path = format!("stragglers.{key}");
            run.error(error, &path)
        }
        _ => run.error(error, "stragglers"),
    })?;
    let method = &config.algorithm;
    let partial = policy == Policy::Partial;
    let needed = match method.profile().stragglers {
        StragglerUnit::Walks if !partial => "`partial`: walks that are cut short count",
        StragglerUnit::Participants if policy == Policy::Receive => {
            "`isolate` or `partial`: participants receive the model that they start from"
        }
        StragglerUnit::Clients | StragglerUnit::Participants
            if partial && method.training().local.count() < 2 =>
        {
            "`isolate`: a client with a single epoch or step has no part of it to do"
        }
        _ if policy == Policy::Receive && method.profile().needs_mutual_exchange => {
            "`isolate`: the method needs exchanges that go both ways"
        }
        _ if policy == Policy::Receive && method.profile().has_own_clock => {
            "`isolate`: clients that fall behind stand still in this method"
        }
        // A built-in method such as `one_peer` has an overlay of its own.
        _ if policy == Policy::Receive
            && matches!(method, Method::Own(_))
            && method.profile().overlay == OverlayUse::Refused =>
        {
            "`isolate`: without an overlay nobody sends to a client that falls behind"
        }
        _ if stragglers.deadline_seconds.is_some() && method.profile().has_own_clock => {
            return Err(run.wrong(
                "stragglers.deadline_seconds",
                method.name(),
                "a method whose clients go in rounds: in this one nobody waits for slow clients",
            ));
        }
        _ if stragglers.deadline_seconds.is_some() && !tells_speeds(config) => {
            let found = match &config.network {
                None => "no `network`",
                Some(_) => {
                    "a `network` without `compute`, where local work takes no time and nobody is late"
                }
            };
            return Err(run.wrong(
                "stragglers.deadline_seconds",
                found,
                "`network.compute` to say how fast clients are",
            ));
        }
        _ => return Ok(()),
    };
    Err(run.wrong("stragglers.policy", policy.name(), needed))
}

/// Checks that the links of the network are alike, if the method needs that.
fn links(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let (method, network) = (&run.config.algorithm, &run.config.network);
    let Some(network) = network
        .as_ref()
        .filter(|_| method.profile().needs_even_links)
    else {
        return Ok(());
    };
    match network.links.even() {
        Some(_) => Ok(()),
        None => {
            let needed = format!(
                "`fixed` or `latency`: in {} all links have one latency and one bandwidth",
                method.name()
            );
            Err(run.wrong("network.links", "links that differ or change", needed))
        }
    }
}

/// Whether it is known how long local steps take.
fn tells_speeds(config: &RunConfig) -> bool {
    let network = config.network.as_ref();
    network.is_some_and(|network| {
        network.compute.is_some() || matches!(network.links, LinkModel::Latency(_))
    })
}

/// A method's own complaint, at the key that it names, with the value as it is written there.
pub(super) fn of_method(run: &Resolved<'_>, mut error: AlgorithmError) -> ConfigError {
    let (key, found) = match &mut error {
        AlgorithmError::Setting { key, found, .. }
        | AlgorithmError::Unsuited { key, found, .. } => (*key, found),
        AlgorithmError::OwnSetting { key, found, .. } => (&**key, found),
        _ => return at_method(run, error),
    };
    let method = run.config.algorithm.key();
    if let Some(written) = run.tree().get(&format!("algorithm.{method}.{key}")) {
        *found = brief(&written.to_string()).into_owned();
    }
    at_method(run, error)
}

/// A method's own complaint, at the key that it names.
fn at_method(run: &Resolved<'_>, error: AlgorithmError) -> ConfigError {
    let method = run.config.algorithm.key();
    match &error {
        AlgorithmError::Setting { key, .. } | AlgorithmError::Unsuited { key, .. } => {
            let path = format!("algorithm.{method}.{key}");
            run.error(error, &path)
        }
        AlgorithmError::OwnSetting { key, .. } => {
            let path = format!("algorithm.{method}.{key}");
            run.error(error, &path)
        }
        AlgorithmError::Engine(EngineError::OwnRate { .. }) => {
            run.error(error, &format!("algorithm.{method}.learning_rate"))
        }
        AlgorithmError::Overlay { .. } if run.combines("algorithm", "topology") => {
            run.error(ConfigFault::UnsuitedPair(error), "topology")
        }
        AlgorithmError::Overlay { .. } => run.error(error, "topology"),
        _ => run.error(error, &format!("algorithm.{method}")),
    }
}

/// Checks the values that depend on the number of clients.
pub(crate) fn clients(run: &Resolved<'_>, clients: usize) -> Result<(), ConfigError> {
    let config = &run.config;
    config
        .algorithm
        .check_clients(clients)
        .map_err(|error| at_method(run, error))?;
    config
        .failures
        .check(clients)
        .map_err(|error| match error {
            TopologyError::Setting {
                setting,
                found,
                needed,
            } => run.wrong(&format!("failures.{setting}"), found, needed),
            error => run.error(error, "failures"),
        })?;
    failure_checks::check(run, clients)?;
    failures_of_the_overlay(run)
}

/// Checks that the method and its overlay allow each failure.
fn failures_of_the_overlay(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let config = &run.config;
    let rings = matches!(config.topology, Some(Topology::VirtualRings(_)));
    for (index, failure) in config.failures.0.iter().enumerate() {
        if failure.edges.is_some() && config.topology.is_none() {
            let needed = no_edges(&config.algorithm);
            return Err(run.wrong(&format!("failures.{index}.edges"), "edges", needed));
        }
        let profile = config.algorithm.profile();
        if failure.messages.is_some() && !profile.may_lose_messages {
            let method = &config.algorithm;
            let needed = match method {
                Method::Own(_) => {
                    "a method that says `may_lose_messages = True`, and has an overlay, a server or a clock of its own"
                }
                _ => {
                    "a method that averages what arrives over an overlay of clients, such as dsgd or dfedavgm, without `aggregation` and \
                     `quantise`, or fedavg, fedprox, scaffold or p_fedavg"
                }
            };
            return Err(run.wrong(&format!("failures.{index}.messages"), method.name(), needed));
        }
        let is_gossip = profile.overlay == OverlayUse::Clients
            && profile.stragglers == StragglerUnit::Clients
            && !profile.needs_mutual_exchange;
        if failure.loses == Loses::Inputs && !is_gossip {
            let method = config.algorithm.name();
            let needed = format!(
                "`everything`: in {method} a client that does not train takes no part in the exchange"
            );
            return Err(run.wrong(&format!("failures.{index}.loses"), "inputs", needed));
        }
        if failure.repair == Repair::Protocol && !rings {
            let needed = "a topology of virtual_rings, which has a protocol";
            return Err(run.wrong(&format!("failures.{index}.repair"), "protocol", needed));
        }
    }
    Ok(())
}

/// What can fail in a run of a `method` without an overlay.
fn no_edges(method: &Method) -> String {
    let has_none = format!(
        "`clients`: {} has no overlay whose edges could fail",
        method.name()
    );
    match method {
        // The method sends as the overlay of the same name does.
        Method::OnePeer(_) => {
            format!("{has_none}; `push_sum` and `dsgd` on `topology: one_peer` have")
        }
        _ => has_none,
    }
}

/// Whether the run asks for the skew of cliques.
pub(crate) fn asks_for_cliques(run: &Resolved<'_>) -> bool {
    run.config.evaluate.theory.contains(&Quantity::CliqueSkew)
}

/// The complaint about a run that asks for it where no run of its sweep has any.
pub(crate) fn no_cliques(run: &Resolved<'_>) -> ConfigError {
    let needed = "a topology with cliques, such as d_cliques, in a run at least";
    run.wrong("evaluate.theory", "clique_skew", needed)
}

/// Checks that what is asked of theory can be computed for the model and the method.
fn theory(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let mut asked = run.config.evaluate.theory.iter();
    let Some(asked) = asked.find(|quantity| quantity.is_of_examples()) else {
        return Ok(());
    };
    let bound = run.config.evaluate.theory.contains(&Quantity::Bound);
    let decays = run.config.algorithm.training().sgd.weight_decay > 0.0;
    let (found, needed) = match run.config.model {
        Model::Linear(_) if !bound => return Ok(()),
        Model::Logistic if decays => return if bound { suited(run) } else { Ok(()) },
        Model::Logistic => (
            "of `logistic` without weight decay, whose least losses lie at infinity where classes can be separated",
            "a positive `weight_decay` of the method, such as 1.0e-4",
        ),
        _ if bound => (
            "of a model whose losses are not known to be strongly convex",
            "the model `logistic` with a positive `weight_decay`, whose losses are",
        ),
        _ => (
            "of a model whose least losses nobody can tell",
            "the model `linear`, or `logistic` with a positive `weight_decay`, whose losses are convex",
        ),
    };
    let asked = if bound { Quantity::Bound } else { *asked }.name();
    Err(run.wrong("evaluate.theory", format!("{asked} {found}"), needed))
}

/// Checks that a theorem speaks of the run.
fn suited(run: &Resolved<'_>) -> Result<(), ConfigError> {
    match bounds::unsuited(&run.config) {
        None => Ok(()),
        Some(Unsuited { key, found, needed }) => {
            let needed = format!("{needed}; or leave `bound` out of `evaluate.theory`");
            Err(run.wrong(&key, found, needed))
        }
    }
}

/// Most bytes of an experiment's name, which becomes that of a folder: file systems take 255.
const LONGEST_NAME: usize = 200;

/// Whether results can be kept in a folder of this name, beside others and inside the folder of results.
fn is_folder_name(name: &str) -> bool {
    let plain = |character: char| !matches!(character, '/' | '\\') && !character.is_control();
    (1..=LONGEST_NAME).contains(&name.len())
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
