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
    /// The values, as tables show them.
    pub values: Vec<String>,
}

impl FromStr for Only {
    type Err = String;

    /// Reads `topology=ring,complete`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (field, values) = text
            .split_once('=')
            .ok_or("needed a setting and its values, such as topology=ring,complete")?;
        Ok(Self {
            field: field.to_owned(),
            values: values.split(',').map(str::to_owned).collect(),
        })
    }
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
        if let Some(value) = only.values.iter().find(|value| !values.contains(value)) {
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
            *chosen &= only.values.contains(value);
        }
    }
    match only.is_empty() || chosen.contains(&true) {
        true => Ok(chosen),
        false => Err(TableError::NothingLeft),
    }
}
