//! Which examples are clients' local test sets.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The local test set of each client: a share of its examples, or `owners`, the test examples of the owners whose training examples it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalTest {
    /// This share of the client's examples, drawn at random. Nobody trains on them.
    Share(f64),
    /// The test examples whose owner's training examples the client has.
    Owners,
}

impl LocalTest {
    /// The share of each client's examples, if it is one.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::Share(share) => Some(share),
            Self::Owners => None,
        }
    }
}

impl Serialize for LocalTest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => serializer.serialize_f64(*share),
            Self::Owners => serializer.serialize_str("owners"),
        }
    }
}

impl<'de> Deserialize<'de> for LocalTest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Asked;
        impl Visitor<'_> for Asked {
            type Value = LocalTest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share of each client's examples or `owners`")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LocalTest, E> {
                Ok(LocalTest::Share(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<LocalTest, E> {
                Ok(LocalTest::Share(value as f64))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LocalTest, E> {
                Ok(LocalTest::Share(value as f64))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<LocalTest, E> {
                match value {
                    "owners" => Ok(LocalTest::Owners),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Asked)
    }
}

impl JsonSchema for LocalTest {
    fn schema_name() -> Cow<'static, str> {
        "LocalTest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`owners`, or a share of each client's examples.",
            "anyOf": [{ "const": "owners" }, { "type": "number" }],
        })
    }
}
