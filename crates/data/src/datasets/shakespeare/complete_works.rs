//! The roles of the complete works, read from Project Gutenberg's etext 100 of January 1994 as LEAF reads it.
//!
//! # Source
//! LEAF (S. Caldas et al., arXiv:1812.01097), `data/shakespeare/preprocess/preprocess_shakespeare.py`, after
//! H. B. McMahan et al. (arXiv:1602.05629).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Role;

/// What stands in the line that opens every work.
const BY_LINE: &str = "by William Shakespeare";
/// The plays end before this line, counted from the second of the file.
const LAST_LINE: usize = 124_195;
/// The play whose lines are not indented in this edition.
const FLUSH_LEFT: &str = "THE COMEDY OF ERRORS";
/// A title stands two to so many lines above the line that names the author.
const TITLE_ABOVE: usize = 7;
/// Roles of fewer lines are left out.
const FEWEST_LINES: usize = 3;

/// A work and who speaks in it, each with what is said line by line.
struct Play<'a> {
    title: &'a str,
    names: Vec<String>,
    lines: Vec<Vec<&'a str>>,
    places: BTreeMap<String, usize>,
}

impl<'a> Play<'a> {
    fn titled(title: &'a str) -> Self {
        Self {
            title,
            names: Vec::new(),
            lines: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// The index of the character `name`, who is added if new.
    fn place(&mut self, name: String) -> usize {
        let next = self.names.len();
        *self.places.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.lines.push(Vec::new());
            next
        })
    }
}

/// The roles in the order in which they first speak. A role is a play and a character; the names of both are joined
/// by what is neither letter nor digit made `_`.
///
/// A line `  NAME. words` begins a speech, lines indented by four goes on with it; everything else is left out, as are
/// works in which at most one character speaks and roles of at most two lines.
pub(crate) fn roles(text: &str) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for play in plays(text) {
        if play.names.len() <= 1 {
            continue;
        }
        for (character, lines) in play.names.iter().zip(&play.lines) {
            if lines.len() < FEWEST_LINES {
                continue;
            }
            let name = plain(&format!("{}_{character}", play.title));
            let place = *places.entry(name).or_insert_with_key(|name| {
                roles.push(Role {
                    name: name.clone(),
                    words: String::new(),
                });
                roles.len() - 1
            });
            for line in lines {
                roles[place].say(line);
            }
        }
    }
    roles
}

fn plays(text: &str) -> Vec<Play<'_>> {
    let lines: Vec<&str> = text
        .lines()
        .skip(1)
        .take(LAST_LINE + 1)
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let opens = |line: &str| line.contains(BY_LINE);
    // The first work, the sonnets, has no roles.
    let mut works = (0..lines.len()).filter(|&index| opens(lines[index]));
    let start = works.nth(1).map_or(0, |second| second.saturating_sub(5));
    let mut plays: Vec<Play<'_>> = Vec::new();
    let (mut speaker, mut flush_left) = (None, false);
    for (index, &line) in lines.iter().enumerate().skip(start) {
        if opens(line) {
            let title = title(&lines[start..index]);
            plays.push(Play::titled(title));
            flush_left = title == FLUSH_LEFT;
            speaker = None;
            continue;
        }
        let Some(play) = plays.last_mut() else {
            continue;
        };
        if let Some((name, words)) = head(line, flush_left) {
            let name = name.to_ascii_uppercase();
            speaker = None;
            if !(flush_left && name.starts_with("ACT ")) {
                let place = play.place(name);
                play.lines[place].push(words);
                speaker = Some(place);
            }
        } else if let (Some(place), Some(words)) = (speaker, continuation(line, flush_left)) {
            match flush_left && words.starts_with('<') {
                true => speaker = None,
                false => play.lines[place].push(words),
            }
        }
    }
    plays
}

