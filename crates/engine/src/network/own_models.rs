//! The models of a user's own, by the names that configurations have for them.

use super::model::Model;
use crate::error::EngineError;
use crate::network::Network;
use meshfold_data::Input;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Fits a model to examples of a shape in so many classes.
type Fit = dyn Fn(Input, usize) -> Result<Network, EngineError> + Send + Sync;

/// What `model: {own: NAME}` of a configuration may name. The cargo feature `own-models` adds `with`, which names one.
#[derive(Clone, Default)]
pub struct OwnModels(BTreeMap<String, Arc<Fit>>);

impl OwnModels {
    /// No models.
    pub fn new() -> Self {
        Self::default()
    }

    /// These models and the one that `fit` makes under `name`, in place of any that had it.
    #[cfg_attr(
        not(feature = "own-models"),
        allow(dead_code, reason = "without burn there is no model to name")
    )]
    pub(super) fn and(mut self, name: String, fit: Arc<Fit>) -> Self {
        self.0.insert(name, fit);
        self
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is a model of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Builds `model` for examples of `input` in `classes` classes, be it one of these or one of the engine's.
    ///
    /// # Errors
    /// As [`Network::new`]; [`EngineError::OwnModel`] if none has the name, or the one that has it does not fit.
    pub fn network(
        &self,
        model: &Model,
        input: Input,
        classes: usize,
    ) -> Result<Network, EngineError> {
        match model {
            Model::Own(name) => match self.0.get(name) {
                Some(fit) => fit(input, classes),
                None => Err(EngineError::OwnModel {
                    reason: format!("none is named `{name}`"),
                }),
            },
            model => Network::new(model, input, classes),
        }
    }
}

impl fmt::Debug for OwnModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
