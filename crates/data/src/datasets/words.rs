//! The words of a column, such as labels and the names of clients, and their numbers.

use std::collections::HashMap;

/// Bytes that a label or the name of a client may have.
const MOST_WORD: usize = 1 << 16;
/// The most bytes of all different words of a column together.
const MOST_WORDS: usize = 1 << 30;

/// Whole numbers from here on may be rounded when they are read, so that two of them look the same.
const EXACT: f64 = (1_u64 << 53) as f64;

/// The words of a column as numbers.
#[derive(Debug, PartialEq)]
pub(crate) struct Numbered {
    /// The number of each row's word.
    pub(crate) rows: Vec<u32>,
    /// Number of different words.
    pub(crate) different: usize,
    /// The words in the order of their numbers, unless they are these numbers.
    pub(crate) names: Option<Vec<String>>,
}

/// The words of a column, each of them held once.
#[derive(Debug, Default)]
pub(crate) struct Words {
    numbers: HashMap<Box<str>, u32>,
    /// Bytes of the different words.
    bytes: usize,
    /// The number of each row's word, by the order in which they came.
    rows: Vec<u32>,
}

impl Words {
    /// Takes the word of the next row.
    ///
    /// # Errors
    /// If the word is too long, or all different words together are.
    pub(crate) fn push(&mut self, word: &str) -> Result<(), String> {
        let number = match self.numbers.get(word) {
            Some(number) => *number,
            None => {
                self.bytes += word.len();
                if word.len() > MOST_WORD {
                    let bytes = word.len();
                    return Err(format!(
                        "found {bytes} bytes, at most {MOST_WORD} are needed"
                    ));
                }
                if self.bytes > MOST_WORDS {
                    return Err(format!("different values of more than {MOST_WORDS} bytes"));
                }
                let next = self.numbers.len() as u32;
                self.numbers.insert(word.into(), next);
                next
            }
        };
        self.rows.push(number);
        Ok(())
    }

    /// How many rows there were.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many different words.
    pub(crate) fn different(&self) -> usize {
        self.numbers.len()
    }

    /// Sorts the different words, as numbers if all are numbers, and numbers them. Spellings of one number, such as `1`
    /// and `1.0`, are the same word, named by its first spelling.
    pub(crate) fn numbered(self) -> Numbered {
        let mut different: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        different.sort_unstable();
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let value = |word: &str| number(word).unwrap_or_default();
        let are_numbers = different.iter().all(|(word, _)| number(word).is_some());
        if are_numbers {
            different.sort_by(|(a, _), (b, _)| value(a).total_cmp(&value(b)));
        }
        let is_same = |(a, _): &(Box<str>, u32), (b, _): &(Box<str>, u32)| {
            are_numbers && value(a) == value(b) && value(a).abs() < EXACT
        };
        let mut places = vec![0; different.len()];
        let mut names = Vec::with_capacity(different.len());
        for alike in different.chunk_by(is_same) {
            for (_, number) in alike {
                places[*number as usize] = names.len() as u32;
            }
            let first = alike.iter().min_by_key(|(_, number)| *number);
            names.extend(first.map(|(word, _)| word.to_string()));
        }
        let mut rows = self.rows;
        rows.iter_mut().for_each(|row| *row = places[*row as usize]);
        let is_number = |(place, name): (usize, &String)| name.parse() == Ok(place);
        let says_more = !names.iter().enumerate().all(is_number);
        Numbered {
            rows,
            different: names.len(),
            names: says_more.then_some(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_no_label_has_are_refused() {
        let mut words = Words::default();
        words.push(&"a".repeat(MOST_WORD)).unwrap();
        let refusal = words.push(&"a".repeat(MOST_WORD + 1)).unwrap_err();
        assert_eq!(refusal, "found 65537 bytes, at most 65536 are needed");
    }

    #[test]
    fn values_are_numbered_in_their_order() {
        let of = |values: &[&str]| {
            let mut words = Words::default();
            values.iter().for_each(|word| words.push(word).unwrap());
            assert_eq!(words.len(), values.len());
            let numbered = words.numbered();
            let names = numbered.names.map(|names| names.join(" "));
            (numbered.different, numbered.rows, names)
        };
        assert_eq!(
            of(&["10", "9", "10", "-1"]),
            (3, vec![2, 1, 2, 0], Some("-1 9 10".to_owned()))
        );
        assert_eq!(of(&["1", "0", "2"]), (3, vec![1, 0, 2], None));
        assert_eq!(
            of(&["b", "10", "a"]),
            (3, vec![2, 0, 1], Some("10 a b".to_owned()))
        );
        assert_eq!(
            of(&["1", "1.0", "0"]),
            (2, vec![1, 1, 0], None),
            "spellings of one number are one class"
        );
        assert_eq!(
            of(&["1.0", "0.0", "1", "-0"]),
            (2, vec![1, 0, 1, 0], Some("0.0 1.0".to_owned()))
        );
        assert_eq!(
            of(&["1", "1.0", "a"]),
            (3, vec![0, 1, 2], Some("1 1.0 a".to_owned())),
            "words that are not all numbers stay apart"
        );
        let large = ["9007199254740993", "9007199254740992"];
        assert_eq!(
            of(&large).0,
            2,
            "these are one number only once they are rounded"
        );
    }
}
