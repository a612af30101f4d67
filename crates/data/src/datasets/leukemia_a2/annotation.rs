//! The annotation: a table, tab separated, whose rows begin with the sample and whose column `Condition` is its class.

use std::collections::HashMap;

use super::{CLASS_NAMES, unquoted};
use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;

/// Samples that there may be.
const MOST_SAMPLES: usize = 1_000_000;

/// The class of each sample. R omits the name of the first column, which holds the samples.
///
/// # Errors
/// A [`Fault`] at the row that does not have this form.
pub(crate) fn classes(content: &[u8]) -> Result<HashMap<String, u16>, Fault> {
    let text = str::from_utf8(content)
        .map_err(|error| Fault::at(error.valid_up_to(), "an annotation that is no text"))?;
    let mut lines = text.split('\n');
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let condition = header.iter().position(|name| unquoted(name) == "Condition");
    let condition = condition.ok_or_else(|| Fault::at(0_u64, "no column is called Condition"))?;
    let mut classes = HashMap::new();
    let mut columns = None;
    let mut offset = text.find('\n').map_or(text.len(), |end| end + 1);
    for line in lines {
        if !line.is_empty() {
            if classes.len() == MOST_SAMPLES {
                return Err(Fault::at(
                    offset,
                    format!("more than {MOST_SAMPLES} samples"),
                ));
            }
            let cells: Vec<&str> = line.split('\t').collect();
            let shift = cells.len().wrapping_sub(header.len());
            if shift > 1 || *columns.get_or_insert(cells.len()) != cells.len() {
                let reason = format!(
                    "a row of {} cells, {} names above",
                    cells.len(),
                    header.len()
                );
                return Err(Fault::at(offset, reason));
            }
            let sample = unquoted(cells[0]);
            let class = class(cells[condition + shift]).map_err(|r| Fault::at(offset, r))?;
            if classes.insert(sample.to_owned(), class).is_some() {
                let reason = format!("sample {} stands there twice", excerpt(sample));
                return Err(Fault::at(offset, reason));
            }
        }
        offset += line.len() + 1;
    }
    Ok(classes)
}

/// The class that a cell names.
fn class(cell: &str) -> Result<u16, String> {
    let condition = unquoted(cell);
    let shown = excerpt(condition);
    let known = CLASS_NAMES.iter().position(|name| *name == condition);
    let refusal = || format!("condition `{shown}` found, CASE or CONTROL needed");
    known.map(|class| class as u16).ok_or_else(refusal)
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
        let reason = |content: &[u8]| classes(content).unwrap_err().reason;
        assert_eq!(reason(b""), "no column is called Condition");
        assert_eq!(reason(&[0xff]), "an annotation that is no text");
        let many: String = (0..=MOST_SAMPLES)
            .map(|row| format!("{row}\tCASE\n"))
            .collect();
        let many = "\"Condition\"\n".to_owned() + &many;
        assert_eq!(reason(many.as_bytes()), "more than 1000000 samples");
    }
}
