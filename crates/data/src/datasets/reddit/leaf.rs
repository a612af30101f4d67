//! LEAF's json of Reddit: users with their comments, cut into sequences of words.
//!
//! A file is `{"users": [..], "num_samples": [..], "user_data": {user: {"x": [comment, ..], "y": [..]}}}`; a comment is
//! a list of sequences of words, `<BOS>` first, `<EOS>` and `<PAD>` last, or plain text with a space between two words.
//! Users are read one at a time. `num_samples` says how many comments a user has in the files `train`, `val` and `test`
//! together, as LEAF's `preprocess.py` writes it into each of them.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::words::LONGEST;
use crate::files::fault::Fault;
use crate::formats::leaf_json::{self, ByUser, File};

/// The most comments of a user.
const MOST_COMMENTS: usize = 1_000_000;
/// The most bytes of words of a comment, and of anything that stands between quotation marks.
const MOST_BYTES: usize = 4 << 20;
/// The most bytes of words of a user.
const MOST_OF_USER: usize = 64 << 20;

/// Receives a user and the words of each of the user's comments; may refuse them.
type Take<'a> = dyn FnMut(&str, Vec<String>) -> Result<(), String> + 'a;

/// Gives `take` each user of `file` and the words of the user's comments, each word followed by a space.
///
/// # Errors
/// A [`Fault`] where the file is not such json or `take` refuses; comments are not quoted.
pub(crate) fn each_user(file: impl Read, take: &mut Take<'_>) -> Result<(), Fault> {
    leaf_json::parse(file, MOST_BYTES, File(&mut Taker(take)))
}

/// Passes users and their comments to a [`Take`].
struct Taker<'a, 'b>(&'a mut Take<'b>);

impl ByUser for Taker<'_, '_> {
    const THINGS: &'static str = "comments";

    fn fits(found: u64, announced: u64) -> bool {
        found <= announced
    }

