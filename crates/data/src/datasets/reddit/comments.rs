//! Comments as numbers of words, in compact form until the vocabulary is known.

use std::collections::HashMap;

/// The first tokens of every vocabulary.
pub(crate) const PAD: u16 = 0;
/// A word that is not in the vocabulary.
pub(crate) const UNKNOWN: u16 = 1;
/// The beginning of a comment.
pub(crate) const BEGIN: u16 = 2;
/// The end of a comment.
pub(crate) const END: u16 = 3;
/// How many tokens are no words.
pub(crate) const SPECIAL: usize = 4;

/// The most words of all comments, so that places in the text fit 32 bits.
pub(super) const MOST_WORDS: usize = 3_000_000_000;
/// The most different words that are counted.
const MOST_DIFFERENT: usize = 100_000_000;

/// Comments as tokens of a vocabulary, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comments {
    /// The words of all comments, without beginnings and ends.
    pub(crate) tokens: Vec<u16>,
    /// Words of each comment.
    pub(crate) lengths: Vec<u32>,
    /// Whose each comment is.
    pub(crate) owners: Vec<u32>,
}

/// Words of a language, numbered as they come, and how often each was met.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    numbers: HashMap<Box<str>, u32>,
    counts: Vec<u64>,
}

impl Lexicon {
    /// The number of `word`, which is counted.
    fn meet(&mut self, word: &str) -> Result<u32, String> {
        let number = match self.numbers.get(word) {
            Some(number) => *number,
            None => {
                let next = self.counts.len();
                if next == MOST_DIFFERENT {
                    return Err(format!("more than {MOST_DIFFERENT} different words"));
                }
                self.numbers.insert(word.into(), next as u32);
                self.counts.push(0);
                next as u32
            }
        };
        self.counts[number as usize] += 1;
        Ok(number)
    }

    /// The special tokens, then the `size` most frequent words. Of equally frequent words, the first in the alphabet
    /// comes first.
    pub(crate) fn vocabulary(self, size: usize) -> Vocabulary {
        let Self { numbers, counts } = self;
        let mut words: Vec<(Box<str>, u32)> = numbers.into_iter().collect();
        let rank = |(word, number): &(Box<str>, u32)| {
            (std::cmp::Reverse(counts[*number as usize]), word.clone())
        };
        words.sort_by_cached_key(rank);
        words.truncate(size);
        let mut tokens = vec![UNKNOWN; counts.len()];
        let mut by_word = HashMap::with_capacity(words.len());
        for (token, (word, number)) in (SPECIAL as u16..).zip(words) {
            tokens[number as usize] = token;
            by_word.insert(word, token);
        }
        Vocabulary { tokens, by_word }
    }
}

/// The most frequent words of a [`Lexicon`].
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The token of each word, by its number in the lexicon.
    tokens: Vec<u16>,
    by_word: HashMap<Box<str>, u16>,
}

impl Vocabulary {
    /// Tokens, special ones included.
    pub(crate) fn tokens(&self) -> usize {
        SPECIAL + self.by_word.len()
    }

    /// Appends the comment of `owner` with `words`, each followed by a space, to `comments`.
    pub(crate) fn append(&self, owner: u32, words: &str, comments: &mut Comments) {
        let before = comments.tokens.len();
        let token = |word: &str| self.by_word.get(word).copied().unwrap_or(UNKNOWN);
        comments
            .tokens
            .extend(words.split_terminator(' ').map(token));
        comments
            .lengths
            .push((comments.tokens.len() - before) as u32);
        comments.owners.push(owner);
    }
}

/// Comments whose vocabulary is not known yet: numbers of a lexicon, the frequent ones mostly in one or two bytes.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    lexicon: Lexicon,
    /// Numbers of seven bits to a byte, the lowest first; a byte with the highest bit is not the number's last.
    numbers: Vec<u8>,
    words: usize,
    lengths: Vec<u32>,
    owners: Vec<u32>,
}

impl Collection {
    /// Takes the comment of `owner` with `words`, each followed by a space.
    pub(crate) fn add(&mut self, owner: u32, words: &str) -> Result<(), String> {
        let before = self.words;
        for word in words.split_terminator(' ') {
            let mut number = self.lexicon.meet(word)?;
            while number >= 0x80 {
                self.numbers.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.numbers.push(number as u8);
            self.words += 1;
        }
        if self.words > MOST_WORDS {
            return Err(format!("more than {MOST_WORDS} words of the chosen users"));
        }
        self.lengths.push((self.words - before) as u32);
        self.owners.push(owner);
        Ok(())
    }

    /// How many comments were taken.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// The comments in the vocabulary of their `size` most frequent words, and that vocabulary.
    pub(crate) fn in_vocabulary(self, size: usize) -> (Comments, Vocabulary) {
        let vocabulary = self.lexicon.vocabulary(size);
        let mut tokens = Vec::with_capacity(self.words);
        let (mut number, mut shift) = (0_u32, 0);
        for byte in self.numbers {
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                tokens.push(vocabulary.tokens[number as usize]);
                (number, shift) = (0, 0);
            }
        }
        let comments = Comments {
            tokens,
            lengths: self.lengths,
            owners: self.owners,
        };
        (comments, vocabulary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_come_first_and_equals_by_the_alphabet() {
        let mut collection = Collection::default();
        collection.add(0, "b a c b d ").unwrap();
        collection.add(7, "").unwrap();
        collection.add(7, "b d e ").unwrap();
        let (comments, vocabulary) = collection.in_vocabulary(3);
        // b three times, d twice, a before c and e.
        assert_eq!(comments.tokens, [4, 6, UNKNOWN, 4, 5, 4, 5, UNKNOWN]);
        assert_eq!(comments.lengths, [5, 0, 3]);
        assert_eq!(comments.owners, [0, 7, 7]);
        let mut others = Comments::default();
        vocabulary.append(9, "a new b ", &mut others);
        assert_eq!(
            (others.tokens, others.lengths),
            (vec![6, UNKNOWN, 4], vec![3])
        );
        assert_eq!(vocabulary.tokens(), 7);
    }

    #[test]
    fn numbers_of_any_size_survive() {
        let mut collection = Collection::default();
        let words: String = (0..40_000).map(|word| format!("w{word} ")).collect();
        collection.add(0, &words).unwrap();
        collection.add(0, &words).unwrap();
        let (comments, _) = collection.in_vocabulary(40_000);
        assert_eq!(comments.tokens[..40_000], comments.tokens[40_000..]);
        let mut different = comments.tokens[..40_000].to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 40_000);
    }
}
