//! The models of a user's own, by the names that configurations have for them.

use super::host_model::HostModel;
use super::model::Model;
use crate::error::EngineError;
use crate::network::Network;
use meshfold_data::Input;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Fits a model to an input shape and a number of classes.
type Fit = dyn Fn(Input, usize) -> Result<Network, EngineError> + Send + Sync;

/// The models that a configuration may name as `model: {own: NAME}`. The cargo feature `own-models` adds `with`, for
/// models written with burn.
#[derive(Clone, Default)]
pub struct OwnModels(BTreeMap<OwnModelName, Arc<Fit>>);

/// The name of a model of a user's own: `NAME`, or `{name: NAME, version: VERSION}` where the model has a version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnModelName {
    /// The name among [`OwnModels`].
    pub name: String,
    /// Tells it from models of that name that compute something else; may be empty.
    pub version: String,
}

impl From<&str> for OwnModelName {
    /// A name without a version.
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: String::new(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    name: String,
    #[serde(default)]
    version: String,
}

impl Serialize for OwnModelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, version } = self.clone();
        match version.is_empty() {
            true => name.serialize(serializer),
            false => Full { name, version }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OwnModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = OwnModelName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<OwnModelName, E> {
                Ok(name.into())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OwnModelName, A::Error> {
                let Full { name, version } = Full::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OwnModelName { name, version })
            }
        }
        // A name is no map that may be left out; configurations give a map where there is one all the same.
        deserializer.deserialize_string(Name)
    }
}

impl OwnModels {
    /// No models.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model that computes rows in host memory, in place of any with the same name and version. `fit` makes the
    /// model for an input shape and a number of classes.
    #[must_use]
    pub fn with_host(
        self,
        name: OwnModelName,
        fit: impl Fn(Input, usize) -> Result<Arc<dyn HostModel>, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let fit = move |input, classes| Network::host(fit(input, classes)?, input, classes);
        self.and(name, Arc::new(fit))
    }

    /// Adds the model that `fit` makes, in place of any with the same name and version.
    pub(super) fn and(mut self, name: OwnModelName, fit: Arc<Fit>) -> Self {
        self.0.insert(name, fit);
        self
    }

    /// The names, in alphabetical order, once for each version.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|known| known.name.as_str())
    }

    /// Whether there is a model of that name and version.
    pub fn contains(&self, name: &OwnModelName) -> bool {
        self.0.contains_key(name)
    }

    /// Builds `model` for examples of `input` in `classes` classes, be it one of these or one of the engine's.
    ///
    /// # Errors
    /// As [`Network::new`]; [`EngineError::OwnModel`] if none has the name and the version, or the one that has them does not
    /// fit.
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
                    reason: format!("none is named `{}`", name.name),
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
