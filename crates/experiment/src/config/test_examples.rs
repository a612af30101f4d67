//! How many test examples models are judged on.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Test or validation examples that models are judged on: `all`, or a number of them drawn once per run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestExamples {
    /// The whole set.
    All,
    /// So many, drawn without replacement.
    Count(usize),
}

impl TestExamples {
    /// How many; `None` for all.
    pub fn count(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Count(count) => Some(count),
        }
    }
}

impl Serialize for TestExamples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Count(count) => serializer.serialize_u64(*count as u64),
        }
    }
}

impl<'de> Deserialize<'de> for TestExamples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Examples;
        impl Visitor<'_> for Examples {
            type Value = TestExamples;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all` or a number of examples")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<TestExamples, E> {
                let count = usize::try_from(value);
                count
                    .map(TestExamples::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<TestExamples, E> {
                let count = usize::try_from(value);
                count
                    .map(TestExamples::Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<TestExamples, E> {
                match value {
                    "all" => Ok(TestExamples::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Examples)
    }
}

impl JsonSchema for TestExamples {
    fn schema_name() -> Cow<'static, str> {
        "TestExamples".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`all`, or a number of them drawn once per run.",
            "anyOf": [{ "const": "all" }, { "type": "integer", "minimum": 0 }],
        })
    }
}
