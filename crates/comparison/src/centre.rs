//! What repeated runs say of a figure together.

use meshfold_statistics::{Estimate, Interval, Quantile, Quartiles, Spread};

/// How the numbers of repeated runs become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Summary {
    /// Their mean.
    #[default]
    Mean,
    /// Their median, with the quartiles.
    Median,
}

impl Summary {
    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

/// The figure of repeated runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Centre {
    /// Their mean: of what it takes to reach a target, that of the runs that reach it.
    Mean(Estimate),
    /// Their median: of what it takes to reach a target, that of all runs.
    Median(Quartiles),
}

impl Centre {
    /// That of runs with these `values`; none if there is no run.
    pub(crate) fn of(values: &[f64], summary: Summary) -> Option<Self> {
        Self::of_costs(values, &[], summary)
    }

    /// That of what it took some runs to reach a target, where others never reach it and went as far as `ends` say. A mean leaves these
    /// out, and for a median they are larger than all that reach it.
    pub(crate) fn of_costs(values: &[f64], ends: &[f64], summary: Summary) -> Option<Self> {
        match summary {
            Summary::Mean => Estimate::of(values).map(Self::Mean),
            Summary::Median => Quartiles::of(values, ends).map(Self::Median),
        }
    }

    /// How many runs have the figure.
    pub fn n(&self) -> usize {
        match self {
            Self::Mean(estimate) => estimate.n,
            Self::Median(quartiles) => quartiles.known,
        }
    }

    /// How many runs it is the mean or the median of.
    pub fn runs(&self) -> usize {
        match self {
            Self::Mean(estimate) => estimate.n,
            Self::Median(quartiles) => quartiles.all,
        }
    }

