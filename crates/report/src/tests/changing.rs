//! Claims about overlays that change over the rounds.

use super::*;
use serde_json::json;

const RING: &str = "{ring: {hops: 1}}";
const IN_TURN: &str = "{periodic: {list: [{ring: {hops: 1}}, {ring: {hops: 1}}]}}";
const PHASES: &str = "{phases: {list: [{rounds: 1, of: {ring: {hops: 1}}}, {of: {complete: {}}}]}}";

/// Three seeds on an overlay of twelve clients; those of a rate of 0.1 come to lower accuracies.
fn seeds(folder: &TempDir, topology: &'static str, learning_rate: f64) -> Vec<PathBuf> {
    let run = |seed| {
        Fixture {
            clients: 12,
            topology,
            learning_rate,
            seed,
            ..Fixture::default()
        }
        .write(folder.path())
    };
    (1..=3).map(run).collect()
}

/// Adds what an earlier version recorded of a period of two rings: the square of λ of a ring.
fn add_period(run: &Path) {
    edit(run, "overlay.json", |text| {
        let mut overlay: Value = serde_json::from_str(&text).unwrap();
        let lambda = overlay["lambda"].as_f64().unwrap();
        overlay["schedule"] =
            json!({"period": 2, "joint_lambda": lambda * lambda, "rounds_to_connect": 1});
        overlay.to_string()
    });
}

#[test]
fn overlays_that_take_turns_have_their_lambda_per_exchange() {
    let folder = TempDir::new().unwrap();
    let (ring, in_turn) = (seeds(&folder, RING, 0.01), seeds(&folder, IN_TURN, 0.1));
    in_turn.iter().for_each(|run| add_period(run));
    let page = page(&[ring, in_turn].concat(), &folder);
    let headline = headline(&page);
    // (1 + 2 cos(2π/12)) / 3
    assert_eq!(
        headline.matches("λ\u{a0}=\u{a0}0.911)").count(),
        2,
        "{headline}"
    );
    // Their λ are equal, so nothing can follow it.
    assert!(headline.contains("(95 % interval)"), "{headline}");
    assert!(!headline.contains("follow λ"), "{headline}");
    assert!(page.contains("the factor by which differences shrink in the long run;"));
    assert!(!page.contains("λ is that of the overlay in round 1"));
}

#[test]
fn figures_of_the_first_of_several_phases_are_called_so() {
    let folder = TempDir::new().unwrap();
    let (complete, phases) = (seeds(&folder, COMPLETE, 0.01), seeds(&folder, PHASES, 0.1));
    let shown = page(&[complete, phases.clone()].concat(), &folder);
    let sentences = headline(&shown);
    assert!(
        sentences.contains("λ\u{a0}=\u{a0}0.911 in round 1)"),
        "{sentences}"
    );
    assert!(
        !sentences.contains("The faster the overlay mixes"),
        "{sentences}"
    );
    for words in [
        "λ of a period is not known, λ is that of the overlay in round 1.",
        "Of overlays that change, degrees are those of round 1.",
        "picture, degree and edges are those of the overlay in round 1",
        "Of overlays that change, all of this is about the one in round 1.",
    ] {
        assert!(shown.contains(words), "{words}");
    }
    let alone = page(&phases, &folder);
    assert!(headline(&alone).contains("changes, and has λ = 0.911 in round 1;"));
}

#[test]
fn overlays_that_stay_need_no_such_words() {
    let folder = TempDir::new().unwrap();
    let page = page(&seeds(&folder, RING, 0.01), &folder);
    assert!(!page.contains("round 1"));
}

#[test]
fn an_overlay_that_changes_later_has_a_card_of_its_own() {
    let folder = TempDir::new().unwrap();
    let runs = [seeds(&folder, RING, 0.01), seeds(&folder, PHASES, 0.01)].concat();
    let page = page(&runs, &folder);
    assert_eq!(page.matches("<article class=\"card\"").count(), 2);
}
