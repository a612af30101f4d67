//! A file of rows: what papers state, and how it is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use meshfold_experiment::ExperimentSource;
use meshfold_experiment::files::text_file::read_text;
use serde::Deserialize;

use crate::claim::Claim;
use crate::error::ReproductionError;
use crate::reading::Reading;

/// The most bytes that a file of rows may have.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The name of the value of a row that has only one.
pub(crate) const ONLY_VALUE: &str = "value";

/// What papers state, in the order of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The papers by their short names, which are also the folders of their experiments, with their titles.
    pub papers: BTreeMap<String, String>,
    /// What they state.
    pub rows: Vec<Row>,
}

/// A number or an ordering that a paper states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// A name that stays the same.
    pub id: String,
    /// The paper's short name.
    pub paper: String,
    /// The figure, table or section.
    pub place: String,
    /// What is compared, in a sentence without a full stop.
    pub says: String,
    /// The experiment's file, from the folder of the file of rows.
    pub experiment: Option<PathBuf>,
    /// Overrides of the experiment, `a.b=c`.
    #[serde(default)]
    pub set: Vec<String>,
    /// How values are read that do not say so themselves.
    pub read: Option<Reading>,
    /// The settings of the runs, for a row with one value.
    #[serde(default)]
    pub only: BTreeMap<String, serde_json::Value>,
    /// The values that the claims are about, by name. A row without them has the one value `value`.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// What must hold of the values.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Other readings of the paper's text, which do not decide.
    #[serde(default)]
    pub also: Vec<Alternative>,
    /// How much the row tells about the paper: 1 is its main result, 3 a detail.
    #[serde(default = "detail")]
    pub telling: u8,
    /// Why the paper's text does not say enough to decide, if it does not.
    pub undecidable: Option<String>,
    /// The test of the program that holds the row, if no run is needed.
    pub tested: Option<String>,
    /// Why the dataset cannot be had, for a row whose experiment needs it and has no file.
    pub needs: Option<String>,
    /// A remark.
    pub note: Option<String>,
}

/// A value: one figure of the runs with some settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Settings by their paths, or by the ends of these. An object asks for the keys that it has.
    #[serde(default)]
    pub only: BTreeMap<String, serde_json::Value>,
    /// How it is read; as the row says if absent.
    pub read: Option<Reading>,
    /// Its experiment; the row's if absent.
    pub experiment: Option<PathBuf>,
    /// Overrides besides those of the row.
    #[serde(default)]
    pub set: Vec<String>,
}

/// Another reading of the paper's text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// What is read otherwise.
    pub reading: String,
    /// How all values are read.
    pub read: Option<Reading>,
    /// Another experiment.
    pub experiment: Option<PathBuf>,
    /// Further overrides.
    #[serde(default)]
    pub set: Vec<String>,
    /// Further settings of the runs.
    #[serde(default)]
    pub only: BTreeMap<String, serde_json::Value>,
    /// What single values have otherwise, by their names.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
}

fn detail() -> u8 {
    3
}

