//! Where the cause of an error lies that the reader of YAML only notices behind it.

use serde_yaml::granit_parser::ErrorKind;

/// What is said of a tab.
pub(super) const TAB: &str = "found a tab, needed blanks";

/// What is wrong with `yaml` and at which byte, if that is known better than by the `kind` of the error and its `mark`.
pub(super) fn of(kind: &ErrorKind, yaml: &str, mark: usize) -> Option<(&'static str, usize)> {
    match kind {
        ErrorKind::InvalidQuotedScalarIndent => opening_quote(yaml, mark).map(|quote| {
            (
                "this quote is not closed before a line that is not indented",
                quote,
            )
        }),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation => Some((TAB, tab_before(line_of(yaml, mark))?)),
        kind if is_of_tabs(kind) => {
            let here = line_of(yaml, mark);
            let below = lines_from(yaml, here.0).skip(1);
            let is_content = |(_, line): &(usize, &str)| {
                !line.trim().is_empty() && !line.trim_start().starts_with('#')
            };
            let next = below.into_iter().find(is_content);
            let tab = tab_before(here).or_else(|| tab_before(next?))?;
            Some((TAB, tab))
        }
        _ => None,
    }
}

/// Whether the reader itself blames a tab.
pub(super) fn is_of_tabs(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
    )
}

/// The byte of the first tab before what stands in a line that begins at byte `start`.
fn tab_before((start, line): (usize, &str)) -> Option<usize> {
    let indentation = line.len() - line.trim_start().len();
    line[..indentation].find('\t').map(|tab| start + tab)
}

/// The line that byte `place` is in, and the byte that it begins at.
fn line_of(yaml: &str, place: usize) -> (usize, &str) {
    let place = yaml.floor_char_boundary(place);
    let start = yaml[..place].rfind('\n').map_or(0, |end| end + 1);
    lines_from(yaml, start).next().unwrap_or((start, ""))
}

/// The lines from the one that begins at byte `start`, each with the byte that it begins at.
fn lines_from(yaml: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    let lines = yaml[start..].split_inclusive('\n');
    lines.scan(start, |next, line| {
        let begins = *next;
        *next += line.len();
        Some((begins, line))
    })
}

/// The byte of the quote that is still open at byte `mark`: the first one in the last line that has any.
fn opening_quote(yaml: &str, mark: usize) -> Option<usize> {
    let before = &yaml[..yaml.floor_char_boundary(mark)];
    let mut end = before.len();
    loop {
        let start = before[..end].rfind('\n').map_or(0, |line| line + 1);
        let mut quotes = before[start..end].match_indices(['"', '\'']);
        let open = quotes.find(|(at, quote)| {
            let begins = before[..start + at]
                .chars()
                .next_back()
                .is_none_or(|last| last.is_whitespace() || "[{,".contains(last));
            begins && !is_closed(&before[start + at + 1..], quote)
        });
        match open {
            Some((at, _)) => return Some(start + at),
            None if start == 0 => return None,
            None => end = start - 1,
        }
    }
}

/// Whether the text after an opening `quote` has one that closes it: not behind a backslash, and of single quotes not two.
fn is_closed(text: &str, quote: &str) -> bool {
    let rest = match quote {
        "\"" => text.replace("\\\\", "").replace("\\\"", ""),
        _ => text.replace("''", ""),
    };
    rest.contains(quote)
}

#[cfg(test)]
mod tests {
    use crate::config::tree::Node;

    /// What is said of `yaml`, and the line and the character of it.
    fn said(yaml: &str) -> (String, usize, usize) {
        let unread = Node::read(yaml, 0, 0).unwrap_err();
        let before = &yaml[..unread.place.expect("it lies somewhere").start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        (
            unread.message,
            before.matches('\n').count() + 1,
            line.chars().count() + 1,
        )
    }

    #[test]
    fn a_tab_is_blamed_where_it_stands() {
        for (yaml, line, column) in [
            ("a: b\n\tc: d\n", 2, 1),
            ("a: b\n# c\n\tc: d\n", 3, 1),
            ("a:\n\tb: {c: 1}\n", 2, 1),
            ("a:\n  b: c\n  \td: e\n", 3, 3),
            ("a:\n  b:\n    c: 3\n\t  d: 20\n", 4, 1),
        ] {
            let found = said(yaml);
            assert_eq!(found, (super::TAB.to_owned(), line, column), "{yaml:?}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_blamed_where_it_stands() {
        for (yaml, line, column) in [
            ("a: \"b\nc: d\n", 1, 4),
            ("a: \"b\" # 'c\nc: 'it''s \"x\"\nd: e\n", 2, 4),
            ("a: \"b\\\" c\n  d\n\ne: f\n", 1, 4),
        ] {
            let (message, found_line, found_column) = said(yaml);
            assert!(message.starts_with("this quote is not closed"), "{message}");
            assert_eq!((found_line, found_column), (line, column), "{yaml:?}");
        }
    }
}
