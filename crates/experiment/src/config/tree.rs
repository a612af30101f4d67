//! The values of a YAML text with the place that each was written at.
//!
//! Overrides and sweeps change an experiment before it is given types, so it is read into a tree first; errors found
//! at any later stage still point at the text, because every value keeps its place.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Location, Spanned};
use std::fmt;

use crate::config::brief::quoted;
use crate::config::place::Place;
use crate::config::yaml_error;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A YAML value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// A mistake that has been told of. Readers pass over it, so that what else is wrong can be found.
    Told,
}

/// A key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Node,
}

/// YAML that cannot be read, and where.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
}

impl Node {
    /// Reads YAML that begins at byte `start` of text `text` of a source.
    pub(crate) fn read(yaml: &str, text: usize, start: usize) -> Result<Self, Unread> {
        let options = yaml_error::options();
        let read: Result<Spanned<Raw>, _> = serde_yaml::from_str_with_options(yaml, options);
        let place = |location: Location| placed(location, yaml, text, start);
        match read {
            Ok(raw) => Ok(Self::of(raw, None, &place)),
            Err(error) => {
                let error = error.without_snippet();
                let mark = error.location().map(place);
                let cause =
                    mark.and_then(|mark| yaml_error::cause(error, yaml, mark.start - start));
                Err(match cause {
                    Some((message, at)) => Unread {
                        message: message.to_owned(),
                        place: Some(Place {
                            text,
                            start: start + at,
                            length: 1,
                            alias: None,
                        }),
                    },
                    None => Unread {
                        message: yaml_error::complaint(error),
                        place: mark,
                    },
                })
            }
        }
    }

    /// The value of `raw`, which stands in what the alias at byte `alias` stands for, if there is one.
    fn of(raw: Spanned<Raw>, alias: Option<usize>, place: &impl Fn(Location) -> Place) -> Self {
        let alias = alias_of(raw.referenced, raw.defined, place).or(alias);
        let value = match raw.value {
            Raw::Leaf(value) => value,
            Raw::List(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| Self::of(item, alias, place))
                    .collect(),
            ),
            Raw::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| Entry {
                        key_place: Place {
                            alias: alias_of(key.referenced, key.defined, place).or(alias),
                            ..place(key.defined)
                        },
                        key: key.value,
                        value: Self::of(value, alias, place),
                    })
                    .collect(),
            ),
        };
        Self {
            value,
            place: Place {
                alias,
                ..place(raw.defined)
            },
        }
    }

    /// The entries, if the value is a map.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of `key`, if the value is a map that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// The entry of `key`, if the value is a map that has it and has not been told of.
    pub(crate) fn entry_left(&self, key: &str) -> Option<&Entry> {
        self.entry(key).filter(|entry| entry.value.is_left())
    }

    /// Removes and returns the entry of `key`, if the value is a map that has it.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let index = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(index))
    }

    /// The name of the choice, if the value is one: a bare name, or the only key of a map.
    pub(crate) fn choice(&self) -> Option<&str> {
        match &self.value {
            Value::Text(name) => Some(name),
            Value::Map(entries) => match entries.as_slice() {
                [one] => Some(&one.key),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value at the dotted `path` of keys, if there is one.
    pub(crate) fn get(&self, path: &str) -> Option<&Self> {
        path.split('.')
            .try_fold(self, |node, part| Some(&node.entry(part)?.value))
    }

    /// The dotted path of the first entry of `key` in a value of this map; its own entries do not count.
    pub(crate) fn path_below(&self, key: &str) -> Option<String> {
        self.entries()?.iter().find_map(|entry| {
            let path = match entry.value.entry(key) {
                Some(_) => key.to_owned(),
                None => entry.value.path_below(key)?,
            };
            Some(format!("{}.{path}", entry.key))
        })
    }

    /// Where the value at the dotted `path` was written; where that is not, the last value on the way to it.
    ///
    /// A bare variant stands for its own name: `topology.ring.hops` in `topology: ring` is at `ring`.
    pub(crate) fn locate(&self, path: &str) -> Option<Place> {
        let mut place = None;
        let mut node = self;
        for part in path.split('.') {
            match &node.value {
                Value::Map(_) => {
                    let Some(entry) = node.entry(part) else { break };
                    place = Some(entry.place());
                    node = &entry.value;
                }
                Value::List(items) => {
                    let Some(item) = part.parse().ok().and_then(|index: usize| items.get(index))
                    else {
                        break;
                    };
                    place = Some(item.place);
                    node = item;
                }
                _ => break,
            }
        }
        place
    }

    /// What the value is, in words, for messages.
    pub(crate) fn words(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Unsigned(value) => format!("the number {value}"),
            Value::Signed(value) => format!("the number {value}"),
            Value::Float(value) => format!("the number {value}"),
            Value::Text(value) => quoted(value),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            Value::Told => "a mistake".to_owned(),
        }
    }

    /// The value as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null | Value::Told => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Unsigned(value) => (*value).into(),
            Value::Signed(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                let json = |entry: &Entry| (entry.key.clone(), entry.value.to_json());
                serde_json::Value::Object(entries.iter().map(json).collect())
            }
        }
    }

    /// Whether there is still something to read here.
    pub(crate) fn is_left(&self) -> bool {
        self.value != Value::Told
    }
}

