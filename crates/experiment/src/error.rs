//! What is wrong with an experiment, where it was written and what would be right.

use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use meshfold_algorithms::AlgorithmError;
use meshfold_data::{DataError, PartitionError};
use meshfold_engine::EngineError;
use meshfold_topology::TopologyError;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use thiserror::Error;

use crate::label::joined;
use crate::nearest::nearest;
use crate::source::{Place, Source};

/// An experiment that cannot be planned: a [`Fault`], and the place in the file or the override where it lies.
///
/// As a miette diagnostic it shows the line and says what would be right.
#[derive(Debug)]
pub struct ConfigError(Box<Located>);

#[derive(Debug)]
struct Located {
    fault: Fault,
    /// Dotted path of the value at fault, empty for the whole experiment.
    path: String,
    place: Option<(NamedSource<Arc<str>>, SourceSpan)>,
    /// The run of a sweep, empty if there is only one.
    run: String,
}

/// What is wrong with an experiment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no YAML.
    #[error("{0}")]
    Syntax(String),
    /// The text holds no keys.
    #[error("found {found}, needed the keys of an experiment")]
    NoExperiment {
        /// What it holds instead.
        found: String,
    },
    /// A key that nothing reads.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that are read here.
        known: Vec<String>,
    },
    /// A variant that does not exist.
    #[error("unknown choice `{found}`")]
    UnknownChoice {
        /// The name found.
        found: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Several variants where one is needed, or none.
    #[error("found {}, needed one choice", count(found))]
    OneChoice {
        /// The names found.
        found: Vec<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// A key that has no default is not there.
    #[error("missing key `{key}`")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type or out of the range of its type.
    #[error("found {found}, needed {needed}")]
    WrongType {
        /// The value found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A value that cannot work.
    #[error("found {found}, needed {needed}")]
    Value {
        /// The value found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// What a value's own reader said of it.
    #[error("{0}")]
    Refused(String),
    /// An override without a path or a value.
    #[error("found the override `{0}`, needed a dotted path, `=` and a value")]
    OverrideForm(String),
    /// A path leads into a value that has no keys.
    #[error("found {found}, which has no key `{key}`")]
    NoKeysHere {
        /// The value that stands there.
        found: String,
        /// The next part of the path.
        key: String,
    },
    /// A path leads past the end of a list.
    #[error("found a list of {length}, which has no entry `{index}`")]
    NoEntryHere {
        /// Entries of the list.
        length: usize,
        /// The next part of the path.
        index: String,
    },
    /// An override of what the sweep sets anyway.
    #[error("the sweep sets `{swept}` in every run, so this override would change nothing")]
    Swept {
        /// The path in the sweep.
        swept: String,
    },
    /// A sweep of too many runs.
    #[error("the sweep asks for {runs} runs, at most {most} are possible")]
    TooManyRuns {
        /// Runs asked for.
        runs: u128,
        /// The most there may be.
        most: usize,
    },
    /// A topology for a method that exchanges over none.
    #[error("{method} does not exchange over an overlay, but one is given")]
    OverlayRefused {
        /// The method.
        method: &'static str,
    },
    /// No topology for a method that needs one.
    #[error("{method} exchanges over an overlay, but none is given")]
    OverlayNeeded {
        /// The method.
        method: &'static str,
    },
    /// Mixing weights without an overlay.
    #[error("weights are given for an overlay that is not there")]
    WeightsWithoutOverlay,
    /// The dataset cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The examples cannot be dealt.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The overlay or its weights cannot be made.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// An edge list cannot be used.
    #[error("{}: {message}", file.display())]
    EdgeList {
        /// The file of the edges.
        file: PathBuf,
        /// What is wrong with it, beginning with the line where there is one.
        message: String,
    },
    /// The method's settings cannot work.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// The model cannot be built.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The run is larger than the machine.
    #[error(
        "a run of {rows} rows with {parameters} parameters needs about {}, {} are available",
        bytes(*needed), bytes(*available)
    )]
    Memory {
        /// Rows of the stack.
        rows: usize,
        /// Parameters of a model.
        parameters: usize,
        /// Estimate in bytes.
        needed: u64,
        /// Bytes that the machine has left.
        available: u64,
    },
}

impl Fault {
    /// What would be right, if more can be said than that the value should change.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, known } => Some(suggestion(key, known, "keys here")),
            Self::UnknownChoice { found, known } => Some(suggestion(found, known, "choices")),
            Self::OneChoice { known, .. } if known.is_empty() => {
                Some("keep one of them".to_owned())
            }
            Self::OneChoice { known, .. } => Some(format!("choices: {}", known.join(", "))),
            Self::OverrideForm(_) => {
                Some("such as --set seed=2 or --set topology.regular.degree=4".to_owned())
            }
            Self::Swept { swept } => Some(format!(
                "change the sweep's own values with --set 'sweep.grid.{swept}=[..]', or drop it with --set sweep=null"
            )),
            Self::OverlayRefused { .. } => Some(
                "leave `topology` out, or choose a method that uses it, such as dsgd or dfedavgm"
                    .to_owned(),
            ),
            Self::OverlayNeeded { .. } => {
                Some("add a topology, such as `topology: ring`".to_owned())
            }
            Self::WeightsWithoutOverlay => {
                Some("leave `weights` out, or add a topology".to_owned())
            }
            Self::Memory { .. } => Some("take fewer clients or a smaller model".to_owned()),
            Self::NoExperiment { .. } => Some(
                "an experiment has at least name, dataset, partition, model, algorithm and rounds"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// The words beside the marked place.
    fn label(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "here",
            Self::UnknownKey { .. } | Self::UnknownChoice { .. } => "not known",
            Self::OneChoice { .. } => "one of these",
            Self::MissingKey { .. } => "in here",
            Self::WrongType { .. } | Self::Value { .. } | Self::Refused(_) => "this value",
            Self::NoKeysHere { .. } | Self::NoEntryHere { .. } => "this part",
            Self::Swept { .. } => "this override",
            _ => "asked for here",
        }
    }

    /// The fault of no particular place.
    pub(crate) fn nowhere(self) -> ConfigError {
        ConfigError(Box::new(Located {
            fault: self,
            path: String::new(),
            place: None,
            run: String::new(),
        }))
    }

    /// The fault of what is written at `place`, and stands at the dotted `path`.
    pub(crate) fn at(
        self,
        source: &Source,
        place: Option<Place>,
        path: impl Into<String>,
    ) -> ConfigError {
        let place = place.map(|place| {
            let (name, text) = source.named(place);
            let span = SourceSpan::new(place.start.min(text.len()).into(), place.length);
            (NamedSource::new(name, text), span)
        });
        ConfigError(Box::new(Located {
            fault: self,
            path: path.into(),
            place,
            run: String::new(),
        }))
    }
}

impl ConfigError {
    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Dotted path of the value at fault, empty for the experiment as a whole.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The file, or `--set` for an override, if the fault has a place.
    pub fn file(&self) -> Option<&str> {
        self.0.place.as_ref().map(|(source, _)| source.name())
    }

    /// Line of the fault, from 1, if it has a place.
    pub fn line(&self) -> Option<usize> {
        let (source, span) = self.0.place.as_ref()?;
        let before = source.inner().get(..span.offset())?;
        Some(before.matches('\n').count() + 1)
    }

    /// The text that is marked as at fault, if it has a place.
    pub fn marked(&self) -> Option<&str> {
        let (source, span) = self.0.place.as_ref()?;
        source
            .inner()
            .get(span.offset()..span.offset() + span.len())
    }
}

impl ConfigError {
    /// The error is met in the run that `variation` sets apart.
    pub(crate) fn in_run(mut self, variation: &[(String, String)]) -> Self {
        self.0.run = joined(variation);
        self
    }

    /// An unknown key of the whole experiment is told of `sweep` as well, which single runs do not have.
    pub(crate) fn knowing_sweeps(mut self) -> Self {
        if let Fault::UnknownKey { known, .. } = &mut self.0.fault
            && self.0.path.is_empty()
        {
            known.push("sweep".to_owned());
        }
        self
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.0.path)?;
        }
        self.0.fault.fmt(f)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.fault)
    }
}

