//! Claims about single figures of the page.

use super::*;
use serde_json::json;

/// Changes each record of `run`.
fn edit_records(run: &Path, change: impl Fn(&mut Value)) {
    edit(run, "metrics.jsonl", |text| {
        let lines = text.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            change(&mut record);
            format!("{record}\n")
        });
        lines.collect()
    });
}

/// The first round at which the mean accuracy of `run` is at least `target`.
fn first_round(run: &Path, target: f64) -> f64 {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let records = metrics
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reaches = |record: &Value| record["test_accuracy"]["mean"].as_f64().unwrap() >= target;
    let first = records.into_iter().find(reaches).unwrap();
    first["round"].as_f64().unwrap()
}

#[test]
fn rounds_to_a_target_are_over_the_seeds_that_reach_it() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 20, 5);
    let ring = &runs[..5];
    edit_records(&ring[4], |record| {
        record["test_accuracy"]["mean"] = json!(0.5)
    });
    let rounds: f64 = ring[..4].iter().map(|run| first_round(run, 0.65)).sum();
    let page = page(&runs, &folder);
    let table = page.split_once("<section id=\"table\">").unwrap().1;
    let lines: Vec<&str> = table
        .split_once("<tbody>")
        .unwrap()
        .1
        .split("</tr>")
        .collect();
    let line = lines[0];
    let expected = crate::document::quantity_text::mean(rounds / 4.0);
    assert!(
        line.contains(&format!(">{expected} (4 of 5)</td>")),
        "{expected}: {line}"
    );
    assert!(!lines[2].contains(" of 5)"), "complete: {}", lines[2]);
}

#[test]
fn the_headline_tells_the_time_on_the_simulated_network() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 1);
    let timed = |run: &PathBuf, of_a_round: f64| {
        edit_records(run, |record| {
            let round = record["round"].as_f64().unwrap();
            record["simulated_seconds"] = json!(of_a_round * round);
        });
    };
    timed(&runs[0], 8.5);
    timed(&runs[2], 200.0);
    let both = page(&runs, &folder);
    for time in ["4\u{a0}min 15\u{a0}s", "1\u{a0}h 40\u{a0}min"] {
        let words = format!(", {time} of simulated time)");
        assert!(headline(&both).contains(&words), "{}", headline(&both));
    }
    assert_eq!(headline(&both).matches("simulated").count(), 2);
    let alone = page(&runs[..1], &folder);
    assert!(
        headline(&alone).starts_with(
            "After 30 rounds and 4\u{a0}min 15\u{a0}s of simulated time the models reach"
        ),
        "{}",
        headline(&alone)
    );
}

