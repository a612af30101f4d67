//! The annotation: a table, tab separated, whose rows begin with the sample and whose column `Condition` is its class.

use std::collections::HashMap;

use super::{CLASS_NAMES, unquoted};
use crate::fault::Fault;

/// Samples that there may be.
const MOST_SAMPLES: usize = 1_000_000;

/// The class of each sample. R leaves the first name of the header out, where the samples stand.
///
/// # Errors
/// A [`Fault`] at the row that is not such.
pub(crate) fn classes(content: &[u8]) -> Result<HashMap<String, u16>, Fault> {
    let text = str::from_utf8(content)
        .map_err(|error| Fault::at(error.valid_up_to(), "an annotation that is no text"))?;
    let mut lines = text.split('\n');
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let condition = header.iter().position(|name| unquoted(name) == "Condition");
    let condition = condition.ok_or_else(|| Fault::at(0_u64, "no column is called Condition"))?;
    let mut classes = HashMap::new();
    let mut offset = text.find('\n').map_or(text.len(), |end| end + 1);
    for line in lines.take(MOST_SAMPLES) {
        if !line.is_empty() {
            let (sample, class) =
                row(line, header.len(), condition).map_err(|reason| Fault::at(offset, reason))?;
            if classes.insert(sample.to_owned(), class).is_some() {
                let reason = format!("sample {sample} stands there twice");
                return Err(Fault::at(offset, reason));
            }
        }
        offset += line.len() + 1;
    }
    Ok(classes)
}

fn row(line: &str, columns: usize, condition: usize) -> Result<(&str, u16), String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let shift = match cells.len() {
        found if found == columns => 0,
        found if found == columns + 1 => 1,
        found => return Err(format!("a row of {found} cells, {columns} names above")),
    };
    let class = unquoted(cells[condition + shift]);
    let known = CLASS_NAMES.iter().position(|name| *name == class);
    let known =
        known.ok_or_else(|| format!("condition `{class}` found, CASE or CONTROL needed"))?;
    Ok((unquoted(cells[0]), known as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_at_their_row() {
        let good = "\"GSE\"\t\"Condition\"\n\"a\"\t\"G\"\t\"CASE\"\n\"b\"\t\"G\"\t\"CONTROL\"\n";
        let classes_of = |text: &str| classes(text.as_bytes());
        let found = classes_of(good).unwrap();
        assert_eq!((found["a"], found["b"], found.len()), (1, 0, 2));
        let second = good.find("\"b\"").unwrap() as u64;
        for (from, to) in [("CONTROL", "OTHER"), ("\"b\"", "\"a\""), ("\"b\"\t", "")] {
            let fault = classes_of(&good.replace(from, to)).unwrap_err();
            assert_eq!(fault.offset, second, "{}", fault.reason);
        }
        assert!(classes_of("").is_err());
        assert!(classes(&[0xff]).is_err());
    }
}
