//! An experiment as its file says it, and the runs that it stands for.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::label::labels;
use crate::config::overrides;
use crate::config::place::Place;
use crate::config::reader;
use crate::config::run_config::RunConfig;
use crate::config::source::ExperimentSource;
use crate::config::sweep::{self, Variation};
use crate::config::tree::{Node, Value};
use meshfold_algorithms::{Method, OverlayUse};
use meshfold_topology::{Topology, Weights};

/// What an experiment's file and its overrides say: values with their places, not yet of any type.
#[derive(Clone, Debug)]
pub(crate) struct Experiment<'a> {
    source: &'a ExperimentSource,
    base: Node,
    variations: Vec<Variation>,
}

/// One run of an experiment: its values, and what sets it apart.
#[derive(Clone, Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) source: &'a ExperimentSource,
    pub(crate) config: Box<RunConfig>,
    pub(crate) variation: Vec<(String, String)>,
    /// Whether the overlay of the sweep is left out, as the method of this run exchanges over none.
    pub(crate) leaves_overlay_out: bool,
    experiment: &'a Experiment<'a>,
    /// Its place among the runs of the experiment.
    index: usize,
    /// Its values with their places, made when an error asks for them: a sweep has many runs, and few errors.
    tree: OnceCell<Node>,
}

impl<'a> Experiment<'a> {
    /// Reads the text of `source`, applies its overrides and expands its sweep.
    ///
    /// # Errors
    /// [`ConfigError`] if the text is no YAML, an override leads nowhere or the sweep has the wrong form.
    pub(crate) fn read(source: &'a ExperimentSource) -> Result<Self, ConfigError> {
        let mut base = values(source)?;
        if base.entries().is_none() {
            let found = match base.value {
                Value::Null => "an empty file".to_owned(),
                _ => base.words(),
            };
            return Err(ConfigFault::NoExperiment { found }.at(source, Some(base.place), ""));
        }
        let variations = take_sweep(&mut base, source)?;
        Ok(Self {
            source,
            base,
            variations,
        })
    }

    /// The experiment of one run, whose values are `base`.
    pub(crate) fn of_one(source: &'a ExperimentSource, base: Node) -> Self {
        Self {
            source,
            base,
            variations: vec![Vec::new()],
        }
    }

    /// All runs, in the order of the sweep.
    ///
    /// # Errors
    /// [`ConfigError`] of the first run whose values do not have the right types.
    pub(crate) fn runs(&self) -> Result<Vec<Resolved<'_>>, ConfigError> {
        let mut runs = (0..self.variations.len())
            .map(|index| self.run(index))
            .collect::<Result<Vec<_>, _>>()?;
        let configs: Vec<&RunConfig> = runs.iter().map(|run| &*run.config).collect();
        let labels = labels(&self.named_variations()?, &configs);
        for (run, variation) in runs.iter_mut().zip(labels) {
            run.variation = variation;
        }
        let takes_overlay = |run: &Resolved<'_>| !run.refuses_overlay();
        if runs.iter().any(takes_overlay) {
            runs.iter_mut().for_each(Resolved::leave_overlay_out);
        }
        Ok(runs)
    }

    /// The run at place `index`, without a label.
    ///
    /// # Errors
    /// [`ConfigError`] if its values do not have the right types.
    pub(crate) fn run(&self, index: usize) -> Result<Resolved<'_>, ConfigError> {
        let tree = self.tree(index)?;
        let mut config: RunConfig = reader::read(&tree, self.source)
            .map_err(|error| sweep::blame(error.knowing(&tree), &self.variations[index], &tree))?;
        if let Some(topology) = &config.topology {
            let usual = usual_weights(&config.algorithm, topology);
            config.weights.get_or_insert(usual);
        }
        Ok(Resolved {
            source: self.source,
            config: Box::new(config),
            variation: Vec::new(),
            leaves_overlay_out: false,
            experiment: self,
            index,
            tree: OnceCell::new(),
        })
    }

    /// What the sweep sets in each run, by the choices of that run where a path has `*`.
    fn named_variations(&self) -> Result<Cow<'_, [Variation]>, ConfigError> {
        if !self
            .variations
            .iter()
            .any(|variation| sweep::is_open(variation))
        {
            return Ok(Cow::Borrowed(&self.variations));
        }
        let named = |(index, variation): (usize, &Variation)| {
            Ok(sweep::with_choices(variation, &self.tree(index)?))
        };
        let all = self.variations.iter().enumerate().map(named);
        all.collect::<Result<Vec<_>, _>>().map(Cow::Owned)
    }

    /// The values of the run at place `index`.
    fn tree(&self, index: usize) -> Result<Node, ConfigError> {
        sweep::run_of(&self.base, &self.variations[index], self.source)
    }
}

