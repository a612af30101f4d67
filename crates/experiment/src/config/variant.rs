//! A choice among variants, written as `{ring: {hops: 2}}`, or as `ring` where all of its fields have defaults.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor,
};

use crate::config::decode_error::{DecodeError, owned};
use crate::config::fault::ConfigFault;
use crate::config::place::Place;
use crate::config::tree::{Entry, Node, Value};
use crate::config::tree_access::Entries;

/// The one variant that a value chooses.
pub(crate) struct Choice<'de> {
    name: &'de str,
    name_place: Place,
    content: Option<&'de Node>,
}

impl<'de> Choice<'de> {
    /// The variant that `node` chooses out of `variants`.
    pub(crate) fn of(
        node: &'de Node,
        variants: &'static [&'static str],
    ) -> Result<Self, DecodeError> {
        match &node.value {
            Value::Text(name) => Ok(Self {
                name,
                name_place: node.place,
                content: None,
            }),
            Value::Map(entries) => match Vec::from_iter(left(entries)).as_slice() {
                [entry] => Ok(Self {
                    name: &entry.key,
                    name_place: entry.key_place,
                    content: Some(&entry.value),
                }),
                several => {
                    let found = several.iter().map(|entry| entry.key.clone()).collect();
                    let unfit = DecodeError::new(ConfigFault::OneChoice {
                        found,
                        known: owned(variants),
                    });
                    Err(match several.last() {
                        Some(last) => unfit.at(last.key_place),
                        None => unfit,
                    })
                }
            },
            _ => {
                let needed = format!("one of {}", variants.join(", "));
                let unfit = DecodeError::new(ConfigFault::WrongType {
                    found: node.words(),
                    needed,
                });
                Err(if matches!(node.value, Value::List(_) | Value::Null) {
                    unfit
                } else {
                    unfit.at(node.place)
                })
            }
        }
    }
}

/// The `entries` that are left.
fn left(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.value.is_left())
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeError> {
        let name: StrDeserializer<'de, DecodeError> = self.name.into_deserializer();
        let variant = seed
            .deserialize(name)
            .map_err(|unfit| unfit.at(self.name_place))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = DecodeError;

    /// A variant without fields may also be written with none: `{logistic: {}}`.
    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.content.map(|content| (content, &content.value)) {
            None | Some((_, Value::Null)) => Ok(()),
            Some((_, Value::Map(entries))) if entries.is_empty() => Ok(()),
            Some((content, _)) => {
                let unfit = DecodeError::new(ConfigFault::WrongType {
                    found: content.words(),
                    needed: "nothing".to_owned(),
                });
                Err(unfit.at(self.name_place).below(self.name))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        let read = match self.content {
            Some(content) if content.value != Value::Null => seed.deserialize(content),
            _ => seed.deserialize(Bare),
        };
        read.map_err(|unfit| unfit.at(self.place()).below(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.newtype_variant_seed(Visit(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.content {
            Some(content) if content.value != Value::Null => content
                .visit_map(Some(keys), visitor)
                .map_err(|unfit| unfit.at(self.place()).below(self.name)),
            _ => self.newtype_variant_seed(Visit(visitor)),
        }
    }
}

impl Choice<'_> {
    /// A scalar content is pointed at itself; anything else at the variant's name.
    fn place(&self) -> Place {
        match self.content {
            Some(Node {
                value: Value::List(_) | Value::Map(_) | Value::Null,
                ..
            })
            | None => self.name_place,
            Some(content) => content.place,
        }
    }
}

/// Hands a visitor whatever value there is.
struct Visit<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Visit<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// Readers of values that are no maps.
macro_rules! nothing {
    ($($read:ident)+) => {
        $(fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            Err(nothing(&visitor))
        })+
    };
}

/// The content of a variant that is only named: no fields are given.
struct Bare;

impl<'de> Deserializer<'de> for Bare {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        Entries::visit(&[], visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_none()
    }

    nothing! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_str deserialize_string deserialize_seq
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        Err(nothing(&visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        Err(nothing(&visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        Err(nothing(&visitor))
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple_struct map struct identifier ignored_any
    }
}

/// Nothing stands where `needed` is, which is no map that may be left out.
fn nothing(needed: &dyn de::Expected) -> DecodeError {
    de::Error::invalid_type(de::Unexpected::Unit, needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::error::ConfigError;
    use crate::config::reader::read;
    use crate::config::source::ExperimentSource;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Flat,
        Ring(Ring),
        Regular(Regular),
        Share(f64),
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Ring {
        hops: usize,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Regular {
        degree: usize,
    }

    fn parse<T: DeserializeOwned>(yaml: &str) -> Result<T, ConfigError> {
        read(
            &Node::read(yaml, 0, 0).expect("the test is YAML"),
            &ExperimentSource::new("e.yaml", yaml),
        )
    }

    #[test]
    fn a_variant_may_be_bare_or_a_map() {
        let ring = Shape::Ring(Ring { hops: 0 });
        for yaml in ["ring", "{ring: {}}", "ring:", "ring: {hops: 0}"] {
            assert_eq!(parse::<Shape>(yaml).unwrap(), ring, "{yaml}");
        }
        for yaml in ["flat", "{flat: {}}", "flat:"] {
            assert_eq!(parse::<Shape>(yaml).unwrap(), Shape::Flat, "{yaml}");
        }
        assert_eq!(parse::<Shape>("{share: 0.5}").unwrap(), Shape::Share(0.5));
        assert_eq!(parse::<Option<Shape>>("null").unwrap(), None);
    }

    #[test]
    fn a_wrong_choice_is_marked() {
        for (yaml, message, marked) in [
            ("rnig", "unknown choice `rnig`", Some("rnig")),
            (
                "share",
                "share: found nothing, needed a number",
                Some("share"),
            ),
            ("{rnig: {}}", "unknown choice `rnig`", Some("rnig")),
            ("regular", "regular: missing key `degree`", Some("regular")),
            (
                "{regular: {}}",
                "regular: missing key `degree`",
                Some("regular"),
            ),
            (
                "{regular: {degre: 3}}",
                "regular: unknown key `degre`",
                Some("degre"),
            ),
            (
                "{regular: 3}",
                "regular: found the number 3, needed a map with the key degree",
                Some("3"),
            ),
            (
                "{ring: {}, regular: {degree: 3}}",
                "found 2 (`ring`, `regular`), needed one choice",
                Some("regular"),
            ),
            (
                "{flat: 3}",
                "flat: found the number 3, needed nothing",
                Some("flat"),
            ),
            (
                "{share: high}",
                "share: found the text \"high\", needed a number",
                Some("high"),
            ),
            (
                "7",
                "found the number 7, needed one of flat, ring, regular, share",
                Some("7"),
            ),
            ("{}", "found none, needed one choice", Some("{")),
        ] {
            let error = parse::<Shape>(yaml).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.marked()),
                (message, marked),
                "{yaml}"
            );
        }
    }
}
