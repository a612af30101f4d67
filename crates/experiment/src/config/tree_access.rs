//! Lists and maps of a tree, handed to serde item by item, so that whatever does not fit keeps its place.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use crate::config::decode_error::DecodeError;
use crate::config::fault::ConfigFault;
use crate::config::tree::{Entry, Node};

/// The items of a list.
pub(crate) struct Items<'de> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> Items<'de> {
    /// Lets `visitor` read all of `items`; serde's own visitors leave what is too many.
    pub(crate) fn visit<V: Visitor<'de>>(
        items: &'de [Node],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let mut access = Self {
            items: items.iter().enumerate(),
        };
        let read = visitor.visit_seq(&mut access)?;
        access.expect_end(items.len()).map(|()| read)
    }

    /// The error of the first item that nobody has read, of `length`.
    fn expect_end(mut self, length: usize) -> Result<(), DecodeError> {
        let Some((index, extra)) = self.next() else {
            return Ok(());
        };
        let (found, needed) = (format!("{length} entries"), format!("a list of {index}"));
        Err(DecodeError::new(ConfigFault::WrongType { found, needed }).at(extra.place))
    }

    /// The next item that is left, with its place in the list.
    fn next(&mut self) -> Option<(usize, &'de Node)> {
        self.items.find(|(_, item)| item.is_left())
    }
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, item)) = self.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(item);
        read.map(Some)
            .map_err(|unfit| unfit.at(item.place).below(index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of a map.
pub(crate) struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> Entries<'de> {
    /// Lets `visitor` read all of `entries`; one that takes the first alone would ignore the others.
    pub(crate) fn visit<V: Visitor<'de>>(
        entries: &'de [Entry],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let mut access = Self {
            entries: entries.iter(),
            current: None,
        };
        let read = visitor.visit_map(&mut access)?;
        access.expect_end(entries).map(|()| read)
    }

    /// The error of the first of `entries` that nobody has read.
    fn expect_end(mut self, entries: &[Entry]) -> Result<(), DecodeError> {
        let Some(extra) = self.next() else {
            return Ok(());
        };
        let unfit = DecodeError::new(ConfigFault::OneChoice {
            found: entries.iter().map(|entry| entry.key.clone()).collect(),
            known: Vec::new(),
        });
        Err(unfit.at(extra.key_place))
    }

    /// The next entry that is left.
    fn next(&mut self) -> Option<&'de Entry> {
        self.entries.find(|entry| entry.value.is_left())
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key: StrDeserializer<'de, DecodeError> = entry.key.as_str().into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|unfit| unfit.at(entry.key_place))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        let entry = self.current.expect("serde asks for a value after its key");
        seed.deserialize(&entry.value)
            .map_err(|unfit| unfit.at(entry.place()).below(entry.key.as_str()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
