//! Pushshift's dumps of comments: one JSON object a line, a month a file; read a block of lines at a time.

use std::borrow::Cow;
use std::io::{self, Read};

use rayon::prelude::*;
use serde::Deserialize;

use crate::formats::leaf_json;

/// Bytes read at a time, unless a line is longer.
const BLOCK: usize = 1 << 20;
/// Bytes of the longest line.
const MOST_LINE: usize = 8 << 20;

/// What is used of a comment.
#[derive(Debug, Deserialize)]
pub(crate) struct Comment<'a> {
    #[serde(borrow)]
    pub(crate) author: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) body: Option<Cow<'a, str>>,
}

/// Why a dump cannot be read.
#[derive(Debug)]
pub(crate) enum DumpFault {
    /// What was found at a byte of the content, and what was needed.
    Malformed { offset: u64, reason: String },
    /// The content from a byte on.
    Unreadable { offset: u64, error: io::Error },
}

/// Reads the comments of `dump` in order. Applies `of` to several at once, and gives the results to `take` one by one.
///
/// # Errors
/// A [`DumpFault`] where a line is no comment, is too long, or cannot be read, or if `take` fails.
pub(crate) fn each<T: Send>(
    dump: impl Read,
    of: impl Fn(Comment<'_>) -> Option<T> + Sync,
    take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), DumpFault> {
    each_by(BLOCK, MOST_LINE, dump, of, take)
}

/// As [`each`], by blocks of `size` bytes that grow up to `most` where a line is longer.
pub(super) fn each_by<T: Send>(
    size: usize,
    most: usize,
    mut dump: impl Read,
    of: impl Fn(Comment<'_>) -> Option<T> + Sync,
    mut take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), DumpFault> {
    let mut block = vec![0; size];
    let (mut held, mut offset) = (0, 0_u64);
    loop {
        let read = fill(&mut dump, &mut block[held..]).map_err(|error| {
            let offset = offset + held as u64;
            DumpFault::Unreadable { offset, error }
        })?;
        let end = held + read;
        let is_last = end < block.len();
        let newline = block[..end].iter().rposition(|byte| *byte == b'\n');
        let whole = match (is_last, newline) {
            (true, _) => end,
            (false, Some(place)) => place + 1,
            (false, None) if end < most => {
                block.resize((2 * end).min(most), 0);
                held = end;
                continue;
            }
            (false, None) => {
                let reason = format!("a line of more than {most} bytes");
                return Err(DumpFault::Malformed { offset, reason });
            }
        };
        let made = comments(&block[..whole], offset, &of);
        for made in made {
            let (offset, made) = made?;
            if let Some(made) = made {
                take(made).map_err(|reason| DumpFault::Malformed { offset, reason })?;
            }
        }
        if is_last {
            return Ok(());
        }
        block.copy_within(whole..end, 0);
        held = end - whole;
        offset += whole as u64;
    }
}

/// What `of` makes of the comments in `block`, whose first byte is that at `offset`.
fn comments<T: Send>(
    block: &[u8],
    offset: u64,
    of: &(impl Fn(Comment<'_>) -> Option<T> + Sync),
) -> Vec<Result<(u64, Option<T>), DumpFault>> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        if !line.trim_ascii().is_empty() {
            lines.push((offset + at, line));
        }
        at += line.len() as u64;
    }
    let read = |(offset, line): (u64, &[u8])| match serde_json::from_slice::<Comment<'_>>(line) {
        Ok(comment) => Ok((offset, of(comment))),
        Err(error) => Err(DumpFault::Malformed {
            offset,
            reason: format!(
                "column {} of a comment: {}",
                error.column(),
                leaf_json::reason(&error)
            ),
        }),
    };
    lines.into_par_iter().with_min_len(64).map(read).collect()
}

/// Reads until `buffer` is full or the end is reached.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authors(dump: &[u8]) -> Result<Vec<String>, DumpFault> {
        let mut authors = Vec::new();
        let author = |comment: Comment<'_>| comment.author.map(Cow::into_owned);
        each(dump, author, |author| {
            authors.push(author);
            Ok(())
        })?;
        Ok(authors)
    }

    #[test]
    fn comments_come_in_their_order_across_blocks() {
        let line = |index: usize| {
            format!(
                "{{\"id\": {index}, \"author\": \"a{index}\", \"body\": \"{}\"}}\n",
                "x".repeat(900)
            )
        };
        let dump: String = (0..30_000).map(line).collect();
        assert!(dump.len() > 3 * BLOCK);
        let authors = authors(dump.trim_end().as_bytes()).unwrap();
        assert_eq!(authors.len(), 30_000);
        assert!(
            authors
                .iter()
                .enumerate()
                .all(|(index, author)| *author == format!("a{index}"))
        );
    }

    #[test]
    fn a_line_that_is_no_comment_is_named_by_its_offset_and_not_quoted() {
        let dump =
            b"{\"author\": \"a\", \"body\": \"b\"}\n\n{\"author\": 3, \"body\": \"secret\"}\n";
        let Err(DumpFault::Malformed { offset, reason }) = authors(dump) else {
            panic!("refused")
        };
        let wrong = "column 12 of a comment: another kind of value, a string needed";
        assert_eq!((offset, reason.as_str()), (30, wrong));
        for (dump, cause) in [
            (
                &b"{\"author\": \"secret\", \"body\": \"\\ud800 secret\"}"[..],
                "half of a surrogate pair",
            ),
            (b"{\"author\": \"secret \xff\"}", "text that is not UTF-8"),
            (
                b"\"secret\"",
                "another kind of value, struct Comment needed",
            ),
            (b"secret", "expected value"),
        ] {
            let Err(DumpFault::Malformed { reason, .. }) = authors(dump) else {
                panic!("refused")
            };
            assert!(
                reason.ends_with(&format!("of a comment: {cause}")),
                "{reason}"
            );
        }
        let cut = authors(b"{\"author\": \"a\", \"bo").unwrap_err();
        assert!(matches!(cut, DumpFault::Malformed { .. }), "{cut:?}");
        assert_eq!(authors(b"{}\n{\"author\": null}").unwrap().len(), 0);
        assert_eq!(authors(b"").unwrap().len(), 0);
    }

    #[test]
    fn endless_lines_are_refused() {
        let error = authors(&vec![b' '; MOST_LINE + 1]).unwrap_err();
        let DumpFault::Malformed { offset: 0, reason } = error else {
            panic!("{error:?}")
        };
        assert_eq!(reason, "a line of more than 8388608 bytes");
        let long = format!(
            "{{\"author\": \"{}\"}}\n{{\"author\": \"b\"}}",
            "a".repeat(MOST_LINE - 99)
        );
        let authors_of_long = authors(long.as_bytes()).unwrap();
        assert_eq!(
            (authors_of_long.len(), authors_of_long[1].as_str()),
            (2, "b")
        );
        let nested = vec![b'['; 1 << 20];
        let refusal = authors(&nested).unwrap_err();
        assert!(
            matches!(refusal, DumpFault::Malformed { .. }),
            "{refusal:?}"
        );
    }
}
