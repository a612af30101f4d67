//! The settings that vary between groups, and which groups have which value.

use super::group::{Group, swept};
use super::setting_label;
use meshfold_experiment::results::{RecordedRun, Settings, sweep_order};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A setting that is not the same in all groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// The key of the configuration.
    pub(crate) key: String,
    /// In the order of the first group that has each.
    pub(crate) values: Vec<FactorValue>,
}

/// When the oldest run of each group was first noted in its sweep, `[groups]`.
pub(crate) fn ages(groups: &[Group<'_>]) -> Vec<usize> {
    let mut known: BTreeMap<PathBuf, BTreeMap<String, usize>> = BTreeMap::new();
    let mut age = |run: &RecordedRun| {
        let folder = run.folder.parent()?;
        let ages = known
            .entry(folder.to_owned())
            .or_insert_with(|| sweep_order::ages(folder));
        ages.get(&run.id).copied()
    };
    let oldest = |group: &Group<'_>| {
        let ages = group.runs.iter().map(|run| age(run).unwrap_or(usize::MAX));
        ages.min().unwrap_or(usize::MAX)
    };
    groups.iter().map(oldest).collect()
}

/// A value of a setting, in words, and the indices of the groups that have it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FactorValue {
    pub(crate) text: String,
    pub(crate) groups: Vec<usize>,
}

impl Factor {
    /// The settings that vary, in the order of the configuration.
    pub(crate) fn all(groups: &[Group<'_>]) -> Vec<Self> {
        let settings: Vec<&Settings> = groups.iter().map(|group| &group.first().settings).collect();
        let swept = swept(groups.iter().flat_map(|group| group.runs.iter().copied()));
        setting_label::innermost(&settings, &swept)
            .into_iter()
            .map(|(key, texts)| Self::new(key, texts))
            .collect()
    }

    /// The index of each group's value, `[groups]`.
    pub(crate) fn of_groups(&self, groups: usize) -> Vec<usize> {
        let mut of = vec![0; groups];
        for (index, value) in self.values.iter().enumerate() {
            value.groups.iter().for_each(|group| of[*group] = index);
        }
        of
    }

    /// The place of each value's colour, `[values]`, given when its groups were first noted, `[groups]`: values keep their colours when
    /// others are added, wherever these stand in the sweep.
    pub(crate) fn colours(&self, ages: &[usize]) -> Vec<usize> {
        let oldest = |value: &FactorValue| value.groups.iter().map(|group| ages[*group]).min();
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by_key(|index| (oldest(&self.values[*index]), *index));
        let mut colours = vec![0; order.len()];
        for (place, index) in order.into_iter().enumerate() {
            colours[index] = place;
        }
        colours
    }

    fn new(key: &str, texts: Vec<String>) -> Self {
        let mut values: Vec<FactorValue> = Vec::new();
        for (group, text) in texts.into_iter().enumerate() {
            let text = if text.is_empty() {
                format!("no {key}")
            } else {
                text
            };
            match values.iter_mut().find(|value| value.text == text) {
                Some(value) => value.groups.push(group),
                None => values.push(FactorValue {
                    text,
                    groups: vec![group],
                }),
            }
        }
        Self {
            key: key.to_owned(),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_one_value_stand_together() {
        let texts = ["ring", "", "ring"].map(str::to_owned).to_vec();
        let factor = Factor::new("topology", texts);
        let value = |text: &str, groups: &[usize]| FactorValue {
            text: text.to_owned(),
            groups: groups.to_vec(),
        };
        assert_eq!(
            factor.values,
            [value("ring", &[0, 2]), value("no topology", &[1])]
        );
        // The second value was there before the first.
        assert_eq!(factor.colours(&[7, 3, 9]), [1, 0]);
        assert_eq!(factor.colours(&[7, usize::MAX, 9]), [0, 1]);
    }
}
