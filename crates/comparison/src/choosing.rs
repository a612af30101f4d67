//! Which of several groups of runs counts as the best.

use meshfold_experiment::results::more_is_better;

use crate::at::At;
use crate::centre::{Centre, Summary};
use crate::cost_figure::{CostFigure, OF};
use crate::grouping::Group;
use crate::name::Name;

/// Of the groups with the same keys, the one with the best mean or median of `on`; the first if several are equally good.
pub(crate) fn best_of<'a>(
    groups: &[Group<'a>],
    over: &Name,
    on: &str,
    at: &At,
    summary: Summary,
) -> Vec<Group<'a>> {
    let sign = if more_is_better(on) { 1.0 } else { -1.0 };
    let score = |group: &Group<'_>| {
        let own = number(group.centre(over, on, at, summary), sign);
        // Where nobody reaches it, those count that come nearest.
        let nearest = number(group.centre(over, OF, at, summary), 1.0);
        // The mean of a cost is known of those alone that reach the target, and their number goes first. Otherwise the values with failed
        // runs come last: those that did not fail say too much good of them.
        let there = || group.values(over, on, at).len() as f64;
        let failed = group.runs.iter().filter(|run| run.failure.is_some());
        match (CostFigure::parse(on), summary) {
            (Some(_), Summary::Mean) => [there(), own, nearest],
            (Some(_), Summary::Median) => [own, there(), nearest],
            (None, _) => {
                let failed = failed.count() as f64 / group.runs.len() as f64;
                [-failed, own, nearest]
            }
        }
    };
    of_highest(groups, score)
}

/// Of the groups with the same keys, the one that reaches `target` of `metric` soonest: by means, the one of which the largest share of
/// runs reaches it; of several, the one with the least mean of `cost` at the evaluations that reach it. By medians, the one with the least
/// median of `cost`; of several, the one of which the largest share of runs reaches it. If no run of any reaches it, the one with the best
/// last mean or median of `metric`.
pub(crate) fn soonest<'a>(
    groups: &[Group<'a>],
    over: &Name,
    [metric, cost]: [&str; 2],
    target: f64,
    summary: Summary,
) -> Vec<Group<'a>> {
    let score = |group: &Group<'_>| {
        let there = group
            .runs
            .iter()
            .filter_map(|run| run.reaching(metric, target));
        let costs = there.filter_map(|figures| figures.get(cost).copied());
        let costs: Vec<f64> = costs.collect();
        let ends = group.ends(metric, target, cost);
        let own = number(Centre::of_costs(&costs, &ends, summary), -1.0);
        let sign = if more_is_better(metric) { 1.0 } else { -1.0 };
        let nearest = number(group.centre(over, metric, &At::Last, summary), sign);
        let share = costs.len() as f64 / group.runs.len() as f64;
        match summary {
            Summary::Mean => [share, own, nearest],
            Summary::Median => [own, share, nearest],
        }
    };
    of_highest(groups, score)
}

/// The number of `centre` times `sign`; less than all others if there is none.
fn number(centre: Option<Centre>, sign: f64) -> f64 {
    let number = centre.and_then(|centre| centre.number());
    number.map_or(f64::NEG_INFINITY, |number| sign * number)
}

