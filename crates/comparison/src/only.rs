//! Choosing runs by their settings.

use std::str::FromStr;

use meshfold_experiment::results::Settings;

use crate::error::TableError;
use crate::fields::{ABSENT, Fields};
use crate::grouping::Group;
use crate::judged::Judged;
use crate::name::Name;

/// Some values of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// The setting.
    pub field: String,
    /// The values, as tables show them; `30` is `30.0`, and spaces in a list do not count. `null`, `none` and `-` stand for
    /// runs that have no such setting.
    pub values: Vec<String>,
}

impl FromStr for Only {
    type Err = String;

    /// Reads `topology=ring,complete` and `hidden=[200],[200, 100]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (field, values) = text
            .split_once('=')
            .ok_or("needed a setting and its values, such as topology=ring,complete")?;
        Ok(Self {
            field: field.to_owned(),
            values: items(values).into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Whether a value as somebody wrote it is one as tables show it: numbers by their size, lists item by item.
fn is_same(written: &str, shown: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    match (list(written), list(shown)) {
        (Some(written), Some(shown)) => {
            let mut pairs = written.iter().zip(&shown);
            written.len() == shown.len() && pairs.all(|(written, shown)| is_same(written, shown))
        }
        _ => {
            let is_size = |size: f64| number(shown) == Some(size) || is_single(size, shown);
            written == shown || number(written).is_some_and(is_size)
        }
    }
}

/// Whether `shown` is what a setting of single precision keeps of `size`.
fn is_single(size: f64, shown: &str) -> bool {
    shown.parse() == Ok(size as f32) && (size as f32).to_string() == shown
}

/// The items of `[a, b]`; none if it is no list.
fn list(text: &str) -> Option<Vec<&str>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    Some(items(inside).into_iter().map(str::trim).collect())
}

/// What stands between the commas of `text` that are outside of brackets.
fn items(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = text.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.collect()
}

/// For each of `runs` whether it has one of the values for each setting of `only`. A run whose settings are not known has none.
///
/// # Errors
/// [`TableError::UnknownField`], [`TableError::AmbiguousField`], [`TableError::UnknownValue`] and, if no run is chosen,
/// [`TableError::NothingLeft`].
pub fn are_chosen(runs: &[Option<&Settings>], only: &[Only]) -> Result<Vec<bool>, TableError> {
    let known: Vec<Fields> = runs.iter().copied().flatten().map(Fields::of).collect();
    let mut chosen = chosen(&known, only)?.into_iter();
    let is_chosen = |run: &Option<&Settings>| match run {
        Some(_) => chosen.next().unwrap_or(false),
        None => only.is_empty(),
    };
    Ok(runs.iter().map(is_chosen).collect())
}

/// The runs that were asked for, and the settings of all that there are.
pub(crate) struct Chosen {
    pub(crate) runs: Vec<Judged>,
    /// Those of all runs, chosen or not.
    pub(crate) all: Vec<Fields>,
    /// The places of all runs, the one that was noted first before the others.
    by_age: Vec<usize>,
}

impl Chosen {
    /// Of `runs` those that have one of the values for each setting of `only`.
    pub(crate) fn of(runs: Vec<Judged>, only: &[Only]) -> Result<Self, TableError> {
        if runs.is_empty() {
            return Err(TableError::NoRuns);
        }
        let all: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
        let chosen = chosen(&all, only)?;
        let mut by_age: Vec<usize> = (0..runs.len()).collect();
        by_age.sort_by_key(|place| runs[*place].age);
        let pairs = runs.into_iter().zip(chosen);
        let runs = pairs.filter_map(|(run, is)| is.then_some(run)).collect();
        Ok(Self { runs, all, by_age })
    }

    /// The values of the settings `by` in all runs, each once, those that were noted first before the others.
    pub(crate) fn keys(&self, by: &[Name]) -> Vec<Vec<String>> {
        let mut keys: Vec<Vec<String>> = Vec::new();
        for run in self.by_age.iter().map(|place| &self.all[*place]) {
            let key: Vec<String> = by.iter().map(|name| name.text(run)).collect();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Puts `groups` into the order in which `only` names values of the settings `by`, the first of these before the others. Groups keep their
    /// order in settings of which it names less than two values.
    pub(crate) fn sort(&self, groups: &mut [Group<'_>], by: &[Name], only: &[Only]) {
        let of_name = |name: &Name| {
            let mut several = only.iter().filter(|only| only.values.len() > 1);
            several.find(|only| {
                self.name(&only.field)
                    .is_ok_and(|other| other.is_same(name))
            })
        };
        let orders: Vec<Option<&Only>> = by.iter().map(of_name).collect();
        if orders.iter().all(Option::is_none) {
            return;
        }
        let mut firsts: Vec<Vec<String>> = vec![Vec::new(); by.len()];
        for group in &*groups {
            for (known, key) in firsts.iter_mut().zip(&group.keys) {
                if !known.contains(key) {
                    known.push(key.clone());
                }
            }
        }
        groups.sort_by_cached_key(|group| {
            let places = orders.iter().zip(&firsts).zip(&group.keys);
            let place = |((order, firsts), key): ((&Option<&Only>, &Vec<String>), &String)| {
                let is_key =
                    |written: &String| !meant(written, std::slice::from_ref(key)).is_empty();
                match order {
                    Some(only) => only.values.iter().position(is_key),
                    None => firsts.iter().position(|first| first == key),
                }
            };
            places.map(place).collect::<Vec<_>>()
        });
    }

    /// The setting that is called `written` in all runs, so that values are called the same whichever are chosen. A name that
    /// may be several settings there may be one in the chosen runs.
    pub(crate) fn name(&self, written: &str) -> Result<Name, TableError> {
        match Name::find(written, &self.all) {
            Err(TableError::AmbiguousField { .. }) => {
                let fields: Vec<Fields> = self.runs.iter().map(|run| run.fields.clone()).collect();
                Name::find(written, &fields)
            }
            found => found,
        }
    }
}

/// For each of `runs` whether it has one of the values for each setting of `only`.
fn chosen(runs: &[Fields], only: &[Only]) -> Result<Vec<bool>, TableError> {
    let mut chosen = vec![true; runs.len()];
    for (before, asked) in only.iter().enumerate() {
        let name = Name::find(&asked.field, runs)?;
        let values: Vec<String> = runs.iter().map(|run| name.text(run)).collect();
        let mut is_wanted = vec![false; runs.len()];
        for (place, written) in asked.values.iter().enumerate() {
            let meant = meant(written, &values);
            if meant.is_empty() {
                let other = written.split_once('=').map(|(field, _)| field);
                let is_setting = |field: &str| Name::find(field, runs).is_ok();
                let is_a_setting = place > 0 && other.is_some_and(is_setting);
                return Err(unknown(asked, written, values, is_a_setting));
            }
            meant.into_iter().for_each(|place| is_wanted[place] = true);
        }
        let both = chosen.iter().zip(is_wanted);
        let left: Vec<bool> = both
            .map(|(chosen, is_wanted)| *chosen && is_wanted)
            .collect();
        if !left.contains(&true) {
            let there = values.into_iter().zip(&chosen);
            let there = there.filter_map(|(value, chosen)| chosen.then_some(value));
            return Err(nothing_left(asked, &only[..before], there.collect()));
        }
        chosen = left;
    }
    Ok(chosen)
}

/// The places of the `values` that somebody means by `written`. `null`, `none` and `-` mean that a run has no such setting,
/// unless a value is called so.
pub(crate) fn meant(written: &str, values: &[String]) -> Vec<usize> {
    let places = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let found = values.iter().enumerate().filter(|(_, value)| is(value));
        found.map(|(place, _)| place).collect()
    };
    let same = places(&|value| is_same(written, value));
    match same.is_empty() && matches!(written, "null" | "none" | "-") {
        true => places(&|value| value == ABSENT),
        false => same,
    }
}

fn unknown(only: &Only, written: &str, known: Vec<String>, is_a_setting: bool) -> TableError {
    TableError::UnknownValue {
        field: only.field.clone(),
        value: written.to_owned(),
        known: each_once(known),
        is_a_setting,
    }
}

/// That none of the runs that have the values `before` has one of `only`: they have the values `known`.
fn nothing_left(only: &Only, before: &[Only], known: Vec<String>) -> TableError {
    let asked = |only: &Only| format!("{}={}", only.field, only.values.join(","));
    TableError::NothingLeft {
        field: only.field.clone(),
        values: only.values.clone(),
        before: before.iter().map(asked).collect(),
        known: each_once(known),
    }
}

/// `values`, each once, in the order of the alphabet.
fn each_once(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::table::Table;

    #[test]
    fn values_are_parted_at_commas_outside_of_lists() {
        let values = |text: &str| text.parse::<Only>().unwrap().values;
        assert_eq!(values("hidden=[4, 8],[4]"), ["[4, 8]", "[4]"]);
        assert_eq!(values("topology=ring,complete"), ["ring", "complete"]);
    }

    #[test]
    fn groups_come_in_the_order_in_which_values_are_asked_for() {
        let mut runs = Vec::new();
        for topology in ["ring", "star"] {
            for algorithm in ["dsgd", "fedavg", "local"] {
                let settings = format!("{{seed: 1, topology: {topology}, algorithm: {algorithm}}}");
                runs.push(Judged::finished(&settings, &[&[("test_accuracy", 0.5)]]));
            }
        }
        let rows = |only: &str| -> Vec<String> {
            let request = Request {
                by: ["topology", "algorithm"].map(str::to_owned).to_vec(),
                only: vec![only.parse().unwrap()],
                ..Request::over_seeds()
            };
            let table = Table::about(runs.clone(), request).unwrap();
            table.rows.iter().map(|row| row.keys.join(" ")).collect()
        };
        assert_eq!(
            rows("algorithm=local,dsgd"),
            ["ring local", "ring dsgd", "star local", "star dsgd"]
        );
        assert_eq!(
            rows("topology=star,ring")[..4],
            ["star dsgd", "star fedavg", "star local", "ring dsgd"]
        );
    }

    #[test]
    fn where_nothing_is_left_the_values_that_are_there_are_named() {
        let texts = [
            "{algorithm: dsgd, topology: ring, seed: 1}",
            "{algorithm: dsgd, topology: star, seed: 1}",
            "{algorithm: fedavg, seed: 1}",
        ];
        let all = texts.map(|text| Settings::parse(text).unwrap());
        let only = ["seed=1", "algorithm=dsgd", "topology=none"].map(|text| text.parse().unwrap());
        let said = are_chosen(&all.each_ref().map(Some), &only).unwrap_err();
        assert_eq!(
            said.to_string(),
            "--only topology=none: no run is left; in the runs with seed=1 and algorithm=dsgd, topology is one of ring, star"
        );
    }

    #[test]
    fn nothing_is_chosen_of_no_runs() {
        let error = Chosen::of(Vec::new(), &[]).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "there are no runs to compare");
    }

    #[test]
    fn numbers_are_the_same_by_their_size_and_lists_by_their_items() {
        for (written, shown) in [
            ("30", "30.0"),
            ("1e6", "1000000.0"),
            ("0.050", "0.05"),
            ("[4,8]", "[4, 8]"),
            ("[4, [8,16.0]]", "[4, [8, 16]]"),
            ("0.123456789", "0.12345679"),
            ("ring", "ring"),
        ] {
            assert!(is_same(written, shown), "{written} is {shown}");
        }
        for (written, shown) in [
            ("3", "30.0"),
            ("[4]", "[4, 8]"),
            ("[4]", "4"),
            ("ring", "–"),
        ] {
            assert!(!is_same(written, shown), "{written} is not {shown}");
        }
    }

    #[test]
    fn a_setting_that_a_run_lacks_goes_by_several_words() {
        let values = ["–", "[]", "–", "[2]"].map(str::to_owned);
        for written in ["–", "-", "none", "null"] {
            assert_eq!(meant(written, &values), [0, 2], "{written}");
        }
        let named = ["–", "none"].map(str::to_owned);
        assert_eq!(meant("none", &named), [1]);
        assert_eq!(meant("null", &named), [0]);
        assert!(meant("ring", &values).is_empty());
    }

    #[test]
    fn runs_are_chosen_by_maps_and_by_settings_that_they_lack() {
        let texts = [
            "stragglers: null\nseed: 1",
            "stragglers: {share: 0.2, policy: isolate}\nseed: 1",
            "stragglers: {share: 0.5, policy: isolate}\nseed: 1",
        ];
        let all = texts.map(|text| Settings::parse(text).unwrap());
        let chosen = |only: &str| {
            let all = all.each_ref().map(Some);
            are_chosen(&all, &[only.parse().unwrap()])
        };
        assert_eq!(chosen("stragglers=null").unwrap(), [true, false, false]);
        assert_eq!(chosen("share=-").unwrap(), [true, false, false]);
        assert_eq!(
            chosen("stragglers=none,share=0.5").unwrap(),
            [true, false, true]
        );
        assert_eq!(
            chosen("stragglers=share=1").unwrap_err().to_string(),
            "--only stragglers=share=1: no run has it; stragglers is one of share=0.2, share=0.5, –"
        );
        assert_eq!(
            chosen("share=0.2,seed=1").unwrap_err().to_string(),
            "--only share=seed=1: no run has it; share is one of 0.2, 0.5, –; each setting has an option of its own: `--only seed=1`"
        );
    }
}