#[test]
fn methods_are_told_apart_and_weights_that_overlays_bring_are_not() {
    let folder = TempDir::new().unwrap();
    let run = |topology, method: &str, weights: &str, learning_rate| {
        let run = Fixture {
            clients: 8,
            topology,
            learning_rate,
            ..Fixture::default()
        }
        .write(folder.path());
        edit(&run, "config.yaml", |text| {
            let text = text.replace("metropolis_hastings", weights);
            let rate = format!("learning_rate: {learning_rate}");
            text.replace("dfedavgm:", &format!("{method}:"))
                .replace(&rate, "learning_rate: 0.1")
        });
        edit(&run, "summary.json", |text| {
            let settings = r#""settings": {"topology": {}, "algorithm": {}}"#;
            text.replacen('{', &format!("{{{settings}, "), 1)
        });
        run
    };
    // Fixtures with the same rate have the same folder.
    let runs = [
        run("{ring: {hops: 1}}", "dsgd", "metropolis_hastings", 0.1),
        run(
            "{ring: {hops: 1}}",
            "gradient_tracking",
            "metropolis_hastings",
            0.2,
        ),
        run(COMPLETE, "dsgd", "uniform", 0.1),
        run(COMPLETE, "gradient_tracking", "uniform", 0.2),
    ];
    let data = data(&page(&runs, &folder));
    let list = |key: &str, of: &str| -> Vec<String> {
        let items = data[key].as_array().unwrap().iter();
        items
            .map(|item| item[of].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(list("factors", "key"), ["topology", "algorithm"]);
    assert_eq!(
        list("groups", "label"),
        [
            "ring · dsgd",
            "ring · gradient_tracking",
            "complete · dsgd",
            "complete · gradient_tracking"
        ]
    );
}

#[test]
fn one_client_owns_and_several_own() {
    let folder = TempDir::new().unwrap();
    let shown = |clients| {
        let run = Fixture {
            clients,
            rounds: 2,
            topology: COMPLETE,
            ..Fixture::default()
        };
        page(&[run.write(folder.path())], &folder)
    };
    assert!(shown(1).contains("1 client owns 60\u{202f}000 examples"));
    assert!(shown(2).contains("2 clients own 60\u{202f}000 examples"));
}

/// Writes figures of a method's own into the records of `run`, but into that of the start.
pub(super) fn record_own(run: &Path, own: impl Fn(f64) -> Value) {
    edit_records(run, |record| {
        let round = record["round"].as_f64().unwrap();
        if round > 0.0 {
            record["own"] = own(round);
        }
    });
}

#[test]
fn figures_of_a_method_are_curves_beside_the_others() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 20, 1);
    record_own(&runs[0], |round| {
        json!({
            "moved": { "mean": 2.0 * round, "min": round, "max": 3.0 * round, "std": 1.0 },
            "kept_accuracy": 0.5,
        })
    });
    record_own(&runs[1], |round| match round {
        7.0 => json!({ "taking_part": 12, "moved": null }),
        _ => json!({}),
    });
    let page = page(&runs, &folder);
    let (_, section) = page.split_once("<section id=\"own\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert_eq!(section.matches("class=\"chart\"").count(), 3, "{section}");
    let data = data(&page);
    let (charts, bands) = (&data["charts"], &data["bands"]);
    // Only the first run has the figure, and it has none of the start.
    let moved = &charts["own-moved"];
    assert_eq!(moved["layout"]["yaxis"]["title"]["text"], "moved");
    assert_eq!(moved["data"].as_array().unwrap().len(), 1);
    let curve = &moved["data"][0];
    assert_eq!(
        (&curve["meta"], &curve["legendgroup"]),
        (&json!("mean"), &json!("g0"))
    );
    assert_eq!(
        (&curve["y"][0], &curve["y"][5]),
        (&Value::Null, &json!(10.0))
    );
    let range = &bands["own-moved"][0]["range"];
    assert_eq!(
        (&range["low"][5], &range["high"][5]),
        (&json!(5.0), &json!(15.0))
    );
    assert_eq!(bands["own-moved"][1], json!({}));
    let axis = &charts["own-kept_accuracy"]["layout"]["yaxis"];
    assert_eq!(axis["tickformat"], ".0%");
    // A line through one point would not be seen.
    let once = &charts["own-taking_part"]["data"][0];
    assert_eq!(
        (&once["mode"], &once["y"][7]),
        (&json!("markers"), &json!(12.0))
    );
}

#[test]
fn a_page_has_so_many_figures_of_a_method_and_no_more() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 20, 1);
    assert!(!page(&runs, &folder).contains("<section id=\"own\">"));
    let all: serde_json::Map<String, Value> = (10..50)
        .map(|layer| (format!("layer_{layer}"), json!(layer)))
        .collect();
    record_own(&runs[0], |_| Value::Object(all.clone()));
    let page = page(&runs[..1], &folder);
    assert!(page.contains("These are the first 24 of 40 figures by name"));
    let data = data(&page);
    for (name, count) in [("charts", 24), ("bands", 24)] {
        let keys = data[name].as_object().unwrap().keys();
        let own: Vec<&String> = keys.filter(|id| id.starts_with("own-")).collect();
        assert_eq!((own.len(), &**own[23]), (count, "own-layer_33"));
    }
}
