//! Choosing runs by their settings.

use std::str::FromStr;

use meshfold_experiment::results::Settings;

use crate::error::TableError;
use crate::fields::{Fields, Name, text};
use crate::judged::Judged;

/// Some values of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// The setting.
    pub field: String,
    /// The values, as tables show them; `30` is `30.0`, and spaces in a list do not count.
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
pub(crate) fn is_same(written: &str, shown: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    match (list(written), list(shown)) {
        (Some(written), Some(shown)) => {
            let mut pairs = written.iter().zip(&shown);
            written.len() == shown.len() && pairs.all(|(written, shown)| is_same(written, shown))
        }
        _ => written == shown || number(written).is_some_and(|size| number(shown) == Some(size)),
    }
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

/// The runs that have one of the values for each setting of `only`.
pub(crate) fn only_chosen(runs: Vec<Judged>, only: &[Only]) -> Result<Vec<Judged>, TableError> {
    let fields: Vec<Fields> = runs.iter().map(|run| run.fields.clone()).collect();
    let chosen = chosen(&fields, only)?;
    let pairs = runs.into_iter().zip(chosen);
    Ok(pairs.filter_map(|(run, is)| is.then_some(run)).collect())
}

/// For each of `runs` whether it has one of the values for each setting of `only`.
fn chosen(runs: &[Fields], only: &[Only]) -> Result<Vec<bool>, TableError> {
    let mut chosen = vec![true; runs.len()];
    for only in only {
        let name = Name::find(&only.field, runs)?;
        let values: Vec<String> = runs.iter().map(|run| text(run.get(&name))).collect();
        let is_unknown = |value: &&String| !values.iter().any(|known| is_same(value, known));
        if let Some(value) = only.values.iter().find(is_unknown) {
            let mut known = values;
            known.sort();
            known.dedup();
            return Err(TableError::UnknownValue {
                field: only.field.clone(),
                value: value.clone(),
                known,
            });
        }
        for (chosen, value) in chosen.iter_mut().zip(&values) {
            *chosen &= only.values.iter().any(|wanted| is_same(wanted, value));
        }
    }
    match only.is_empty() || chosen.contains(&true) {
        true => Ok(chosen),
        false => Err(TableError::NothingLeft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parted_at_commas_outside_of_lists() {
        let values = |text: &str| text.parse::<Only>().unwrap().values;
        assert_eq!(values("hidden=[4, 8],[4]"), ["[4, 8]", "[4]"]);
        assert_eq!(values("topology=ring,complete"), ["ring", "complete"]);
    }

    #[test]
    fn numbers_are_the_same_by_their_size_and_lists_by_their_items() {
        for (written, shown) in [
            ("30", "30.0"),
            ("1e6", "1000000.0"),
            ("0.050", "0.05"),
            ("[4,8]", "[4, 8]"),
            ("[4, [8,16.0]]", "[4, [8, 16]]"),
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
}
