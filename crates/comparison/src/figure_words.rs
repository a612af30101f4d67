//! What is written along an axis of a figure.

use meshfold_experiment::results::FigureKind;
use meshfold_figure::Unit;

use crate::client_figure::ClientFigure;
use crate::cost_figure::CostFigure;
use crate::horizontal::Horizontal;
use crate::loss::Loss;
use crate::overlay_figure::OverlayFigure;

/// The words for `x`, and its unit in runs with this `loss`.
pub(crate) fn of_progress(x: &Horizontal, loss: Loss) -> (String, Unit) {
    match x {
        Horizontal::Progress(way) => (way.title().to_owned(), unit(way.figure(), loss)),
        Horizontal::Clients | Horizontal::Figure(_) => of_figure(x.figure(), loss),
    }
}

/// The words for a figure, such as `Test accuracy, worst 10 %`, and its unit in runs with this `loss`.
pub(crate) fn of_figure(name: &str, loss: Loss) -> (String, Unit) {
    if let Some(cost) = CostFigure::parse(name) {
        return (cost.title(), unit(name, loss));
    }
    if let Some(figure) = OverlayFigure::named(name) {
        return (figure.title.to_owned(), Unit::Number);
    }
    let figure = ClientFigure::parse(name);
    let (of, ending) = match figure.and_then(|figure| Some((figure.of, figure.ending()?))) {
        Some((of, ending)) => (of, ending),
        None => (name, String::new()),
    };
    let of = of.strip_prefix("own.").unwrap_or(of);
    let mut words = of.replace(['_', '.'], " ");
    // Figures of attackers: other abbreviations are a method's own.
    if let Some(figure) = name.strip_prefix("membership_") {
        let short = ["auc", "tpr"]
            .into_iter()
            .find(|short| figure.starts_with(short));
        words = short.map_or(words.clone(), |short| {
            words.replacen(short, &short.to_uppercase(), 1)
        });
    }
    let unit = unit(name, loss);
    if unit == Unit::Of("s") {
        words = words.replace("seconds", "time");
    }
    let mut letters = words.chars();
    let title = letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    });
    (title + &ending, unit)
}

fn unit(name: &str, loss: Loss) -> Unit {
    match FigureKind::of(name) {
        FigureKind::Share => Unit::Share,
        FigureKind::Nats => match loss {
            Loss::CrossEntropy => Unit::Of("nats"),
            Loss::SquaredError => Unit::Of("½ squared error"),
            Loss::Various => Unit::Number,
        },
        FigureKind::Bytes => Unit::Bytes,
        FigureKind::Seconds => Unit::Of("s"),
        FigureKind::Number => Unit::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_in_words_with_their_units() {
        for (name, words, unit) in [
            ("test_accuracy", "Test accuracy", Unit::Share),
            ("test_accuracy.std", "Test accuracy std", Unit::Share),
            (
                "test_accuracy.p10",
                "Test accuracy, 10 % quantile",
                Unit::Share,
            ),
            ("own_loss.worst5", "Own loss, worst 5 %", Unit::Of("nats")),
            ("test_accuracy.p50", "Test accuracy, median", Unit::Share),
            ("own.seconds", "Time", Unit::Of("s")),
            ("wall_seconds", "Wall time", Unit::Of("s")),
            ("own.p10", "P10", Unit::Number),
            ("membership_auc", "Membership AUC", Unit::Number),
            (
                "membership_tpr.worst10",
                "Membership TPR, worst 10 %",
                Unit::Share,
            ),
            ("membership_accuracy", "Membership accuracy", Unit::Share),
            ("own.auc", "Auc", Unit::Number),
            (
                "seconds_to=0.9",
                "Simulated time to 90 % test accuracy",
                Unit::Of("s"),
            ),
            (
                "bytes_to=0.5",
                "Bytes sent to 50 % test accuracy",
                Unit::Bytes,
            ),
        ] {
            let expected = (words.to_owned(), unit);
            assert_eq!(of_figure(name, Loss::CrossEntropy), expected, "{name}");
        }
    }
}
