//! Whether the best values of settings are the least or the largest of those that were tried.

use std::collections::BTreeSet;

use crate::grouping::Group;
use crate::naming::Wording;

/// From how many values on it is told: of two, one is the least and the other the largest.
const FEWEST_VALUES: usize = 3;

/// For each of `groups` and each setting whose best value lies at the edge of those tried there: the place of the group, and what that
/// means. All values are those of `candidates`.
pub(crate) fn at_the_edge(
    candidates: &[Group<'_>],
    groups: &[Group<'_>],
    best: &[String],
    wording: &Wording,
) -> Vec<(usize, String)> {
    let number = |value: &String| value.parse::<f64>().ok();
    let edge = |group: &Group<'_>, setting: usize| {
        let chosen = number(&group.chosen[setting])?;
        let rivals = candidates.iter().filter(|other| other.keys == group.keys);
        let tried: BTreeSet<&String> = rivals.map(|rival| &rival.chosen[setting]).collect();
        let tried: Option<Vec<f64>> = tried.into_iter().map(number).collect();
        let tried = tried.filter(|tried| tried.len() >= FEWEST_VALUES)?;
        let (which, further) = if tried.iter().all(|value| *value >= chosen) {
            ("least", "smaller")
        } else if tried.iter().all(|value| *value <= chosen) {
            ("largest", "larger")
        } else {
            return None;
        };
        let name = &best[setting];
        let value = wording.value(name, &group.chosen[setting]);
        Some(format!(
            "the best {}, {value}, is the {which} of those tried: a {further} one may be better",
            wording.name(name)
        ))
    };
    let of_group = |(place, group): (usize, &Group<'_>)| {
        let settings = 0..best.len();
        let edges = settings.filter_map(|setting| edge(group, setting));
        edges.map(|edge| (place, edge)).collect::<Vec<_>>()
    };
    groups.iter().enumerate().flat_map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use crate::judged::Judged;
    use crate::request::Request;
    use crate::table::Table;

    fn notes(rates: &[(f64, f64)]) -> Vec<String> {
        let run = |(rate, accuracy): &(f64, f64)| {
            let settings = format!("{{seed: 1, rate: {rate}}}");
            Judged::finished(&settings, &[&[("test_accuracy", *accuracy)]])
        };
        let request = Request {
            best: vec!["rate".to_owned()],
            ..Request::over_seeds()
        };
        let runs = rates.iter().map(run).collect();
        Table::about(runs, request).unwrap().notes
    }

    #[test]
    fn a_best_value_at_the_edge_of_those_tried_is_told() {
        let told = |rates: &[(f64, f64)]| notes(rates)[1..].to_vec();
        let least = told(&[(0.1, 0.9), (0.2, 0.8), (0.4, 0.7)]);
        assert_eq!(
            least,
            [
                "all runs: the best rate, 0.1, is the least of those tried: a smaller one may be better"
            ]
        );
        let largest = told(&[(0.1, 0.6), (0.2, 0.8), (0.4, 0.9)]);
        assert!(largest[0].contains("0.4, is the largest of those tried: a larger one"));
        let nothing: [String; 0] = [];
        assert_eq!(told(&[(0.1, 0.6), (0.2, 0.8), (0.4, 0.7)]), nothing);
        assert_eq!(told(&[(0.1, 0.6), (0.2, 0.8)]), nothing);
    }

    #[test]
    fn each_of_several_settings_is_told_by_itself() {
        let told = |best: [f64; 3]| {
            let mut runs = Vec::new();
            for rate in [0.1, 0.2, 0.4] {
                for momentum in [0.0, 0.5, 0.9] {
                    for mu in [0.01, 0.1] {
                        let settings =
                            format!("{{seed: 1, rate: {rate}, momentum: {momentum}, mu: {mu}}}");
                        let accuracy = if [rate, momentum, mu] == best {
                            0.9
                        } else {
                            0.5
                        };
                        let figures: &[(&str, f64)] = &[("test_accuracy", accuracy)];
                        runs.push(Judged::finished(&settings, &[figures]));
                    }
                }
            }
            let request = Request {
                best: ["rate", "momentum", "mu"].map(str::to_owned).to_vec(),
                ..Request::over_seeds()
            };
            Table::about(runs, request).unwrap().notes[1..].to_vec()
        };
        let of_rate = "all runs: the best rate, 0.1, is the least of those tried: a smaller one may be better";
        let of_momentum = "all runs: the best momentum, 0.9, is the largest of those tried: a larger one may be better";
        // Of mu there are but two values.
        assert_eq!(told([0.1, 0.9, 0.1]), [of_rate, of_momentum]);
        assert_eq!(told([0.2, 0.9, 0.01]), [of_momentum]);
        let nothing: [String; 0] = [];
        assert_eq!(told([0.2, 0.5, 0.1]), nothing);
    }
}
