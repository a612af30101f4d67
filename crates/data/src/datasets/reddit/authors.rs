//! Which comments count: those of people, with words in them.
//!
//! # Source
//! LEAF, `data/reddit/source/get_raw_users.py` (accounts and words in their names) and `clean_raw.py` (phrases).
//!
//! # Interpretation
//! Subreddits are not left out, as LEAF does with AskReddit and those named after moderators. Of LEAF's phrases "bot" is
//! not looked for: it is in "both" and "bottom".

use super::dump::Comment;

/// Accounts of programs and of people who answer like one.
const ACCOUNTS: [&str; 45] = [
    "38749grwodsl",
    "4e4enek",
    "abismado",
    "apeskypanda",
    "askreddit",
    "awkwardmod",
    "censorship_notifier",
    "cosmickeys",
    "decronym",
    "dj_spam",
    "domorewithless",
    "iadam1n",
    "ilariab95",
    "imagesofnetwork",
    "koja1234",
    "mafiya_chlenom_k",
    "mentioned_videos",
    "mnemosyne-0002",
    "mockingbird",
    "monkey_sage",
    "movieguide",
    "mtgcardfetcher",
    "musono",
    "needhelpwithexcel",
    "nicsgalleries",
    "nikforce1605",
    "notifier",
    "one_year_on",
    "picturegame",
    "purpleflower88",
    "pussgurka",
    "roboragi",
    "spotify_transcriber",
    "steamkiwi",
    "sterlingphoenix",
    "studabakerhoch",
    "thetopazian",
    "tippr",
    "titaniumdragon",
    "transcribersofreddit",
    "transparentjailbrea",
    "user_simulator",
    "vkrrs",
    "zeug666",
    "zx-ace",
];

/// What is in the names of other programs and of those who moderate.
const IN_NAMES: [&str; 6] = [
    "auto",
    "bot",
    "mod",
    "mentioned",
    "transcriber",
    "[removed]",
];

/// What programs say.
const PHRASES: [&str; 7] = [
    "thank you for participating",
    "thank you for your submission",
    "thanks for your submission",
    "your submission has been removed",
    "your comment has been removed",
    "downvote this comment if this is",
    "your post has been removed",
];

/// Placeholders for a deleted author or text.
const GONE: [&str; 3] = ["[deleted]", "[removed]", ""];

/// The author and the words of `comment`, if it counts.
pub(crate) fn counted<'c>(comment: &'c Comment<'_>) -> Option<(&'c str, &'c str)> {
    let (author, body) = (comment.author.as_deref()?, comment.body.as_deref()?);
    (is_person(author) && says_something(body)).then_some((author, body))
}

fn is_person(author: &str) -> bool {
    let name = author.to_ascii_lowercase();
    !GONE.contains(&name.as_str())
        && ACCOUNTS.binary_search(&name.as_str()).is_err()
        && !IN_NAMES.iter().any(|part| name.contains(part))
}

fn says_something(body: &str) -> bool {
    if GONE.contains(&body.trim()) {
        return false;
    }
    let body = body.to_ascii_lowercase();
    !PHRASES.iter().any(|phrase| body.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_sorted_for_the_search() {
        assert!(ACCOUNTS.is_sorted());
    }

    #[test]
    fn programs_and_what_was_taken_back_do_not_count() {
        let counts = |author: &str, body: &str| {
            let comment = Comment {
                author: Some(author.to_owned().into()),
                body: Some(body.to_owned().into()),
            };
            counted(&comment).is_some()
        };
        assert!(counts("someone", "words"));
        for author in [
            "[deleted]",
            "",
            "AutoModerator",
            "haiku-BOT",
            "Tippr",
            "ZX-Ace",
        ] {
            assert!(!counts(author, "words"), "{author}");
        }
        for body in [
            "",
            " [removed]\n",
            "[deleted]",
            "Thank you for your submission!",
        ] {
            assert!(!counts("someone", body), "{body}");
        }
        assert!(counts("someone", "[deleted] was right"));
    }
}
