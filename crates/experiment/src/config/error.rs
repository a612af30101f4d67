//! A fault of an experiment and the place where it was written.

use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, SourceCode};

use crate::config::brief::{bounded, brief};
use crate::config::correction;
use crate::config::excerpt::{Excerpt, line_number};
use crate::config::fault::ConfigFault;
use crate::config::place::Place;
use crate::config::source::ExperimentSource;
use crate::config::tree::Node;
use crate::config::variation::joined;

/// The most mistakes that are told of at once.
pub const MOST_MISTAKES: usize = 20;

/// An experiment that cannot be planned: a [`ConfigFault`], and the place in the file or the override where it lies.
///
/// As a miette diagnostic it shows the line and says what would be right.
#[derive(Debug)]
pub struct ConfigError(Box<Located>);

#[derive(Debug)]
struct Located {
    fault: ConfigFault,
    /// Dotted path of the value at fault, empty for the whole experiment.
    path: String,
    place: Option<Marked>,
    /// The run of a sweep, empty if there is only one.
    run: String,
    others: Vec<ConfigError>,
}

/// Where a fault lies.
#[derive(Debug)]
struct Marked {
    text: Arc<str>,
    /// Which text of the source it is: the file, then the overrides.
    order: usize,
    /// Bytes of the text.
    place: Range<usize>,
    excerpt: Excerpt,
    /// The alias that stands for it, with its line, if one does.
    alias: Option<(String, usize)>,
}

impl ConfigFault {
    /// The fault of no particular place.
    pub(crate) fn nowhere(self) -> ConfigError {
        ConfigError(Box::new(Located {
            fault: self,
            path: String::new(),
            place: None,
            run: String::new(),
            others: Vec::new(),
        }))
    }

    /// The fault of what is written at `place`, and stands at the dotted `path`.
    pub(crate) fn at(
        self,
        source: &ExperimentSource,
        place: Option<Place>,
        path: impl Into<String>,
    ) -> ConfigError {
        let place = place.map(|place| {
            let (name, text) = source.named(place);
            let (order, alias) = (place.text, place.alias);
            let start = place.start.min(text.len());
            let place = start..(start + place.length).min(text.len());
            Marked {
                excerpt: Excerpt::new(&name, &text, place.clone()),
                alias: alias.map(|alias| (written_alias(&text, alias), line_number(&text, alias))),
                text,
                order,
                place,
            }
        });
        ConfigError(Box::new(Located {
            fault: self,
            path: path.into(),
            place,
            run: String::new(),
            others: Vec::new(),
        }))
    }
}

impl ConfigError {
    /// What is wrong.
    pub fn fault(&self) -> &ConfigFault {
        &self.0.fault
    }

    /// Dotted path of the value at fault, empty for the experiment as a whole.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The file, or `--set` for an override, if the fault has a place.
    pub fn file(&self) -> Option<&str> {
        self.0.place.as_ref().map(|marked| marked.excerpt.name())
    }

    /// Line of the fault, from 1, if it has a place.
    pub fn line(&self) -> Option<usize> {
        self.0.place.as_ref().map(|marked| marked.excerpt.line())
    }

    /// Character of that line at which the fault begins, from 1, if it has a place.
    pub fn column(&self) -> Option<usize> {
        self.0.place.as_ref().map(|marked| marked.excerpt.column())
    }

    /// The text that is marked as at fault, if it has a place.
    pub fn marked(&self) -> Option<&str> {
        let marked = self.0.place.as_ref()?;
        marked.text.get(marked.place.clone())
    }
}

impl ConfigError {
    /// What else is wrong with the experiment, in the order of the file and of the overrides after it.
    pub fn others(&self) -> &[Self] {
        &self.0.others
    }

    /// All that is wrong: this error, then [`others`](Self::others), each by itself.
    pub fn into_all(mut self) -> Vec<Self> {
        let others = std::mem::take(&mut self.0.others);
        [self].into_iter().chain(others).collect()
    }

