//! What is wrong with the form of a text, by the part of YAML that is not kept to.

use serde_yaml::granit_parser::ErrorKind;

use super::{TOO_DEEP, cause};
use crate::config::brief::{brief, is_hidden};

/// What is wrong with the form of a text.
pub(super) fn complaint(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::UnclosedFlowCollection { open } => format!("this `{open}` is never closed"),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            format!("`{open}` is closed by `{close}`")
        }
        ErrorKind::UnexpectedCharacter { character } if is_hidden(*character) => format!(
            "found the character U+{:04X}, which no text may have",
            u32::from(*character)
        ),
        ErrorKind::UnexpectedCharacter { character } => {
            format!(
                "found {character}, which has a meaning of its own in YAML: put the text in quotes"
            )
        }
        ErrorKind::Custom(message) => brief(message).into_owned(),
        kind => of_signs(kind)
            .or_else(|| of_lines(kind))
            .or_else(|| of_rare_forms(kind))
            .map_or_else(
                || format!("this is no YAML: {}", brief(&kind.to_string())),
                str::to_owned,
            ),
    }
}

/// What is wrong with brackets, colons, dashes and quotes.
fn of_signs(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => "a `[` or `{` is never closed",
        ErrorKind::ExpectedFlowMappingSeparator => {
            "needed `,` or `}` here: a bracket before is still open"
        }
        ErrorKind::ExpectedFlowSequenceSeparator => {
            "needed `,` or `]` here: a bracket before is still open"
        }
        ErrorKind::MisplacedFlowCollectionEnd => "found a bracket that closes nothing",
        ErrorKind::RecursionLimitExceeded => TOO_DEEP,
        ErrorKind::MappingKeyNotAllowed
        | ErrorKind::MappingValueNotAllowed
        | ErrorKind::InvalidColonPlacement => {
            "found `:` where no key ends; is the line indented like those before it? a text with `: ` in it needs quotes"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "needed `:` after a key, in its line and within 1024 characters"
        }
        ErrorKind::FlowMappingValueAdjacentCollection
        | ErrorKind::InvalidMappingValueWhitespace => "needed a blank after `:`",
        ErrorKind::InvalidBlockEntryWhitespace
        | ErrorKind::PlainScalarStartsWithDashFlowIndicator => "needed a blank after `-`",
        ErrorKind::BlockEntryInFlowCollection | ErrorKind::BlockSequenceEntryNotAllowed => {
            "found `-` where no list can begin"
        }
        ErrorKind::UnclosedQuotedScalar => "a quote is never closed",
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => "found text after a closing quote",
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidUnicodeEscape => {
            "this escape is unknown: in double quotes a backslash is written `\\\\`"
        }
        _ => return None,
    })
}

/// What is wrong with lines, their beginnings and their ends.
fn of_lines(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ExpectedBlockMappingKey => {
            "needed a key here; is the line indented like those that it belongs to?"
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            "needed `-` here; is the line indented like those that it belongs to?"
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::InvalidBlockScalarIndent
        | ErrorKind::ZeroBlockScalarIndent
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::InvalidFlowScalarIndent => {
            "this line is not indented like those that it belongs to"
        }
        kind if cause::is_of_tabs(kind) => cause::TAB,
        ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEof
        | ErrorKind::UnexpectedEndOfPlainScalar => "the text ends too early",
        ErrorKind::ExpectedNodeContent => "needed a value here",
        ErrorKind::ExpectedWhitespace => "needed a blank here",
        ErrorKind::CommentInterceptedScalar => {
            "a comment stands in the midst of a text of several lines"
        }
        ErrorKind::CommentNotSeparated => "needed a blank before `#`",
        ErrorKind::TooManyComments => "found too many lines of comments in a row",
        ErrorKind::InvalidBlockScalarHeader => {
            "needed the end of the line after `|` or `>`; a text that begins so needs quotes"
        }
        _ => return None,
    })
}

/// What is wrong with what experiments seldom have: documents, directives, tags and names of values.
fn of_rare_forms(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ExpectedStreamStart
        | ErrorKind::ExpectedDocumentStart
        | ErrorKind::InvalidDocumentEnd
        | ErrorKind::MultipleDocumentsUnsupported
        | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "found the beginning or the end of a document, `---` or `...`, needed one document alone"
        }
        ErrorKind::BomInsideDocument => "found a byte-order mark in the midst of the text",
        ErrorKind::DuplicateVersionDirective
        | ErrorKind::UnsupportedYamlMajorVersion
        | ErrorKind::DuplicateTagDirective
        | ErrorKind::MissingDocumentEndBeforeDirective
        | ErrorKind::ExpectedTagDirectiveBang
        | ErrorKind::InvalidDirectiveTerminator
        | ErrorKind::DirectiveDisallowed
        | ErrorKind::MissingYamlVersionSeparator
        | ErrorKind::MissingDirectiveName
        | ErrorKind::InvalidDirectiveName
        | ErrorKind::DirectiveByteLimitExceeded { .. }
        | ErrorKind::TooManyReservedDirectiveParams { .. }
        | ErrorKind::YamlVersionTooLong
        | ErrorKind::MissingYamlVersion
        | ErrorKind::InvalidTagDirectiveTerminator => {
            "found a line that begins with `%`, which is for directives alone"
        }
        ErrorKind::UndeclaredTagHandle
        | ErrorKind::ExpectedTagBang
        | ErrorKind::InvalidGlobalTagCharacter
        | ErrorKind::InvalidTagTerminator
        | ErrorKind::MissingTagUri
        | ErrorKind::UnclosedVerbatimTag
        | ErrorKind::InvalidTagEscape
        | ErrorKind::InvalidTagUtf8LeadingByte
        | ErrorKind::InvalidTagUtf8TrailingByte
        | ErrorKind::InvalidTagUtf8 => {
            "this tag cannot be read; a text that begins with `!` needs quotes"
        }
        ErrorKind::UnknownAnchor
        | ErrorKind::MissingAnchorOrAliasName
        | ErrorKind::AnchorCountOverflow => {
            "needed a name after `&` or `*`; a text that begins so needs quotes"
        }
        _ => return None,
    })
}
