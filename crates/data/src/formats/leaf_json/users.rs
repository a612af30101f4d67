//! The users that a file lists, and those of whom it has something.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::files::excerpt::excerpt;

/// The most users of a file; all of Reddit's in LEAF are 1.7 million.
const MOST_USERS: usize = 1 << 22;
/// The most bytes of their names together.
const MOST_NAMES: usize = 1 << 28;

/// How many names there are and how long they are.
#[derive(Default)]
struct Size {
    users: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, name: &str) -> Result<(), String> {
        self.users += 1;
        self.bytes += name.len();
        if self.users > MOST_USERS {
            return Err(format!("more than {MOST_USERS} users"));
        }
        match self.bytes > MOST_NAMES {
            true => Err(format!("users' names of more than {MOST_NAMES} bytes")),
            false => Ok(()),
        }
    }
}

/// The users of whom something was found, and how much.
#[derive(Default)]
pub(crate) struct Found {
    counts: HashMap<String, u64>,
    size: Size,
}

impl Found {
    /// Takes `count` things of `user`.
    ///
    /// # Errors
    /// If there was something of the user before, or if these are too many users.
    pub(crate) fn add(&mut self, user: String, count: u64) -> Result<(), String> {
        self.size.add(&user)?;
        let shown = excerpt(&user);
        match self.counts.insert(user, count) {
            None => Ok(()),
            Some(_) => Err(format!("user {shown} stands there twice")),
        }
    }
}

/// The lists `users` and `num_samples`, as far as they were met.
#[derive(Default)]
pub(crate) struct Lists {
    users: Option<Vec<String>>,
    samples: Option<Vec<u64>>,
}

impl Lists {
    /// Reads the list called `key`, which comes next in `map`; whether there is such a list.
    pub(crate) fn take<'de, M: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut M,
    ) -> Result<bool, M::Error> {
        match key {
            "users" if self.users.is_some() => Err(M::Error::duplicate_field("users")),
            "num_samples" if self.samples.is_some() => {
                Err(M::Error::duplicate_field("num_samples"))
            }
            "users" => {
                let mut size = Size::default();
                let check = |name: &String| size.add(name);
                self.users = Some(map.next_value_seed(Bounded::of("a list of users", check))?);
                Ok(true)
            }
            "num_samples" => {
                let mut count = 0;
                let check = |_: &u64| {
                    count += 1;
                    match count > MOST_USERS {
                        true => Err(format!("more than {MOST_USERS} counts")),
                        false => Ok(()),
                    }
                };
                self.samples = Some(map.next_value_seed(Bounded::of("a list of counts", check))?);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The users with what is announced of them.
    pub(crate) fn announced(self) -> Vec<(String, u64)> {
        let (users, samples) = (
            self.users.unwrap_or_default(),
            self.samples.unwrap_or_default(),
        );
        users.into_iter().zip(samples).collect()
    }

    /// Checks the lists against the `things` that were `found`: each user stands there once, and `fits` says of the
    /// numbers found and announced whether they go together.
    pub(crate) fn agree<E: Error>(
        self,
        mut found: Found,
        things: &str,
        fits: impl Fn(u64, u64) -> bool,
    ) -> Result<(), E> {
        let users = self.users.ok_or_else(|| E::missing_field("users"))?;
        let samples = self
            .samples
            .ok_or_else(|| E::missing_field("num_samples"))?;
        let of = found.counts.len();
        if (users.len(), samples.len()) != (of, of) {
            let (users, samples) = (users.len(), samples.len());
            let reason = format_args!("{users} users and {samples} counts, but {things} of {of}");
            return Err(E::custom(reason));
        }
        for (user, announced) in users.iter().zip(samples) {
            let count = found.counts.remove(user);
            let user = excerpt(user);
            match count {
                Some(count) if fits(count, announced) => {}
                Some(count) => {
                    return Err(E::custom(format_args!(
                        "{count} {things} of user {user} found, {announced} announced"
                    )));
                }
                None => {
                    return Err(E::custom(format_args!(
                        "user {user} is listed twice or has no {things}"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A list whose elements are checked one by one.
struct Bounded<T, F> {
    what: &'static str,
    check: F,
    list: Vec<T>,
}

impl<T, F: FnMut(&T) -> Result<(), String>> Bounded<T, F> {
    fn of(what: &'static str, check: F) -> Self {
        let list = Vec::new();
        Self { what, check, list }
    }
}

impl<'de, T: serde::Deserialize<'de>, F: FnMut(&T) -> Result<(), String>> DeserializeSeed<'de>
    for Bounded<T, F>
{
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Vec<T>, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, T: serde::Deserialize<'de>, F: FnMut(&T) -> Result<(), String>> Visitor<'de>
    for Bounded<T, F>
{
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut elements: S) -> Result<Vec<T>, S::Error> {
        while let Some(element) = elements.next_element()? {
            (self.check)(&element).map_err(S::Error::custom)?;
            self.list.push(element);
        }
        Ok(self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_once_and_are_not_without_number() {
        let mut found = Found::default();
        found.add("a".into(), 1).unwrap();
        found.add("b".into(), 1).unwrap();
        assert_eq!(
            found.add("b".into(), 1).unwrap_err(),
            "user b stands there twice"
        );
        let mut size = Size::default();
        (0..MOST_USERS).for_each(|_| size.add("a").unwrap());
        assert_eq!(size.add("a").unwrap_err(), "more than 4194304 users");
        let (mut size, name) = (Size::default(), "a".repeat(1 << 20));
        (0..256).for_each(|_| size.add(&name).unwrap());
        let reason = "users' names of more than 268435456 bytes";
        assert_eq!(size.add("a").unwrap_err(), reason);
    }
}