/// The mixing weights of an experiment that names none: those of the method, if it has weights of its own, or else those
/// that suit the overlay. Nothing else decides them: a run has its weights in its configuration and in its planned overlay.
pub(crate) fn usual_weights(method: &Method, topology: &Topology) -> Weights {
    let own = method.profile().own_weights;
    own.unwrap_or_else(|| Weights::suited_to(topology))
}

/// The values of the file of `source`.
///
/// # Errors
/// [`ConfigError`] if the text is no YAML.
pub(crate) fn values(source: &ExperimentSource) -> Result<Node, ConfigError> {
    Node::read(source.text(), 0, 0)
        .map_err(|unread| ConfigFault::Syntax(unread.message).at(source, unread.place, ""))
}

/// Applies the overrides of `source` to `base`, and takes its sweep out of it.
///
/// # Errors
/// [`ConfigError`] if an override leads nowhere or is replaced by the sweep, or if the sweep has the wrong form.
pub(crate) fn take_sweep(
    base: &mut Node,
    source: &ExperimentSource,
) -> Result<Vec<Variation>, ConfigError> {
    let overridden = overrides::apply(base, source)?;
    let sweep = base.remove("sweep");
    let variations = sweep::variations(sweep.as_ref(), source)?;
    if let Some((swept, place)) = sweep::replaced(&overridden, &variations) {
        return Err(ConfigFault::Swept {
            swept: swept.to_owned(),
        }
        .at(source, Some(place), ""));
    }
    Ok(variations)
}

impl Resolved<'_> {
    fn refuses_overlay(&self) -> bool {
        self.config.algorithm.profile().overlay == OverlayUse::Refused
    }

    /// Takes the overlay out of a run whose method exchanges over none. Methods with and without an overlay can so be compared
    /// in one sweep.
    fn leave_overlay_out(&mut self) {
        if !self.refuses_overlay() || self.config.topology.is_none() {
            return;
        }
        let of_overlay =
            |path: &str| matches!(path.split('.').next(), Some("topology" | "weights"));
        self.config.topology = None;
        self.config.weights = None;
        self.variation.retain(|(path, _)| !of_overlay(path));
        self.leaves_overlay_out = true;
    }

    /// `fault` of the value at the dotted `path`, or of what stands in its way.
    pub(crate) fn error(&self, fault: impl Into<ConfigFault>, path: &str) -> ConfigError {
        fault
            .into()
            .at(self.source, self.place(path), "")
            .in_run(&self.variation)
    }

    /// A value at `path` that is not what is `needed`.
    pub(crate) fn wrong(
        &self,
        path: &str,
        found: impl ToString,
        needed: impl Into<String>,
    ) -> ConfigError {
        let fault = ConfigFault::Value {
            found: found.to_string(),
            needed: needed.into(),
        };
        fault
            .at(self.source, self.place(path), path)
            .in_run(&self.variation)
    }

    /// Whether the sweep has the settings `one` and `other` in more combinations than this run's: some run differs from it in the
    /// first alone, and some in the second.
    pub(crate) fn combines(&self, one: &str, other: &str) -> bool {
        let of = |variation: &Variation, setting: &str| -> Vec<(String, String)> {
            let entries = variation.iter().filter(|entry| entry.key == setting);
            entries
                .map(|entry| (entry.key.clone(), entry.value.to_string()))
                .collect()
        };
        let all = &self.experiment.variations;
        let own = &all[self.index];
        let differs_in_alone = |setting: &str, same: &str| {
            let (own, kept) = (of(own, setting), of(own, same));
            all.iter()
                .any(|run| of(run, same) == kept && of(run, setting) != own)
        };
        differs_in_alone(one, other) && differs_in_alone(other, one)
    }

    fn place(&self, path: &str) -> Option<Place> {
        self.tree().locate(path)
    }

    /// The values of the run with their places.
    pub(crate) fn tree(&self) -> &Node {
        let again = || self.experiment.tree(self.index);
        self.tree
            .get_or_init(|| again().expect("the run was read from these values"))
    }

    /// The variant that `key` chooses, such as `ring` for `topology`.
    pub(crate) fn choice(&self, key: &str) -> &str {
        match self.tree().entry(key).map(|entry| &entry.value.value) {
            Some(Value::Text(name)) => name,
            Some(Value::Map(entries)) => entries.first().map_or("", |entry| &entry.key),
            _ => "",
        }
    }
}
