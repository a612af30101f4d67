//! The columns of the tables over all runs of an experiment, each with what it means.

use crate::column::{Column, Kind};
use crate::loss::Loss;
use crate::overlay_figure::OverlayFigure;

/// The label of the column `name`, if it has one.
pub(crate) fn label(name: &str) -> Option<u32> {
    let label = name.strip_prefix("label_")?.strip_suffix("_accuracy")?;
    label.parse().ok()
}

/// The column of a figure that a run was asked for by `evaluate.clients`.
pub(crate) fn view_column(name: &str, loss: Loss) -> Column {
    let about = match (name, label(name)) {
        ("own_accuracy", _) => "Accuracy on the client's own training examples.".to_owned(),
        ("own_loss", _) => format!("{} on the client's own training examples.", loss.mean()),
        ("own_labels_accuracy", _) => {
            "Accuracy on the test examples of the client's labels, each label counted as often as the client holds it."
                .to_owned()
        }
        ("local_test_accuracy", _) => {
            "Accuracy of the client's model on the client's local test set.".to_owned()
        }
        ("local_test_loss", _) => {
            format!("{} of the client's model on the client's local test set.", loss.mean())
        }
        ("fine_tuned_accuracy", _) => {
            "Accuracy on the client's local test set after fine-tuning.".to_owned()
        }
        ("fine_tuned_loss", _) => {
            format!("{} on the client's local test set after fine-tuning.", loss.mean())
        }
        ("membership_accuracy" | "membership_auc" | "membership_tpr", _) => {
            format!("{} of an attacker who has the client's model.", attack_about(name))
        }
        ("membership_examples", _) => {
            "Training examples that the attacker guesses at, and as many others.".to_owned()
        }
        ("local_test_examples", _) => "Examples of the client's local test set.".to_owned(),
        (_, Some(label)) => format!("Accuracy on the test examples of label {label}."),
        (name, None) => match name.strip_prefix(OWN) {
            Some(figure) => format!("What the method recorded of the row as `{figure}`."),
            None => "A figure of clients.parquet of the run.".to_owned(),
        },
    };
    Column::number(name, &about)
}

/// What a figure of attackers is.
fn attack_about(name: &str) -> &'static str {
    match name {
        "membership_accuracy" => "Share of right guesses, as many members as non-members,",
        "membership_auc" => "Area under the ROC curve",
        _ => "True-positive rate at a false-positive rate of at most 1 %",
    }
}

/// How far the run of a row came.
pub(crate) fn state_column() -> Column {
    Column::text(
        "state",
        "`finished` for runs that came to their end, `failed` for those that an error ended, `unfinished` for others.",
    )
}

/// The columns of sizes and of the figures called `names`, of runs with this `loss`.
pub(crate) fn metrics_columns(names: &[String], loss: Loss) -> Vec<Column> {
    let of_overlays = OverlayFigure::all().iter().map(OverlayFigure::column);
    let figures = names.iter().map(|name| figure_column(name, loss));
    let figures = of_overlays.chain(figures);
    sizes().into_iter().chain(figures).collect()
}

fn sizes() -> [Column; 2] {
    [
        Column::whole("clients", "Number of clients N."),
        Column::whole(
            "parameters",
            "Parameters of a model, P; known once the run has ended.",
        ),
    ]
}

/// Whose examples a client holds.
pub(crate) fn owner_column() -> Column {
    Column::text(
        "owner",
        "Owner of the client's examples, where the dataset names owners and the client holds those of one.",
    )
}

pub(crate) fn client_columns(loss: Loss) -> [Column; 7] {
    [
        Column::whole("round", "Communication rounds done; 0 is the start."),
        Column::whole(
            "row",
            "Number of the client, the server or the walker, as `kind` says; each are counted from 0.",
        ),
        Column::text(
            "kind",
            "What the row stands for: `client`, `server` or `walker`.",
        ),
        Column::whole("examples", "Training examples that a client holds."),
        Column::whole(
            "neighbours",
            "Neighbours of the client or server on the overlay, of one that changes in round 1.",
        ),
        Column::number(
            "accuracy",
            "Fraction of the test examples that the row's model classifies correctly; a client without a model of its own has that of its server.",
        ),
        Column::number(
            "loss",
            &format!("{} of the row's model on the test examples.", loss.mean()),
        ),
    ]
}

/// The figures of `metrics.jsonl` that are whole numbers.
const COUNTS: [&str; 9] = [
    "round",
    "local_steps",
    "examples_seen",
    "bytes_total",
    "bytes_busiest_node",
    "messages_total",
    "messages_as_printed",
    "alive",
    "components",
];

/// What the column of the figure called `name` holds.
pub(crate) fn kind(name: &str) -> Kind {
    match COUNTS.contains(&name) {
        true => Kind::Whole,
        false => Kind::Number,
    }
}

/// The column of a figure of `metrics.jsonl`.
fn figure_column(name: &str, loss: Loss) -> Column {
    let (figure, part) = match name.strip_prefix(OWN) {
        Some(own) => own.split_once('.').unwrap_or((own, "")),
        None => name.split_once('.').unwrap_or((name, "")),
    };
    let about = match name.starts_with(OWN) {
        true => own_about(figure, part),
        false => loss_about(figure, loss).unwrap_or_else(|| about(figure).to_owned()),
    };
    let spread = match (about.ends_with('.'), part) {
        (true, _) => "",
        (false, "" | "mean") => ": the mean.",
        (false, "min") => ": the least.",
        (false, "max") => ": the largest.",
        (false, "weighted") => ": the mean over the examples of their local test sets.",
        (false, _) => ": the standard deviation of the models at hand.",
    };
    Column::new(name, kind(name), &format!("{about}{spread}"))
}

