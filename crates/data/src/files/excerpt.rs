//! What a message shows of a text of unknown length and content: a name, a cell, an address.

/// Characters that are shown.
const SHOWN: usize = 60;
/// Names that a list shows.
const LISTED: usize = 10;

/// The beginning of `text`, with control characters as escapes, and with `…` where it was cut.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text, SHOWN)
}

/// As [`excerpt`], of `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    if !characters.as_str().is_empty() {
        shown.push('…');
    }
    shown
}

/// The first of `names`, and how many there are besides.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names
        .by_ref()
        .take(LISTED)
        .map(|name| format!("`{}`", excerpt(name)))
        .collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_control_characters_escaped() {
        assert_eq!(excerpt("age"), "age");
        assert_eq!(excerpt("a\n\u{1b}[31m"), "a\\n\\u{1b}[31m");
        let cut = excerpt(&"é".repeat(10_000_000));
        assert_eq!(cut, "é".repeat(SHOWN) + "…");
        assert_eq!(excerpt(&"a".repeat(SHOWN)), "a".repeat(SHOWN));
    }

    #[test]
    fn long_lists_say_how_many_names_they_leave_out() {
        assert_eq!(listed(["a", "b"]), "`a`, `b`");
        let names: Vec<String> = (0..12).map(|name| name.to_string()).collect();
        let list = listed(names.iter().map(String::as_str));
        assert!(list.ends_with("`9` and 2 more"), "{list}");
    }
}
