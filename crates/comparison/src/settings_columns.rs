//! The settings in which runs differ, as columns with types.

use serde_json::Value;

use crate::column::{Cells, Column, Kind};
use crate::fields::{Fields, text};

/// A setting as a column, with its value in each run.
pub(crate) struct SettingColumn {
    pub(crate) column: Column,
    /// One for each run; absent where the run has no such setting.
    values: Vec<Option<Value>>,
}

/// The columns of `paths` in `runs`. Whole numbers and other numbers keep their types; everything else is a text.
pub(crate) fn settings_columns(paths: &[String], runs: &[Fields]) -> Vec<SettingColumn> {
    let column = |path: &String| {
        let values: Vec<Option<Value>> = runs.iter().map(|run| run.at(path).cloned()).collect();
        let all = |is: fn(&Value) -> bool| values.iter().flatten().all(is);
        let kind = match () {
            () if all(Value::is_i64) => Kind::Whole,
            () if all(Value::is_number) => Kind::Number,
            () => Kind::Text,
        };
        SettingColumn {
            column: Column::new(path, kind, "A setting, by its path in the configuration."),
            values,
        }
    };
    paths.iter().map(column).collect()
}

impl SettingColumn {
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
