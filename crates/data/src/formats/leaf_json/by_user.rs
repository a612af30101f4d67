//! The outer two objects of LEAF's json: `{"users": [..], "num_samples": [..], "user_data": {user: {..}}}`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::users::{Found, Lists};

/// Reads the data of one user after another.
pub(crate) trait ByUser {
    /// What users have, such as `images`.
    const THINGS: &'static str;

    /// Whether the number of things `found` of a user agrees with the number `announced`.
    fn fits(found: u64, announced: u64) -> bool;

    /// Reads the data of `user`, which come next in `map`; returns the number of things.
    fn read<'de, M: MapAccess<'de>>(&mut self, user: &str, map: &mut M) -> Result<u64, M::Error>;
}

/// The outermost object.
pub(crate) struct File<'r, R>(pub(crate) &'r mut R);

impl<'de, R: ByUser> DeserializeSeed<'de> for File<'_, R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de, R: ByUser> Visitor<'de> for File<'_, R> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with users, num_samples and user_data")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let (mut lists, mut found) = (Lists::default(), None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "user_data" if found.is_some() => {
                    return Err(M::Error::duplicate_field("user_data"));
                }
                "user_data" => found = Some(map.next_value_seed(Users(&mut *self.0))?),
                key if lists.take(key, &mut map)? => {}
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let found = found.ok_or_else(|| M::Error::missing_field("user_data"))?;
        lists.agree(found, R::THINGS, R::fits)
    }
}

/// The object of all users; gives how many things each has.
struct Users<'r, R>(&'r mut R);

impl<'de, R: ByUser> DeserializeSeed<'de> for Users<'_, R> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Found, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de, R: ByUser> Visitor<'de> for Users<'_, R> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of users")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Found, M::Error> {
        let mut found = Found::default();
        while let Some(user) = map.next_key::<String>()? {
            let count = self.0.read(&user, &mut map)?;
            found.add(user, count).map_err(M::Error::custom)?;
        }
        Ok(found)
    }
}