/// The nearest line with words among those from two to seven above the end of `above`.
fn title<'a>(above: &[&'a str]) -> &'a str {
    let near = above.iter().rev().take(TITLE_ABOVE).skip(1);
    near.map(|line| line.trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// Who begins to speak in `line`, and the first words.
fn head(line: &str, flush_left: bool) -> Option<(&str, &str)> {
    let line = match flush_left {
        true => line,
        false => line.strip_prefix("  ")?,
    };
    let (name, words) = line.split_once('.')?;
    let letters = |name: &str| name.bytes().all(|b| b.is_ascii_alphabetic() || b == b' ');
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    let words = words.strip_prefix(' ')?;
    (begins && letters(name)).then_some((name, words))
}

/// The words of a line that goes on with a speech.
fn continuation(line: &str, flush_left: bool) -> Option<&str> {
    match flush_left {
        true => Some(line),
        false => line.strip_prefix("    "),
    }
}

/// `name` with every run of what is neither letter, digit nor `_` made one `_`.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut gap = false;
    for symbol in name.chars() {
        match symbol {
            // A space is made `_` on its own, so that ", " becomes two.
            ' ' => {
                plain.push('_');
                gap = false;
            }
            _ if symbol.is_alphanumeric() || symbol == '_' => {
                plain.push(symbol);
                gap = false;
            }
            _ => {
                if !gap {
                    plain.push('_');
                }
                gap = true;
            }
        }
    }
    plain
}

/// Heads of speeches in `text`, the different names in them, plays of more than one name, and roles.
pub(crate) fn counts(text: &str) -> [usize; 4] {
    let heads: Vec<_> = text.lines().filter_map(|line| head(line, false)).collect();
    let names: BTreeSet<_> = heads.iter().map(|(name, _)| name).collect();
    let plays = plays(text);
    let spoken = plays.iter().filter(|play| play.names.len() > 1).count();
    [heads.len(), names.len(), spoken, roles(text).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three lines above each by-line, as in the etext.
    const TWO_WORKS: &str = "header\n\n\nTHE SONNETS\n\nby William Shakespeare\n\n  From fairest creatures\n\n\n\n\
        A PLAY, IN BRIEF\n\n\nby William Shakespeare\n\n  FIRST LORD. Who's  there?\n    Speak,\n    I say.\n\
        SCENE I.\n    lost? No, still his.\n  Page. It is\n    only\n    me.\n  first lord. Good.\n\
        <<NOTICE>>\n  SECOND LORD. Two\n    lines.\n";

    #[test]
    fn speeches_are_gathered_by_character_whatever_the_case() {
        let roles = roles(TWO_WORKS);
        let name = |role: &Role| role.name.clone();
        assert_eq!(
            roles.iter().map(name).collect::<Vec<_>>(),
            ["A_PLAY__IN_BRIEF_FIRST_LORD", "A_PLAY__IN_BRIEF_PAGE"]
        );
        assert_eq!(
            roles[0].words,
            "Who's there? Speak, I say. lost? No, still his. Good. "
        );
        assert_eq!(roles[1].words, "It is only me. ");
    }

    #[test]
    fn heads_are_letters_and_spaces_a_stop_and_a_space() {
        assert_eq!(
            head("  KING HENRY. Once", false),
            Some(("KING HENRY", "Once"))
        );
        assert_eq!(head("  EXETER. ", false), Some(("EXETER", "")));
        for other in [
            "  O'NEIL. No",
            "    KING. No",
            "KING. No",
            "  KING.No",
            "  . No",
            "  KING",
        ] {
            assert_eq!(head(other, false), None, "{other}");
        }
        assert_eq!(head("DUKE. Well", true), Some(("DUKE", "Well")));
    }

    #[test]
    fn titles_stand_two_to_seven_lines_above() {
        assert_eq!(title(&["FAR", "TITLE", "", "", ""]), "TITLE");
        assert_eq!(
            title(&["TITLE", "", "1601", "2", "", "ALSO", "", ""]),
            "ALSO"
        );
        assert_eq!(title(&["too far", "", "", "", "", "", "", ""]), "");
        assert_eq!(title(&[]), "");
    }

    #[test]
    fn any_text_has_roles_or_none() {
        for text in [
            "",
            "\n",
            "by William Shakespeare",
            "x\nby William Shakespeare\nby William Shakespeare\n  A. b",
        ] {
            assert!(roles(text).is_empty());
        }
    }
}
