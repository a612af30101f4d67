//! Checks of what is asked of the judging of models.

use meshfold_algorithms::{AlgorithmError, RowKind};
use meshfold_data::{DatasetSummary, Partition, Partitioner};
use meshfold_engine::Network;

use crate::config::brief::brief;
use crate::config::client_view::{ClientView, MOST_LABELS, has_labels};
use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::local_test::LocalTest;
use crate::config::membership::{AttackedModels, NonMembers};
use crate::config::test_examples::TestExamples;

/// Checks how often models are judged, and the shares and local steps of clients' own judging.
pub(super) fn evaluations(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let needed = "at least 1 round from one evaluation to the next";
    if run.config.evaluate.every == 0 {
        return Err(run.wrong("evaluate.every", 0, needed));
    }
    let is_share = |share: &f64| *share > 0.0 && *share < 1.0;
    match run.config.evaluate.local_test {
        Some(LocalTest::Share(share)) if !is_share(&share) => {
            let needed = "a share of each client's examples, above 0 and below 1, or `owners`";
            Err(run.wrong("evaluate.local_test", share, needed))
        }
        _ => fine_tuning(run),
    }
}

/// Checks the local steps that clients make before they are judged once more.
fn fine_tuning(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let evaluate = &run.config.evaluate;
    let Some(fine_tune) = &evaluate.fine_tune else {
        return Ok(());
    };
    if evaluate.local_test.is_none() {
        let needed = "`evaluate.local_test`, a share of each client's examples that fine-tuned models are judged on, or `owners`";
        return Err(run.wrong("evaluate.fine_tune", "no local test sets", needed));
    }
    fine_tune.training().check().map_err(|mut error| {
        let AlgorithmError::Setting { key, found, .. } = &mut error else {
            return run.error(error, "evaluate.fine_tune");
        };
        let path = format!("evaluate.fine_tune.{key}");
        if let Some(written) = run.tree().get(&path) {
            *found = brief(&written.to_string()).into_owned();
        }
        run.error(error, &path)
    })
}

pub(super) fn targets(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let is_fraction = |target: f64| target > 0.0 && target <= 1.0;
    let mut targets = run.config.evaluate.targets.iter().enumerate();
    match targets.find(|(_, target)| !is_fraction(**target)) {
        Some((index, target)) => {
            let needed = "an accuracy as a fraction, above 0 and up to 1";
            Err(run.wrong(&format!("evaluate.targets.{index}"), target, needed))
        }
        None => stop_at_targets(run),
    }
}

/// Checks that a run that ends at its targets has some, and is judged on the same examples all the time: which evaluation is the last one
/// is known only once it is made.
fn stop_at_targets(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let evaluate = &run.config.evaluate;
    let needed = match (evaluate.stop_at_targets, evaluate.last) {
        (false, _) => return Ok(()),
        (true, _) if evaluate.targets.is_empty() => "`evaluate.targets`, at which the run ends",
        (true, Some(_)) => {
            "no `evaluate.last`: whether an evaluation is the last one shows only in what it finds"
        }
        (true, None) => return Ok(()),
    };
    Err(run.wrong("evaluate.stop_at_targets", "true", needed))
}

/// Checks that there are as many test examples as models are to be judged on, of `most`.
pub(crate) fn test_examples(run: &Resolved<'_>, most: usize) -> Result<(), ConfigError> {
    let evaluate = &run.config.evaluate;
    let asked = [
        ("evaluate.examples", Some(evaluate.examples)),
        ("evaluate.last", evaluate.last),
    ];
    let wrong = asked.into_iter().find_map(|(path, examples)| {
        let count = examples?.count()?;
        (count == 0 || count > most).then_some((path, count))
    });
    match wrong {
        Some((path, count)) => {
            let needed = format!("1 to {most}, the test examples, or `all`");
            Err(run.wrong(path, count, needed))
        }
        None => Ok(()),
    }
}

/// Checks that accuracies by label and local test sets are asked of examples with labels, and the former of few enough labels for a
/// column each.
pub(crate) fn client_views(
    run: &Resolved<'_>,
    dataset: &DatasetSummary,
) -> Result<(), ConfigError> {
    // Windows of a text overlap: what a client is judged on would be among what it trains on.
    let share = run.config.evaluate.local_test.and_then(LocalTest::share);
    if let (Some(share), false) = (share, has_labels(dataset)) {
        let needed = "`owners`, or no local test sets: windows of a text overlap, so that no part of them is left out of training";
        return Err(run.wrong("evaluate.local_test", share, needed));
    }
    let mut views = run.config.evaluate.clients.iter();
    let Some(index) = views.position(|view| *view == ClientView::Labels) else {
        return Ok(());
    };
    let path = format!("evaluate.clients.{index}");
    if !has_labels(dataset) {
        let needed = "examples with labels: a text has none";
        return Err(run.wrong(&path, "labels", needed));
    }
    match dataset.classes() {
        0..=MOST_LABELS => Ok(()),
        labels => {
            let needed = format!("at most {MOST_LABELS} labels, the dataset has {labels}");
            Err(run.wrong(&path, "labels", needed))
        }
    }
}

