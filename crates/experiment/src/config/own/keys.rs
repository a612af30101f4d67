//! What a configuration says of a part: its name, its version, and keys of its own.

use serde_json::{Map, Value as Json};

use crate::config::decode_error::DecodeError;
use crate::config::fault::ConfigFault;
use crate::config::tree::{Entry, Node, Value};

pub(super) const NAME: &str = "name";
pub(super) const VERSION: &str = "version";

/// The name that `node` gives, and where: `choco`, or `{name: choco}`.
pub(super) fn name_in(node: &Node) -> Result<(&str, &Node), DecodeError> {
    if let Value::Text(name) = &node.value {
        return Ok((name, node));
    }
    if node.entries().is_none() {
        let fault = ConfigFault::WrongType {
            found: node.words(),
            needed: "a name, or a map with the key name".to_owned(),
        };
        return Err(DecodeError::new(fault));
    }
    let Some(entry) = node.entry(NAME) else {
        let key = NAME.to_owned();
        return Err(DecodeError::new(ConfigFault::MissingKey { key }));
    };
    match &entry.value.value {
        Value::Text(name) => Ok((name, &entry.value)),
        _ => {
            let fault = ConfigFault::WrongType {
                found: entry.value.words(),
                needed: "text".to_owned(),
            };
            Err(DecodeError::new(fault).at(entry.place()).below(NAME))
        }
    }
}

/// The keys beside the name and the version, as a map.
pub(super) fn keys_of(node: &Node) -> Node {
    let entries = node.entries().unwrap_or_default().iter();
    let own = entries.filter(|entry| entry.key != NAME && entry.key != VERSION);
    Node {
        value: Value::Map(own.cloned().collect()),
        place: node.place,
    }
}

/// The entries of `node` that are named in `common`, and the others as JSON.
pub(super) fn split(node: &Node, common: &[&str]) -> (Node, Map<String, Json>) {
    let entries = node.entries().unwrap_or_default().iter();
    let (common, own): (Vec<&Entry>, Vec<&Entry>) =
        entries.partition(|entry| common.contains(&entry.key.as_str()));
    let common = Node {
        value: Value::Map(common.into_iter().cloned().collect()),
        place: node.place,
    };
    let own = own.into_iter().filter(|entry| entry.value.is_left());
    let own = own.map(|entry| (entry.key.clone(), entry.value.to_json()));
    (common, own.collect())
}
