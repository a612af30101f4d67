//! Gives the values of a tree their types, keeping the place of whatever does not fit.

use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::config::decode_error::{DecodeError, map_in_words};
use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::own;
use crate::config::source::ExperimentSource;
use crate::config::tree::{Entry, Node, Value};
use crate::config::tree_access::{Entries, Items};
use crate::config::variant::Choice;

impl ExperimentSource {
    /// Reads the whole text as a `T`. What must be a map with one key may be that key alone, as in an experiment.
    ///
    /// # Errors
    /// [`ConfigError`], pointing into the text.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        let tree = Node::read(self.text(), 0, 0)
            .map_err(|unread| ConfigFault::Syntax(unread.message).at(self, unread.place, ""))?;
        read(&tree, self)
    }
}

/// Reads a `T` from `node`; an error points into `source`.
pub(crate) fn read<T: DeserializeOwned>(
    node: &Node,
    source: &ExperimentSource,
) -> Result<T, ConfigError> {
    let read = own::within(source.own(), || T::deserialize(node));
    read.map_err(|unfit| located(unfit.at(node.place), source))
}

/// Reads a `T` from the value of `entry`, which stands at the top of an experiment.
pub(crate) fn read_below<T: DeserializeOwned>(
    entry: &Entry,
    source: &ExperimentSource,
) -> Result<T, ConfigError> {
    let read = own::within(source.own(), || T::deserialize(&entry.value));
    read.map_err(|unfit| {
        let unfit = unfit.at(entry.place()).below(entry.key.as_str());
        located(unfit, source)
    })
}

/// The error that a person sees.
fn located(unfit: DecodeError, source: &ExperimentSource) -> ConfigError {
    let (fault, place, path) = unfit.into_parts();
    let written = place.and_then(|place| source.written(place));
    let fault = match written {
        Some(written) => fault.quoting(&written),
        None => fault,
    };
    fault.at(source, place, path)
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let read = match &self.value {
            Value::Null | Value::Told => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::List(items) => Items::visit(items, visitor),
            Value::Map(entries) => Entries::visit(entries, visitor),
        };
        match self.value {
            // What has no text of its own is marked by the key that introduces it.
            Value::Null | Value::List(_) | Value::Map(_) => read,
            _ => read.map_err(|unfit| unfit.at(self.place)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(Choice::of(self, variants)?)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match name.starts_with("own ") {
            true => own::read(name, self, || visitor.visit_unit()),
            false => visitor.visit_newtype_struct(self),
        }
    }

    /// Keys have names: serde's own visitors would take a list as well, by position.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.visit_map(Some(keys), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_map(None, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

impl Node {
    /// Lets `visitor`, which reads a map of `keys` if those are known, read this value if it is a map.
    pub(crate) fn visit_map<'de, V: Visitor<'de>>(
        &'de self,
        keys: Option<&[&str]>,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if let Value::Map(entries) = &self.value {
            return Entries::visit(entries, visitor);
        }
        let unfit = DecodeError::new(ConfigFault::WrongType {
            found: self.words(),
            needed: map_in_words(&visitor, keys),
        });
        Err(match self.value {
            Value::Null | Value::List(_) => unfit,
            _ => unfit.at(self.place),
        })
    }
}

impl<'de> IntoDeserializer<'de, DecodeError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        name: String,
        #[serde(default)]
        rounds: usize,
        #[serde(default)]
        rate: f64,
        #[serde(default)]
        limit: Option<u32>,
        #[serde(default)]
        widths: Vec<u8>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        every: usize,
    }

    fn settings(yaml: &str) -> Result<Settings, ConfigError> {
        let source = ExperimentSource::new("e.yaml", yaml);
        read(&Node::read(yaml, 0, 0).expect("the test is YAML"), &source)
    }

    #[test]
    fn values_are_read_with_their_defaults() {
        let read = settings("name: a\nrate: 1\nlimit: null\nwidths: [1, 2]\n").unwrap();
        assert_eq!(
            (read.rate, read.limit, read.widths),
            (1.0, None, vec![1, 2])
        );
    }

    #[test]
    fn what_does_not_fit_is_marked_and_said_in_the_words_of_the_file() {
        for (yaml, message, marked, line) in [
            ("name: a\nrouns: 3", "unknown key `rouns`", "rouns", 2),
            (
                "name: a\nrounds: ten",
                "rounds: found the text \"ten\", needed a whole number, 0 or more",
                "ten",
                2,
            ),
            (
                "name: a\nrounds: -1",
                "rounds: found the number -1, needed a whole number, 0 or more",
                "-1",
                2,
            ),
            (
                "name: a\nrounds: 1e3",
                "rounds: found the number 1e3, needed a whole number, 0 or more",
                "1e3",
                2,
            ),
            (
                "name: a\nrounds: 18446744073709551616",
                "rounds: found the number 18446744073709551616, needed a whole number from 0 to 18446744073709551615",
                "18446744073709551616",
                2,
            ),
            (
                "name: a\nrounds: 1.5",
                "rounds: found the number 1.5, needed a whole number, 0 or more",
                "1.5",
                2,
            ),
            ("name: 5", "name: found the number 5, needed text", "5", 1),
            ("name: [a]", "name: found a list, needed text", "name", 1),
            (
                "name: a\nrate: {x: 1}",
                "rate: found a map, needed a number",
                "rate",
                2,
            ),
            (
                "name: a\nwidths: 200",
                "widths: found the number 200, needed a list",
                "200",
                2,
            ),
            (
                "name: a\nwidths: [1, 300]",
                "widths.1: found the number 300, needed a whole number from 0 to 255",
                "300",
                2,
            ),
            (
                "name: a\ninner:\n  - every: 1\n  - evry: 2",
                "inner.1: unknown key `evry`",
                "evry",
                4,
            ),
            (
                "name: a\ninner: 3",
                "inner: found the number 3, needed a list",
                "3",
                2,
            ),
        ] {
            let error = settings(yaml).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.marked(), error.line()),
                (message, Some(marked), Some(line))
            );
        }
    }

    #[test]
    fn nothing_is_read_in_part() {
        #[derive(Debug, Deserialize)]
        struct Pair(#[expect(dead_code, reason = "only its length matters")] (u8, u8));
        let source = ExperimentSource::new("e.yaml", "[1, 2, 3]");
        let tree = Node::read(source.text(), 0, 0).unwrap();
        let error = read::<Pair>(&tree, &source).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.marked()),
            ("found 3 entries, needed a list of 2", Some("3"))
        );
    }

    #[test]
    fn a_missing_key_is_missed_where_it_belongs() {
        let error = settings("name: a\ninner: [{}]").unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.line()),
            ("inner.0: missing key `every`", Some(2))
        );
        let error = settings("rounds: 3").unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.line()),
            ("missing key `name`", Some(1))
        );
    }
}