/// `partition` with the test examples of the clients' owners as local test sets.
///
/// # Errors
/// At `evaluate.local_test` if the dataset does not say whose its test examples are, if clients have no owners, or if no client has a test
/// example.
pub(super) fn with_tests_of_owners(
    run: &Resolved<'_>,
    dataset: &DatasetSummary,
    partition: Partition,
) -> Result<Partition, ConfigError> {
    const PATH: &str = "evaluate.local_test";
    let wrong = |needed: &str| run.wrong(PATH, "owners", needed);
    let train = dataset.labelled(false).owners;
    let Some((train, test)) = train.zip(dataset.test_owners()) else {
        return Err(wrong(
            "a dataset that names the owners of its test examples, or a share of each client's examples, such as 0.2",
        ));
    };
    let way = &run.config.partition;
    // One of a program's own may keep owners together, or not: the latter shows.
    let by_owner = way.reads_owners() || matches!(way, Partitioner::Own(_));
    if !by_owner || way.pools() {
        return Err(wrong(&format!(
            "a partition by owners, such as `by_writer`: with `{}` no client has an owner",
            run.choice("partition")
        )));
    }
    let partition = partition.with_tests_of_owners(train, test);
    let partition = partition.map_err(|error| run.error(error, PATH))?;
    match partition.local_test_examples() {
        0 => Err(wrong(&format!(
            "test examples of owners who have training examples: each of the {} test examples is of another owner",
            dataset.test()
        ))),
        _ => Ok(partition),
    }
}

/// A warning of clients without a local test set, if others have one: a client of a single example, or whose owners have no test examples.
pub(super) fn untested_clients(partition: &Partition) -> Option<String> {
    let sizes = partition.local_test_sizes();
    let without = sizes.iter().filter(|size| **size == 0).count();
    let have = if without == 1 { "has" } else { "have" };
    (without > 0).then(|| {
        format!(
            "{without} of the {} clients {have} no local test set, and no part in figures on local test sets",
            sizes.len()
        )
    })
}

/// Checks that attackers have models of clients that classify, and examples to guess at.
pub(crate) fn membership(
    run: &Resolved<'_>,
    dataset: &DatasetSummary,
    network: &Network,
    kind: RowKind,
) -> Result<(), ConfigError> {
    let Some(asked) = &run.config.evaluate.membership else {
        return Ok(());
    };
    let wrong = |found: &str, needed: &str| Err(run.wrong("evaluate.membership", found, needed));
    if !has_labels(dataset) {
        return wrong("a text", "examples with labels: a text has none");
    }
    if !network.is_classifier() {
        let needed = "a model whose outputs are logits, such as `logistic` or `mlp`";
        return wrong("a linear model", needed);
    }
    if kind == RowKind::Walker {
        let needed = "models of clients or of servers, as with `rows: clients`";
        return wrong("models of walkers", needed);
    }
    if asked.examples.count() == Some(0) {
        let needed = "at least 1 example of each client, or `all`";
        return Err(run.wrong("evaluate.membership.examples", 0, needed));
    }
    if asked.non_members == NonMembers::LocalTest && run.config.evaluate.local_test.is_none() {
        let needed =
            "`evaluate.local_test`, a share of each client's examples or `owners`, or `test`";
        return Err(run.wrong("evaluate.membership.non_members", "local_test", needed));
    }
    if asked.models == AttackedModels::Sent && !run.config.algorithm.profile().shows_models {
        let needed = "`after_round`: no client of this method sends its whole model to a neighbour";
        return Err(run.wrong("evaluate.membership.models", "sent", needed));
    }
    Ok(())
}

/// Checks that there are as many examples for validation as models are to be judged on, of `most`.
pub(crate) fn validation(run: &Resolved<'_>, most: usize) -> Result<(), ConfigError> {
    let asked = run.config.evaluate.validation.and_then(TestExamples::count);
    let Some(count) = asked.filter(|count| *count > most) else {
        return Ok(());
    };
    let needed = match most {
        0 => "`validation` of the dataset, which keeps training examples apart".to_owned(),
        _ => format!("0 to {most}, those that the dataset keeps apart, or `all`"),
    };
    Err(run.wrong("evaluate.validation", count, needed))
}
