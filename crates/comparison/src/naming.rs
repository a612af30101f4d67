//! The words that a reader asked for in place of names and values.

use std::str::FromStr;

use crate::error::TableError;
use crate::fields::{ABSENT, Fields};
use crate::name::{Name, without_star};
use crate::only::meant;

/// Words that are to stand for a setting, a value or a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// What may be named, and by which words, the longest name first: `share=0.5=half` names `share=0.5`, or `share`.
    readings: Vec<(String, String)>,
}

impl Naming {
    /// `words` for `name`: a setting as it was asked for, a value, `setting=value`, or a figure.
    pub fn new(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self {
            readings: vec![(name.into(), words.into())],
        }
    }
}

impl FromStr for Naming {
    type Err = String;

    /// Reads `algorithm=Method`.
    fn from_str(text: &str) -> Result<Self, String> {
        let splits = text.rmatch_indices('=').filter(|(place, _)| *place > 0);
        let reading = |(place, _): (usize, &str)| {
            let (name, words) = (&text[..place], &text[place + 1..]);
            (name.to_owned(), words.to_owned())
        };
        let readings: Vec<(String, String)> = splits.map(reading).collect();
        let has_words = readings.iter().any(|(_, words)| !words.trim().is_empty());
        match has_words {
            false => Err("needed a name and its words, such as dfedavg=DFedAvg".to_owned()),
            true => Ok(Self { readings }),
        }
    }
}

/// What may be named.
pub(crate) struct Known {
    /// Settings and figures.
    pub(crate) names: Vec<String>,
    /// Settings, each with one of its values.
    pub(crate) values: Vec<(String, String)>,
}

impl Known {
    /// The figures, the settings, and the values that `runs` have of them.
    pub(crate) fn of(
        figures: impl Iterator<Item = String>,
        settings: &[&Name],
        runs: &[Fields],
    ) -> Self {
        let mut values: Vec<(String, String)> = Vec::new();
        for name in settings {
            for run in runs {
                let pair = (name.written.clone(), name.text(run));
                if !values.contains(&pair) {
                    values.push(pair);
                }
            }
        }
        let settings = settings.iter().map(|name| name.written.clone());
        Self {
            names: settings.chain(figures).collect(),
            values,
        }
    }
}

/// The words that stand for names and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wording {
    names: Vec<(String, String)>,
    /// A setting, its value, and the words for that.
    values: Vec<(String, String, String)>,
}

impl Wording {
    /// The words that were `asked` for, of what is `known`. Words for a value of one setting go before words for a value of any.
    ///
    /// # Errors
    /// [`TableError::UnknownName`], and [`TableError::NamedTwice`].
    pub(crate) fn of(asked: &[Naming], known: &Known) -> Result<Self, TableError> {
        let mut wording = Self::default();
        let mut of_any = Vec::new();
        let mut seen: Vec<&String> = Vec::new();
        for naming in asked {
            let found = naming.readings.iter().find_map(|(name, words)| {
                let found = Found::of(name, known);
                found.is_any().then_some((name, words, found))
            });
            let (name, words, found) = found.ok_or_else(|| unknown(naming, known))?;
            if seen.contains(&name) {
                return Err(TableError::NamedTwice {
                    written: name.clone(),
                });
            }
            seen.push(name);
            if found.is_name {
                wording.names.push((name.clone(), words.clone()));
            }
            let of_value =
                |(field, value): &&(String, String)| (field.clone(), value.clone(), words.clone());
            wording.values.extend(found.of_one.iter().map(of_value));
            of_any.extend(found.of_any.iter().map(of_value));
        }
        wording.values.extend(of_any);
        wording.expect_distinct()?;
        Ok(wording)
    }

    /// Requires that no two values of a setting have the same words.
    fn expect_distinct(&self) -> Result<(), TableError> {
        for (place, (field, value, words)) in self.values.iter().enumerate() {
            // The words of one setting go before those of any.
            let is_same = |(of, other, same): &&(String, String, String)| {
                of == field && other != value && same == words
            };
            if let Some((_, other, _)) = self.values[..place].iter().find(is_same) {
                return Err(TableError::SameWords {
                    words: words.clone(),
                    values: [other.clone(), value.clone()],
                });
            }
        }
        Ok(())
    }

