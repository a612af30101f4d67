//! Runs that end in different rounds, where they reach their targets: pages, tables and figures take all of them.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Five seeds that end at an accuracy of 30 %, and the round of the last record of each.
fn finished() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let yaml = "name: early\ndataset: {glyphs: {train: 400, test: 200}}\npartition: {shards: {clients: 8}}\nmodel: logistic\n\
                topology: ring\nalgorithm: {dsgd: {batch_size: 10, learning_rate: 0.02, local: {steps: 1}}}\nrounds: 60\n\
                evaluate: {targets: [0.3], stop_at_targets: true}\nsweep: {grid: {seed: [1, 2, 3, 4, 5]}}\n";
    sandbox.write("early.yaml", yaml);
    let said = sandbox.says("run early.yaml --json").ended_with(0);
    assert!(said.err.contains(" of 60 rounds"), "{}", said.err);
    let runs = said.json();
    let last = |run: &Value| {
        let records = sandbox.records(run["folder"].as_str().unwrap());
        records.last().unwrap().clone()
    };
    let ends: Vec<Value> = runs.iter().map(last).collect();
    let rounds: Vec<u64> = ends
        .iter()
        .map(|end| end["round"].as_u64().unwrap())
        .collect();
    assert!(
        rounds.iter().all(|round| *round < 60) && rounds.iter().any(|round| *round != rounds[0]),
        "{rounds:?}"
    );
    (sandbox, ends)
}

fn mean(ends: &[Value], of: impl Fn(&Value) -> f64) -> f64 {
    ends.iter().map(of).sum::<f64>() / ends.len() as f64
}

#[test]
fn the_page_has_the_means_of_the_table() {
    let (sandbox, ends) = finished();
    let accuracy = mean(&ends, |end| end["test_accuracy"]["mean"].as_f64().unwrap());
    let table = sandbox
        .says("table runs/early --format json")
        .ended_with(0)
        .json();
    assert_eq!(table[0]["n"], 5);
    assert!((table[0]["mean"].as_f64().unwrap() - accuracy).abs() < 1e-12);
    let page = sandbox.read("runs/early/report.html");
    let data = page.split_once("id=\"report-data\">").unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let shown = data["accuracies"][0].as_f64().unwrap();
    assert!((shown - accuracy).abs() < 1e-4, "{shown} for {accuracy}");
    for said in [
        "seeds 1, 2, 3, 4, 5",
        "its runs ended in different rounds",
        "By 5 seeds",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("left out of the means"));
}

#[test]
fn curves_say_where_they_end_and_costs_what_is_not_known() {
    let (sandbox, ends) = finished();
    let said = sandbox.says("figure runs/early -o early.svg").ended_with(0);
    assert!(
        said.err
            .contains("ended before the others; the curve ends where"),
        "{}",
        said.err
    );
    let refused = sandbox.says("figure runs/early --y rounds_to=0.3 -o early.svg");
    refused.complained_of(&["--y rounds_to=0.3", "--bars"]);
    let reached = mean(&ends, |end| end["round"].as_f64().unwrap());
    let table = sandbox
        .says("table runs/early --metric rounds_to=0.3 --format json")
        .ended_with(0);
    assert!((table.json()[0]["mean"].as_f64().unwrap() - reached).abs() < 1e-12);
    // Accuracies of 30 % to 35 % are not far from each other: some run reaches what another one did not.
    let best = ends
        .iter()
        .map(|end| end["test_accuracy"]["mean"].as_f64().unwrap());
    let best = best.fold(0.0, f64::max);
    let said = sandbox
        .says(&format!("table runs/early --metric rounds_to={best}"))
        .ended_with(0);
    let all = [said.out, said.err].concat();
    assert!(all.contains("ended before"), "{all}");
    assert!(!all.contains("would have taken longer"), "{all}");
}
