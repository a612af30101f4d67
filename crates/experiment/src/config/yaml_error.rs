//! What the YAML reader takes, and what it says of a text that it cannot read, in plain words.

use serde_yaml::budget::BudgetBreach;
use serde_yaml::{Error, ExternalMessageSource, MessageFormatter, Options, UserMessageFormatter};

use crate::config::brief::brief;

mod cause;
mod form;

/// How deep maps and lists may lie in each other.
pub(crate) const MOST_LEVELS: usize = 64;
/// Keys, values, lists and maps of a text: enough for a sweep of a hundred thousand cases.
const MOST_VALUES: usize = 1_000_000;
/// What the reader meets at most: besides values there are ends of lists and maps, and comments.
const MOST_EVENTS: usize = 4 * MOST_VALUES;
/// Names that are given with `&`, and uses of them with `*`.
const MOST_ALIASES: usize = 50_000;

/// How texts are read.
pub(crate) fn options() -> Options {
    serde_yaml::options! {
        strict_booleans: true,
        budget: serde_yaml::budget! {
            max_depth: MOST_LEVELS,
            max_nodes: MOST_VALUES,
            max_events: MOST_EVENTS,
            max_aliases: MOST_ALIASES,
            max_anchors: MOST_ALIASES,
        },
    }
}

/// What is wrong with `yaml` and at which byte, if the cause is known to lie elsewhere than at the `mark` of the error.
pub(crate) fn cause(error: &Error, yaml: &str, mark: usize) -> Option<(&'static str, usize)> {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => {
            cause(error, yaml, mark)
        }
        Error::ExternalMessage { source, .. } => match source.as_ref() {
            ExternalMessageSource::Parser(error) => cause::of(error.kind(), yaml, mark),
            _ => None,
        },
        _ => None,
    }
}

