//! Claims about runs beside the bound of a theorem.

use super::*;
use serde_json::json;

/// A run whose distance from the minimum is `20/(t + 10)`, half of its bound.
fn bounded(folder: &TempDir) -> PathBuf {
    let run = Fixture::default().write(folder.path());
    let metrics = run.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let lines = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let distance = 20.0 / (record["round"].as_f64().unwrap() + 10.0);
        record["theory"] = json!({
            "disagreement": 0.0, "disagreement_bound": 1.0, "distance_to_minimum": distance,
            "distance_to_minimum_bound": 2.0 * distance, "smoothness": 31.4159, "convexity": 0.1,
        });
        format!("{record}\n")
    });
    fs::write(&metrics, lines.collect::<String>()).unwrap();
    run
}

#[test]
fn what_a_theorem_bounds_is_drawn_with_its_bound_and_its_constants() {
    let folder = TempDir::new().unwrap();
    let runs = [bounded(&folder), sweep(folder.path(), 20, 1).remove(2)];
    let page = page(&runs, &folder);
    let (_, section) = page.split_once("<section id=\"theorem\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for part in [">L<", ">μ<", "<td>31.42</td>", "<td>0.1</td>"] {
        assert!(section.contains(part), "{part}: {section}");
    }
    // Only the run that was asked is in the table, and constants that no run has are not.
    assert_eq!(section.matches("<tr>").count(), 2, "{section}");
    assert!(!section.contains(">Γ<"));
    let chart = &data(&page)["charts"]["bound-distance_to_minimum"];
    assert_eq!(chart["layout"]["yaxis"]["type"], "log");
    let traces = chart["data"].as_array().unwrap();
    let values = |trace: usize| traces[trace]["y"].as_array().unwrap().clone();
    assert_eq!(traces.len(), 2);
    assert_eq!(
        (values(0)[0].clone(), values(1)[0].clone()),
        (json!(2.0), json!(4.0))
    );
    assert_eq!(values(0)[30], json!(0.5));
    assert_eq!(traces[1]["line"]["dash"], "dot");
    // What is zero has no place on a logarithmic axis.
    let apart = &data(&page)["charts"]["bound-disagreement"]["data"];
    assert_eq!(apart[0]["y"][3], Value::Null);
    assert_eq!(apart[1]["y"][3], json!(1.0));
}

#[test]
fn a_page_of_runs_without_bounds_has_no_such_section() {
    let folder = TempDir::new().unwrap();
    let page = page(&sweep(folder.path(), 20, 1), &folder);
    assert!(!page.contains("<section id=\"theorem\">"));
}
