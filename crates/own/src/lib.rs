//! Parts that a user's program adds: methods, overlays and others that a configuration names and Meshfold does not
//! have.
//!
//! A configuration names one as `{own: {name: NAME, ...}}`, with the part's own keys beside the name. Only the reader
//! of the configuration knows which parts the program has. It makes an [`OwnPart`] and lends it to [`lend`]; the type
//! that the configuration is read into takes it from there.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// What the keys of a part are written by.
type Keys = dyn erased_serde::Serialize + Send + Sync;

/// A kind of parts that a user's program may add, as a trait object: `dyn MethodSpec`.
pub trait OwnKind: Send + Sync + 'static {
    /// The name of the kind, which begins with `own `: `own method`.
    const KIND: &'static str;
}

/// A part that a user's program adds, with the keys that the configuration gives it.
pub struct OwnPart<S: ?Sized> {
    name: String,
    version: String,
    keys: Arc<Keys>,
    part: Arc<S>,
}

impl<S: ?Sized> OwnPart<S> {
    /// The part `part` under `name`. `version` tells it from parts of the same name that compute something else; it may
    /// be empty. `keys` writes the part's keys, with the defaults of those that were left out.
    pub fn new(
        name: impl Into<String>,
        version: impl Into<String>,
        keys: Arc<Keys>,
        part: Arc<S>,
    ) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            keys,
            part,
        }
    }

    /// The name that configurations use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The part.
    pub fn part(&self) -> &S {
        &self.part
    }

    /// Name, version and keys as JSON.
    fn written(&self) -> Option<serde_json::Value> {
        serde_json::to_value(self).ok()
    }
}

impl<S: ?Sized> Clone for OwnPart<S> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            version: self.version.clone(),
            keys: Arc::clone(&self.keys),
            part: Arc::clone(&self.part),
        }
    }
}

impl<S: ?Sized> fmt::Debug for OwnPart<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            Some(written) => write!(f, "OwnPart({written})"),
            None => write!(f, "OwnPart({})", self.name),
        }
    }
}

/// Parts are the same if the configuration says the same of them.
impl<S: ?Sized> PartialEq for OwnPart<S> {
    fn eq(&self, other: &Self) -> bool {
        self.written() == other.written()
    }
}

impl<S: ?Sized> Serialize for OwnPart<S> {
    fn serialize<W: Serializer>(&self, serializer: W) -> Result<W::Ok, W::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            version: &'a str,
            #[serde(flatten)]
            keys: &'a Keys,
        }
        let Self {
            name,
            version,
            keys,
            ..
        } = self;
        Written {
            name,
            version,
            keys: &**keys,
        }
        .serialize(serializer)
    }
}

/// A name, or a map of a name, a version and the part's own keys, whatever they are.
impl<S: ?Sized + OwnKind> JsonSchema for OwnPart<S> {
    fn schema_name() -> Cow<'static, str> {
        S::KIND.replace(' ', "_").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A part of a program's own: its name, or a map of the name and the part's own keys.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "The name that the program has for the part." },
                        "version": { "type": "string", "description": "The version that the part must have; any if absent." },
                    },
                    "required": ["name"],
                },
            ],
        })
    }
}

thread_local! {
    /// The part that is being read, between the reader of the configuration and [`OwnPart::deserialize`].
    static LENT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Lends `part`, an [`OwnPart`], to `read`, which reads it by [`OwnPart::deserialize`] from a deserializer that lets the visitor of
/// the newtype [`OwnKind::KIND`] visit a unit.
pub fn lend<T>(part: Box<dyn Any>, read: impl FnOnce() -> T) -> T {
    LENT.with_borrow_mut(|lent| *lent = Some(part));
    let read = read();
    LENT.with_borrow_mut(|lent| *lent = None);
    read
}

impl<'de, S: ?Sized + OwnKind> Deserialize<'de> for OwnPart<S> {
    /// # Errors
    /// From a deserializer that knows of no parts of a program's own.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lent<S: ?Sized>(std::marker::PhantomData<S>);

        impl<'de, S: ?Sized + OwnKind> Visitor<'de> for Lent<S> {
            type Value = OwnPart<S>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} that this program has", S::KIND)
            }

            fn visit_unit<E: de::Error>(self) -> Result<OwnPart<S>, E> {
                let lent = LENT.with_borrow_mut(Option::take);
                let part = lent.and_then(|part| part.downcast::<OwnPart<S>>().ok());
                let part = part.ok_or_else(|| E::invalid_type(de::Unexpected::Unit, &self))?;
                Ok(*part)
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                _: D,
            ) -> Result<OwnPart<S>, D::Error> {
                Err(de::Error::custom(format_args!(
                    "{} can only be read by a program that has it",
                    S::KIND
                )))
            }
        }

        deserializer.deserialize_newtype_struct(S::KIND, Lent(std::marker::PhantomData))
    }
}
