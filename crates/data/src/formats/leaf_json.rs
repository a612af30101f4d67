//! The common reader of LEAF's json files: it streams them user by user and limits everything that it reads.

mod by_user;
mod users;
mod watched;

use std::io::Read;

use serde::de::DeserializeSeed;
use serde_json::error::Category;

pub(crate) use self::by_user::{ByUser, File};
pub(crate) use self::users::Lists;
use self::watched::Watched;
use crate::files::fault::Fault;

/// Parses all of the json `content` with `seed`. No text, number or space in it may have more than `longest` bytes.
///
/// # Errors
/// A [`Fault`] at the byte up to which the content was read. It quotes only what the seed quotes.
pub(crate) fn parse<T>(
    content: impl Read,
    longest: usize,
    seed: impl for<'de> DeserializeSeed<'de, Value = T>,
) -> Result<T, Fault> {
    let mut watched = Watched::new(content, longest);
    let mut json = serde_json::Deserializer::from_reader(&mut watched);
    let made = seed
        .deserialize(&mut json)
        .and_then(|made| json.end().map(|()| made));
    made.map_err(|error| Fault::at(watched.taken(), reason(&error)))
}

/// What is wrong, without the place and without what was found there.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    if error.classify() == Category::Data {
        // What serde expects stands last and is the program's; what it found may be anything.
        let found_other = ["invalid type: ", "invalid value: ", "invalid length "]
            .iter()
            .any(|beginning| text.starts_with(beginning));
        return match text.rsplit_once(", expected ") {
            Some((_, needed)) if found_other => format!("another kind of value, {needed} needed"),
            _ => text.to_owned(),
        };
    }
    match text {
        "invalid unicode code point" => "text that is not UTF-8".into(),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "half of a surrogate pair".into()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_fixed_words_and_quote_nothing() {
        let reason =
            |json: &[u8]| reason(&serde_json::from_slice::<Vec<String>>(json).unwrap_err());
        assert_eq!(
            reason(b"[{\"secret\": 1}]"),
            "another kind of value, a string needed"
        );
        assert_eq!(
            reason(b"\"secret, expected x\""),
            "another kind of value, a sequence needed"
        );
        assert_eq!(reason(b"[\"secret \xff\"]"), "text that is not UTF-8");
        for half in [
            r#"["secret \ud800"]"#,
            r#"["\udc00 secret"]"#,
            r#"["\ud800\u0041"]"#,
        ] {
            assert_eq!(
                reason(half.as_bytes()),
                "half of a surrogate pair",
                "{half}"
            );
        }
        assert_eq!(reason(b"[\"secret"), "EOF while parsing a string");
    }
}