impl Diagnostic for ConfigError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let run = Some(format!("met in the run {}", self.0.run)).filter(|_| !self.0.run.is_empty());
        let help = match (self.0.fault.help(), run) {
            (Some(help), Some(run)) => format!("{help}\n{run}"),
            (help, run) => help.or(run)?,
        };
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0
            .place
            .as_ref()
            .map(|(source, _)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.0.place.as_ref()?;
        let label = LabeledSpan::new_with_span(Some(self.0.fault.label().to_owned()), *span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// `did you mean ..`, if one name is near, and the names there are.
fn suggestion(found: &str, known: &[String], what: &str) -> String {
    let all = format!("{what}: {}", known.join(", "));
    match nearest(found, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`? {all}"),
        None => all,
    }
}

fn count(found: &[String]) -> String {
    match found {
        [] => "none".to_owned(),
        _ => format!("{} (`{}`)", found.len(), found.join("`, `")),
    }
}

/// Bytes in the largest binary unit that leaves a number of at least 1.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_knows_its_line_and_the_text_at_fault() {
        let source = Source::new("e.yaml", "seed: 1\nrounds: ten\n");
        let place = Place {
            text: 0,
            start: 16,
            length: 3,
        };
        let fault = Fault::WrongType {
            found: "the text \"ten\"".to_owned(),
            needed: "a whole number".to_owned(),
        };
        let error = fault.at(&source, Some(place), "rounds");
        assert_eq!(
            error.to_string(),
            "rounds: found the text \"ten\", needed a whole number"
        );
        assert_eq!(
            (error.file(), error.line(), error.marked()),
            (Some("e.yaml"), Some(2), Some("ten"))
        );
        let shown = format!("{:?}", miette::Report::new(error));
        assert!(
            shown.contains("e.yaml:2:9") && shown.contains("rounds: ten"),
            "{shown}"
        );
    }

    #[test]
    fn help_names_the_nearest_and_the_rest() {
        let known = vec!["ring".to_owned(), "path".to_owned()];
        let near = Fault::UnknownChoice {
            found: "rign".to_owned(),
            known: known.clone(),
        };
        assert_eq!(
            near.help().as_deref(),
            Some("did you mean `ring`? choices: ring, path")
        );
        let far = Fault::UnknownKey {
            key: "weights".to_owned(),
            known,
        };
        assert_eq!(far.help().as_deref(), Some("keys here: ring, path"));
    }

    #[test]
    fn bytes_are_rounded_to_a_readable_unit() {
        assert_eq!(
            [0, 1023, 1536, 200 << 20, 3 << 39].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "200 MiB", "1.5 TiB"]
        );
    }
}
