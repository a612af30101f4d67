//! Cuts the text of a comment into words.
//!
//! # Source
//! LEAF, `data/reddit/source/reddit_utils.py`: HTML symbols are unescaped, symbols beyond ASCII dropped, addresses,
//! users and subreddits replaced by a word each, letters made small.
//!
//! # Interpretation
//! LEAF then applies NLTK's `TweetTokenizer`; here a word is a run of letters, digits and `_` with single `'` or `-`
//! inside, a number may have `.`, `,` or `:` between digits, two or more stops are `...`, and every other symbol stands
//! alone. An address ends at a space or a closing bracket, since comments write `[text](address)`; users (`u/name`) and
//! subreddits (`r/name`) are not looked for in the middle of a word.

/// What stands for an address.
const ADDRESS: &str = "<url>";
/// What stands for somebody's name.
const USER: &str = "<user>";
/// What stands for the name of a subreddit.
const SUBREDDIT: &str = "<subreddit>";
/// Longer words are cut here: no vocabulary has them.
pub(crate) const LONGEST: usize = 64;

/// Appends the words of `body` to `words`, each followed by a space; returns how many there are.
pub(crate) fn append(body: &str, words: &mut String) -> usize {
    let text = plain(body);
    let mut rest = text.as_str();
    let mut count = 0;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return count;
        }
        let (word, length) = first(rest);
        words.push_str(&word[..word.len().min(LONGEST)]);
        words.push(' ');
        count += 1;
        rest = &rest[length..];
    }
}

/// `body` in small ASCII letters, its HTML symbols unescaped.
fn plain(body: &str) -> String {
    let mut plain = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(symbol) = rest.chars().next() {
        let (symbol, length) = match symbol {
            '&' => entity(rest),
            other => (other, other.len_utf8()),
        };
        if symbol.is_whitespace() || symbol.is_ascii_control() {
            plain.push(' ');
        } else if symbol.is_ascii() {
            plain.push(symbol.to_ascii_lowercase());
        }
        rest = &rest[length..];
    }
    plain
}

/// The symbol that the entity at the start of `text` stands for, and its length; the ampersand itself if it is none.
fn entity(text: &str) -> (char, usize) {
    const LONGEST: usize = 10;
    let known = text.bytes().take(LONGEST).position(|byte| byte == b';');
    let symbol = known.and_then(|end| {
        let name = text.get(1..end)?;
        let symbol = match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            _ => {
                let number = name.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)?
            }
        };
        Some((symbol, end + 1))
    });
    symbol.unwrap_or(('&', 1))
}

/// The word at the start of `text`, which is not empty, and how much of the text it takes.
fn first(text: &str) -> (&str, usize) {
    let bytes = text.as_bytes();
    if ["http://", "https://", "www."]
        .iter()
        .any(|start| text.starts_with(start))
    {
        let ends = |byte: &u8| matches!(byte, b' ' | b')' | b']');
        return (ADDRESS, bytes.iter().position(ends).unwrap_or(text.len()));
    }
    for (prefix, word) in [
        ("/u/", USER),
        ("u/", USER),
        ("/r/", SUBREDDIT),
        ("r/", SUBREDDIT),
    ] {
        let name = text
            .strip_prefix(prefix)
            .map(|name| run(name.as_bytes(), |b| letter(b) || b == b'-'));
        if let Some(length @ 1..) = name {
            return (word, prefix.len() + length);
        }
    }
    let length = match bytes[0] {
        byte if letter(byte) => word(bytes),
        b'.' => match run(bytes, |byte| byte == b'.') {
            1 => 1,
            stops => return ("...", stops),
        },
        _ => 1,
    };
    (&text[..length], length)
}

/// How many bytes from the start of `bytes` make a word or a number.
fn word(bytes: &[u8]) -> usize {
    let mut end = run(bytes, letter);
    while let [joint, next, ..] = bytes[end..] {
        let joined = match joint {
            b'\'' | b'-' => letter(next),
            b'.' | b',' | b':' => bytes[end - 1].is_ascii_digit() && next.is_ascii_digit(),
            _ => false,
        };
        if !joined {
            break;
        }
        end += 1;
        end += run(&bytes[end..], letter);
    }
    end
}

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How many leading bytes satisfy `of`.
fn run(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .position(|byte| !of(*byte))
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(body: &str) -> String {
        let mut words = String::new();
        let count = append(body, &mut words);
        assert_eq!(words.split_whitespace().count(), count);
        words.trim_end().to_owned()
    }

    #[test]
    fn words_numbers_and_symbols_stand_apart() {
        assert_eq!(
            words("I don't  know, e-mail me!"),
            "i don't know , e-mail me !"
        );
        assert_eq!(
            words("it's 1,000.50 at 10:30, or 3.\n2nd"),
            "it's 1,000.50 at 10:30 , or 3 . 2nd"
        );
        assert_eq!(
            words("wait.... what?! 'so' -"),
            "wait ... what ? ! ' so ' -"
        );
        assert_eq!(words("a'' b--c"), "a ' ' b - - c");
    }

    #[test]
    fn addresses_users_and_subreddits_are_one_word_each() {
        assert_eq!(
            words("[see](http://a.b/c?d=e) www.x.org/y, /u/some-one and r/rust; you/me"),
            "[ see ] ( <url> ) <url> <user> and <subreddit> ; you / me"
        );
        assert_eq!(words("http r/ u/"), "http r / u /");
    }

    #[test]
    fn html_symbols_are_unescaped_and_the_rest_dropped() {
        assert_eq!(
            words("A &amp; B &lt;3 &#39;x&#x27; caf\u{e9} \u{2603}"),
            "a & b < 3 ' x ' caf"
        );
        assert_eq!(
            words("&unknown; &amp &#xffffffff; &"),
            "& unknown ; & amp & # xffffffff ; &"
        );
    }

    #[test]
    fn long_words_are_cut_and_odd_text_is_harmless() {
        assert_eq!(words(&"a".repeat(1000)).len(), LONGEST);
        assert_eq!(words(""), "");
        assert_eq!(words("\u{0}\u{7f}\u{a0}"), "");
        assert_eq!(words("\u{df}&\u{df}\u{df}\u{df}\u{df}\u{df};"), "& ;");
    }
}
