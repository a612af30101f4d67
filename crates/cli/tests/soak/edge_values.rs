//! Values at the edge of what can be, and values that are wrong.

use crate::dice::Dice;
use crate::flow_yaml::Node;

/// Numbers where types and formulas end.
const NUMBERS: [&str; 40] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "-0.0",
    "0.0",
    "1.0",
    "0.5",
    "1.5",
    "-0.5",
    "1.0e-300",
    "5.0e-324",
    "1.0e-9",
    "0.999999999999",
    "1.0e9",
    "1.0e15",
    "1.0e38",
    "3.5e38",
    "1.0e308",
    "1.0e400",
    "100",
    "255",
    "256",
    "65535",
    "65536",
    "100000",
    "1000000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "-9223372036854775808",
];

/// What is no number that could be meant, and no word either.
const NO_NUMBERS: [&str; 12] = [
    ".nan",
    ".inf",
    "-.inf",
    "NaN",
    "inf",
    "1e",
    "0x10",
    "0o17",
    "1_000",
    "1,5",
    "12:30:45",
    "2024-01-01",
];

/// Text of which most is no setting, and much is no YAML.
const TEXTS: [&str; 43] = [
    "\"\"",
    "\" \"",
    "a",
    "\"7\"",
    "true",
    "no",
    "null",
    "~",
    "é",
    "\"\\0\"",
    "\"\\u202e\"",
    "\"👩‍👩‍👧\"",
    "名前",
    "\"a\\nb\"",
    "..",
    "../..",
    "/",
    "/dev/zero",
    "/dev/null",
    "/proc/self/mem",
    "/etc/hostname",
    "&a [*a]",
    "*unknown",
    "!tag x",
    "!!int 3",
    "!!binary aGk=",
    "|",
    ">",
    "- a",
    "? a",
    "<<",
    "---",
    "...",
    "%YAML 1.2",
    "@",
    "`",
    "'",
    "\"",
    "{",
    "]",
    "[,]",
    "{a: b: c}",
    "\t",
];

/// A number at the edge.
pub(crate) fn number(dice: &mut Dice) -> Node {
    Node::scalar(*dice.pick(&NUMBERS))
}

/// Something that fits nowhere, or hardly anywhere.
pub(crate) fn wrong(dice: &mut Dice) -> Node {
    match dice.within(0..=9) {
        0..=2 => Node::scalar(*dice.pick(&NO_NUMBERS)),
        3..=5 => Node::scalar(*dice.pick(&TEXTS)),
        6 => Node::scalar(long_text(dice)),
        7 => deep(dice),
        8 => Node::List(vec![number(dice); dice.within(0..=3)]),
        _ => Node::Map(vec![("a".to_owned(), number(dice)); dice.within(0..=2)]),
    }
}

/// Text that is much too long.
fn long_text(dice: &mut Dice) -> String {
    let length = *dice.pick(&[100, 5_000, 70_000, 200_000]);
    let piece = *dice.pick(&["x", "é", "9", "- ", "\"", "[", "\u{301}", "x "]);
    piece.repeat(length / piece.len())
}

/// Lists or maps within each other.
fn deep(dice: &mut Dice) -> Node {
    let depth = *dice.pick(&[2, 10, 60, 70, 300, 5_000]);
    let (open, close) = *dice.pick(&[("[", "]"), ("{a: ", "}")]);
    Node::scalar(format!("{}1{}", open.repeat(depth), close.repeat(depth)))
}

/// A list of so many entries that it must be looked at with care.
pub(crate) fn long_list(dice: &mut Dice) -> Node {
    let length = *dice.pick(&[100, 1000, 20_000]);
    Node::List(vec![number(dice); length])
}
