//! What the parsers find in published files.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use meshfold_data::DataFolder;
use meshfold_data::fuzzing::counts;

use meshfold_test_needs::Test;

/// The tests of this file and the datasets that they read.
pub(crate) fn tests() -> Vec<Test> {
    vec![
        real_data!(the_complete_works_have_the_heads_that_leaf_finds: "shakespeare"),
        real_data!(tiny_shakespeare_has_as_many_speeches_as_its_maker_says: "shakespeare"),
        real_data!(the_first_months_have_their_comments_and_authors: "reddit"),
        real_data!(the_annotation_at_hand_is_of_2588_cases_and_5760_controls: "swarm-a2"),
    ]
}

fn the_complete_works_have_the_heads_that_leaf_finds(folder: &DataFolder) {
    let path = folder.path().join("shakespeare/t8.shakespeare.txt.gz");
    let mut text = String::new();
    let mut content = flate2::read::GzDecoder::new(fs::File::open(path).unwrap());
    content.read_to_string(&mut text).unwrap();
    assert_eq!((text.len(), text.lines().count()), (5_458_199, 124_456));
    // Heads and names were counted by LEAF's regular expression on all lines of the file.
    assert_eq!(counts::plays(&text), [29_587, 969, 36, 1_145]);
    // Those in capitals of two letters, hyphens and apostrophes among them, which LEAF's expression does not take.
    let in_capitals = |line: &&str| {
        let name = line
            .strip_prefix("  ")
            .and_then(|line| line.split_once(". "));
        let name = name.map_or("", |(name, _)| name);
        let capitals = |b: u8| b.is_ascii_uppercase() || b" '-".contains(&b);
        name.len() > 1 && name.bytes().all(capitals) && name.as_bytes()[0].is_ascii_uppercase()
    };
    assert_eq!(text.lines().filter(in_capitals).count(), 24_883);
}

fn tiny_shakespeare_has_as_many_speeches_as_its_maker_says(folder: &DataFolder) {
    let path = folder.path().join("shakespeare/tinyshakespeare_input.txt");
    let text = fs::read_to_string(path).unwrap();
    // 7,220 speeches after a single empty line, and two after two.
    assert_eq!(counts::speeches(&text), [7_222, 309]);
    let symbols: BTreeSet<char> = text.chars().collect();
    assert_eq!((text.len(), symbols.len()), (1_115_394, 65));
}

fn the_first_months_have_their_comments_and_authors(folder: &DataFolder) {
    for (month, counted) in [
        ("01", [3_666, 790]),
        ("02", [9_095, 1_463]),
        ("03", [13_859, 1_957]),
    ] {
        let path = folder.path().join(format!("reddit/RC_2006-{month}.bz2"));
        assert_eq!(counts::comments(&path).unwrap(), counted);
    }
}

fn the_annotation_at_hand_is_of_2588_cases_and_5760_controls(folder: &DataFolder) {
    assert_eq!(
        counts::annotation(folder).unwrap(),
        [2588, 5760, 4141, 1035]
    );
}
