//! Tables and figures about settings that are maps, or that some runs do not have.

use crate::sandbox::Sandbox;

/// A finished sweep called `tiny`: without stragglers and with some, without failures and with some, each under two seeds.
fn finished() -> Sandbox {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let failures = "[{clients: {share: 0.2}, from_round: 2, repair: none}]";
    let sweep = format!(
        "sweep: {{grid: {{stragglers: [null, {{share: 0.2}}, {{share: 0.5}}], failures: [null, {failures}], seed: [1, 2]}}}}\n"
    );
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    sandbox.says("run sweep.yaml -q --no-report").ended_with(0);
    sandbox
}

#[test]
fn a_table_shows_what_differs_in_a_map() {
    let sandbox = finished();
    let rows = "table runs/tiny --by stragglers,failures --format json";
    let rows = sandbox.says(rows).ended_with(0).json();
    let stragglers: Vec<Option<&str>> = rows.iter().map(|row| row["stragglers"].as_str()).collect();
    let [none, few, many] = [None, Some("share=0.2"), Some("share=0.5")];
    assert_eq!(stragglers, [none, none, few, few, many, many]);
    let failures = rows[1]["failures"].as_str().unwrap();
    assert!(failures == "[clients.share=0.2 from_round=2]", "{failures}");
    assert!(!failures.contains(['{', '"']), "{failures}");
    assert!(rows.iter().all(|row| row["n"] == 2), "{rows:?}");
    let list = sandbox.says("runs list runs/tiny").ended_with(0).out;
    assert!(
        list.contains("clients.share=0.2") && !list.contains("{\""),
        "{list}"
    );
}

#[test]
fn runs_without_a_setting_are_chosen_by_several_words() {
    let sandbox = finished();
    for word in ["null", "none", "-", "–"] {
        let line = format!("table runs/tiny --by stragglers --only failures={word} --format json");
        let rows = sandbox.says(&line).ended_with(0).json();
        assert_eq!(rows.len(), 3, "{word}");
    }
    // The name is one of the runs that are left out.
    let line = "--by stragglers,failures --only stragglers=none --only failures=none";
    for command in ["table runs/tiny", "figure runs/tiny -o a.svg"] {
        sandbox.says(&format!("{command} {line}")).ended_with(0);
    }
    let some = "table runs/tiny --by stragglers,failures --only stragglers=share=0.5 --format json";
    assert_eq!(sandbox.says(some).ended_with(0).json().len(), 2);
    let base = "table runs/tiny --by stragglers,failures --compare stragglers=none --format json";
    let rows = sandbox.says(base).ended_with(0).json();
    assert!(
        rows[0]["difference_mean"].is_null() && rows[2]["difference_mean"].is_f64(),
        "{rows:?}"
    );
}

#[test]
fn a_legend_names_maps_in_short_and_breaks_long_lines() {
    let sandbox = finished();
    let line = "figure runs/tiny --by failures,stragglers -o figure.svg --width 60mm";
    sandbox.says(line).ended_with(0);
    let svg = sandbox.read("figure.svg");
    assert!(
        svg.contains("\nshare=0.2\n") && svg.contains("\nshare=0.5\n"),
        "{svg}"
    );
    assert!(svg.contains("\n[clients.share=0.2"), "{svg}");
    assert!(!svg.contains('{') && !svg.contains("&quot;"), "{svg}");
}
