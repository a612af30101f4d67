//! How messages quote the content of files.

/// The longest number that a message repeats, in characters.
const LONGEST_NUMBER: usize = 30;

/// What to call a piece of a file in a message.
///
/// A number, or several, is repeated in quotes, as whoever has mistyped one looks for it. Any other text is told by its
/// kind and length alone: the file may be another one than was meant, and nobody should read from a message what it holds.
///
/// ```
/// use meshfold_topology::redacted;
///
/// assert_eq!(redacted("-3.5"), "\"-3.5\"");
/// assert_eq!(redacted("secret"), "a word of 6 letters");
/// assert_eq!(redacted("root:x:0"), "text of 8 characters");
/// ```
#[must_use]
pub fn redacted(text: &str) -> String {
    let text = text.trim();
    let characters = text.chars().count();
    if characters == 0 {
        return "nothing".to_owned();
    }
    if characters <= LONGEST_NUMBER && is_numeric(text) {
        return format!("\"{text}\"");
    }
    let plural = if characters == 1 { "" } else { "s" };
    match text.chars().all(char::is_alphabetic) {
        true => format!("a word of {characters} letter{plural}"),
        false => format!("text of {characters} character{plural}"),
    }
}

/// Whether `text` is made of numbers, with spaces or commas between them.
fn is_numeric(text: &str) -> bool {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(['+', '-']);
        let is_named = ["inf", "infinity", "nan"]
            .iter()
            .any(|name| digits.eq_ignore_ascii_case(name));
        let is_part = |character: char| {
            character.is_ascii_digit() || matches!(character, '+' | '-' | '.' | 'e' | 'E')
        };
        let begins = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        is_named || (begins && digits.chars().all(is_part))
    };
    let mut words = text
        .split(|character: char| character == ',' || character.is_whitespace())
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_some() && words.all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_repeated() {
        for number in [
            "1", "-2", "+3", "1.0", "1e-5", ".5", "inf", "-NaN", "1 2 3", "1,", "4,\t4",
        ] {
            assert_eq!(redacted(number), format!("\"{number}\""));
        }
    }

    #[test]
    fn other_text_is_not() {
        let long = "1".repeat(31);
        for (text, expected) in [
            ("", "nothing"),
            (" \t", "nothing"),
            (",", "text of 1 character"),
            ("x", "a word of 1 letter"),
            ("größe", "a word of 5 letters"),
            ("e", "a word of 1 letter"),
            ("1 two", "text of 5 characters"),
            ("root:$6$salt$hash:19000:0:", "text of 26 characters"),
            (&long, "text of 31 characters"),
        ] {
            assert_eq!(redacted(text), expected, "{text:?}");
        }
    }
}
