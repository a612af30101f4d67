//! Measured values that are kept beside the rows, so that tables can be written without running anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::outcome::{RowOutcome, Values};
use crate::rows::Rows;
use crate::verdict::Verdict;

/// Measured values of rows by their ids: the file `measured.json` beside the file of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// The rows by id.
    pub rows: BTreeMap<String, Measured>,
    /// Rows whose data were not at hand.
    #[serde(default)]
    pub without_data: BTreeSet<String>,
}

/// What was measured of a row, and by what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Version of the program.
    pub meshfold: String,
    /// Commit of the program, if it was known.
    pub commit: Option<String>,
    /// Kind of device.
    pub device: String,
    /// The values of the reading that decides.
    pub values: BySeed,
    /// The values of the other readings, by what is read otherwise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, BySeed>,
}

/// Values by name and seed; `null` where a level was never reached.
pub type BySeed = BTreeMap<String, BTreeMap<u64, Option<f64>>>;

impl Ledger {
    /// Takes over what `outcome` has measured. Seeds that it has not measured stay as they are.
    pub fn note(&mut self, outcome: &RowOutcome<'_>, by: &Measured) {
        let id = &outcome.row.id;
        match outcome.verdict {
            Verdict::Tested => return,
            Verdict::NeedsData if !self.rows.contains_key(id) => {
                self.without_data.insert(id.clone());
                return;
            }
            Verdict::NeedsData => return,
            _ => drop(self.without_data.remove(id)),
        }
        for reading in &outcome.readings {
            let by_seed = of_values(&reading.values);
            if by_seed.values().all(BTreeMap::is_empty) {
                continue;
            }
            let empty = || Measured {
                values: BySeed::new(),
                also: BTreeMap::new(),
                ..by.clone()
            };
            let entry = self
                .rows
                .entry(outcome.row.id.clone())
                .or_insert_with(empty);
            (entry.meshfold, entry.commit, entry.device) =
                (by.meshfold.clone(), by.commit.clone(), by.device.clone());
            let kept = match &reading.name {
                None => &mut entry.values,
                Some(name) => entry.also.entry(name.clone()).or_default(),
            };
            for (name, seeds) in by_seed {
                kept.entry(name).or_default().extend(seeds);
            }
        }
    }

    /// What the values say of all rows.
    pub fn outcomes<'a>(&self, rows: &'a Rows) -> Vec<RowOutcome<'a>> {
        let outcome = |row| {
            let row: &crate::rows::Row = row;
            let measured = self.rows.get(&row.id);
            let first = measured
                .map(|measured| to_values(&measured.values))
                .unwrap_or_default();
            let others = measured.into_iter().flat_map(|measured| &measured.also);
            let others = others.map(|(name, values)| (Some(name.clone()), to_values(values)));
            let readings = [(None, first)].into_iter().chain(others).collect();
            let is_missing = self.without_data.contains(&row.id);
            let missing = is_missing.then_some("the files of its dataset are not at hand");
            RowOutcome::judged(row, readings, row.needs.as_deref().or(missing))
        };
        rows.rows.iter().map(outcome).collect()
    }
}

fn of_values(values: &BTreeMap<String, Values>) -> BySeed {
    let by_seed = |values: &Values| values.by_seed().iter().copied().collect();
    values
        .iter()
        .map(|(name, values)| (name.clone(), by_seed(values)))
        .collect()
}

fn to_values(by_seed: &BySeed) -> BTreeMap<String, Values> {
    let values = |seeds: &BTreeMap<u64, Option<f64>>| {
        Values::of(seeds.iter().map(|(seed, value)| (*seed, *value)).collect())
    };
    by_seed
        .iter()
        .map(|(name, seeds)| (name.clone(), values(seeds)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "
papers: {hua: Hua et al.}
rows:
  - id: A
    paper: hua
    place: Fig. 4
    says: accuracy on the ring
    experiment: hua/iid.yaml
    read: {last: test_accuracy}
    claims: [{number: {is: 0.977, within: 0.003}}]
";

    #[test]
    fn what_is_noted_comes_back_and_seeds_add_up() {
        let rows = Rows::parse(Path::new("rows.yaml"), TEXT).unwrap();
        let by = Measured {
            meshfold: "0.1.0".to_owned(),
            commit: None,
            device: "cpu/avx2".to_owned(),
            values: BySeed::new(),
            also: BTreeMap::new(),
        };
        let mut ledger = Ledger::default();
        assert_eq!(ledger.outcomes(&rows)[0].verdict, Verdict::NotRun);
        for (seed, value) in [(1, 0.97), (2, 0.984)] {
            let values =
                BTreeMap::from([("value".to_owned(), Values::of(vec![(seed, Some(value))]))]);
            ledger.note(
                &RowOutcome::judged(&rows.rows[0], vec![(None, values)], None),
                &by,
            );
        }
        let text = serde_json::to_string(&ledger).unwrap();
        let ledger: Ledger = serde_json::from_str(&text).unwrap();
        let outcome = &ledger.outcomes(&rows)[0];
        assert_eq!(outcome.verdict, Verdict::Reproduced);
        assert_eq!(outcome.readings[0].values["value"].by_seed().len(), 2);
    }
}
