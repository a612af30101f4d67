//! Parts of a program's own that a configuration may name: `{own: {name: NAME, ...}}`.

mod keys;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use meshfold_algorithms::MethodSpec;
use meshfold_algorithms::training::TrainingKeys;
use meshfold_data::{Input, OwnDataset, OwnPartition};
use meshfold_engine::{EngineError, HostModel, OwnModelName, OwnModels, OwnSchedule};
use meshfold_own::{OwnKind, OwnPart};
use meshfold_topology::{OwnOverlay, OwnWeights};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::config::decode_error::DecodeError;
use crate::config::fault::ConfigFault;
use crate::config::tree::{Node, Value};

use self::keys::{NAME, VERSION, keys_of, name_in, split};

/// Parts that a program adds of its own, by the names that configurations use.
///
/// Whatever reads a configuration that names one needs them too:
/// [`ExperimentSource::with_own`](crate::ExperimentSource::with_own).
#[derive(Clone, Default)]
pub struct Own {
    /// The versions of one name; the latest that was added comes last.
    parts: BTreeMap<(&'static str, String), Vec<Part>>,
    models: OwnModels,
}

/// The name of a part of a program's own, and its version if it has one.
///
/// The id of a run includes both, but not what the part does. When a part starts to compute something else, give it a
/// new version: otherwise old runs count as its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnName {
    name: String,
    version: String,
}

impl From<&str> for OwnName {
    /// A name without a version.
    fn from(name: &str) -> Self {
        (name, "").into()
    }
}

impl From<(&str, &str)> for OwnName {
    /// A name and a version.
    fn from((name, version): (&str, &str)) -> Self {
        let (name, version) = (name.to_owned(), version.to_owned());
        Self { name, version }
    }
}

/// What a part says is wrong with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnFault {
    /// A key that the part does not have.
    Unknown {
        /// The key.
        key: String,
        /// The keys that it has.
        known: Vec<String>,
    },
    /// A key that has no default is not there.
    Missing {
        /// The key.
        key: String,
    },
    /// A key has a value that cannot work.
    Value {
        /// The key.
        key: String,
        /// What is needed.
        needed: String,
    },
    /// Anything else.
    Refused(String),
}

/// How a part is read: the keys beside its name, for an [`OwnPart`] of its kind with this name.
type Read = dyn Fn(&OwnName, &Node) -> Result<Box<dyn Any>, DecodeError> + Send + Sync;

#[derive(Clone)]
struct Part {
    name: OwnName,
    read: Arc<Read>,
}

