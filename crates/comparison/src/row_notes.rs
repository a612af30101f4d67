//! Notes about single rows of a table.

use crate::naming::Wording;

/// A note about a row.
pub(crate) struct OfRow {
    pub(crate) row: String,
    pub(crate) what: String,
}

/// Joins notes that are the same for several rows.
pub(crate) fn together(notes: Vec<OfRow>) -> Vec<String> {
    let mut said: Vec<OfRow> = Vec::new();
    for note in notes {
        match said.iter_mut().find(|other| other.what == note.what) {
            Some(other) => other.row += &format!("; {}", note.row),
            None => said.push(note),
        }
    }
    let lines = said
        .iter()
        .map(|note| format!("{}: {}", note.row, note.what));
    lines.collect()
}

/// What the row with these `keys` is called, without its best value.
pub(crate) fn row_of(keys: &[String], by: &[String], wording: &Wording) -> String {
    match keys.is_empty() {
        true => "all runs".to_owned(),
        false => wording.values(by, keys).join(", "),
    }
}

/// The values of each reason, in the order in which it is first met.
pub(crate) fn by_reason<R: PartialEq, V>(values: impl Iterator<Item = (R, V)>) -> Vec<(R, Vec<V>)> {
    let mut reasons: Vec<(R, Vec<V>)> = Vec::new();
    for (reason, value) in values {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, values)) => values.push(value),
            None => reasons.push((reason, vec![value])),
        }
    }
    reasons
}