    /// The words for a setting or a figure; its name if none were asked for.
    pub(crate) fn name<'a>(&'a self, name: &'a str) -> &'a str {
        self.asked_for(name).unwrap_or_else(|| without_star(name))
    }

    /// The words for a setting or a figure, if some were asked for.
    pub(crate) fn asked_for(&self, name: &str) -> Option<&str> {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| known == name);
        found.map(|(_, words)| words.as_str())
    }

    /// The words for the value of a setting.
    pub(crate) fn value<'a>(&'a self, field: &str, value: &'a str) -> &'a str {
        self.of_value(field, value).unwrap_or(value)
    }

    /// The words for the value of a setting, if some were asked for.
    pub(crate) fn of_value(&self, field: &str, value: &str) -> Option<&str> {
        let mut values = self.values.iter();
        let found = values.find(|(of, known, _)| of == field && known == value);
        found.map(|(.., words)| words.as_str())
    }

    /// The words for values of the settings `by`.
    pub(crate) fn values(&self, by: &[String], values: &[String]) -> Vec<String> {
        let pairs = by.iter().zip(values);
        pairs
            .map(|(field, value)| self.value(field, value).to_owned())
            .collect()
    }

    /// The words for a value that stands alone: `iid`, or `alpha=0.1`, as a number says little by itself.
    pub(crate) fn value_alone(&self, field: &str, value: &str) -> String {
        let says_little = value.parse::<f64>().is_ok()
            || ["true", "false", ABSENT].contains(&value)
            || value.starts_with('[');
        match self.of_value(field, value) {
            Some(words) => words.to_owned(),
            None if says_little => format!("{}={value}", self.name(field)),
            None => value.to_owned(),
        }
    }
}

/// The titles of panels that differ in settings, each a name and a value, with the words that were `asked` for.
///
/// # Errors
/// [`TableError`] if a name stands for nothing, or two values of a setting would have the same words.
pub fn panel_titles(
    asked: &[Naming],
    panels: &[Vec<(String, String)>],
) -> Result<Vec<String>, TableError> {
    let mut known = Known {
        names: Vec::new(),
        values: Vec::new(),
    };
    for setting in panels.iter().flatten() {
        if !known.values.contains(setting) {
            known.values.push(setting.clone());
        }
        if !known.names.contains(&setting.0) {
            known.names.push(setting.0.clone());
        }
    }
    let wording = Wording::of(asked, &known)?;
    let title = |settings: &Vec<(String, String)>| {
        let settings = settings.iter();
        let words = settings.map(|(name, value)| wording.value_alone(name, value));
        words.collect::<Vec<String>>().join(", ")
    };
    Ok(panels.iter().map(title).collect())
}

/// What a name stands for.
struct Found<'a> {
    is_name: bool,
    /// The value of the setting that it names, too.
    of_one: Vec<&'a (String, String)>,
    /// Values of any setting.
    of_any: Vec<&'a (String, String)>,
}

impl<'a> Found<'a> {
    fn of(name: &str, known: &'a Known) -> Self {
        let values: Vec<String> = known
            .values
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        let of_setting = |split: usize| {
            let (field, value) = (&name[..split], &name[split + 1..]);
            let places = 0..known.values.len();
            let places: Vec<usize> = places
                .filter(|place| known.values[*place].0 == field)
                .collect();
            let values: Vec<String> = places
                .iter()
                .map(|place| known.values[*place].1.clone())
                .collect();
            let found = meant(value, &values).into_iter();
            found.map(|found| places[found]).collect::<Vec<usize>>()
        };
        let splits = name.match_indices('=').map(|(split, _)| split);
        let of_setting: Vec<usize> = splits.flat_map(of_setting).collect();
        let at = |places: Vec<usize>| {
            places
                .into_iter()
                .map(|place| &known.values[place])
                .collect()
        };
        Self {
            is_name: known.names.iter().any(|known| known == name),
            of_one: at(of_setting),
            of_any: at(meant(name, &values)),
        }
    }

