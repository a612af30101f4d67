//! Values that do not fit their type, in the words of a YAML file.

use std::fmt::Display;

use serde::de::{self, Expected, Unexpected};

use crate::config::brief::{brief, quoted};
use crate::config::fault::ConfigFault;
use crate::config::place::Place;

/// A value that does not fit its type. It is a pointer: every reader of a field hands it on.
#[derive(Debug)]
pub(crate) struct DecodeError(Box<Unfit>);

/// The fault, and the way to the value from inside out.
#[derive(Debug)]
struct Unfit {
    fault: ConfigFault,
    place: Option<Place>,
    path: Vec<String>,
}

impl DecodeError {
    pub(crate) fn new(fault: ConfigFault) -> Self {
        Self(Box::new(Unfit {
            fault,
            place: None,
            path: Vec::new(),
        }))
    }

    /// The fault lies at `place`, unless a narrower place is known.
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.0.place.get_or_insert(place);
        self
    }

    /// The fault lies below `part`.
    pub(crate) fn below(mut self, part: impl Into<String>) -> Self {
        self.0.path.push(part.into());
        self
    }

    /// The fault, where it lies, and the dotted path of the value.
    pub(crate) fn into_parts(self) -> (ConfigFault, Option<Place>, String) {
        let Unfit {
            fault,
            place,
            mut path,
        } = *self.0;
        path.reverse();
        (fault, place, path.join("."))
    }
}

impl ConfigFault {
    /// The fault of a number with that number as it is `written`, such as `1e3`, and not as it was read.
    pub(crate) fn quoting(self, written: &str) -> Self {
        let Self::WrongType { found, needed } = self else {
            return self;
        };
        let value = |text: &str| text.parse::<f64>().ok();
        let read = found.strip_prefix("the number ").and_then(value);
        if read.is_none() || read != value(written) {
            return Self::WrongType { found, needed };
        }
        let too_large = needed == WHOLE && read >= Some(u64::MAX as f64);
        Self::WrongType {
            found: format!("the number {}", brief(written)),
            needed: match too_large {
                true => format!("a whole number from 0 to {}", u64::MAX),
                false => needed,
            },
        }
    }
}

impl std::error::Error for DecodeError {}

impl Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fault.fmt(f)
    }
}

impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(ConfigFault::Refused(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, needed: &dyn Expected) -> Self {
        let needed = needed.to_string();
        let fault = match needed.as_str() {
            // A map is read as a choice by its only key.
            "enum" => ConfigFault::OneChoice {
                found: Vec::new(),
                known: Vec::new(),
            },
            needed => ConfigFault::WrongType {
                found: found_in_words(found),
                needed: needed_in_words(needed),
            },
        };
        Self::new(fault)
    }

    fn invalid_value(found: Unexpected<'_>, needed: &dyn Expected) -> Self {
        Self::invalid_type(found, needed)
    }

    fn invalid_length(length: usize, needed: &dyn Expected) -> Self {
        let found = format!("{length} entries");
        Self::new(ConfigFault::WrongType {
            found,
            needed: needed.to_string(),
        })
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self::new(ConfigFault::UnknownChoice {
            found: found.to_owned(),
            known: owned(known),
        })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(ConfigFault::UnknownKey {
            key: key.to_owned(),
            known: owned(known),
            elsewhere: None,
        })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(ConfigFault::MissingKey {
            key: key.to_owned(),
        })
    }
}

pub(crate) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn found_in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value}"),
        Unexpected::Str(value) => quoted(value),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}

/// What `needed` is, which reads a map of `keys` if those are known, in the words of a YAML file.
pub(crate) fn map_in_words(needed: &dyn Expected, keys: Option<&[&str]>) -> String {
    let own = needed_in_words(&needed.to_string());
    match keys {
        // Whoever says in words of its own what it needs knows better.
        _ if own != KEYS => own,
        None => own,
        Some([]) => "a map without keys, `{}`".to_owned(),
        Some([key]) => format!("a map with the key {key}"),
        Some(keys) => {
            let some = &keys[..keys.len().min(3)];
            format!("a map with keys such as {}", some.join(", "))
        }
    }
}

/// What a map is called whose keys are not known.
const KEYS: &str = "keys with values";
/// What a number of 64 bits without a sign is called.
const WHOLE: &str = "a whole number, 0 or more";

/// What serde's own visitors expect, in the words of a YAML file.
fn needed_in_words(needed: &str) -> String {
    match needed {
        "u64" | "usize" => WHOLE.to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        // Numbers of 16 bits are labels, and the largest stands for none.
        "u16" => format!("a whole number from 0 to {}", u16::MAX - 1),
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" | "path string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "unit" | "unit variant" | "unit struct" => "nothing".to_owned(),
        _ if needed.starts_with("enum ") => "a choice".to_owned(),
        _ if needed.starts_with("struct ") || needed == "a map" => KEYS.to_owned(),
        _ => needed.to_owned(),
    }
}
