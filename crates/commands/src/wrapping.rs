//! Texts in the narrow cells of a table.

use console::measure_text_width;

/// The width of the longest part of `text` that is not broken.
pub(crate) fn longest_piece(text: &str) -> usize {
    let pieces = text.lines().flat_map(pieces);
    pieces
        .map(|piece| measure_text_width(piece.trim_end()))
        .max()
        .unwrap_or(0)
}

/// `text` in lines of at most `width` columns. It is broken at spaces, within words behind marks, and elsewhere only where
/// there is no other way. Nothing but spaces at breaks is lost.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let lines = text
        .lines()
        .map(|line| match measure_text_width(line) > width {
            true => wrapped(line, width.max(1)),
            false => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn wrapped(line: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        match measure_text_width(word.trim_end()) > width {
            true => pieces(word)
                .iter()
                .for_each(|piece| add(&mut lines, piece, width)),
            false => add(&mut lines, word, width),
        }
    }
    let lines = lines.iter().map(|line| line.trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// Puts `piece` into the last of `lines`, or into new ones where it has no room.
fn add(lines: &mut Vec<String>, piece: &str, width: usize) {
    let used = lines.last().map_or(0, |line| measure_text_width(line));
    if used > 0 && used + measure_text_width(piece.trim_end()) > width {
        lines.push(String::new());
    }
    for letter in piece.chars() {
        let used = lines.last().map_or(0, |line| measure_text_width(line));
        if used >= width && !letter.is_whitespace() {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(letter);
        }
    }
}

/// The parts between which `line` may be broken: behind a space, a comma, `=`, `/`, and behind `.` or `_` if a letter follows.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    let mut letters = line.char_indices().peekable();
    while let Some((_, letter)) = letters.next() {
        let Some(&(next, following)) = letters.peek() else {
            break;
        };
        let breaks = match letter {
            ' ' => following != ' ',
            ',' | '=' | '/' => following != ' ' && following != '/',
            '.' | '_' => following.is_alphabetic(),
            _ => false,
        };
        if breaks {
            pieces.push(&line[begin..next]);
            begin = next;
        }
    }
    pieces.push(&line[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_at_spaces_and_marks() {
        assert_eq!(
            wrap("algorithm.dsgd.learning_rate=0.05, seed=1", 14),
            "algorithm.\ndsgd.learning_\nrate=0.05,\nseed=1"
        );
        assert_eq!(wrap("topology=ring, seed=1", 14), "topology=ring,\nseed=1");
        assert_eq!(wrap("steps/round", 8), "steps/\nround");
        assert_eq!(wrap("1.00 kB", 7), "1.00 kB");
        assert_eq!(longest_piece("topology=ring, seed=1"), 9);
    }

    #[test]
    fn words_longer_than_a_line_are_broken_anywhere() {
        assert_eq!(wrap("0123456789", 4), "0123\n4567\n89");
        assert_eq!(wrap("a 0123456789", 4), "a\n0123\n4567\n89");
        assert_eq!(wrap("λλλ", 2), "λλ\nλ");
    }
}
