//! What `csv` and `npz` share: where files may lie, the choice of test examples, and standardised columns.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::files::excerpt::excerpt;
use crate::files::fault::Fault;
use crate::files::regular;
use crate::{DataError, DataFolder};

/// Numbers that one file may hold: 8 GiB of them.
pub(crate) const MOST_NUMBERS: usize = 1 << 31;
/// Bytes that a label or the name of a client may have.
const MOST_WORD: usize = 1 << 16;
/// The most bytes of all different words of a column together.
const MOST_WORDS: usize = 1 << 30;

/// Whole numbers from here on may be rounded when they are read, so that two of them look the same.
const EXACT: f64 = (1_u64 << 53) as f64;
/// Bytes that the name of a user's file may have, folders included; no system takes longer ones.
const MOST_NAME: usize = 4096;

/// The path of the user's file `name`, which has to be inside the folder of the experiment's file or the data folder.
///
/// The name alone may not lead out of these folders, so that an experiment of somebody else reads nothing but data. A link
/// in the data folder may, and is followed: only the owner of the folder can have put it there, as nothing that is
/// downloaded or unpacked makes links.
///
/// # Errors
/// [`DataError::Setting`] if the name leads out of the folder, [`DataError::NoTable`] if there is no such file,
/// [`DataError::Io`] if it cannot be looked at or is no regular file.
pub(crate) fn inside(
    dataset: &'static str,
    setting: &'static str,
    name: &str,
    folder: &DataFolder,
) -> Result<PathBuf, DataError> {
    let within = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = Path::new(name);
    let is_short = (1..=MOST_NAME).contains(&name.len());
    if !is_short || path.file_name().is_none() || !path.components().all(within) {
        let found = format!("`{}`", excerpt(name));
        let needed = "the name of a file beside the experiment or inside the data folder";
        return Err(DataError::setting(dataset, setting, found, needed));
    }
    match regular::first(folder.own_file(name))? {
        Some(path) => Ok(path),
        None => Err(DataError::NoTable {
            dataset,
            setting,
            places: folder.own_file(name).collect(),
            origin: folder.origin(),
        }),
    }
}

/// The settings that name the user's files, in the order of [`files`].
pub(crate) const FILE_SETTINGS: [&str; 2] = ["file", "test.file"];

/// The paths of the user's table `file` and, if it has one of its own, of the `test` examples, both [`inside`] the folders.
pub(crate) fn files(
    dataset: &'static str,
    file: &str,
    test: Option<&str>,
    folder: &DataFolder,
) -> Result<Vec<PathBuf>, DataError> {
    let names = [file].into_iter().chain(test);
    let all = FILE_SETTINGS.into_iter().zip(names);
    all.map(|(setting, name)| inside(dataset, setting, name, folder))
        .collect()
}

/// Checks that the `share` of a setting leaves something on both sides.
pub(crate) fn check_share(
    dataset: &'static str,
    setting: &'static str,
    share: f64,
) -> Result<(), DataError> {
    if share > 0.0 && share < 1.0 {
        return Ok(());
    }
    Err(DataError::setting(
        dataset,
        setting,
        share,
        "a share between 0 and 1",
    ))
}