    /// The mean or the median; absent for a median among runs that never reach a target.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Mean(estimate) => Some(estimate.mean),
            Self::Median(quartiles) => quartiles.median.number(),
        }
    }

    /// What is drawn around it: around a mean what `spread` says, around a median its quartiles. Absent for one run. An upper quartile
    /// among runs that never reach a target is drawn where they ended.
    pub fn around(&self, spread: Spread) -> Option<Interval> {
        match self {
            Self::Mean(estimate) => estimate.around(spread),
            Self::Median(quartiles) => (quartiles.all > 1).then(|| Interval {
                low: quartiles.low.least(),
                high: quartiles.high.least(),
            }),
        }
    }

    /// Whether the upper quartile lies among runs that never reach a target.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Mean(_) => false,
            Self::Median(quartiles) => matches!(quartiles.high, Quantile::Over(_)),
        }
    }

    /// The largest number that is written of it, but for what stands around a mean.
    pub(crate) fn size(&self) -> f64 {
        match self {
            Self::Mean(estimate) => estimate.mean,
            Self::Median(quartiles) => quartiles.median.least(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at::At;
    use crate::cost_figure::CostFigure;
    use crate::grid::Grid;
    use crate::judged::Judged;
    use crate::latex::{Surroundings, latex};
    use crate::records::{csv, records};
    use crate::request::Request;
    use crate::table::Table;

    const COSTS: [&str; 2] = ["rounds_to=0.8", "bytes_to=0.8"];

    /// A finished run of 100 rounds of 1 kB that reaches an accuracy of 0.8 after so many, if it does.
    fn run(settings: &str, there: Option<f64>) -> Judged {
        let at = |round: f64| {
            let accuracy = if there.is_some_and(|there| round >= there) {
                0.8
            } else {
                0.4
            };
            [
                ("round", round),
                ("bytes_total", 1000.0 * round),
                ("test_accuracy", accuracy),
            ]
        };
        let evaluations = [0.0, there.unwrap_or(50.0), 100.0].map(at);
        let evaluations: Vec<&[(&str, f64)]> = evaluations.iter().map(|pairs| &pairs[..]).collect();
        let mut run = Judged::finished(settings, &evaluations);
        for name in COSTS {
            CostFigure::parse(name).unwrap().add(name, &mut run);
        }
        run
    }

    /// Runs of some methods, one for each place that reaches the target after so many rounds, 0 if it never does.
    fn methods(of: &[(&str, &[f64])]) -> Vec<Judged> {
        let runs = of.iter().flat_map(|(method, rounds)| {
            let one = move |(seed, rounds): (usize, &f64)| {
                let settings = format!("{{seed: {seed}, algorithm: {method}}}");
                run(&settings, (*rounds > 0.0).then_some(*rounds))
            };
            rounds.iter().enumerate().map(one)
        });
        runs.collect()
    }

    fn by_method() -> Request {
        Request {
            by: vec!["algorithm".to_owned()],
            summary: Summary::Median,
            ..Request::over_seeds()
        }
    }

    /// Accuracies of two methods: the first has the better mean, the second the better median.
    fn accuracies() -> Vec<Judged> {
        let all = [
            ("dsgd", [0.5, 0.5625, 0.625, 0.9375]),
            ("fedavg", [0.25, 0.625, 0.6875, 0.75]),
        ];
        let runs = all.into_iter().flat_map(|(method, accuracies)| {
            let run = move |(seed, accuracy): (usize, f64)| {
                let settings = format!("{{seed: {seed}, algorithm: {method}}}");
                Judged::finished(&settings, &[&[("test_accuracy", accuracy)]])
            };
            accuracies.into_iter().enumerate().map(run)
        });
        runs.collect()
    }

    /// `numpy.quantile([.5, .5625, .625, .9375], [.25, .5, .75])`, and the same of the other method.
    #[test]
    fn a_median_stands_with_its_quartiles_and_the_best_goes_by_it() {
        let table = Table::about(accuracies(), by_method()).unwrap();
        let grid = Grid::of(&table);
        assert_eq!(grid.titles, ["algorithm", "n", "test_accuracy"]);
        let cells: Vec<&[String]> = grid.rows.iter().map(|row| &row.cells[..]).collect();
        assert_eq!(
            cells,
            [
                ["dsgd", "4", "59.38 [54.69, 70.31] %"],
                ["fedavg", "4", "65.62 [53.12, 70.31] %"]
            ]
        );
        assert_eq!(
            grid.notes,
            ["median [lower quartile, upper quartile] over seed"]
        );
        let text = latex(&grid, &Surroundings::default());
        assert!(
            text.contains("\\textbf{65.62 [53.12, 70.31] \\%}")
                && text.contains("Bold: the best median among"),
            "{text}"
        );
        let text = csv(&table).unwrap();
        let (titles, row) = text.split_once('\n').unwrap();
        assert_eq!(titles, "algorithm,metric,n,median,q1,q3");
        assert!(row.starts_with("dsgd,test_accuracy,4,0.59375,0.546875,0.703125"));
        let by_mean = Request {
            summary: Summary::Mean,
            ..by_method()
        };
        let grid = Grid::of(&Table::about(accuracies(), by_mean).unwrap());
        assert_eq!(grid.rows[0].best, [2], "the mean of the first is better");
    }

    #[test]
    fn a_setting_is_chosen_by_the_median_of_its_runs() {
        let chosen = |summary| {
            let request = Request {
                by: Vec::new(),
                best: vec!["algorithm".to_owned()],
                summary,
                ..by_method()
            };
            let table = Table::about(accuracies(), request).unwrap();
            (table.rows[0].chosen[0].clone(), table.notes[0].clone())
        };
        let (method, note) = chosen(Summary::Median);
        assert_eq!(method, "fedavg");
        assert!(
            note.starts_with(
                "algorithm is the value with the best median of test_accuracy over seed"
            ),
            "{note}"
        );
        assert_eq!(chosen(Summary::Mean).0, "dsgd");
    }

    /// Three of five reach it, two of four, and none.
    const RACES: [(&str, &[f64]); 3] = [
        ("dsgd", &[30.0, 0.0, 10.0, 20.0, 0.0]),
        ("fedavg", &[5.0, 15.0, 0.0, 0.0]),
        ("alone", &[0.0, 0.0]),
    ];

    #[test]
    fn runs_that_never_reach_a_target_are_larger_than_all_others() {
        let request = Request {
            at: At::Target(0.8),
            ..by_method()
        };
        let table = Table::about(methods(&RACES), request).unwrap();
        let grid = Grid::of(&table);
        let cells: Vec<&[String]> = grid.rows.iter().map(|row| &row.cells[1..]).collect();
        assert_eq!(
            cells,
            [
                ["3 of 5", "30.0 [20.0, > 100.0]", "30.00 [20.00, > 100.0]"],
                [
                    "2 of 4",
                    "> 100.0 [12.5, > 100.0]",
                    "> 100.0 [12.50, > 100.0]"
                ],
                ["0 of 2", "> 100.0", "> 100.0"],
            ]
        );
        let notes = grid.notes.join("\n");
        assert!(
            notes.contains(
                "dsgd: seed 1, 4 never reached target=0.8; in the median they count as larger than all others"
            ) && notes.contains(
                "a number after > is what runs went through that never reached the target"
            ),
            "{notes}"
        );
        let record = &records(&table)[1];
        assert_eq!(
            (&record["reached"], &record["rounds_n"]),
            (&2.into(), &2.into())
        );
        assert!(record["rounds_median"].is_null() && record["rounds_q3"].is_null());
        assert_eq!(record["rounds_q1"], 12.5);
    }

    #[test]
    fn what_it_takes_to_reach_a_target_has_a_median_over_all_runs() {
        let request = || Request {
            metric: COSTS[0].to_owned(),
            ..by_method()
        };
        let table = Table::about(methods(&RACES), request()).unwrap();
        let grid = Grid::of(&table);
        let cells: Vec<&[String]> = grid.rows.iter().map(|row| &row.cells[1..]).collect();
        assert_eq!(
            cells,
            [
                ["3 of 5", "30.00 [20.00, > 100.0]"],
                ["2 of 4", "> 100.0 [12.50, > 100.0]"],
                ["0 of 2", "> 100.0"],
            ]
        );
        let best: Vec<bool> = grid.rows.iter().map(|row| !row.best.is_empty()).collect();
        assert_eq!(best, [true, false, false]);
        assert_eq!(records(&table)[0]["runs"], 5);
        let across = Request {
            across: Some("algorithm".to_owned()),
            ..request()
        };
        let grid = Grid::of(&Table::about(methods(&RACES), across).unwrap());
        assert_eq!(grid.rows[0].cells[0], "30.00 [20.00, > 100.0]");
        assert_eq!(
            grid.notes[0],
            "rounds_to=0.8: the median of 2 to 5 runs in each cell"
        );
        let several = Request {
            also: vec![COSTS[1].to_owned()],
            ..request()
        };
        let table = Table::about(methods(&RACES), several).unwrap();
        let grid = Grid::of(&table);
        assert_eq!(
            grid.rows[0].cells[1..],
            ["3 of 5", "30.00 [20.00, > 100.0]", "30.00 [20.00, > 100.0]"]
        );
        assert_eq!(records(&table)[0]["bytes_to=0.8_median"], 30_000.0);
    }

    #[test]
    fn runs_that_may_still_reach_the_target_do_not_count() {
        let mut runs = methods(&[("dsgd", &[10.0, 20.0, 0.0, 0.0])]);
        runs[3].is_finished = false;
        let request = Request {
            at: At::Target(0.8),
            ..by_method()
        };
        let told = |runs: &[Judged]| {
            let grid = Grid::of(&Table::about(runs.to_vec(), request.clone()).unwrap());
            grid.rows[0].cells[1..3].to_vec()
        };
        assert_eq!(told(&runs), ["2 of 3", "20.0 [15.0, > 100.0]"]);
        let all = ["2 of 4", "> 100.0 [17.5, > 100.0]"];
        runs[3].failure = Some("a model is not finite".to_owned());
        assert_eq!(told(&runs), all, "a failed run never reaches it");
        runs[3].failure = None;
        let cut = runs[3].clone().taken_as_it_is();
        runs[3] = cut;
        assert_eq!(told(&runs), all);
    }

    /// With the first value most runs arrive, and with the second more than half of them arrive sooner.
    #[test]
    fn the_best_way_to_a_target_has_the_least_median() {
        let races: [(&str, &[f64]); 2] =
            [("one", &[60.0, 70.0, 80.0]), ("two", &[10.0, 20.0, 0.0])];
        let chosen = |at: At, on: &str, summary| {
            let request = Request {
                by: Vec::new(),
                best: vec!["algorithm".to_owned()],
                on: Some(on.to_owned()),
                at,
                summary,
                ..by_method()
            };
            let table = Table::about(methods(&races), request).unwrap();
            (table.rows[0].chosen[0].clone(), table.notes.join("\n"))
        };
        for (at, on) in [(At::Target(0.8), "round"), (At::Last, COSTS[0])] {
            let (value, note) = chosen(at.clone(), on, Summary::Median);
            assert_eq!(value, "two", "{on}");
            assert!(note.contains("with the least median of round"), "{note}");
            // All three runs of each value count.
            assert!(!note.contains("same number of runs"), "{note}");
            assert_eq!(chosen(at, on, Summary::Mean).0, "one", "{on}");
        }
    }

    #[test]
    fn medians_have_no_test_of_means_and_no_deviation() {
        let told = |request: Request| Table::about(accuracies(), request).unwrap_err().to_string();
        let compared = Request {
            compare: Some(("algorithm".to_owned(), "dsgd".to_owned())),
            ..by_method()
        };
        let said = told(compared);
        assert!(said.contains("does not go with --summary median"), "{said}");
        let spread = Request {
            spread: Spread::Deviation,
            ..by_method()
        };
        let said = told(spread);
        assert!(said.starts_with("--spread sd lies around a mean"), "{said}");
    }
}
