//! The roles of tiny Shakespeare: speeches of `NAME:` and lines, an empty line between two.

use std::collections::BTreeMap;

use super::Role;

/// The speakers in the order in which they first speak, each with all that is said under the name, whatever the play.
pub(crate) fn roles(text: &str) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, words) in speeches(text) {
        let place = *places.entry(name).or_insert_with(|| {
            roles.push(Role {
                name: name.into(),
                words: String::new(),
            });
            roles.len() - 1
        });
        for line in words.lines() {
            roles[place].say(line);
        }
    }
    roles
}

/// The speaker and the words of every speech.
pub(crate) fn speeches(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n\n").filter_map(|speech| {
        let speech = speech.trim_start_matches('\n');
        let (head, words) = speech.split_once('\n').unwrap_or((speech, ""));
        head.strip_suffix(':').map(|name| (name, words))
    })
}

/// Speeches in `text`, and roles.
pub(crate) fn counts(text: &str) -> [usize; 2] {
    [speeches(text).count(), roles(text).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speakers_are_gathered_by_name() {
        let text =
            "First Citizen:\nBefore we\nspeak.\n\nAll:\nSpeak.\n\n\nFirst Citizen:\nYou  are\n";
        let roles = roles(text);
        assert_eq!(roles[0].name, "First Citizen");
        assert_eq!(roles[0].words, "Before we speak. You are ");
        assert_eq!(roles[1].words, "Speak. ");
        assert_eq!(speeches(text).count(), 3);
    }

    #[test]
    fn text_without_heads_has_no_speeches() {
        assert_eq!(roles("no head\n\n\n\nnone here").len(), 0);
        assert_eq!(roles("").len(), 0);
    }
}
