//! The settings in which runs differ, as columns with types.

use serde_json::Value;

use crate::column::{Cells, Column, Kind};
use crate::fields::{Fields, text};
use crate::name::Name;

/// A setting as a column, with its value in each run.
pub(crate) struct SettingColumn {
    pub(crate) column: Column,
    /// One for each run; absent where the run has no such setting.
    values: Vec<Option<Value>>,
}

/// The columns of `paths` in `runs`. Whole numbers and other numbers keep their types; everything else is a text.
pub(crate) fn settings_columns(paths: &[String], runs: &[Fields]) -> Vec<SettingColumn> {
    let column = |path: &String| {
        let values = runs.iter().map(|run| run.at(path).cloned()).collect();
        SettingColumn::new(path, "A setting, by its path in the configuration.", values)
    };
    paths.iter().map(column).collect()
}

/// A column for each setting that several choices have, such as the learning rate of each method, by the last key of its paths: the value
/// of whatever choice a run has. One of the `paths` is among them. Nothing for a name that other settings have, or a column of those `taken`.
pub(crate) fn united_columns(
    paths: &[String],
    runs: &[Fields],
    taken: &[Column],
) -> Vec<SettingColumn> {
    let mut united: Vec<SettingColumn> = Vec::new();
    for path in paths {
        let last = path.rsplit('.').next().unwrap_or(path);
        let mut columns = united.iter().map(|setting| &setting.column).chain(taken);
        if columns.any(|column| column.name() == last) {
            continue;
        }
        let Ok(name) = Name::find(last, runs) else {
            continue;
        };
        let all = name.paths_of_values().filter(|all| all.contains(path));
        if let Some(all) = all.filter(|all| all.len() > 1 && differ_in_the_choice(all)) {
            let about = format!("A setting that several choices have: {}.", all.join(", "));
            let values = runs.iter().map(|run| name.value(run)).collect();
            united.push(SettingColumn::new(last, &about, values));
        }
    }
    united
}

/// Whether `paths` differ in their second key alone, which is what a run has chosen for the first one.
fn differ_in_the_choice(paths: &[String]) -> bool {
    let without_choice = |path: &String| -> Vec<String> {
        let keys = path.split('.').enumerate();
        let keys = keys.filter(|(place, _)| *place != 1);
        keys.map(|(_, key)| key.to_owned()).collect()
    };
    let mut all = paths.iter().map(without_choice);
    let first = all.next();
    all.all(|keys| Some(keys) == first)
}

impl SettingColumn {
    fn new(name: &str, about: &str, values: Vec<Option<Value>>) -> Self {
        let all = |is: fn(&Value) -> bool| values.iter().flatten().all(is);
        let kind = match () {
            () if all(Value::is_i64) => Kind::Whole,
            () if all(Value::is_number) => Kind::Number,
            () => Kind::Text,
        };
        Self {
            column: Column::new(name, kind, about),
            values,
        }
    }

    /// The value of the run at `index`, `rows` times.
    pub(crate) fn cells(&self, index: usize, rows: usize) -> Cells {
        let value = self.values[index].as_ref();
        match self.column.kind() {
            Kind::Whole => Cells::Whole(vec![value.and_then(Value::as_i64); rows]),
            Kind::Number => Cells::Number(vec![value.and_then(Value::as_f64); rows]),
            Kind::Text => Cells::Text(vec![value.map(|value| text(Some(value))); rows]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::differing;
    use meshfold_experiment::results::Settings;

    fn united(runs: &[&str], taken: &[Column]) -> Vec<SettingColumn> {
        let settings = runs.iter().map(|text| Settings::parse(text).unwrap());
        let settings: Vec<Settings> = settings.collect();
        let fields = Fields::of_all(&settings);
        united_columns(&differing(&fields, &[]), &fields, taken)
    }

    #[test]
    fn what_several_methods_have_has_a_column_of_its_own() {
        let runs = [
            "algorithm: {dsgd: {learning_rate: 0.1, gamma: 1}}",
            "algorithm: {dsgd: {learning_rate: 0.5, gamma: 2}}",
            "algorithm: {fedavg: {learning_rate: 1, local: {epochs: 2}}}",
            "algorithm: {alone: {local: {epochs: 2}}}",
        ];
        let columns = united(&runs, &[]);
        // The epochs go by the method alone, and are no setting in which the runs differ.
        assert_eq!(columns.len(), 1);
        let rate = &columns[0];
        assert_eq!(rate.column.name(), "learning_rate");
        assert_eq!(
            rate.column.description(),
            "A setting that several choices have: algorithm.dsgd.learning_rate, algorithm.fedavg.learning_rate."
        );
        let rates = [0, 1, 2, 3].map(|run| match rate.cells(run, 1) {
            Cells::Number(values) => values[0],
            _ => panic!("they are numbers"),
        });
        assert_eq!(rates, [Some(0.1), Some(0.5), Some(1.0), None]);
        let taken = [Column::number("learning_rate", "")];
        assert!(united(&runs, &taken).is_empty());
    }

    #[test]
    fn settings_that_share_a_name_alone_are_not_united() {
        let of_other_parts = [
            "{algorithm: {dsgd: {rate: 0.1}}, seed: 1}",
            "{algorithm: {dsgd: {rate: 0.2}}, seed: 1}",
            "{network: {slow: {rate: 0.2}}, seed: 1}",
        ];
        assert!(united(&of_other_parts, &[]).is_empty());
        let twice = [
            "{algorithm: {dsgd: {rate: 0.1}}, network: {slow: {rate: 1}}}",
            "{algorithm: {fedavg: {rate: 0.2}}, network: {slow: {rate: 2}}}",
        ];
        assert!(united(&twice, &[]).is_empty());
    }
}