impl Own {
    /// No parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a method, whose keys serde reads into a `T`: `algorithm: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn method<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: MethodSpec + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn MethodSpec, T>(name.into(), |method| method)
    }

    /// Adds a method whose keys only `read` knows. A configuration also gives the keys that all methods have.
    ///
    /// `read` returns the method and all its keys, with defaults for those that were left out.
    #[must_use]
    pub fn method_read_by(
        self,
        name: impl Into<OwnName>,
        read: impl Fn(
            TrainingKeys,
            &Map<String, Json>,
        ) -> Result<(Arc<dyn MethodSpec>, Map<String, Json>), OwnFault>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        #[derive(Serialize)]
        struct Keys {
            #[serde(flatten)]
            own: Map<String, Json>,
            #[serde(flatten)]
            training: TrainingKeys,
        }
        let read = move |name: &OwnName, node: &Node| {
            let (common, own) = split(node, TrainingKeys::NAMES);
            let training = TrainingKeys::deserialize(&common)?;
            let (part, own) = read(training.clone(), &own).map_err(|fault| fault.at(node))?;
            // A map that had such a key twice could not be read again.
            let twice = |key: &&String| {
                [NAME, VERSION].contains(&key.as_str())
                    || TrainingKeys::NAMES.contains(&key.as_str())
            };
            if let Some(key) = own.keys().find(twice) {
                let reason = format!(
                    "the method has a key `{key}` of its own, but all methods have one: name it otherwise"
                );
                return Err(OwnFault::Refused(reason).at(node));
            }
            let keys = Arc::new(Keys { own, training });
            Ok(boxed(OwnPart::new(&name.name, &name.version, keys, part)))
        };
        self.and::<dyn MethodSpec>(name.into(), Arc::new(read))
    }

    /// Adds an overlay: `topology: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn overlay<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: OwnOverlay + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn OwnOverlay, T>(name.into(), |overlay| overlay)
    }

    /// Adds mixing weights: `weights: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn weights<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: OwnWeights + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn OwnWeights, T>(name.into(), |weights| weights)
    }

    /// Adds a partition: `partition: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn partition<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: OwnPartition + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn OwnPartition, T>(name.into(), |partition| partition)
    }

    /// Adds a dataset: `dataset: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn dataset<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: OwnDataset + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn OwnDataset, T>(name.into(), |dataset| dataset)
    }

    /// Adds a learning rate: `learning_rate: {own: {name: NAME, ...}}`.
    #[must_use]
    pub fn schedule<T>(self, name: impl Into<OwnName>) -> Self
    where
        T: OwnSchedule + Serialize + DeserializeOwned + 'static,
    {
        self.typed::<dyn OwnSchedule, T>(name.into(), |schedule| schedule)
    }

    /// Adds a part that already exists, without keys of its own.
    #[must_use]
    pub fn made<S: OwnKind + ?Sized>(self, name: impl Into<OwnName>, part: Arc<S>) -> Self {
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct NoKeys {}
        let read = move |name: &OwnName, node: &Node| {
            let keys = Arc::new(NoKeys::deserialize(node)?);
            let part = Arc::clone(&part);
            Ok(boxed(OwnPart::new(&name.name, &name.version, keys, part)))
        };
        self.and::<S>(name.into(), Arc::new(read))
    }

    /// Sets the models that `model: {own: NAME}` may name, in place of any before.
    #[must_use]
    pub fn models(mut self, models: OwnModels) -> Self {
        self.models = models;
        self
    }

    /// Adds a model that computes rows in host memory: `model: {own: {name: NAME, version: VERSION}}`.
    #[must_use]
    pub fn host_model(
        mut self,
        name: impl Into<OwnName>,
        fit: impl Fn(Input, usize) -> Result<Arc<dyn HostModel>, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let OwnName { name, version } = name.into();
        self.models = self.models.with_host(OwnModelName { name, version }, fit);
        self
    }

    /// What `model: {own: NAME}` may name.
    pub(crate) fn own_models(&self) -> &OwnModels {
        &self.models
    }

    /// Adds a part of kind `S`, whose keys serde reads into a `T`.
    fn typed<S, T>(self, name: OwnName, upcast: fn(Arc<T>) -> Arc<S>) -> Self
    where
        S: OwnKind + ?Sized,
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let read = move |name: &OwnName, node: &Node| {
            let part = Arc::new(T::deserialize(node)?);
            let (keys, part) = (Arc::clone(&part), upcast(part));
            Ok(boxed(OwnPart::new(&name.name, &name.version, keys, part)))
        };
        self.and::<S>(name, Arc::new(read))
    }

    fn and<S: OwnKind + ?Sized>(mut self, name: OwnName, read: Arc<Read>) -> Self {
        let key = (S::KIND, name.name.clone());
        let versions = self.parts.entry(key).or_default();
        versions.retain(|part| part.name != name);
        versions.push(Part { name, read });
        self
    }

    /// The names of the parts of this kind, in alphabetical order.
    fn names(&self, kind: &str) -> Vec<String> {
        let of_kind = self.parts.keys().filter(|(known, _)| *known == kind);
        of_kind.map(|(_, name)| name.clone()).collect()
    }

    /// Reads the part of this kind that `node` names: an [`OwnPart`].
    fn read(&self, kind: &'static str, node: &Node) -> Result<Box<dyn Any>, DecodeError> {
        let (name, at) = name_in(node)?;
        let versions = self.parts.get(&(kind, name.to_owned()));
        let Some((last, versions)) =
            versions.and_then(|versions| Some((versions.last()?, versions)))
        else {
            let fault = ConfigFault::NoOwn {
                kind: kind.trim_start_matches("own "),
                name: name.to_owned(),
                known: self.names(kind),
            };
            return Err(DecodeError::new(fault).at(at.place).below("name"));
        };
        let part = match node.entry(VERSION) {
            None => last,
            Some(entry) => {
                let found = match &entry.value.value {
                    Value::Text(version) => version.clone(),
                    _ => entry.value.to_string(),
                };
                let of_version = |part: &&Part| part.name.version == found;
                versions.iter().find(of_version).ok_or_else(|| {
                    let needed = needed_version(versions);
                    let fault = ConfigFault::Value { found, needed };
                    DecodeError::new(fault).at(entry.place()).below(VERSION)
                })?
            }
        };
        (part.read)(&part.name, &keys_of(node))
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.parts.keys())
            .entry(&self.models)
            .finish()
    }
}

impl OwnFault {
    /// The same fault of the part whose keys `node` has.
    fn at(self, node: &Node) -> DecodeError {
        let (key, fault) = match self {
            Self::Refused(reason) => return DecodeError::new(ConfigFault::Refused(reason)),
            Self::Missing { key } => return DecodeError::new(ConfigFault::MissingKey { key }),
            Self::Unknown { key, known } => {
                let fault = ConfigFault::UnknownKey {
                    key: key.clone(),
                    known,
                    elsewhere: None,
                };
                let unfit = DecodeError::new(fault);
                return match node.entry(&key) {
                    Some(entry) => unfit.at(entry.key_place),
                    None => unfit,
                };
            }
            Self::Value { key, needed } => {
                let found = node.entry(&key).map_or_else(
                    || "its default".to_owned(),
                    |entry| match &entry.value.value {
                        Value::List(_) | Value::Map(_) => entry.value.to_string(),
                        _ => entry.value.words(),
                    },
                );
                (key, ConfigFault::WrongType { found, needed })
            }
        };
        let unfit = DecodeError::new(fault);
        match node.entry(&key) {
            Some(entry) => unfit.at(entry.place()).below(key),
            None => unfit.below(key),
        }
    }
}

/// The versions that `parts` of one name have, as an error says which is needed.
fn needed_version(parts: &[Part]) -> String {
    let versions = parts.iter().map(|part| part.name.version.as_str());
    let versions: Vec<&str> = versions.filter(|version| !version.is_empty()).collect();
    match versions.as_slice() {
        [] => "none: this program's has no version".to_owned(),
        versions => format!("{}, which this program has", versions.join(" or ")),
    }
}

fn boxed<S: OwnKind + ?Sized>(part: OwnPart<S>) -> Box<dyn Any> {
    Box::new(part)
}

thread_local! {
    /// The parts that may be named in what is being read.
    static READING: RefCell<Own> = RefCell::default();
}

/// Lets what `read` reads name the parts of `own`.
pub(crate) fn within<T>(own: &Own, read: impl FnOnce() -> T) -> T {
    let outer = READING.replace(own.clone());
    let value = read();
    READING.set(outer);
    value
}

/// Reads the part of `kind` that `node` names, and lends it to `visit`.
pub(crate) fn read<T>(
    kind: &'static str,
    node: &Node,
    visit: impl FnOnce() -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let own = READING.with_borrow(Own::clone);
    let part = own.read(kind, node)?;
    meshfold_own::lend(part, visit)
}
