//! The lines around a place of a text, as an error shows them.
//!
//! They are made here and not by miette, which panics at marks beyond column 65,535, prints lines and marks of any length
//! whole, and sends control characters to the terminal. What miette draws is this excerpt alone: three lines at most, each
//! of some hundred characters at most, all of them printable.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::config::brief::is_hidden;

/// Lines of more characters are shown in part.
const LONGEST_LINE: usize = 200;
/// Characters that are shown on either side of the mark in a long line, and the most that are marked in it.
const AROUND: usize = 100;

/// The line of a place, and those before and after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// What the text is called.
    name: String,
    /// The lines that are shown, each with its end.
    text: String,
    /// The line of the text that the excerpt begins with, from 0.
    first_line: usize,
    /// Bytes of the excerpt that are marked.
    mark: Range<usize>,
    /// The line of the text that the place begins in, from 0.
    line: usize,
    /// Characters of that line before the place.
    column: usize,
}

impl Excerpt {
    /// The lines around bytes `place` of `text`. A place of several lines is marked in its first line.
    pub(crate) fn new(name: &str, text: &str, place: Range<usize>) -> Self {
        let start = text.floor_char_boundary(place.start);
        let end = text.ceil_char_boundary(place.end).max(start);
        let here = line_around(text, start);
        let start = start.clamp(here.start, here.end);
        let marked = &text[start..end.clamp(start, here.end)];
        let before = text[here.start..start].chars().count();
        let cutting = Cutting::new(
            before,
            marked.chars().count(),
            text[here.clone()].chars().count(),
        );

        let mut shown = String::new();
        let above = line_before(text, here.start);
        if let Some(above) = &above {
            cutting.push(&mut shown, &text[above.clone()]);
        }
        let begins = shown.len();
        cutting.push(&mut shown, &text[here.clone()]);
        let mark = cutting.mark(&shown, begins);
        if let Some(below) = line_after(text, here.end) {
            cutting.push(&mut shown, &text[below]);
        }
        let line = breaks(&text[..here.start]);
        Self {
            name: name
                .chars()
                .map(|character| printable(character, '\u{fffd}'))
                .collect(),
            text: shown,
            first_line: line - usize::from(above.is_some()),
            mark,
            line,
            column: before,
        }
    }

    /// What the text is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The line of the place, from 1.
    pub(crate) fn line(&self) -> usize {
        self.line + 1
    }

    /// The character of that line at which the place begins, from 1.
    pub(crate) fn column(&self) -> usize {
        self.column + 1
    }

    /// Bytes of the excerpt that are marked.
    pub(crate) fn mark(&self) -> SourceSpan {
        (self.mark.start, self.mark.len()).into()
    }
}

impl SourceCode for Excerpt {
    /// The whole excerpt, whatever part of it is asked for. Asked for the mark alone, it is said to begin at the line and
    /// the column that the mark has in the text.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let alone = *span == self.mark() && lines_before == 0 && lines_after == 0;
        let (line, column) = match alone {
            true => (self.line, self.column),
            false => (self.first_line, 0),
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            self.text.as_bytes(),
            (0, self.text.len()).into(),
            line,
            column,
            self.text.lines().count(),
        )))
    }
}

/// Which characters of the lines are shown.
struct Cutting {
    /// Of each line, counted from its beginning.
    shown: Range<usize>,
    /// Of the line with the mark.
    marked: Range<usize>,
}

impl Cutting {
    /// Shows a line of `all` characters with the mark on `marked` of them after `before`.
    fn new(before: usize, marked: usize, all: usize) -> Self {
        if all <= LONGEST_LINE {
            return Self {
                shown: 0..LONGEST_LINE,
                marked: before..before + marked,
            };
        }
        let marked = before..before + marked.min(AROUND);
        Self {
            shown: before.saturating_sub(AROUND)..marked.end + AROUND,
            marked,
        }
    }

    /// Appends what is shown of `line` to `text`, with `…` where something is left out. A line is never empty: miette would
    /// not show a mark in it.
    fn push(&self, text: &mut String, line: &str) {
        if self.shown.start > 0 && !line.is_empty() {
            text.push('…');
        }
        let mut rest = line.chars().skip(self.shown.start);
        let shown = rest.by_ref().take(self.shown.len());
        text.extend(shown.map(|character| printable(character, '→')));
        if rest.next().is_some() {
            text.push('…');
        }
        text.push_str(if line.is_empty() { " \n" } else { "\n" });
    }

    /// The bytes that are marked of the line that begins at `begins` in `text`, to which it was pushed last.
    fn mark(&self, text: &str, begins: usize) -> Range<usize> {
        let skipped = self.marked.start - self.shown.start + usize::from(self.shown.start > 0);
        let line = text[begins..].trim_end_matches('\n');
        let byte_of = |character: usize| {
            let (byte, _) = line
                .char_indices()
                .nth(character)
                .unwrap_or((line.len(), ' '));
            begins + byte
        };
        byte_of(skipped)..byte_of(skipped + self.marked.len())
    }
}

/// The character as it is shown in its place; `tab` stands for tabs.
fn printable(character: char, tab: char) -> char {
    match character {
        '\t' => tab,
        // Control pictures, such as ␀ for NUL.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ if is_hidden(character) => '\u{fffd}',
        _ => character,
    }
}