impl Entry {
    /// Where to point for this entry: at a value of one line, else at the key that introduces it.
    pub(crate) fn place(&self) -> Place {
        match self.value.value {
            Value::List(_) | Value::Map(_) | Value::Null | Value::Told => self.key_place,
            _ => self.value.place,
        }
    }
}

impl fmt::Display for Node {
    /// The value as one line of YAML, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => value.fmt(f),
            Value::Unsigned(value) => value.fmt(f),
            Value::Signed(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
            Value::Told => f.write_str("?"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|entry| format!("{}: {}", entry.key, entry.value))
                    .collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

/// First byte of the alias through which what is `defined` elsewhere is `referenced`, if it is.
fn alias_of(
    referenced: Location,
    defined: Location,
    place: &impl Fn(Location) -> Place,
) -> Option<usize> {
    (referenced != defined).then(|| place(referenced).start)
}

/// The place of a location in `yaml`, which begins at byte `start` of its text.
fn placed(location: Location, yaml: &str, text: usize, start: usize) -> Place {
    let span = location.span();
    // Scanner errors come with characters alone.
    let byte_of = |character: u64| {
        yaml.char_indices()
            .nth(character as usize)
            .map_or(yaml.len(), |(byte, _)| byte)
    };
    let first = span
        .byte_offset()
        .map_or_else(|| byte_of(span.offset()), |byte| byte as usize);
    let length = span.byte_len().unwrap_or(0) as usize;
    Place {
        text,
        start: start + first.min(yaml.len()),
        length: length.min(yaml.len().saturating_sub(first)),
        alias: None,
    }
}

/// A value as the parser gives it.
enum Raw {
    Leaf(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Leaf(
            u64::try_from(value).map_or(Value::Signed(value), Value::Unsigned),
        ))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Float(value)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Leaf(Value::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str =
        "seed: 3\npartition:\n  shards: {clients: 10}\ntopology: ring\nhidden: [200, 100]\n";

    fn text_at(yaml: &str, place: Option<Place>) -> Option<&str> {
        place.and_then(|place| yaml.get(place.start..place.start + place.length))
    }

    #[test]
    fn paths_lead_to_the_text_of_their_value() {
        let tree = Node::read(YAML, 0, 0).unwrap();
        for (path, text) in [
            ("seed", Some("3")),
            ("partition.shards.clients", Some("10")),
            ("partition.shards.per_client", Some("shards")),
            ("partition", Some("partition")),
            ("topology.ring.hops", Some("ring")),
            ("hidden.1", Some("100")),
            ("hidden.2", Some("hidden")),
            ("weights", None),
        ] {
            assert_eq!(text_at(YAML, tree.locate(path)), text, "{path}");
        }
    }

    #[test]
    fn values_have_the_types_of_yaml_1_2() {
        let tree = Node::read("[1, -2, 1e-3, yes, true, ~, '5', 0x10, 2024-01-01]", 0, 0).unwrap();
        let Value::List(items) = tree.value else {
            panic!("a list was written")
        };
        let values: Vec<Value> = items.into_iter().map(|item| item.value).collect();
        let text = |text: &str| Value::Text(text.to_owned());
        let (date, ten) = (text("2024-01-01"), Value::Unsigned(16));
        let yes = text("yes");
        let numbers = [Value::Unsigned(1), Value::Signed(-2), Value::Float(1e-3)];
        let rest = [yes, Value::Bool(true), Value::Null, text("5"), ten, date];
        assert_eq!(values, numbers.into_iter().chain(rest).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_yaml_is_marked() {
        let unread = Node::read("ä: 1\na: b: c", 0, 0).unwrap_err();
        assert_eq!(
            unread.message,
            "found `:` where no key ends; is the line indented like those before it? a text with `: ` in it needs quotes"
        );
        assert_eq!(
            unread.place.map(|place| place.start),
            Some("ä: 1\na: b".len())
        );
        let twice = Node::read("a: 1\na: 2", 0, 0).unwrap_err();
        assert_eq!(text_at("a: 1\na: 2", twice.place), Some("a"));
        assert_eq!(twice.place.map(|place| place.start), Some(5));
    }

    #[test]
    fn part_of_a_text_is_placed_in_the_whole() {
        let whole = "model.mlp.hidden=[20, x]";
        let tree = Node::read(&whole[17..], 1, 17).unwrap();
        let Value::List(items) = &tree.value else {
            panic!("a list was written")
        };
        assert_eq!(text_at(whole, Some(items[1].place)), Some("x"));
        assert_eq!(tree.to_string(), "[20, x]");
    }
}
