//! Whatever a file holds, it is refused with an error that can be drawn.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan, plan_churn};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{YAML, drawn};

/// What is put into a text.
const PIECES: [&str; 30] = [
    "\0",
    "\r",
    "\n",
    "\r\n",
    "\t",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{1b}[31m",
    "😀",
    "ü",
    "\u{301}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ": ",
    ":",
    "- ",
    "? ",
    "#",
    "&a ",
    "*a ",
    "!!int ",
    "| ",
    "> ",
    "---\n",
    "%",
];

/// Changes `text` in one place, or in several.
fn mutated(text: &str, rng: &mut ChaCha8Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..5) {
        let place = rng.random_range(0..=bytes.len());
        let end = (place + rng.random_range(0..12)).min(bytes.len());
        let piece: Vec<u8> = match rng.random_range(0..8) {
            0 => (0..rng.random_range(1..9)).map(|_| rng.random()).collect(),
            1 => {
                let piece = PIECES[rng.random_range(0..PIECES.len())];
                piece
                    .repeat([300, 3000, 70_000][rng.random_range(0..3)] / piece.len())
                    .into_bytes()
            }
            2 => bytes[place..end].repeat(2),
            3 => Vec::new(),
            _ => PIECES[rng.random_range(0..PIECES.len())].into(),
        };
        bytes.splice(place..end, piece);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn every_error_can_be_drawn() {
    let reference = include_str!("../../../../experiments/README.md");
    let json = r#"{"name": "t", "dataset": "glyphs", "partition": {"iid": {"clients": 3}}, "model": {"mlp": {"hidden": [2]}}}"#;
    let quickstart = include_str!("../../../../experiments/quickstart.yaml");
    let churn = include_str!("../../../../experiments/hua/churn.yaml");
    let lines: Vec<&str> = reference
        .lines()
        .filter(|line| line.contains(": {"))
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    for index in 0..4000 {
        let line = lines[rng.random_range(0..lines.len())];
        let text = match index % 5 {
            0 => quickstart,
            1 => json,
            2 => churn,
            3 => line,
            _ => YAML,
        };
        let text = mutated(text, &mut rng);
        // The last key is none, so that nothing is planned, however large the numbers are.
        let source = match index % 7 {
            0 => {
                ExperimentSource::new("e.yaml", YAML).with_overrides([text, "no_key=1".to_owned()])
            }
            _ => ExperimentSource::new("e.yaml", text).with_overrides(["no_key=1"]),
        };
        let error = match index % 5 {
            2 => plan_churn(&source).unwrap_err(),
            _ => plan(&source, &DataFolder::new("nowhere")).unwrap_err(),
        };
        let drawn = drawn(&error);
        let lines = drawn.lines().count();
        assert!(drawn.len() < 10_000 && lines < 30, "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
    }
}