impl Rows {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ReproductionError::Read`], [`ReproductionError::Form`] and [`ReproductionError::Row`].
    pub fn read(path: &Path) -> Result<Self, ReproductionError> {
        let text = read_text(path, MOST_BYTES).map_err(|source| ReproductionError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads `text`, the content of the file at `path`.
    ///
    /// # Errors
    /// [`ReproductionError::Form`] and [`ReproductionError::Row`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReproductionError> {
        let rows: Self = ExperimentSource::new(path, text)
            .parse()
            .map_err(|mistake| ReproductionError::Form(Box::new(mistake)))?;
        let mut ids = BTreeSet::new();
        for row in &rows.rows {
            let is_new = ids.insert(&row.id);
            let reason = row
                .mistake(&rows.papers)
                .or_else(|| (!is_new).then(|| "its id stands twice".to_owned()));
            if let Some(reason) = reason {
                return Err(ReproductionError::Row {
                    path: path.to_owned(),
                    row: row.id.clone(),
                    reason,
                });
            }
        }
        Ok(rows)
    }

    /// The rows that `words` name, papers or rows; all of them without words.
    ///
    /// # Errors
    /// [`ReproductionError::Unknown`].
    pub fn named(&self, words: &[String]) -> Result<Vec<&Row>, ReproductionError> {
        let is_named = |row: &Row, word: &String| row.paper == *word || row.id == *word;
        if let Some(word) = words
            .iter()
            .find(|word| !self.rows.iter().any(|row| is_named(row, word)))
        {
            let near = self
                .rows
                .iter()
                .find(|row| row.id.to_lowercase().starts_with(&word.to_lowercase()));
            return Err(ReproductionError::Unknown {
                word: word.clone(),
                papers: self.papers.keys().cloned().collect(),
                near: near.map(|row| row.id.clone()),
            });
        }
        let rows = self.rows.iter();
        let named =
            rows.filter(|row| words.is_empty() || words.iter().any(|word| is_named(row, word)));
        Ok(named.collect())
    }
}

impl Row {
    /// The values with their names, each with all that it takes from the row.
    pub(crate) fn all_values(&self) -> BTreeMap<String, Value> {
        let of_row = Value {
            only: self.only.clone(),
            read: self.read.clone(),
            experiment: self.experiment.clone(),
            set: self.set.clone(),
        };
        if self.values.is_empty() && self.read.is_some() {
            return BTreeMap::from([(ONLY_VALUE.to_owned(), of_row)]);
        }
        let values = self.values.iter();
        values
            .map(|(name, value)| (name.clone(), of_row.and(value)))
            .collect()
    }

    /// What is wrong with the row, if anything is.
    fn mistake(&self, papers: &BTreeMap<String, String>) -> Option<String> {
        let values = self.all_values();
        if !papers.contains_key(&self.paper) {
            return Some(format!("`{}` is not among the papers", self.paper));
        }
        let kinds = [
            self.tested.is_some(),
            self.needs.is_some(),
            !values.is_empty(),
        ];
        if !kinds.contains(&true) {
            return Some("it has neither values nor `tested` nor `needs`".to_owned());
        }
        let names = self.claims.iter().flat_map(Claim::names);
        let unknown = names.into_iter().find(|name| !values.contains_key(*name));
        if let Some(name) = unknown {
            return Some(format!(
                "a claim is about `{name}`, which is no value of it"
            ));
        }
        let unread = values
            .iter()
            .find(|(_, value)| value.read.is_none() || value.experiment.is_none());
        if let Some((name, _)) = unread {
            return Some(format!("`{name}` needs `read` and `experiment`"));
        }
        let is_judged = !self.claims.is_empty() || self.undecidable.is_some();
        (!values.is_empty() && !is_judged)
            .then(|| "it has values and no claim about them".to_owned())
    }
}

impl Value {
    /// The value `name` as another reading of the text has it.
    pub(crate) fn read_as(&self, name: &str, other: &Alternative) -> Self {
        let of_all = Self {
            only: other.only.clone(),
            read: other.read.clone(),
            experiment: other.experiment.clone(),
            set: other.set.clone(),
        };
        let own = other.values.get(name).cloned().unwrap_or_default();
        self.and(&of_all).and(&own)
    }

    /// This value with what `more` says.
    fn and(&self, more: &Self) -> Self {
        let only = self.only.iter().chain(&more.only);
        Self {
            only: only
                .map(|(path, value)| (path.clone(), value.clone()))
                .collect(),
            read: more.read.clone().or_else(|| self.read.clone()),
            experiment: more.experiment.clone().or_else(|| self.experiment.clone()),
            set: self.set.iter().chain(&more.set).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
papers: {hua: Hua et al.}
rows:
  - id: A
    paper: hua
    place: Fig. 4
    says: accuracy on the ring
    experiment: hua/iid.yaml
    only: {topology: ring}
    read: {last: test_accuracy}
    claims: [{number: {is: 0.977, within: 0.003}}]
  - id: B
    paper: hua
    place: Fig. 4
    says: the complete overlay is ahead
    experiment: hua/iid.yaml
    read: {last: test_accuracy}
    values: {ring: {only: {topology: ring}}, complete: {only: {topology: complete}}}
    claims: [{order: {of: [complete, ring]}}]
";

    fn parse(text: &str) -> Result<Rows, ReproductionError> {
        Rows::parse(Path::new("rows.yaml"), text)
    }

    #[test]
    fn rows_are_named_by_paper_and_by_id() {
        let rows = parse(TEXT).unwrap();
        let ids = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            rows.named(&words)
                .map(|rows| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[]).unwrap(), ["A", "B"]);
        assert_eq!(ids(&["hua"]).unwrap(), ["A", "B"]);
        assert_eq!(ids(&["B"]).unwrap(), ["B"]);
        let error = ids(&["b"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "`b` is neither a paper nor a row; papers are hua; did you mean `B`?"
        );
    }

    #[test]
    fn a_row_that_contradicts_itself_is_refused_by_its_id() {
        let broken = |from: &str, to: &str| parse(&TEXT.replace(from, to)).unwrap_err().to_string();
        assert_eq!(
            broken("id: B", "id: A"),
            "rows.yaml: row A: its id stands twice"
        );
        assert_eq!(
            broken("[complete, ring]", "[complete, torus]"),
            "rows.yaml: row B: a claim is about `torus`, which is no value of it"
        );
        assert_eq!(
            broken(
                "paper: hua\n    place: Fig. 4\n    says: accuracy",
                "paper: hau\n    place: Fig. 4\n    says: accuracy"
            ),
            "rows.yaml: row A: `hau` is not among the papers"
        );
        let error = broken("within: 0.003", "witin: 0.003");
        assert!(error.contains("witin"), "{error}");
    }
}
