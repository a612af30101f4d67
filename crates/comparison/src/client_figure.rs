//! Figures over the clients of a run at an evaluation, from what `clients.parquet` says of each client.

use std::collections::BTreeMap;

use meshfold_experiment::results::{Figures, RecordedRun, ResultsError, more_is_better};
use meshfold_statistics::quantile;

use crate::combined_columns::OWN;

/// A figure over the clients, such as `test_accuracy.p10` or `own_loss.worst5`.
///
/// # Source
/// Li, Sanjabi, Beirami and Smith, Fair resource allocation in federated learning (q-FFL), 2020, section 4: they judge methods
/// by the mean accuracy of the worst 10 % of the clients.
///
/// # Interpretation
/// The paper does not say how many clients are 10 % of 25. Here a part of a client does not count, and one client always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientFigure<'a> {
    /// What is known of each client: `test_accuracy`, `test_loss` or a further column of `clients.parquet`.
    pub(crate) of: &'a str,
    part: Part,
}

/// What is made of the values of all clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Mean,
    Min,
    Max,
    /// The standard deviation of the clients at hand.
    Std,
    /// A quantile, in per cent.
    Quantile(usize),
    /// The mean of so many per cent of the clients: those with the least accuracies, or the largest of other figures.
    Worst(usize),
}

impl<'a> ClientFigure<'a> {
    /// Reads `test_accuracy.p10` and `own.norm.p10`; a name alone is the mean. `None` for what cannot be such a figure.
    pub(crate) fn parse(written: &'a str) -> Option<Self> {
        let of = name(written);
        let part = match written[of.len()..].strip_prefix('.').unwrap_or("mean") {
            "mean" => Part::Mean,
            "min" => Part::Min,
            "max" => Part::Max,
            "std" => Part::Std,
            part => match (per_cent(part, "p"), per_cent(part, "worst")) {
                (Some(share), _) => Part::Quantile(share),
                (_, Some(share)) if share > 0 => Part::Worst(share),
                _ => return None,
            },
        };
        Some(Self { of, part })
    }

    /// Whether it is made from what is `known` of each client. `metrics.jsonl` says what the mean and the ends are where every run has
    /// them.
    fn may_be_taken_from(&self, known: &[String]) -> bool {
        let is_of_every_run = OF_EVERY_RUN.iter().any(|(name, _)| *name == self.of);
        let is_known = known.iter().any(|name| name == self.of);
        is_known && (self.is_of_clients_alone() || !is_of_every_run)
    }

    /// Whether `metrics.jsonl` never has it.
    pub(crate) fn is_of_clients_alone(&self) -> bool {
        matches!(self.part, Part::Quantile(_) | Part::Worst(_))
    }

    /// Whether it says how far clients differ.
    pub(crate) fn is_spread(&self) -> bool {
        self.part == Part::Std
    }

    /// What a reader is told of it: `the 10 % quantile of the clients`; nothing of what every table has.
    pub(crate) fn meaning(&self) -> Option<String> {
        match self.part {
            Part::Quantile(share) => Some(format!("the {share} % quantile of the clients")),
            Part::Worst(share) => Some(format!("the mean of the worst {share} % of the clients")),
            Part::Mean | Part::Min | Part::Max | Part::Std => None,
        }
    }

    /// The end of an axis' title: `, worst 10 %`.
    pub(crate) fn ending(&self) -> Option<String> {
        match self.part {
            Part::Quantile(50) => Some(", median".to_owned()),
            Part::Quantile(share) => Some(format!(", {share} % quantile")),
            Part::Worst(share) => Some(format!(", worst {share} %")),
            Part::Mean | Part::Min | Part::Max | Part::Std => None,
        }
    }

    /// The figure of clients with these `values`, of which there are some.
    fn value(&self, values: &[f64]) -> Option<f64> {
        let count = values.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        match self.part {
            Part::Mean => Some(mean(values)),
            Part::Min => quantile(values, 0.0),
            Part::Max => quantile(values, 1.0),
            Part::Std => {
                let mean = mean(values);
                let squares = values.iter().map(|value| (value - mean).powi(2));
                Some((squares.sum::<f64>() / count).sqrt())
            }
            Part::Quantile(share) => quantile(values, share as f64 / 100.0),
            Part::Worst(share) => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                if !more_is_better(self.of) {
                    sorted.reverse();
                }
                let worst = (share * sorted.len() / 100).max(1);
                sorted.get(..worst).map(mean)
            }
        }
    }
}

/// The name of what is known of each client in a figure `written` as `test_accuracy.p10` or `own.norm.p10`.
pub(crate) fn name(written: &str) -> &str {
    let start = match written.strip_prefix(OWN) {
        Some(_) => OWN.len(),
        None => 0,
    };
    let end = written[start..].find('.');
    end.map_or(written, |end| &written[..start + end])
}

/// What is known of the clients after each round at which `run` was evaluated, by the name `of` in figures. Clients of which there is no
/// finite number do not count.
fn by_round(run: &RecordedRun, of: &str) -> Result<BTreeMap<i64, Vec<f64>>, ResultsError> {
    let mut of_every_run = OF_EVERY_RUN.into_iter();
    let column = of_every_run.find(|(name, _)| *name == of);
    let mut values: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (round, value) in run.client_column(column.map_or(of, |(_, column)| column))? {
        if value.is_finite() {
            values.entry(round).or_default().push(value);
        }
    }
    Ok(values)
}