/// The indices of `count` examples that train, and those of the `share` that tests: `round(share * count)` of them, drawn
/// with `seed`, at least one on either side, both ascending.
///
/// # Errors
/// A [`Fault`] if there is not one for either side.
pub(crate) fn drawn(count: usize, share: f64, seed: u64) -> Result<(Vec<u32>, Vec<u32>), Fault> {
    if count < 2 {
        let reason =
            format!("examples found: {count}, at least 2 needed, one to train and one to test");
        return Err(Fault::at(0_u64, reason));
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let held_out = ((share * count as f64).round() as usize).clamp(1, count - 1);
    let mut train = order.split_off(held_out);
    train.sort_unstable();
    order.sort_unstable();
    Ok((train, order))
}

/// Mean and deviation of every column; the deviation is that of the population. Of a column that is constant they are the constant
/// and 1.
pub(crate) struct Standard {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Standard {
    /// Mean and deviation of the columns of `values`, `[M, D]`.
    pub(crate) fn of<T: Copy + Into<f64>>(values: &[T], width: usize) -> Self {
        let mut means = Means::of(width);
        means.add(values);
        let mut deviations = means.finish();
        deviations.add(values);
        deviations.finish()
    }

    /// `(value - mean) / deviation` in every column, converted by `of`.
    pub(crate) fn apply<T: Copy + Into<f64>>(&self, values: &mut [T], of: impl Fn(f64) -> T) {
        for row in values.chunks_exact_mut(self.mean.len()) {
            let columns = self.mean.iter().zip(&self.deviation);
            for (value, (mean, deviation)) in row.iter_mut().zip(columns) {
                *value = of(((*value).into() - mean) / deviation);
            }
        }
    }

    /// `(value - mean) / deviation` in every column, in single precision.
    pub(crate) fn of_doubles(&self, mut values: Vec<f64>) -> Vec<f32> {
        self.apply(&mut values, |value| value);
        values.into_iter().map(|value| value as f32).collect()
    }
}

/// The means of columns whose rows come in pieces. The result has the same bits wherever the rows are cut.
pub(crate) struct Means {
    sums: Vec<f64>,
    ranges: Vec<ValueRange>,
    rows: usize,
}

/// The least and the largest of some values.
#[derive(Clone, Copy)]
pub(crate) struct ValueRange {
    least: f64,
    most: f64,
}

impl ValueRange {
    /// The range of no value.
    pub(crate) const EMPTY: Self = Self {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    /// Adds a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// The `mean` of the values, which lies between them: rounding may have moved it out by a few units in the last place. Then a
    /// constant column would seem to vary, by nothing but this error.
    pub(crate) fn hold(self, mean: f64) -> f64 {
        mean.max(self.least).min(self.most)
    }
}

impl Means {
    /// The means of `width` columns, before the first row.
    pub(crate) fn of(width: usize) -> Self {
        Self {
            sums: vec![0.0; width],
            ranges: vec![ValueRange::EMPTY; width],
            rows: 0,
        }
    }

    /// Adds rows, `[M, D]`.
    pub(crate) fn add<T: Copy + Into<f64>>(&mut self, values: &[T]) {
        for row in values.chunks_exact(self.sums.len()) {
            let columns = self.sums.iter_mut().zip(&mut self.ranges);
            for ((sum, range), value) in columns.zip(row) {
                let value = (*value).into();
                *sum += value;
                range.add(value);
            }
            self.rows += 1;
        }
    }

    /// The deviations from these means; all rows have yet to be added again.
    pub(crate) fn finish(self) -> Deviations {
        let count = self.rows as f64;
        let columns = self.sums.iter().zip(&self.ranges);
        Deviations {
            sums: vec![0.0; self.sums.len()],
            mean: columns
                .map(|(sum, range)| range.hold(sum / count))
                .collect(),
            rows: 0,
        }
    }
}

/// The deviations of columns, whose rows come in pieces once more.
pub(crate) struct Deviations {
    mean: Vec<f64>,
    sums: Vec<f64>,
    rows: usize,
}

impl Deviations {
    /// Adds rows, `[M, D]`.
    pub(crate) fn add<T: Copy + Into<f64>>(&mut self, values: &[T]) {
        for row in values.chunks_exact(self.sums.len()) {
            for ((sum, value), mean) in self.sums.iter_mut().zip(row).zip(&self.mean) {
                *sum += ((*value).into() - mean).powi(2);
            }
            self.rows += 1;
        }
    }

    /// Mean and deviation of every column.
    pub(crate) fn finish(self) -> Standard {
        let count = self.rows as f64;
        let deviation = |sum: f64| match (sum / count).sqrt() {
            0.0 => 1.0,
            deviation => deviation,
        };
        Standard {
            mean: self.mean,
            deviation: self.sums.into_iter().map(deviation).collect(),
        }
    }
}

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
    fn no_name_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let place = DataFolder::new(folder.path());
        for name in [
            "../secret",
            "/etc/passwd",
            "",
            "a/../../b",
            ".",
            "./",
            "./../b",
        ] {
            let refusal = inside("csv", "file", name, &place);
            assert!(matches!(refusal, Err(DataError::Setting { .. })), "{name}");
        }
        let absent = inside("csv", "file", "a/b.csv", &place).unwrap_err();
        assert!(absent.to_string().contains("b.csv"), "{absent}");
        let long = inside("csv", "file", &"a".repeat(10_000_000), &place).unwrap_err();
        assert!(long.to_string().len() < 300, "{long}");
    }

    #[test]
    fn a_file_beside_the_experiment_goes_before_one_in_the_data_folder() {
        let (data, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = DataFolder::new(data.path()).beside(beside.path());
        let found = || inside("csv", "file", "a.csv", &place);
        let told = found().unwrap_err().to_string();
        let places = [beside.path(), data.path()].map(|folder| folder.join("a.csv"));
        for path in &places {
            assert!(told.contains(&path.display().to_string()), "{told}");
        }
        std::fs::write(&places[1], b"1,2").unwrap();
        assert_eq!(found().unwrap(), places[1]);
        std::fs::write(&places[0], b"1,2").unwrap();
        assert_eq!(found().unwrap(), places[0]);
        let with_dot = inside("csv", "file", "./a.csv", &place).unwrap();
        assert_eq!(with_dot, places[0]);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_a_user_makes_in_the_folder_are_followed_to_files() {
        use std::os::unix::fs::symlink;
        let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = DataFolder::new(folder.path());
        std::fs::write(store.path().join("a.csv"), b"1,2").unwrap();
        symlink(store.path().join("a.csv"), folder.path().join("b.csv")).unwrap();
        symlink(store.path(), folder.path().join("store")).unwrap();
        symlink("/dev/zero", folder.path().join("zero.csv")).unwrap();
        for name in ["b.csv", "store/a.csv"] {
            let path = inside("csv", "file", name, &place).unwrap();
            assert_eq!(path, folder.path().join(name));
        }
        let refusal = inside("csv", "file", "zero.csv", &place).unwrap_err();
        let told = "zero.csv: it is a device, not a file";
        assert!(refusal.to_string().ends_with(told), "{refusal}");
    }

    #[test]
    fn words_that_no_label_has_are_refused() {
        let mut words = Words::default();
        words.push(&"a".repeat(MOST_WORD)).unwrap();
        let refusal = words.push(&"a".repeat(MOST_WORD + 1)).unwrap_err();
        assert_eq!(refusal, "found 65537 bytes, at most 65536 are needed");
    }

    #[test]
    fn a_share_is_drawn_once_and_for_all() {
        let (train, test) = drawn(10, 0.3, 4).unwrap();
        assert_eq!((train.len(), test.len()), (7, 3));
        let mut all = [train, test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..10));
        assert_eq!(drawn(10, 0.3, 4).unwrap().1, test);
        assert_ne!(drawn(10, 0.3, 5).unwrap().1, test);
        assert_eq!(drawn(2, 0.9, 1).unwrap().1.len(), 1);
        let refusal = drawn(1, 0.5, 1).unwrap_err().reason;
        assert!(refusal.starts_with("examples found: 1, at least 2 needed"));
    }

    #[test]
    fn columns_are_standardised_by_the_rows_that_count() {
        let mut values = vec![1.0, 5.0, 3.0, 5.0, 100.0, 5.0];
        Standard::of(&values[..4], 2).apply(&mut values, |value| value as f32);
        assert_eq!(values, [-1.0, 0.0, 1.0, 0.0, 98.0, 0.0]);
    }

    #[test]
    fn a_constant_column_becomes_zero_and_keeps_its_scale() {
        for constant in [3.3, 0.1, -1e-3, 1.7e9 + 0.3] {
            for rows in [1, 3, 12, 50, 1000] {
                let mut values = vec![constant; rows];
                let standard = Standard::of(&values, 1);
                standard.apply(&mut values, |value| value);
                assert_eq!(values, vec![0.0; rows], "{rows} rows of {constant}");
                assert_eq!(standard.of_doubles(vec![constant + 2.0]), [2.0]);
            }
        }
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