    /// Merges `errors` into one, in the order of the text, without duplicates and at most [`MOST_MISTAKES`]; `None` if
    /// there are none.
    pub(crate) fn of_all(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut all: Vec<Self> = Vec::new();
        for error in errors.into_iter().flat_map(Self::into_all) {
            if !all.iter().any(|told| told.is_same(&error)) {
                all.push(error);
            }
        }
        all.sort_by_key(Self::order);
        all.truncate(MOST_MISTAKES);
        let mut all = all.into_iter();
        let mut first = all.next()?;
        first.0.others = all.collect();
        Some(first)
    }

    /// Whether both say the same about the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.order() == other.order() && self.to_string() == other.to_string()
    }

    /// The order of errors: by place in the text, those without a place first.
    fn order(&self) -> Option<(usize, usize)> {
        let marked = self.0.place.as_ref()?;
        Some((marked.order, marked.place.start))
    }

    /// Notes the run in which the error occurs, by its `variation`.
    pub(crate) fn in_run(mut self, variation: &[(String, String)]) -> Self {
        self.0.run = match self.0.fault {
            // Files of a dataset are missing for all runs that use it, not for the first of them.
            ConfigFault::Data(_) => {
                let of_dataset = |path: &str| path == "dataset" || path.starts_with("dataset.");
                let varied = variation.iter().filter(|(path, _)| of_dataset(path));
                joined(&varied.cloned().collect::<Vec<_>>())
            }
            _ => joined(variation),
        };
        self
    }

    /// Completes an unknown key at the top of the experiment `tree`, which only the whole experiment can: `sweep`
    /// becomes a known key, and the place elsewhere that has such a key is named.
    pub(crate) fn knowing(mut self, tree: &Node) -> Self {
        if let ConfigFault::UnknownKey {
            key,
            known,
            elsewhere,
        } = &mut self.0.fault
            && self.0.path.is_empty()
        {
            // A sweep sets values of runs, which have none themselves.
            if key != "sweep" {
                known.push("sweep".to_owned());
            }
            *elsewhere = tree.path_below(key);
        }
        self
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", brief(&self.0.path))?;
        }
        f.write_str(&bounded(self.0.fault.to_string()))
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.fault)
    }
}

impl Diagnostic for ConfigError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let run = Some(format!("met in the run {}", brief(&self.0.run)))
            .filter(|_| !self.0.run.is_empty());
        let fault = &self.0.fault;
        let meant = correction::meant_at(&self.0.path, fault);
        let alias = self
            .0
            .place
            .as_ref()
            .and_then(|marked| marked.alias.as_ref());
        let alias =
            alias.map(|(alias, line)| format!("{} in line {line} stands for it", brief(alias)));
        let help = meant.or_else(|| fault.help()).map(bounded);
        let help: Vec<String> = [help, alias, run].into_iter().flatten().collect();
        (!help.is_empty()).then(|| Box::new(help.join("\n")) as Box<dyn Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let marked = self.0.place.as_ref()?;
        Some(&marked.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let mark = self.0.place.as_ref()?.excerpt.mark();
        let label = LabeledSpan::new_with_span(Some(self.0.fault.label().to_owned()), mark);
        Some(Box::new(std::iter::once(label)))
    }
}

/// The alias at byte `start` of `text`, as it is written: `*name`, or `<<` if it merges a map.
fn written_alias(text: &str, start: usize) -> String {
    let rest = text.get(start..).unwrap_or_default();
    let ends = |letter: char| letter.is_whitespace() || ",[]{}:".contains(letter);
    format!("`{}`", &rest[..rest.find(ends).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_knows_its_line_and_the_text_at_fault() {
        let source = ExperimentSource::new("e.yaml", "seed: 1\nrounds: ten\n");
        let place = Place {
            text: 0,
            start: 16,
            length: 3,
            alias: None,
        };
        let fault = ConfigFault::WrongType {
            found: "the text \"ten\"".to_owned(),
            needed: "a whole number".to_owned(),
        };
        let error = fault.at(&source, Some(place), "rounds");
        assert_eq!(
            error.to_string(),
            "rounds: found the text \"ten\", needed a whole number"
        );
        assert_eq!(
            (error.file(), error.line(), error.column(), error.marked()),
            (Some("e.yaml"), Some(2), Some(9), Some("ten"))
        );
        let shown = format!("{:?}", miette::Report::new(error));
        assert!(
            shown.contains("e.yaml:2:9") && shown.contains("rounds: ten"),
            "{shown}"
        );
    }
}
