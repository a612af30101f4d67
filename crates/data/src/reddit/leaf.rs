//! LEAF's json of Reddit: users with their comments, cut into sequences of words.
//!
//! A file is `{"users": [..], "num_samples": [..], "user_data": {user: {"x": [comment, ..], "y": [..]}}}`; a comment is
//! a list of sequences of words, `<BOS>` first, `<EOS>` and `<PAD>` last, or plain text with a space between two words.
//! Users are read one at a time.

use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::words::LONGEST;

/// The most comments of a user.
const MOST_COMMENTS: usize = 1_000_000;
/// The most bytes of words of a comment.
const MOST_BYTES: usize = 4 << 20;

/// What a user and the words of each of the user's comments are given to; it may refuse them.
type Take<'a> = dyn FnMut(&str, Vec<String>) -> Result<(), String> + 'a;

/// Gives `take` each user of `file` and the words of the user's comments, each word followed by a space.
///
/// # Errors
/// The line and the column at which the file is not such json, or where `take` refuses.
pub(crate) fn each_user(file: impl BufRead, take: &mut Take<'_>) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_reader(file);
    File { take }.deserialize(&mut reader)?;
    reader.end()
}

/// The outermost object.
struct File<'a, 'b> {
    take: &'a mut Take<'b>,
}

impl<'de> DeserializeSeed<'de> for File<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for File<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with user_data")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "user_data" if found => return Err(M::Error::duplicate_field("user_data")),
                "user_data" => {
                    found = true;
                    map.next_value_seed(Users { take: self.take })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match found {
            true => Ok(()),
            false => Err(M::Error::missing_field("user_data")),
        }
    }
}

/// The object of users.
struct Users<'a, 'b> {
    take: &'a mut Take<'b>,
}

impl<'de> DeserializeSeed<'de> for Users<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Users<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of users")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(user) = map.next_key::<String>()? {
            let comments = map.next_value_seed(User)?;
            (self.take)(&user, comments).map_err(M::Error::custom)?;
        }
        Ok(())
    }
}

/// A user's `x` and `y`.
struct User;

impl<'de> DeserializeSeed<'de> for User {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for User {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with x, the comments of a user")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Vec<String>, M::Error> {
        let mut comments = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "x" {
                comments = Some(map.next_value_seed(Comments)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        comments.ok_or_else(|| M::Error::missing_field("x"))
    }
}

/// A list of comments.
struct Comments;

impl<'de> DeserializeSeed<'de> for Comments {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Comments {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of comments")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut comments: S) -> Result<Vec<String>, S::Error> {
        let mut all = Vec::new();
        loop {
            let mut words = String::new();
            let part = Words {
                words: &mut words,
                depth: 0,
            };
            if comments.next_element_seed(part)?.is_none() {
                return Ok(all);
            }
            if all.len() == MOST_COMMENTS {
                return Err(S::Error::custom(format_args!(
                    "more than {MOST_COMMENTS} comments of a user"
                )));
            }
            all.push(words);
        }
    }
}

/// Text, or lists of text in lists, all of whose words are appended.
struct Words<'a> {
    words: &'a mut String,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Words<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Words<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or a list of sequences of words")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if self.words.len() + text.len() > MOST_BYTES {
            return Err(E::custom(format_args!(
                "a comment of more than {MOST_BYTES} bytes"
            )));
        }
        let word = |word: &&str| !["<BOS>", "<EOS>", "<PAD>"].contains(word);
        for word in text.split_whitespace().filter(word) {
            let end = word.floor_char_boundary(LONGEST);
            self.words.push_str(&word[..end]);
            self.words.push(' ');
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<(), S::Error> {
        // A comment has sequences, a sequence has words.
        let depth = self.depth + 1;
        if depth > 2 {
            return Err(S::Error::custom(
                "lists nested more than a comment's sequences",
            ));
        }
        while parts
            .next_element_seed(Words {
                words: &mut *self.words,
                depth,
            })?
            .is_some()
        {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(file: &str) -> Result<Vec<(String, Vec<String>)>, String> {
        let mut users = Vec::new();
        let mut take = |user: &str, comments| {
            users.push((user.to_owned(), comments));
            Ok(())
        };
        each_user(file.as_bytes(), &mut take).map_err(|error| error.to_string())?;
        Ok(users)
    }

    #[test]
    fn sequences_of_a_comment_are_joined_without_padding() {
        let file = r#"{"users": ["7"], "num_samples": [2], "user_data": {"7": {
            "y": [{"target_tokens": [["x"]]}],
            "x": [[["<BOS>", "so", "it"], ["goes", "<EOS>", "<PAD>"]], "plain  text"]}, "8": {"x": []}}}"#;
        let users = users(file).unwrap();
        assert_eq!(users[0].1, ["so it goes ", "plain text "]);
        assert_eq!(users[1], ("8".into(), vec![]));
    }

    #[test]
    fn other_files_are_refused_at_their_place() {
        for (file, reason) in [
            ("[]", "expected an object with user_data at line 1 column 1"),
            (
                r#"{"users": []}"#,
                "missing field `user_data` at line 1 column 13",
            ),
            (
                r#"{"user_data": {"1": {}}}"#,
                "missing field `x` at line 1 column 22",
            ),
            (
                r#"{"user_data": {"1": {"x": [[[["w"]]]]}}}"#,
                "lists nested more than",
            ),
            (r#"{"user_data": {"1": {"x": [3]}}}"#, "expected text"),
            (r#"{"user_data": {"1": {"x": ["w"#, "EOF while parsing"),
            (r#"{"user_data": {}} x"#, "trailing characters"),
        ] {
            let found = users(file).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
    }
}