/// Of the groups with the same keys, the one with the highest score; the first if several have it.
fn of_highest<'a>(groups: &[Group<'a>], score: impl Fn(&Group<'a>) -> [f64; 3]) -> Vec<Group<'a>> {
    let mut best: Vec<Group<'a>> = Vec::new();
    for group in groups {
        match best.iter_mut().find(|other| other.keys == group.keys) {
            Some(other) if score(group) > score(other) => *other = group.clone(),
            Some(_) => {}
            None => best.push(group.clone()),
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::at::At;
    use crate::grid::Grid;
    use crate::judged::Judged;
    use crate::records::csv;
    use crate::request::Request;
    use crate::table::Table;

    /// Runs of three learning rates over two seeds: of each the rounds and bytes at which it reaches an accuracy of 0.5, if it does.
    fn chosen(on: Option<&str>) -> (Vec<String>, Vec<String>) {
        let run = |rate: f64, seed: u32, there: Option<f64>| {
            let settings = format!("{{seed: {seed}, rate: {rate}}}");
            let at = |round: f64, accuracy: f64| {
                [
                    ("round", round),
                    ("bytes_total", rate * round),
                    ("test_accuracy", accuracy),
                ]
            };
            let there = there.map_or([at(50.0, 0.4); 2], |round| [at(round, 0.5), at(100.0, 0.9)]);
            Judged::finished(&settings, &[&there[0], &there[1]])
        };
        let request = Request {
            best: vec!["rate".to_owned()],
            at: At::Target(0.5),
            on: on.map(str::to_owned),
            ..Request::over_seeds()
        };
        let runs = vec![
            run(1.0, 1, Some(40.0)),
            run(1.0, 2, Some(60.0)),
            run(2.0, 1, Some(30.0)),
            run(2.0, 2, Some(40.0)),
            run(3.0, 1, Some(5.0)),
            run(3.0, 2, None),
        ];
        let table = Table::about(runs, request).unwrap();
        (table.rows[0].chosen.clone(), table.notes)
    }

    #[test]
    fn the_best_way_to_a_target_is_the_one_that_most_runs_get_there_by_and_soonest() {
        let (rate, notes) = chosen(None);
        assert_eq!(rate, ["2"]);
        assert_eq!(
            notes[0],
            "rate is the value with which most runs reach 0.5; of several, the one with the least mean of round until then (chosen by test \
             accuracy, so the same test examples chose the setting and measure it)"
        );
        assert_eq!(chosen(Some("bytes_total")).0, ["1"]);
    }

    /// Runs of two learning rates: of each the rounds at which the validation and the test accuracy reach 0.5.
    #[test]
    fn validation_examples_choose_the_way_to_a_target_by_their_own() {
        let run = |rate: f64, [validation, test]: [f64; 2]| {
            let settings = format!("{{seed: 1, rate: {rate}}}");
            let at = |round: f64| {
                let accuracy = |there: f64| if round >= there { 0.5 } else { 0.1 };
                [
                    ("round", round),
                    ("bytes_total", 10.0 * round),
                    ("validation_accuracy", accuracy(validation)),
                    ("validation_loss", 1.0),
                    ("test_accuracy", accuracy(test)),
                ]
            };
            let evaluations = [10.0, 20.0, 30.0].map(at);
            let evaluations: Vec<&[(&str, f64)]> =
                evaluations.iter().map(|all| all.as_slice()).collect();
            Judged::finished(&settings, &evaluations)
        };
        let table = |on: &str| {
            let request = Request {
                best: vec!["rate".to_owned()],
                at: At::Target(0.5),
                on: Some(on.to_owned()),
                ..Request::over_seeds()
            };
            Table::about(
                vec![run(1.0, [30.0, 10.0]), run(2.0, [20.0, 30.0])],
                request,
            )
        };
        let chosen = |on: &str| table(on).unwrap().rows[0].chosen.clone();
        assert_eq!(chosen("validation"), ["2"]);
        assert_eq!(chosen("round"), ["1"]);
        assert_eq!(
            table("validation").unwrap().notes[0],
            "rate is the value with which most runs reach a validation_accuracy of 0.5; of several, the one with the least mean of round \
             until then"
        );
        let error = table("validation_loss").unwrap_err().to_string();
        assert!(
            error.starts_with("--on validation_loss: the target is one of test_accuracy"),
            "{error}"
        );
    }

    #[test]
    fn values_with_failed_runs_are_chosen_last() {
        let run = |rate: f64, seed: usize, accuracy: f64| {
            let settings = format!("{{seed: {seed}, rate: {rate}}}");
            Judged::finished(&settings, &[&[("test_accuracy", accuracy)]])
        };
        let failed = |rate: f64, seed: usize| Judged {
            is_finished: false,
            failure: Some("the model became infinite".to_owned()),
            ..run(rate, seed, 0.1)
        };
        let request = || Request {
            best: vec!["rate".to_owned()],
            ..Request::over_seeds()
        };
        let whole = [run(1.0, 1, 0.5), run(1.0, 2, 0.5)];
        let some = [run(2.0, 1, 0.9), failed(2.0, 2)];
        let table = Table::about([whole, some.clone()].concat(), request()).unwrap();
        assert_eq!(table.rows[0].chosen, ["1"]);
        let told = "values of rate with which a smaller share of runs failed go before others";
        assert!(
            table.notes.iter().any(|note| note == told),
            "{:?}",
            table.notes
        );
        let alone = Table::about(some.to_vec(), request()).unwrap();
        assert_eq!(alone.rows[0].chosen, ["2"]);
        assert!(
            !alone.notes.iter().any(|note| note == told),
            "{:?}",
            alone.notes
        );
    }

    /// Rates and momenta of two methods under two seeds: each run with its accuracies after 10 and 20 rounds. One method has no momentum.
    /// With the other, the best rate and the best momentum by themselves do not make the best pair.
    fn pairs() -> Vec<Judged> {
        let of = [
            ("{dsgd: {rate: 0.1, momentum: 0}}", [[0.4, 0.5], [0.4, 0.5]]),
            (
                "{dsgd: {rate: 0.1, momentum: 0.9}}",
                [[0.4, 0.8], [0.4, 0.8]],
            ),
            ("{dsgd: {rate: 0.5, momentum: 0}}", [[0.5, 0.9], [0.5, 0.5]]),
            (
                "{dsgd: {rate: 0.5, momentum: 0.9}}",
                [[0.9, 0.1], [0.2, 0.1]],
            ),
            ("{fedavg: {rate: 0.1}}", [[0.1, 0.25], [0.1, 0.25]]),
            ("{fedavg: {rate: 0.5}}", [[0.1, 0.375], [0.1, 0.375]]),
        ];
        let mut runs = Vec::new();
        for (algorithm, accuracies) in of {
            for (seed, [early, late]) in (1..).zip(accuracies) {
                let settings = format!("{{seed: {seed}, algorithm: {algorithm}}}");
                let early = [("round", 10.0), ("test_accuracy", early)];
                let late = [("round", 20.0), ("test_accuracy", late)];
                runs.push(Judged::finished(&settings, &[&early, &late]));
            }
        }
        runs
    }

    fn best_pairs() -> Request {
        Request {
            by: vec!["algorithm".to_owned()],
            best: ["rate", "momentum"].map(str::to_owned).to_vec(),
            ..Request::over_seeds()
        }
    }

    #[test]
    fn of_several_settings_the_best_combination_is_taken_of_those_that_a_method_has() {
        let table = Table::about(pairs(), best_pairs()).unwrap();
        let chosen: Vec<&[String]> = table.rows.iter().map(|row| &row.chosen[..]).collect();
        assert_eq!(chosen, [["0.1", "0.9"], ["0.5", "–"]]);
        let text = csv(&table).unwrap();
        let starts = [
            "algorithm,rate,momentum,metric,n,mean,",
            "dsgd,0.1,0.9,test_accuracy,2,0.8,",
            "fedavg,0.5,,test_accuracy,2,0.375,",
        ];
        for (line, start) in text.lines().zip(starts) {
            assert!(line.starts_with(start), "{text}");
        }
        assert!(table.rows[1].settings[2].is_null());
        let grid = Grid::of(&table);
        assert_eq!(grid.titles[..4], ["algorithm", "rate", "momentum", "n"]);
        assert_eq!(grid.rows[1].cells[..4], ["fedavg", "0.5", "–", "2"]);
        assert_eq!(
            table.notes,
            [
                "rate and momentum are the values with the best mean of test_accuracy over seed (chosen by test accuracy, so the same test \
                 examples chose the settings and measure them)"
            ]
        );
        assert_eq!(
            table.taken().unwrap(),
            "rate and momentum: 0.1, 0.9 (dsgd); 0.5, – (fedavg)"
        );
    }

    #[test]
    fn the_best_combination_for_a_target_is_the_one_that_most_runs_get_there_by_and_soonest() {
        let request = Request {
            at: At::Target(0.5),
            ..best_pairs()
        };
        let table = Table::about(pairs(), request).unwrap();
        let chosen: Vec<&[String]> = table.rows.iter().map(|row| &row.chosen[..]).collect();
        assert_eq!(chosen, [["0.5", "0"], ["0.5", "–"]]);
        assert_eq!(
            table.notes[..2],
            [
                "rate and momentum are the values with which most runs reach 0.5; of several, those with the least mean of round until then \
                 (chosen by test accuracy, so the same test examples chose the settings and measure them)",
                "fedavg: no run reaches 0.5 with any rate and momentum, so the values are those with the best mean of test_accuracy at the \
                 last evaluation"
            ]
        );
    }

    #[test]
    fn combinations_with_unequal_numbers_of_seeds_are_told_with_the_numbers() {
        let mut runs = pairs();
        runs.remove(1);
        let notes = Table::about(runs, best_pairs()).unwrap().notes;
        let told = "dsgd: the values of rate and momentum do not have the same number of runs over seed (0.1, 0: 1; 0.1, 0.9: 2; 0.5, 0: 2; \
                    0.5, 0.9: 2)";
        assert_eq!(notes[1..], [told]);
    }

    #[test]
    fn each_setting_is_named_once_and_is_none_of_the_repetitions() {
        let told = |best: &[&str]| {
            let request = Request {
                best: best.iter().map(|name| (*name).to_owned()).collect(),
                ..best_pairs()
            };
            Table::about(pairs(), request).unwrap_err().to_string()
        };
        for best in [["rate", "rate"], ["rate", "algorithm"]] {
            let said = told(&best);
            assert!(said.contains("is named twice among the settings"), "{said}");
        }
        assert!(told(&["rate", "momentum", "seed"]).starts_with("--best seed: a row is the mean"));
        assert!(told(&["rate", ""]).starts_with("no setting is called ``"));
        assert!(told(&["rate"]).contains("mixes runs that differ in momentum"));
    }

    #[test]
    fn a_choice_of_several_settings_is_named_with_all_of_them() {
        let run = |topology: &str, seed: u32, accuracy: f64| {
            let settings = format!("{{seed: {seed}, topology: {topology}}}");
            Judged::finished(&settings, &[&[("round", 1.0), ("test_accuracy", accuracy)]])
        };
        let runs = || {
            let mut runs = Vec::new();
            for seed in [1, 2] {
                runs.push(run("ring", seed, 0.5));
                runs.push(run("{regular: {degree: 2}}", seed, 0.6));
                runs.push(run("{regular: {degree: 4}}", seed, 0.7));
            }
            runs
        };
        let by = |name: &str| Request {
            by: vec![name.to_owned()],
            ..Request::over_seeds()
        };
        let said = Table::about(runs(), by("topology"))
            .unwrap_err()
            .to_string();
        let remedy =
            "or name `topology.*` in place of `topology`: the choice with all its settings";
        assert!(
            said.contains("mixes runs that differ in degree") && said.ends_with(remedy),
            "{said}"
        );
        let table = csv(&Table::about(runs(), by("topology.*")).unwrap()).unwrap();
        let rows: Vec<&str> = table
            .lines()
            .map(|line| line.split(',').next().unwrap())
            .collect();
        assert_eq!(
            rows,
            ["topology", "ring", "regular degree=2", "regular degree=4"]
        );
    }

    #[test]
    fn what_a_run_spends_is_no_target() {
        for metric in [
            "round",
            "local_steps",
            "bytes_total",
            "bytes_busiest_node",
            "simulated_seconds",
        ] {
            let request = Request {
                at: At::Target(0.5),
                metric: metric.to_owned(),
                ..Request::over_seeds()
            };
            let runs = vec![Judged::finished(
                "seed: 1",
                &[&[(metric, 3.0), ("round", 1.0)]],
            )];
            let error = Table::about(runs, request).unwrap_err().to_string();
            assert!(
                error.contains(metric) && error.contains("--metric"),
                "{error}"
            );
        }
    }
}