    fn read<'de, M: MapAccess<'de>>(&mut self, user: &str, map: &mut M) -> Result<u64, M::Error> {
        let comments = map.next_value_seed(User)?;
        let count = comments.len() as u64;
        (self.0)(user, comments).map_err(M::Error::custom)?;
        Ok(count)
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
            match key.as_str() {
                "x" if comments.is_some() => return Err(M::Error::duplicate_field("x")),
                "x" => comments = Some(map.next_value_seed(Comments)?),
                _ => drop(map.next_value::<IgnoredAny>()?),
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
        let (mut all, mut bytes) = (Vec::new(), 0);
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
            bytes += words.len();
            if bytes > MOST_OF_USER {
                return Err(S::Error::custom(format_args!(
                    "comments of a user of more than {MOST_OF_USER} bytes"
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

    fn users(file: &[u8]) -> Result<Vec<(String, Vec<String>)>, Fault> {
        let mut users = Vec::new();
        let mut take = |user: &str, comments| {
            users.push((user.to_owned(), comments));
            Ok(())
        };
        each_user(file, &mut take)?;
        Ok(users)
    }

    #[test]
    fn sequences_of_a_comment_are_joined_without_padding() {
        let file = r#"{"users": ["7", "8"], "num_samples": [3, 0], "user_data": {"7": {
            "y": [{"target_tokens": [["x"]]}],
            "x": [[["<BOS>", "so", "it"], ["goes", "<EOS>", "<PAD>"]], "plain  text"]}, "8": {"x": []}}}"#;
        let users = users(file.as_bytes()).unwrap();
        assert_eq!(users[0].1, ["so it goes ", "plain text "]);
        assert_eq!(users[1], ("8".into(), vec![]));
    }

    /// The file of user 1 with `data`.
    fn of_one(data: &str) -> String {
        format!(r#"{{"users": ["1"], "num_samples": [1], "user_data": {{"1": {data}}}}}"#)
    }

    #[test]
    fn other_files_are_refused_at_their_byte_and_not_quoted() {
        let all = "{\"users\": [\"1\"], \"num_samples\": [1], \"user_data\": {\"1\": ".len() as u64;
        let wrong = "another kind of value, text, or a list of sequences of words needed";
        for (file, offset, reason) in [
            (
                "[]".into(),
                1,
                "another kind of value, an object with users, num_samples and user_data needed",
            ),
            (r#"{"users": []}"#.into(), 13, "missing field `user_data`"),
            (of_one("{}"), all + 2, "missing field `x`"),
            (
                of_one(r#"{"x": [[[["w"]]]]}"#),
                all + 10,
                "lists nested more than a comment's sequences",
            ),
            (of_one(r#"{"x": [3]}"#), all + 9, wrong),
            (
                of_one(r#"{"x": ["\ud800 secret"]}"#),
                all + 15,
                "half of a surrogate pair",
            ),
            (
                r#"{"user_data": {"1": {"x": ["secret"#.into(),
                34,
                "EOF while parsing a string",
            ),
            (
                of_one(r#"{"x": []}"#) + "x",
                all + 12,
                "trailing characters",
            ),
        ] {
            let found = users(file.as_bytes()).unwrap_err();
            assert_eq!(found.reason, reason, "{file}");
            // The parser is a byte ahead, and closes what is open where it can.
            let apart = found.offset.abs_diff(offset);
            assert!(apart <= 4, "{file}: {}", found.offset);
        }
        let latin = b"{\"user_data\": {\"1\": {\"x\": [\"caf\xe9\"]}}}";
        assert_eq!(users(latin).unwrap_err().reason, "text that is not UTF-8");
    }

    #[test]
    fn users_are_listed_once_with_no_fewer_comments_than_there_are() {
        let file = |users: &str, counts: &str| {
            format!(
                r#"{{"users": {users}, "num_samples": {counts}, "user_data": {{"a": {{"x": ["w", "v"]}}, "b": {{"x": []}}}}}}"#
            )
        };
        let refusal = |file: String| users(file.as_bytes()).unwrap_err().reason;
        users(file(r#"["b", "a"]"#, "[9, 2]").as_bytes()).unwrap();
        for (users, counts, reason) in [
            (
                r#"["a", "b"]"#,
                "[1, 0]",
                "2 comments of user a found, 1 announced",
            ),
            (
                r#"["a", "c"]"#,
                "[2, 0]",
                "user c is listed twice or has no comments",
            ),
            (
                r#"["a", "a"]"#,
                "[2, 2]",
                "user a is listed twice or has no comments",
            ),
            (r#"["a"]"#, "[2]", "1 users and 1 counts, but comments of 2"),
            (
                r#"["a", "b"]"#,
                "[2]",
                "2 users and 1 counts, but comments of 2",
            ),
        ] {
            assert_eq!(refusal(file(users, counts)), reason);
        }
        let good = file(r#"["a", "b"]"#, "[2, 0]");
        assert_eq!(
            refusal(good.replace("\"b\": {", "\"a\": {")),
            "user a stands there twice"
        );
        assert_eq!(
            refusal(good.replace("[\"w\"", "[\"u\"], \"x\": [\"w\"")),
            "duplicate field `x`"
        );
        assert_eq!(
            refusal(good.replace("\"num_samples\": [2, 0], ", "")),
            "missing field `num_samples`"
        );
    }

    #[test]
    fn what_goes_on_without_end_is_refused_before_it_is_held() {
        let endless = |start: &str, again: &str| {
            let rest = again.bytes().cycle().take(MOST_OF_USER + MOST_BYTES);
            let rest: Vec<u8> = rest.collect();
            users(&[start.as_bytes(), &rest].concat())
                .unwrap_err()
                .reason
        };
        let text = "a text of more than 4194304 bytes";
        assert_eq!(endless("{\"user_data\": {\"", "a"), text);
        assert_eq!(endless("{\"user_data\": {\"1\": {\"x\": [\"", "a "), text);
        assert_eq!(
            endless("{", " "),
            "a number or a space of more than 4194304 bytes"
        );
        let of_user = "comments of a user of more than 67108864 bytes";
        assert_eq!(
            endless(
                "{\"user_data\": {\"1\": {\"x\": [\"",
                &("a ".repeat(500) + "\", \"")
            ),
            of_user
        );
    }
}
