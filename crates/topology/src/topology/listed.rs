//! A list of nodes that may be written alone, or with what the nodes outside do.

use super::Outside;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// `[..]` or `{list: [..], outside: alone}`.
pub(super) struct Listed<T> {
    pub(super) list: Vec<T>,
    pub(super) outside: Outside,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields<T> {
    /// The overlays, in order.
    list: Vec<T>,
    /// What nodes outside an overlay do.
    #[serde(default)]
    outside: Outside,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrFields(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Listed<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = generator.subschema_for::<Vec<T>>();
        let fields = Fields::<T>::json_schema(generator);
        json_schema!({ "anyOf": [list, fields] })
    }
}

struct ListOrFields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListOrFields<T> {
    type Value = Listed<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list, or `list` and `outside`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Listed<T>, A::Error> {
        Ok(Listed {
            list: Vec::deserialize(SeqAccessDeserializer::new(items))?,
            outside: Outside::default(),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Listed<T>, A::Error> {
        let Fields { list, outside } = Fields::deserialize(MapAccessDeserializer::new(entries))?;
        Ok(Listed { list, outside })
    }
}
