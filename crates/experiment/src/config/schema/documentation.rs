//! The documentation of types, for readers who do not see the code.

use schemars::Schema;
use serde_json::Value;

/// Begins the documentation of types that only hold what a choice has.
const OF_A_CHOICE: &str = "Parameters of [`";

/// Rewrites the description of `schema`: headings become words, and links into the code their text.
pub(super) fn tidy(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get("description") else {
        return;
    };
    let text = without_links(&without_headings(&without_programs(text)));
    match text.is_empty() {
        true => schema.remove("description"),
        false => schema.insert("description".into(), text.into()),
    };
}

/// `text` without the programs that show how the type is used.
fn without_programs(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// `# Source` and the paragraph after it become `Source: ...`; what concerns only those who call the type is left out.
fn without_headings(text: &str) -> String {
    let mut heading = "";
    let mut kept = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let body = match first.strip_prefix("# ") {
            Some(name) => {
                heading = name;
                rest
            }
            None => paragraph,
        };
        match heading {
            _ if body.is_empty() || body.starts_with(OF_A_CHOICE) => {}
            "" => kept.push(body.replace('\n', " ")),
            "Source" | "Interpretation" => {
                kept.push(format!("{heading}: {}", body.replace('\n', " ")));
            }
            _ => {}
        }
    }
    kept.join("\n\n")
}

/// `text` with the words of its links into the code: [`Ring`](crate::Ring) and [`Ring`] become `Ring`.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, words, after)) = next_link(rest) {
        plain.push_str(before);
        plain.push_str(words);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// What stands before the first link into the code, its words, and what stands after it.
fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('[').find_map(|(at, _)| {
        let (words, after) = text[at + 1..].split_once(']')?;
        let target = after
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'));
        let leads_into_code =
            |target: &str| target.contains("::") || !target.contains(['/', '#', ' ']);
        match target {
            Some((target, after)) if leads_into_code(target) => Some((&text[..at], words, after)),
            _ if words.starts_with('`') && words.ends_with('`') => {
                Some((&text[..at], words, after))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_words_and_links_their_text() {
        let text = "One\nline, see [`Ring`](crate::Ring), [`Path`] and [a draw](Draw::All), in [0, 1).\n\n# Source\nHua et al.\n\n# Errors\nNone.";
        let tidied = without_links(&without_headings(text));
        assert_eq!(
            tidied,
            "One line, see `Ring`, `Path` and a draw, in [0, 1).\n\nSource: Hua et al."
        );
        assert_eq!(without_headings("Parameters of [`A::B`]."), "");
    }
}