/// What every run knows of each client, by its name in `metrics.jsonl`, and the column of it.
const OF_EVERY_RUN: [(&str, &str); 2] = [("test_accuracy", "accuracy"), ("test_loss", "loss")];

/// The whole number up to 100 after `start`, such as 10 in `p10`.
fn per_cent(part: &str, start: &str) -> Option<usize> {
    let digits = part.strip_prefix(start)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let share = digits.parse().ok().filter(|_| is_number)?;
    (share <= 100).then_some(share)
}

/// Adds to each evaluation of `run` those of the `wanted` figures that no evaluation has and that are figures over its clients.
/// Returns what the run knows of each client, if that was looked up.
///
/// # Errors
/// Those of [`RecordedRun::client_column`].
pub(crate) fn add_client_figures(
    run: &RecordedRun,
    wanted: &[String],
    evaluations: &mut [Figures],
) -> Result<Vec<String>, ResultsError> {
    let is_there = |name: &str| evaluations.iter().any(|figures| figures.contains_key(name));
    let missing: Vec<&String> = wanted.iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() || evaluations.is_empty() {
        return Ok(Vec::new());
    }
    let known = known(run)?;
    let mut columns: BTreeMap<&str, BTreeMap<i64, Vec<f64>>> = BTreeMap::new();
    for written in missing {
        let figure = ClientFigure::parse(written);
        let Some(figure) = figure.filter(|figure| figure.may_be_taken_from(&known)) else {
            continue;
        };
        if !columns.contains_key(figure.of) {
            columns.insert(figure.of, by_round(run, figure.of)?);
        }
        let values = &columns[figure.of];
        for figures in &mut *evaluations {
            let round = figures.get("round").map(|round| *round as i64);
            let values = round.and_then(|round| values.get(&round));
            let value = values.and_then(|values| figure.value(values));
            figures.extend(value.map(|value| (written.clone(), value)));
        }
    }
    Ok(known)
}

/// What `run` knows of each client; nothing if it has yet to write that.
fn known(run: &RecordedRun) -> Result<Vec<String>, ResultsError> {
    if !run.folder.join("clients.parquet").exists() {
        return Ok(Vec::new());
    }
    let of_every_run = OF_EVERY_RUN.map(|(name, _)| name.to_owned());
    Ok(of_every_run
        .into_iter()
        .chain(run.client_view_names()?)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(written: &str, values: &[f64]) -> f64 {
        ClientFigure::parse(written).unwrap().value(values).unwrap()
    }

    #[test]
    fn the_worst_clients_have_the_least_accuracies_and_the_largest_losses() {
        let values: Vec<f64> = (1..=25).rev().map(f64::from).collect();
        assert_eq!(value("test_accuracy.worst10", &values), 1.5);
        assert_eq!(value("test_loss.worst10", &values), 24.5);
        assert_eq!(value("own_accuracy.worst1", &values), 1.0);
        assert_eq!(value("own_loss.worst100", &values), 13.0);
        assert_eq!(value("label_3_accuracy.worst12", &[0.5]), 0.5);
    }

    /// `numpy.quantile(x, .1)`, `x.std()`.
    #[test]
    fn quantiles_and_spreads_are_those_of_numpy() {
        let values = [0.912, 0.905, 0.931, 0.897, 0.918];
        for (written, expected) in [
            ("test_accuracy.p10", 0.9002),
            ("test_accuracy.p0", 0.897),
            ("test_accuracy.p100", 0.931),
            ("own_accuracy", 0.9126),
            ("own_accuracy.min", 0.897),
            ("own_accuracy.max", 0.931),
            ("own_accuracy.std", 0.011568923891183657),
        ] {
            let found = value(written, &values);
            assert!((found - expected).abs() < 1e-12, "{written}: {found}");
        }
    }

    #[test]
    fn shares_are_whole_per_cents() {
        for written in [
            "test_accuracy.p101",
            "test_accuracy.p2.5",
            "test_accuracy.p",
            "test_accuracy.p+5",
            "test_accuracy.p-1",
            "test_accuracy.worst0",
            "test_accuracy.worst101",
            "test_accuracy.p10.p5",
            "test_accuracy.median",
            "own.norm.median",
            "own.norm.p10.p5",
        ] {
            assert_eq!(ClientFigure::parse(written), None, "{written}");
        }
        let whole = ClientFigure::parse("test_accuracy.p100").unwrap();
        assert!(whole.is_of_clients_alone() && whole.of == "test_accuracy");
    }

    #[test]
    fn what_a_method_records_may_have_any_name() {
        let of = |written| {
            let figure = ClientFigure::parse(written).unwrap();
            (figure.of, figure.part)
        };
        assert_eq!(of("own.norm"), ("own.norm", Part::Mean));
        assert_eq!(of("own.p10"), ("own.p10", Part::Mean));
        assert_eq!(of("own.p10.p10"), ("own.p10", Part::Quantile(10)));
        assert_eq!(of("own.norm.worst5"), ("own.norm", Part::Worst(5)));
        assert_eq!(of("own_loss.worst5"), ("own_loss", Part::Worst(5)));
    }
}
