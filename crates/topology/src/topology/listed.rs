//! A list that may be written alone or with what becomes of the nodes outside.

use super::Outside;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// `[..]` or `{list: [..], outside: alone}`.
pub(super) struct Listed<T> {
    pub(super) list: Vec<T>,
    pub(super) outside: Outside,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<T> {
    list: Vec<T>,
    #[serde(default)]
    outside: Outside,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrFields(PhantomData))
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
