//! The files of the datasets that the experiments read: tables, arrays, comments and letters, all made up.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::archive::{Array, npz};

/// Writes all files to the data folder `data`.
pub(crate) fn write(data: &Path) {
    let mut draws = Draws(1);
    let files = [
        (
            "table.csv",
            table(&mut draws, 120, Some("kind,who"), ',').into(),
        ),
        (
            "more.csv",
            table(&mut draws, 30, Some("kind,who"), ',').into(),
        ),
        (
            "table-without-header.csv",
            table(&mut draws, 90, None, ';').into(),
        ),
        ("images.npz", images(&mut draws)),
        ("signals.npz", signals(&mut draws)),
        ("reddit/RC_2001-01", dump(&mut draws, 60).into()),
        ("reddit/RC_2001-02", dump(&mut draws, 20).into()),
        (
            "reddit/train/comments.json",
            leaf_comments(&mut draws, 9).into(),
        ),
        (
            "reddit/test/comments.json",
            leaf_comments(&mut draws, 2).into(),
        ),
        (
            "femnist/train/letters.json",
            leaf_letters(&mut draws, 12).into(),
        ),
        (
            "femnist/test/letters.json",
            leaf_letters(&mut draws, 4).into(),
        ),
    ];
    for (name, content) in files {
        let content: Vec<u8> = content;
        let path = data.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Numbers that look random: the generator SplitMix64.
struct Draws(u64);

impl Draws {
    /// A number from 0 to below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

const PEOPLE: [&str; 6] = ["ada", "ben", "cleo", "dan", "eve", "finn"];

/// A table of `rows` rows with five features, of which the first three tell the kinds apart. `labels` are the names of the
/// first two columns, if the table has a row of names.
fn table(draws: &mut Draws, rows: usize, labels: Option<&str>, delimiter: char) -> String {
    let mut text = labels.map_or_else(String::new, |labels| format!("{labels},a,b,c,d,e\n"));
    for _ in 0..rows {
        let kind = draws.below(3);
        let mut cells = vec![
            ["ape", "bee", "cow"][kind as usize].to_owned(),
            draws.one_of(&PEOPLE[..4]).to_owned(),
        ];
        for column in 0..5 {
            let bump = if column == kind { 900 } else { 0 };
            let thousandths = bump + draws.below(1500);
            cells.push(format!("{}.{:03}", thousandths / 1000, thousandths % 1000));
        }
        text += &cells.join(&delimiter.to_string());
        text.push('\n');
    }
    text
}

/// Colour images of 12 × 12 in four classes, each with a bright corner of its own; owners, and test images.
fn images(draws: &mut Draws) -> Vec<u8> {
    let side = 12;
    let mut of = |count: usize| {
        let labels: Vec<u8> = (0..count).map(|_| draws.below(4) as u8).collect();
        let mut pixels = Vec::new();
        for label in &labels {
            for place in 0..3 * side * side {
                let (row, column) = (place / side % side, place % side);
                let corner = u8::from(row < side / 2) + 2 * u8::from(column < side / 2);
                let bright = if corner == *label { 100 } else { 0 };
                pixels.push(bright + draws.below(100) as u8);
            }
        }
        (pixels, labels)
    };
    let images = |pixels: Vec<u8>| Array {
        kind: "|u1",
        shape: vec![pixels.len() / (3 * side * side), 3, side, side],
        bytes: pixels,
    };
    let bytes = |bytes: Vec<u8>| Array {
        kind: "|u1",
        shape: vec![bytes.len()],
        bytes,
    };
    let ((x, y), (x_test, y_test)) = (of(80), of(20));
    let who = (0..80).map(|image| image % 5).collect();
    npz(&[
        ("x", images(x)),
        ("y", bytes(y)),
        ("who", bytes(who)),
        ("x_test", images(x_test)),
        ("y_test", bytes(y_test)),
    ])
}

/// Signals of two channels and 32 places in three classes, which differ in how often they go up and down.
fn signals(draws: &mut Draws) -> Vec<u8> {
    let (count, places) = (60, 32);
    let mut labels = Vec::new();
    let mut values = Vec::new();
    for _ in 0..count {
        let label = draws.below(3);
        labels.extend((label as i64).to_le_bytes());
        for place in 0..2 * places {
            let is_up = usize::is_multiple_of(place >> (label + 1), 2);
            let noise = draws.below(1000) as f32 / 1000.0;
            let value = if is_up { noise } else { noise - 1.0 };
            values.extend(value.to_le_bytes());
        }
    }
    let x = Array {
        kind: "<f4",
        shape: vec![count, 2, 1, places],
        bytes: values,
    };
    let y = Array {
        kind: "<i8",
        shape: vec![count],
        bytes: labels,
    };
    npz(&[("x", x), ("y", y)])
}

/// A comment: a handful of words, which follow one another more often in some orders than in others.
fn comment(draws: &mut Draws) -> String {
    let first = ["the", "a", "my", "your", "every", "no"];
    let second = ["cat", "dog", "house", "river", "night", "idea", "song"];
    let third = ["sleeps", "runs", "shines", "ends", "sings", "waits"];
    let mut words = Vec::new();
    for _ in 0..1 + draws.below(3) {
        words.push(draws.one_of(&first));
        words.push(draws.one_of(&second));
        words.push(draws.one_of(&third));
    }
    words.join(" ")
}

/// A month of comments, one JSON object a line.
fn dump(draws: &mut Draws, comments: usize) -> String {
    let line = |_| {
        let author = draws.one_of(&PEOPLE);
        format!("{}\n", json!({"author": author, "body": comment(draws)}))
    };
    (0..comments).map(line).collect()
}

/// A file of LEAF's in which each person has what `of_person` gives: `x`, `y` and how many there are.
fn leaf(people: &[&str], mut of_person: impl FnMut() -> (Value, Value, usize)) -> String {
    let (mut counts, mut all) = (Vec::new(), Map::new());
    for person in people {
        let (x, y, count) = of_person();
        counts.push(count);
        all.insert((*person).to_owned(), json!({"x": x, "y": y}));
    }
    json!({"users": people, "num_samples": counts, "user_data": all}).to_string()
}

/// Comments in LEAF's json, `each` of every person.
fn leaf_comments(draws: &mut Draws, each: usize) -> String {
    leaf(&PEOPLE[..4], || {
        let comments: Vec<String> = (0..each).map(|_| comment(draws)).collect();
        (json!(comments), json!([]), each)
    })
}

/// Letters in LEAF's json, `each` of every writer: a white ground with a dark row for the class.
fn leaf_letters(draws: &mut Draws, each: usize) -> String {
    leaf(&PEOPLE[..3], || {
        let classes: Vec<u64> = (0..each).map(|_| draws.below(5)).collect();
        let mut pixel = |class: u64, place: u64| match place / 28 / 5 == class {
            true => draws.below(100) as f64 / 255.0,
            false => 1.0,
        };
        let mut image =
            |class: &u64| -> Vec<f64> { (0..28 * 28).map(|place| pixel(*class, place)).collect() };
        let images: Vec<Vec<f64>> = classes.iter().map(&mut image).collect();
        (json!(images), json!(classes), each)
    })
}