/// The number of the line that byte `place` of `text` is in, from 1 on.
pub(crate) fn line_number(text: &str, place: usize) -> usize {
    breaks(&text[..text.floor_char_boundary(place)]) + 1
}

/// Ends of lines in `text`: `\n`, `\r\n` or `\r`.
fn breaks(text: &str) -> usize {
    let alone = text.matches('\r').count() - text.matches("\r\n").count();
    text.matches('\n').count() + alone
}

/// The line that byte `place` is in, without its end. A mark of the byte order at the beginning of the text is no part of it.
fn line_around(text: &str, place: usize) -> Range<usize> {
    let is_break = ['\n', '\r'];
    // Between `\r` and `\n` is the end of a line, not the beginning of the next.
    let place = match text[..place].ends_with('\r') && text[place..].starts_with('\n') {
        true => place - 1,
        false => place,
    };
    let start = text[..place].rfind(is_break).map_or(0, |found| found + 1);
    let end = text[place..]
        .find(is_break)
        .map_or(text.len(), |found| place + found);
    let mark = '\u{feff}';
    match start == 0 && text.starts_with(mark) {
        true => mark.len_utf8()..end.max(mark.len_utf8()),
        false => start..end,
    }
}

/// The line before the one that begins at byte `start`, if there is one.
fn line_before(text: &str, start: usize) -> Option<Range<usize>> {
    let above = &text[..start];
    let ended = above.strip_suffix("\r\n");
    let above = ended.or_else(|| above.strip_suffix(['\n', '\r']))?;
    Some(line_around(text, above.len()))
}

/// The line after the one that ends at byte `end`, if there is one.
fn line_after(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = &text[end..];
    let length = if rest.starts_with("\r\n") { 2 } else { 1 };
    let start = end + length;
    (start < text.len()).then(|| line_around(text, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The excerpt with the mark in angle brackets, and the line and the column of the place, from 1.
    fn shown(text: &str, place: Range<usize>) -> (String, usize, usize) {
        let excerpt = Excerpt::new("e.yaml", text, place);
        let (mut marked, mark) = (excerpt.text.clone(), excerpt.mark.clone());
        marked.insert(mark.end, '>');
        marked.insert(mark.start, '<');
        (marked, excerpt.line(), excerpt.column + 1)
    }

    #[test]
    fn short_lines_are_shown_whole_with_their_neighbours() {
        let text = "seed: 1\nrounds: ten\nname: a\nstart: same\n";
        let expected = "seed: 1\nrounds: <ten>\nname: a\n";
        assert_eq!(shown(text, 16..19), (expected.to_owned(), 2, 9));
        let expected = "<seed>: 1\nrounds: ten\n";
        assert_eq!(shown(text, 0..4), (expected.to_owned(), 1, 1));
        let expected = "name: a\nstart: <same>\n";
        assert_eq!(shown(text, 35..39), (expected.to_owned(), 4, 8));
    }

    #[test]
    fn every_end_of_a_line_counts() {
        let expected = ("b\n<c>\nd\n".to_owned(), 3, 1);
        for text in ["a\nb\nc\nd", "a\r\nb\r\nc\r\nd", "a\rb\rc\rd"] {
            let place = text.find('c').unwrap();
            assert_eq!(shown(text, place..place + 1), expected, "{text:?}");
        }
        // The end of the text, an empty line, and the place between two halves of an end.
        assert_eq!(shown("a\n", 2..2), ("a\n<> \n".to_owned(), 2, 1));
        assert_eq!(shown("", 0..0), ("<> \n".to_owned(), 1, 1));
        assert_eq!(shown("a\r\nb", 2..3), ("a<>\nb\n".to_owned(), 1, 2));
    }

    #[test]
    fn of_a_long_line_the_part_around_the_mark_is_shown() {
        let text = format!("{}here{}\n", "ä".repeat(70_000), "b".repeat(70_000));
        let start = 2 * 70_000;
        let expected = format!("…{}<here>{}…\n", "ä".repeat(100), "b".repeat(100));
        assert_eq!(shown(&text, start..start + 4), (expected, 1, 70_001));
        // A mark that is long itself, and one of many lines.
        let wide = "x".repeat(1000);
        let expected = format!("<{}>{}…\n", "x".repeat(100), "x".repeat(100));
        assert_eq!(shown(&wide, 0..1000), (expected, 1, 1));
        let lines = "a: |\n  b\n  c\n";
        assert_eq!(shown(lines, 3..14), ("a: <|>\n  b\n".to_owned(), 1, 4));
        // Neighbours are cut in the same columns.
        let below = format!("{wide}\n{}\nshort", "y".repeat(700));
        let (shown, ..) = shown(&below, 500..501);
        let lines: Vec<usize> = shown.lines().map(|line| line.chars().count()).collect();
        assert_eq!(lines, [203 + 2, 203]);
    }

    #[test]
    fn what_a_terminal_would_act_on_is_shown_as_a_picture() {
        let (shown, ..) = shown("a\t\u{1b}[2J\0\u{7f}\u{202e}b", 0..1);
        assert_eq!(shown, "<a>→␛[2J␀␡\u{fffd}b\n");
        let excerpt = Excerpt::new("e\n.yaml", "\u{feff}seed: x", 9..10);
        assert_eq!(
            (excerpt.name(), excerpt.text.as_str()),
            ("e␊.yaml", "seed: x\n")
        );
        assert_eq!((excerpt.line, excerpt.column), (0, 6));
    }
}