/// What the names of figures of a method's own begin with.
pub(crate) const OWN: &str = "own.";

/// What a figure of a method's own means; without a full stop if it is one of a spread.
fn own_about(figure: &str, part: &str) -> String {
    match part {
        "" => format!("What the method recorded as `{figure}`, or its mean over the rows."),
        _ => format!("What the method recorded as `{figure}`, over the rows"),
    }
}

/// What a figure means that is a loss.
fn loss_about(figure: &str, loss: Loss) -> Option<String> {
    let of = match figure {
        "train_loss" => "of the mini-batches since the last evaluation.",
        "test_loss" => "on the test examples, over the models",
        "validation_loss" => "on the validation examples, over the models",
        "local_test_loss" => {
            "of each client's model on the client's local test set, over the clients"
        }
        "fine_tuned_loss" => {
            "of each client's fine-tuned model on the client's local test set, over the clients"
        }
        "train_shard_loss" => "of each row on its own training examples, over the rows",
        _ => return None,
    };
    Some(format!("{} {of}", loss.mean()))
}

/// What another figure means; without a full stop if it is a spread.
fn about(figure: &str) -> &'static str {
    match figure {
        "round" => "Communication rounds done; 0 is the start.",
        "local_steps" => "Local steps of all rows since the start.",
        "examples_seen" => "Training examples that those steps saw.",
        "test_accuracy" => "Fraction of test examples classified correctly, over the models",
        "validation_accuracy" => {
            "Fraction of the validation examples classified correctly, over the models"
        }
        "mean_model_accuracy" => "Accuracy of the mean of the models on the test examples.",
        "consensus_distance" => "sqrt(1/R sum of |w_i - mean|^2) over the rows alive.",
        "bytes_total" => "Bytes sent since the start, each message counted once.",
        "bytes_busiest_node" => {
            "Sum over the rounds of the most bytes that a node sent and received."
        }
        "messages_total" => "Messages sent since the start.",
        "simulated_seconds" => "Simulated seconds since the start, where a network is described.",
        "wall_seconds" => "Seconds that the program has worked on the run.",
        "alive" => "Clients alive.",
        "components" => "Parts that the overlay falls into among those alive.",
        "messages_as_printed" => "Messages since the start as the paper counts them.",
        "train_accuracy" => "Accuracy of each row on its own training examples, over the rows",
        "local_test_accuracy" => {
            "Accuracy of each client's model on the client's local test set, over the clients"
        }
        "fine_tuned_accuracy" => {
            "Accuracy of each client's fine-tuned model on the client's local test set, over the clients"
        }
        "membership_accuracy" => {
            "Share of right guesses, as many members as non-members, of attackers who have the clients' models, over the clients"
        }
        "membership_auc" => {
            "Area under the ROC curve of attackers who have the clients' models, over the clients"
        }
        "membership_tpr" => {
            "True-positive rate at a false-positive rate of at most 1 % of attackers who have the clients' models, over the clients"
        }
        "own_labels_accuracy" => {
            "Accuracy on the test examples of the labels that each client holds, over the clients"
        }
        "theory" => "A quantity of a paper's bound.",
        _ => "A figure of metrics.jsonl.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_and_other_figures_are_not() {
        let kind = |name: &str| figure_column(name, Loss::CrossEntropy).kind();
        assert_eq!(kind("round"), Kind::Whole);
        assert_eq!(kind("bytes_total"), Kind::Whole);
        assert_eq!(kind("test_accuracy.min"), Kind::Number);
        assert_eq!(kind("simulated_seconds"), Kind::Number);
        assert_eq!(kind("theory.gradient_norm"), Kind::Number);
        assert_eq!(kind("own.round"), Kind::Number);
    }

    #[test]
    fn figures_of_a_method_are_told_by_their_names() {
        let about = |name| {
            let column = figure_column(name, Loss::CrossEntropy);
            column.description().to_owned()
        };
        assert_eq!(
            about("own.test_loss"),
            "What the method recorded as `test_loss`, or its mean over the rows."
        );
        assert_eq!(
            about("own.residual.max"),
            "What the method recorded as `residual`, over the rows: the largest."
        );
    }

    #[test]
    fn losses_are_what_the_models_of_the_runs_are_judged_by() {
        let about = |name: &str, loss| figure_column(name, loss).description().to_owned();
        assert_eq!(
            about("test_loss.min", Loss::SquaredError),
            "Mean of half the squared error on the test examples, over the models: the least."
        );
        assert_eq!(
            about("train_loss", Loss::CrossEntropy),
            "Mean cross-entropy in nats of the mini-batches since the last evaluation."
        );
        let various = about("test_loss", Loss::Various);
        assert!(
            various.contains("cross-entropy in nats; of the model `linear` half the squared error")
        );
        let [.., loss] = client_columns(Loss::SquaredError);
        assert_eq!(
            loss.description(),
            "Mean of half the squared error of the row's model on the test examples."
        );
    }
}
