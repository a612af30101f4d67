//! What it takes a run to reach a target, as a figure of the run: `rounds_to=0.9`.

use meshfold_experiment::results::Progress;

use crate::judged::Judged;

/// The figure whose value is to reach the target.
pub(crate) const OF: &str = "test_accuracy";

/// What it takes until the test accuracy first reaches a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostFigure {
    pub(crate) way: Progress,
    /// A fraction, above 0 and at most 1.
    pub(crate) target: f64,
}

/// The measures of a cost, with their names.
const WAYS: [(&str, Progress); 5] = [
    ("rounds_to=", Progress::Rounds),
    ("steps_to=", Progress::Steps),
    ("examples_to=", Progress::Examples),
    ("bytes_to=", Progress::Bytes),
    ("seconds_to=", Progress::Seconds),
];

impl CostFigure {
    /// Reads `rounds_to=0.9`.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        let of_way = |(start, way): &(&str, Progress)| {
            let target: f64 = written.strip_prefix(start)?.parse().ok()?;
            (target > 0.0 && target <= 1.0).then_some(Self { way: *way, target })
        };
        WAYS.iter().find_map(of_way)
    }

    /// Whether `written` is meant as such a figure, whatever its target.
    pub(crate) fn is_meant(written: &str) -> bool {
        WAYS.iter().any(|(start, _)| written.starts_with(start))
    }

    /// What is written along an axis: `Rounds to 90 % test accuracy`.
    pub(crate) fn title(&self) -> String {
        let target = format!("{:.4}", 100.0 * self.target);
        let target = target.trim_end_matches('0').trim_end_matches('.');
        format!("{} to {target} % test accuracy", self.measure())
    }

    fn measure(&self) -> &'static str {
        match self.way {
            Progress::Rounds => "Rounds",
            Progress::Steps => "Local steps",
            Progress::Examples => "Examples seen",
            Progress::Bytes => "Bytes sent",
            Progress::Seconds => "Simulated time",
            Progress::Epochs => "Epochs",
        }
    }

    /// Adds the figure called `name` to the last evaluation of `run`, if the run reaches the target, whether it is finished or not.
    pub(crate) fn add(self, name: &str, run: &mut Judged) {
        let there = run.reaching(OF, self.target);
        let cost = there.and_then(|figures| figures.get(self.way.figure()).copied());
        if let (Some(cost), Some(last)) = (cost, run.figures.last_mut()) {
            last.insert(name.to_owned(), cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at::At;
    use crate::request::Request;
    use crate::table::{Outcome, Table};

    #[test]
    fn a_cost_names_its_measure_and_its_target() {
        let cost = CostFigure::parse("rounds_to=0.9").unwrap();
        assert_eq!((cost.way, cost.target), (Progress::Rounds, 0.9));
        assert_eq!(cost.title(), "Rounds to 90 % test accuracy");
        let bytes = CostFigure::parse("bytes_to=0.975").unwrap();
        assert_eq!(bytes.title(), "Bytes sent to 97.5 % test accuracy");
        for other in [
            "rounds_to=",
            "rounds_to=90",
            "rounds_to=0",
            "round",
            "test_accuracy",
        ] {
            assert_eq!(CostFigure::parse(other), None, "{other}");
        }
        assert!(CostFigure::is_meant("steps_to=90") && !CostFigure::is_meant("round"));
    }

    /// A run that has such accuracies after 0, 10 and 20 rounds of 1 kB.
    fn run(algorithm: &str, seed: usize, accuracies: [f64; 3]) -> Judged {
        let evaluations: Vec<[(&str, f64); 3]> = (0..3)
            .map(|place| {
                let rounds = 10.0 * place as f64;
                let accuracy = accuracies[place];
                [
                    ("round", rounds),
                    ("bytes_total", 1000.0 * rounds),
                    ("test_accuracy", accuracy),
                ]
            })
            .collect();
        let evaluations: Vec<&[(&str, f64)]> = evaluations.iter().map(|row| &row[..]).collect();
        let mut run = Judged::finished(
            &format!("{{seed: {seed}, algorithm: {algorithm}}}"),
            &evaluations,
        );
        for name in ["rounds_to=0.8", "bytes_to=0.8"] {
            CostFigure::parse(name).unwrap().add(name, &mut run);
        }
        run
    }

    #[test]
    fn costs_stand_in_tables_as_other_figures_do() {
        let runs = vec![
            run("dsgd", 1, [0.1, 0.8, 0.9]),
            run("dsgd", 2, [0.1, 0.5, 0.9]),
            run("fedavg", 1, [0.1, 0.9, 0.5]),
            run("fedavg", 2, [0.1, 0.2, 0.3]),
            run("alone", 1, [0.1, 0.2, 0.3]),
            run("alone", 2, [0.1, 0.2, 0.4]),
        ];
        let request = Request {
            by: vec!["algorithm".to_owned()],
            metric: "rounds_to=0.8".to_owned(),
            also: vec!["bytes_to=0.8".to_owned()],
            ..Request::over_seeds()
        };
        let table = Table::about(runs, request).unwrap();
        let means: Vec<(usize, f64, f64)> = table.rows[..2]
            .iter()
            .map(|row| {
                let Outcome::Figure(Some(rounds)) = row.outcome else {
                    panic!("a figure")
                };
                let bytes = row.also[0].unwrap();
                (
                    rounds.n(),
                    rounds.number().unwrap(),
                    bytes.number().unwrap(),
                )
            })
            .collect();
        assert_eq!(means, [(2, 15.0, 15_000.0), (1, 10.0, 10_000.0)]);
        assert!(matches!(table.rows[2].outcome, Outcome::Figure(None)));
        assert_eq!(
            table.notes,
            [
                "fedavg: seed 2 never reached a test accuracy of 0.8; the means are those of the runs that reached it, and the others would \
                 have taken longer",
                "alone: no run reached a test accuracy of 0.8"
            ]
        );
    }

    #[test]
    fn runs_that_are_not_finished_count_as_far_as_it_is_known_whether_they_arrive() {
        let interrupted = |run: Judged| Judged {
            is_finished: false,
            ..run
        };
        let failed = |run: Judged| Judged {
            failure: Some("in round 21: a model is not finite".to_owned()),
            ..interrupted(run)
        };
        // All are to have more rounds than they have gone through.
        let of = |seed: usize, accuracies: [f64; 3]| {
            let settings = format!("{{seed: {seed}, rounds: 90}}");
            Judged {
                fields: Judged::finished(&settings, &[]).fields,
                ..run("dsgd", seed, accuracies)
            }
        };
        let runs = || {
            vec![
                of(1, [0.1, 0.2, 0.9]),
                interrupted(of(2, [0.1, 0.9, 0.9])),
                interrupted(of(3, [0.1, 0.2, 0.3])),
                failed(of(4, [0.1, 0.2, 0.3])),
                of(5, [0.1, 0.2, 0.3]),
                failed(of(6, [0.1, 0.9, 0.3])),
            ]
        };
        let costs = Request {
            metric: "rounds_to=0.8".to_owned(),
            ..Request::over_seeds()
        };
        let target = Request {
            at: At::Target(0.8),
            ..Request::over_seeds()
        };
        let missed = "of all runs: seed 4 failed before it reached {} (in round 21: a model is not finite); seed 5 ended before it reached {}, \
                      by its budget or its targets; the means are those of the runs that reached it";
        let by_figure = Table::about(runs(), costs).unwrap();
        let Outcome::Figure(Some(rounds)) = by_figure.rows[0].outcome else {
            panic!("a figure")
        };
        assert_eq!((rounds.n(), rounds.number()), (3, Some(40.0 / 3.0)));
        assert_eq!(
            by_figure.notes,
            [
                "of all runs: seed 3 is missing (not finished)".to_owned(),
                missed.replace("{}", "a test accuracy of 0.8")
            ]
        );
        let at_target = Table::about(runs(), target).unwrap();
        let Outcome::Target(reaching) = at_target.rows[0].outcome else {
            panic!("a target")
        };
        assert_eq!((reaching.runs, reaching.reached), (5, 3));
        assert_eq!(reaching.rounds.unwrap().number(), rounds.number());
        assert_eq!(at_target.notes[2], missed.replace("{}", "target=0.8"));
    }

    #[test]
    fn of_values_with_which_nobody_arrives_the_one_that_comes_nearest_is_the_best() {
        let run = |rate: f64, accuracy: f64| {
            let settings = format!("{{seed: 1, rate: {rate}}}");
            let mut run =
                Judged::finished(&settings, &[&[("round", 9.0), ("test_accuracy", accuracy)]]);
            CostFigure::parse("rounds_to=0.8")
                .unwrap()
                .add("rounds_to=0.8", &mut run);
            run
        };
        let runs = || vec![run(0.01, 0.3), run(0.1, 0.5), run(0.5, 0.4)];
        let said = "all runs: no run reaches 0.8 with any rate, so the value is the one with the best mean of test_accuracy at the last \
                    evaluation";
        let by_target = Request {
            best: vec!["rate".to_owned()],
            at: "target=0.8".parse().unwrap(),
            ..Request::over_seeds()
        };
        let table = Table::about(runs(), by_target).unwrap();
        assert_eq!(table.rows[0].chosen, ["0.1"]);
        assert_eq!(table.notes[1], said);
        let mut runs = runs();
        // A figure must be known of some run.
        runs.push(Judged::finished(
            "{seed: 2, rate: 0.5}",
            &[&[("test_accuracy", 0.4), ("rounds_to=0.8", 3.0)]],
        ));
        let by_cost = Request {
            best: vec!["rate".to_owned()],
            on: Some("rounds_to=0.8".to_owned()),
            ..Request::over_seeds()
        };
        let table = Table::about(runs, by_cost).unwrap();
        assert_eq!(table.rows[0].chosen, ["0.5"]);
        assert!(
            table.notes[0].contains("most runs reach a test accuracy of 0.8")
                && table.notes[0].contains("the same test examples chose the setting"),
            "{}",
            table.notes[0]
        );
    }

    #[test]
    fn the_best_value_is_the_one_with_which_most_runs_arrive() {
        let run = |rate: f64, seed: usize, rounds: Option<f64>| {
            let mut run = Judged::finished(
                &format!("{{seed: {seed}, rate: {rate}}}"),
                &[&[("test_accuracy", 0.5)]],
            );
            if let (Some(rounds), Some(last)) = (rounds, run.figures.last_mut()) {
                last.insert("rounds_to=0.8".to_owned(), rounds);
            }
            run
        };
        let runs = vec![
            run(0.1, 1, Some(5.0)),
            run(0.1, 2, None),
            run(0.2, 1, Some(30.0)),
            run(0.2, 2, Some(30.0)),
        ];
        let request = Request {
            metric: "rounds_to=0.8".to_owned(),
            best: vec!["rate".to_owned()],
            on: Some("rounds_to=0.8".to_owned()),
            ..Request::over_seeds()
        };
        let table = Table::about(runs, request).unwrap();
        assert_eq!(table.rows[0].chosen, ["0.2"]);
    }
}
