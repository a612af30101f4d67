//! How much work runs are, and how much work planning them is.

use crate::{YAML, one, plans};

#[test]
fn the_time_to_plan_a_sweep_grows_with_its_runs_alone() {
    let yaml = YAML.replace("hidden: [20]", "hidden: [5]");
    let seeds: Vec<String> = (0..40_000).map(|seed| seed.to_string()).collect();
    let sweep = format!("sweep: {{grid: {{seed: [{}]}}}}\n", seeds.join(", "));
    let start = std::time::Instant::now();
    let planned = plans(&format!("{yaml}{sweep}"));
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(planned.len(), 40_000);
    assert_eq!(planned[39_999].label(), "seed=39999");
    assert!(
        seconds < 15.0,
        "{seconds} s, where two cores alone took 1 s, and 13 s with a list of all seeds for each run"
    );
}

#[test]
fn runs_of_a_sweep_share_what_is_the_same() {
    let sweep = "sweep: {grid: {seed: [1, 2], algorithm.dfedavgm.learning_rate: [0.1, 0.2]}}\n";
    let plans = plans(&format!("{YAML}{sweep}"));
    let setting = |index: usize| &plans[index].population.setting;
    assert!(std::sync::Arc::ptr_eq(setting(0), setting(1)));
    assert!(!std::sync::Arc::ptr_eq(setting(1), setting(2)));
}

#[test]
fn the_work_of_a_run_is_estimated() {
    let plan = one(YAML);
    // 60 steps a round on 20 examples: forward, and back to the weights; back to the activations of the hidden layer.
    let step = 20 * (2 * 784 * 20 + 3 * 20 * 10);
    // A ring of ten has three weights a row; 10 models and their mean are judged on 100 images, at the start and in each round.
    let (mixing, judging) = (30 * plan.parameters, 11 * 100 * (784 * 20 + 20 * 10));
    let expected = 5 * 60 * step + 5 * mixing + 6 * judging;
    assert_eq!(plan.multiply_adds as usize, expected);
    assert!(plan.seconds < 10.0, "{}", plan.seconds);
    let longer = one(&YAML.replace("rounds: 5", "rounds: 5000"));
    let ratio = longer.multiply_adds as f64 / plan.multiply_adds as f64;
    assert!((900.0..1000.0).contains(&ratio), "{ratio}");
}

#[test]
fn what_takes_longer_than_a_day_is_warned_of() {
    let yaml = YAML.replace("rounds: 5", "rounds: 5000");
    let warnings = |old: &str, new: &str| one(&yaml.replace(old, new)).warnings;
    for (old, new) in [
        ("rounds: 5000", "rounds: 1000000000000"),
        ("rounds: 5000", "rounds: 18446744073709551615"),
        ("{epochs: 2}", "{steps: 1000000000}"),
        ("{epochs: 2}", "{epochs: 1000000000}"),
    ] {
        let said = warnings(old, new);
        assert_eq!(said.len(), 1, "{new}: {said:?}");
        let parts = ["the run takes ", "thread", "rough estimate"];
        assert!(parts.iter().all(|part| said[0].contains(part)), "{said:?}");
    }
    assert_eq!(warnings("rounds: 5000", "rounds: 5001"), [""; 0]);
}

#[test]
fn planning_does_not_go_through_all_rounds() {
    let yaml = "name: tiny\ndataset: {glyphs: {train: 600, test: 100}}\npartition: {iid: {clients: 6}}\n\
                topology: complete\nmodel: logistic\nalgorithm: {d2: {batch_size: 20, learning_rate: 0.05}}\n\
                rounds: 1000000000000\nfailures: [FAILURE]\n";
    let warnings = |failure: &str| one(&yaml.replace("FAILURE", failure)).warnings;
    let once = warnings("{edges: {list: [[0, 1]]}, from_round: 4}");
    assert_eq!(once.len(), 1, "{once:?}");
    // Without these edges λ_N is −1/2, from a round on that nobody would come to by counting.
    let late = warnings(
        "{edges: {list: [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]}, from_round: 900000000000}",
    );
    assert!(
        late.iter()
            .any(|warning| warning.starts_with("in round 900000000000 the weights")),
        "{late:?}"
    );
}