    fn is_any(&self) -> bool {
        self.is_name || !self.of_one.is_empty() || !self.of_any.is_empty()
    }
}

fn unknown(naming: &Naming, known: &Known) -> TableError {
    let shortest = naming.readings.last();
    let mut values: Vec<String> = known
        .values
        .iter()
        .map(|(_, value)| value.clone())
        .collect();
    let mut names = known.names.clone();
    for list in [&mut values, &mut names] {
        list.sort();
        list.dedup();
    }
    TableError::UnknownName {
        written: shortest.map(|(name, _)| name.clone()).unwrap_or_default(),
        names,
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let value = |field: &str, value: &str| (field.to_owned(), value.to_owned());
        Known {
            names: ["algorithm", "rate", "test_accuracy"]
                .map(str::to_owned)
                .to_vec(),
            values: vec![
                value("algorithm", "dsgd"),
                value("rate", "0.1"),
                value("alpha", "0.1"),
                value("stragglers", "share=0.5"),
                value("stragglers", "–"),
            ],
        }
    }

    fn wording(asked: &[&str]) -> Result<Wording, TableError> {
        let asked: Vec<Naming> = asked.iter().map(|text| text.parse().unwrap()).collect();
        Wording::of(&asked, &known())
    }

    #[test]
    fn settings_values_and_figures_have_the_words_that_were_asked_for() {
        let asked = [
            "algorithm=Method",
            "dsgd=D-SGD",
            "test_accuracy=Accuracy = best",
        ];
        let words = wording(&asked).unwrap();
        assert_eq!(words.name("algorithm"), "Method");
        assert_eq!(words.name("test_accuracy"), "Accuracy = best");
        assert_eq!(words.value("algorithm", "dsgd"), "D-SGD");
        assert_eq!(
            (words.name("rate"), words.value("rate", "0.1")),
            ("rate", "0.1")
        );
        assert_eq!(words.value_alone("algorithm", "dsgd"), "D-SGD");
        assert_eq!(words.value_alone("rate", "0.1"), "rate=0.1");
        assert_eq!(words.value_alone("algorithm", "alone"), "alone");
    }

    #[test]
    fn a_value_is_that_of_one_setting_or_of_any() {
        let words = wording(&["0.10=tenth", "alpha=0.1=little"]).unwrap();
        assert_eq!(words.value("rate", "0.1"), "tenth");
        assert_eq!(words.value("alpha", "0.1"), "little");
        let words = wording(&["rate=0.10=low"]).unwrap();
        assert_eq!(
            (words.value("rate", "0.1"), words.name("rate")),
            ("low", "rate")
        );
        assert_eq!(words.value("alpha", "0.1"), "0.1");
        let words = wording(&["stragglers=none=all in time"]).unwrap();
        assert_eq!(words.value("stragglers", "–"), "all in time");
        let words = wording(&["share=0.5=half"]).unwrap();
        assert_eq!(words.value("stragglers", "share=0.5"), "half");
    }

    #[test]
    fn a_name_that_stands_for_nothing_is_told_with_those_that_there_are() {
        let told = |asked: &[&str]| wording(asked).unwrap_err().to_string();
        let unknown = told(&["dsdg=D-SGD"]);
        for part in ["--name dsdg", "algorithm, rate, test_accuracy", "0.1, dsgd"] {
            assert!(unknown.contains(part), "{unknown}");
        }
        let twice = told(&["dsgd=A", "dsgd=B"]);
        assert!(twice.contains("--name dsgd: it is named twice"), "{twice}");
        let needed = "dsgd".parse::<Naming>().unwrap_err();
        assert!(needed.contains("dfedavg=DFedAvg"), "{needed}");
    }
}