/// What is wrong with a text.
pub(crate) fn complaint(error: &Error) -> String {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => complaint(error),
        Error::ExternalMessage { source, msg, .. } => match source.as_ref() {
            ExternalMessageSource::Parser(error) => form::complaint(error.kind()),
            _ => brief(msg).into_owned(),
        },
        Error::Budget { breach, .. } => of_limits(breach),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{}` is given twice", brief(key))
        }
        Error::NonFiniteFloat { value, .. } => {
            format!("found `{}`, needed a finite number", brief(value))
        }
        Error::UnsupportedTag { tag, .. } => {
            format!("the tag `{}` does not fit this value", brief(tag))
        }
        error => of_content(error).map_or_else(|| unforeseen(error), str::to_owned),
    }
}

/// What is wrong with a text whose form is that of YAML.
fn of_content(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Eof { .. } => "the text ends too early",
        Error::MultipleDocuments { .. } => "found a second document after `---`, needed one alone",
        Error::InvalidUtf8Input => "needed UTF-8 text",
        Error::DuplicateMappingKey { key: None, .. } => "a key is given twice",
        Error::SerdeInvalidType { .. }
        | Error::SerdeInvalidValue { .. }
        | Error::Unexpected { .. }
        | Error::NullIntoString { .. }
        | Error::TaggedScalarCannotDeserializeIntoString { .. }
        | Error::UnexpectedContainerEndWhileReadingKeyNode { .. } => {
            "needed a text, a number, a list or a map, and texts as keys"
        }
        Error::InvalidScalar { .. } => "this number cannot be read",
        Error::InvalidBinaryBase64 { .. }
        | Error::BinaryNotUtf8 { .. }
        | Error::BytesNotSupportedMissingBinaryTag { .. } => {
            "found bytes (`!!binary`), needed a text"
        }
        Error::InvalidBooleanStrict { .. } => "needed true or false",
        Error::FoldedBlockScalarMustIndentContent { .. } | Error::IndentationError { .. } => {
            "this line is not indented like those that it belongs to"
        }
        Error::MergeValueNotMapOrSeqOfMaps { .. } | Error::MergeKeyNotAllowed { .. } => {
            "needed a map after `<<`, which takes over the keys of another"
        }
        Error::UnknownAnchor { .. } => {
            "found `*` with a name that no `&` has given; a text that begins with `*` needs quotes"
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "a `*name` stands within the value that it is the name of"
        }
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "the values that `*name` stands for are too many, or too deep in each other"
        }
        Error::ContainerEndMismatch { .. }
        | Error::UnexpectedSequenceEnd { .. }
        | Error::UnexpectedMappingEnd { .. }
        | Error::UnexpectedContainerEndWhileSkippingNode { .. } => {
            "found the end of a list or a map that did not begin"
        }
        _ => return None,
    })
}

/// What is said of lists and maps within each other.
const TOO_DEEP: &str = "found lists and maps nested more than 64 levels deep";

/// Which limit a text exceeds.
fn of_limits(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => TOO_DEEP.to_owned(),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("found more than {MOST_VALUES} keys and values, which is the most that is read")
        }
        BudgetBreach::ScalarBytes { .. } | BudgetBreach::InputBytes { .. } => {
            "found more text than the 64 MiB that are read".to_owned()
        }
        BudgetBreach::CommentBytes { .. } => {
            "found more comments than the 64 MiB that are read".to_owned()
        }
        BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => {
            format!("found more than {MOST_ALIASES} names given with `&` or used with `*`")
        }
        BudgetBreach::AliasAnchorRatio { aliases, anchors } => format!(
            "found {aliases} uses (`*name`) of {anchors} names (`&name`), at most ten uses of each are read"
        ),
        BudgetBreach::RecordedAnchorEvents { .. } | BudgetBreach::RecordedAnchorBytes { .. } => {
            "the values that are named with `&` are too large".to_owned()
        }
        BudgetBreach::Documents { .. } => {
            "found a second document after `---`, needed one alone".to_owned()
        }
        BudgetBreach::MergeKeys { .. } => "found `<<` too many times".to_owned(),
        BudgetBreach::SequenceUnbalanced => {
            "found the end of a list or a map that did not begin".to_owned()
        }
        _ => "the text is larger than what is read".to_owned(),
    }
}

/// What the reader's own words are of an error that a text cannot cause as far as is known.
fn unforeseen(error: &Error) -> String {
    let words = UserMessageFormatter.format_message(error);
    format!("the text cannot be read: {}", brief(&words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree::Node;

    /// Words of the reader's inner life.
    const JARGON: [&str; 14] = [
        "flow", "block", "scalar", "mapping", "sequence", "context", "token", "anchor", "_", "{ ",
        "budget", "breach", "Error", "serde",
    ];

    #[test]
    fn texts_that_are_no_yaml_are_answered_in_plain_words() {
        let deep = format!("a: {}{}", "[".repeat(65), "]".repeat(65));
        let deep_lines: String = (0..70).map(|n| format!("{}- \n", " ".repeat(n))).collect();
        let nested = "- ".repeat(70);
        let many = format!("a: [{}]", "1, ".repeat(MOST_VALUES));
        let long_key = format!("{}: 1", "k".repeat(2000));
        for (yaml, words) in [
            (deep.as_str(), "nested more than 64 levels deep"),
            (&nested, "nested more than 64 levels deep"),
            (&deep_lines, "nested more than 64 levels deep"),
            (&many, "more than 1000000 keys and values"),
            (&long_key, "found `:` where no key ends"),
            ("a: 1\na: 2", "the key `a` is given twice"),
            ("a: b: c", "a text with `: ` in it needs quotes"),
            ("a: 1\n b: 2", "is the line indented like those before it?"),
            ("a: {b: 1", "this `{` is never closed"),
            ("a: [1, 2", "this `[` is never closed"),
            ("a: [1}", "`[` is closed by `}`"),
            ("[a]]", "a bracket that closes nothing"),
            ("[a: b: c]", "needed `,` or `}` here"),
            ("a: - b", "found `-` where no list can begin"),
            ("- a\nb: 1", "needed `-` here"),
            ("a: \"b", "a quote is never closed"),
            ("a: \"b\" c", "after a closing quote"),
            ("a: \"\\q\"", "this escape is unknown"),
            ("a: \"\\ud800\"", "this escape is unknown"),
            ("a:\n\t- b", "found a tab, needed blanks"),
            ("a: >0\n b", "not indented like those"),
            ("a: *b", "a text that begins with `*` needs quotes"),
            ("a: &", "needed a name after `&` or `*`"),
            ("a: &b {c: *b}", "within the value that it is the name of"),
            ("a: @b", "found @"),
            ("a: `b`", "put the text in quotes"),
            ("a:\0b", "found the character U+0000"),
            ("a: 1\n---\nb: 2", "a second document after `---`"),
            ("%FOO\na: 1", "needed one document alone"),
            ("a: 1\n\u{feff}b: 2", "a byte-order mark in the midst"),
            ("a: .nan", "found `.nan`, needed a finite number"),
            ("a: -1e999", "found `-1e999`, needed a finite number"),
            ("a: !!int x", "this number cannot be read"),
            ("a: !!bool 3", "needed true or false"),
            ("a: !!map [1]", "the tag `!!map` does not fit"),
            ("a: !<x b", "this tag cannot be read"),
            ("<<: 3", "needed a map after `<<`"),
            ("? [a]\n: b", "texts as keys"),
            ("~: b", "texts as keys"),
            ("a: !!binary \"?\"", "found bytes"),
            ("a: |b\n c", "after `|` or `>`"),
        ] {
            let message = Node::read(yaml, 0, 0).unwrap_err().message;
            let start: String = yaml.chars().take(40).collect();
            assert!(message.contains(words), "{start}: {message}");
            let jargon = JARGON.iter().find(|word| message.contains(*word));
            assert_eq!(jargon, None, "{start}: {message}");
        }
    }

    #[test]
    fn every_limit_is_told_in_plain_words() {
        for breach in [
            BudgetBreach::Events { events: 1 },
            BudgetBreach::Aliases { aliases: 1 },
            BudgetBreach::Anchors { anchors: 1 },
            BudgetBreach::Depth { depth: 65 },
            BudgetBreach::InclusionDepth { depth: 65 },
            BudgetBreach::Documents { documents: 2 },
            BudgetBreach::Nodes { nodes: 1 },
            BudgetBreach::ScalarBytes {
                total_scalar_bytes: 1,
            },
            BudgetBreach::CommentBytes {
                total_comment_bytes: 1,
            },
            BudgetBreach::MergeKeys { merge_keys: 1 },
            BudgetBreach::AliasAnchorRatio {
                aliases: 101,
                anchors: 1,
            },
            BudgetBreach::SequenceUnbalanced,
            BudgetBreach::InputBytes { input_bytes: 1 },
            BudgetBreach::RecordedAnchorEvents {
                recorded_anchor_events: 1,
            },
            BudgetBreach::RecordedAnchorBytes {
                recorded_anchor_bytes: 1,
            },
        ] {
            let words = of_limits(&breach);
            let jargon = JARGON.iter().find(|word| words.contains(*word));
            assert_eq!(jargon, None, "{breach:?}: {words}");
        }
    }

    #[test]
    fn the_limits_are_those_of_the_reader() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Node::read(&deep(MOST_LEVELS), 0, 0).is_ok());
        let error = Node::read(&deep(MOST_LEVELS + 1), 0, 0).unwrap_err();
        assert_eq!(error.message, TOO_DEEP);
        assert!(TOO_DEEP.contains(&MOST_LEVELS.to_string()));
        let names: String = (0..200).map(|n| format!("k{n}: *a\n")).collect();
        let message = Node::read(&format!("a: &a 1\n{names}"), 0, 0)
            .unwrap_err()
            .message;
        assert!(message.starts_with("found 200 uses"), "{message}");
    }
}
