//! The models of a user's own, by the names that configurations have for them.

use super::OwnModel;
use super::model::Model;
use crate::error::EngineError;
use crate::network::Network;
use meshfold_data::Input;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What `model: {own: NAME}` of a configuration may name.
#[derive(Debug, Clone, Default)]
pub struct OwnModels(BTreeMap<String, Arc<dyn OwnModel>>);

impl OwnModels {
    /// No models.
    pub fn new() -> Self {
        Self::default()
    }

    /// These models and `model` under `name`, in place of any that had it.
    pub fn with(mut self, name: impl Into<String>, model: impl OwnModel + 'static) -> Self {
        self.0.insert(name.into(), Arc::new(model));
        self
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The model of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn OwnModel>> {
        self.0.get(name)
    }

    /// Builds `model` for examples of `input` in `classes` classes, be it one of these or one of the engine's.
    ///
    /// # Errors
    /// As [`Network::new`] and [`Network::own`]; [`EngineError::OwnModel`] if none has the name.
    pub fn network(
        &self,
        model: &Model,
        input: Input,
        classes: usize,
    ) -> Result<Network, EngineError> {
        match model {
            Model::Own(name) => match self.get(name) {
                Some(own) => Network::own(own.clone(), input, classes),
                None => Err(EngineError::OwnModel {
                    reason: format!("none is named `{name}`"),
                }),
            },
            model => Network::new(model, input, classes),
        }
    }
}
