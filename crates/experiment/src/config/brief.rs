//! How messages show a user's text: in one line, and only part of it if it is long.

use std::borrow::Cow;
use std::fmt::Write;

/// The most characters of a text that a message shows.
const MOST: usize = 200;

/// `text` in one line. Of a long text the beginning is shown, and how long it is; characters that would move the cursor or
/// hide others are shown as escapes.
///
/// ```
/// use meshfold_experiment::brief;
///
/// assert_eq!(brief("topology=ring"), "topology=ring");
/// assert_eq!(brief("two\nlines"), "two\\nlines");
/// assert!(brief(&"a".repeat(10_000)).ends_with("aaa… (10000 characters)"));
/// ```
pub fn brief(text: &str) -> Cow<'_, str> {
    match cut(text) {
        (shown, None) => shown,
        (shown, Some(characters)) => format!("{shown} ({characters} characters)").into(),
    }
}

/// `the text "..."`, as [`brief`] shows it.
pub(crate) fn quoted(text: &str) -> String {
    match cut(text) {
        (shown, None) => format!("the text \"{shown}\""),
        (shown, Some(characters)) => format!("the text \"{shown}\" ({characters} characters)"),
    }
}

/// The names in backquotes, and how many more there are if they are many.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST_NAMES: usize = 10;
    let shown: Vec<String> = names
        .iter()
        .take(MOST_NAMES)
        .map(|name| format!("`{}`", brief(name)))
        .collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The whole message `text` unless it is far too long: then its beginning and its end.
pub(crate) fn bounded(text: String) -> String {
    const BEGINNING: usize = 1000;
    const END: usize = 300;
    if text.len() <= BEGINNING + END {
        return text;
    }
    let beginning = &text[..text.floor_char_boundary(BEGINNING)];
    let end = &text[text.ceil_char_boundary(text.len() - END)..];
    format!("{beginning} … {end}")
}

/// `text` without hidden characters; if it is long its beginning with a mark, and the number of its characters.
fn cut(text: &str) -> (Cow<'_, str>, Option<usize>) {
    let end = text.char_indices().nth(MOST).map(|(end, _)| end);
    let Some(end) = end else {
        return (escaped(text), None);
    };
    let shown = format!("{}…", escaped(&text[..end]));
    (shown.into(), Some(text.chars().count()))
}

/// `text` with escapes such as `\n` in place of hidden characters.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match is_hidden(character) {
            true => write!(shown, "{}", character.escape_default()),
            false => write!(shown, "{character}"),
        }
        .expect("a String takes any text");
    }
    shown.into()
}

/// Whether a terminal would act on the character, or show others in another order, in place of showing it.
pub(crate) fn is_hidden(character: char) -> bool {
    let reorders = matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || reorders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_hidden_characters_are_shown() {
        assert_eq!(quoted("ring"), "the text \"ring\"");
        assert_eq!(quoted("\u{1b}[2J"), "the text \"\\u{1b}[2J\"");
        assert_eq!(brief("a\u{202e}b\r\n"), "a\\u{202e}b\\r\\n");
        let long = quoted(&"ü".repeat(1_000_000));
        assert!(long.starts_with("the text \"üü"), "{long}");
        assert!(long.ends_with("ü…\" (1000000 characters)"), "{long}");
        assert_eq!(brief(&"a".repeat(MOST)), "a".repeat(MOST));
    }

    #[test]
    fn many_names_are_counted() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|n| n.to_string()).collect() };
        assert_eq!(listed(&names(2)), "`0`, `1`");
        assert!(listed(&names(12)).ends_with("`9` and 2 more"));
    }

    #[test]
    fn a_message_far_too_long_keeps_its_beginning_and_its_end() {
        assert_eq!(bounded("short".to_owned()), "short");
        let bounded = bounded(format!("begins {} ends", "ü".repeat(50_000)));
        assert!(bounded.starts_with("begins ü") && bounded.ends_with("ü ends"));
        assert!(bounded.len() < 2000, "{}", bounded.len());
    }
}
