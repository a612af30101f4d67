//! Whether the best value of a setting is the least or the largest of those that were tried.

use crate::grouping::Group;
use crate::naming::Wording;
use crate::request::Request;

/// From how many values on it is told: of two, one is the least and the other the largest.
const FEWEST_VALUES: usize = 3;

/// For each of `groups` whose best value of a setting lies at the edge of those tried: its place, and what that means. All values are
/// those of `candidates`.
pub(crate) fn at_the_edge(
    candidates: &[Group<'_>],
    groups: &[Group<'_>],
    request: &Request,
    wording: &Wording,
) -> Vec<(usize, String)> {
    let Some(best) = &request.best else {
        return Vec::new();
    };
    let number = |group: &Group<'_>| group.chosen.as_ref()?.parse::<f64>().ok();
    let edge = |group: &Group<'_>| {
        let chosen = number(group)?;
        let tried = candidates.iter().filter(|other| other.keys == group.keys);
        let tried: Option<Vec<f64>> = tried.map(number).collect();
        let tried = tried.filter(|tried| tried.len() >= FEWEST_VALUES)?;
        let (which, further) = if tried.iter().all(|value| *value >= chosen) {
            ("least", "smaller")
        } else if tried.iter().all(|value| *value <= chosen) {
            ("largest", "larger")
        } else {
            return None;
        };
        let value = wording.value(best, group.chosen.as_deref()?);
        Some(format!(
            "the best {}, {value}, is the {which} of those tried: a {further} one may be better",
            wording.name(best)
        ))
    };
    let places = groups.iter().enumerate();
    places
        .filter_map(|(place, group)| Some((place, edge(group)?)))
        .collect()
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
            best: Some("rate".to_owned()),
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
}
