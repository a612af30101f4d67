//! The speed-up of several servers, which is computed without a run.

use std::fs;

use crate::sandbox::Sandbox;

/// P-FedAvg, Fig. 2: 1.8507; over 20,000 samples five standard errors are 0.027.
#[test]
fn the_speed_up_of_several_servers_can_be_asked_for() {
    let sandbox = Sandbox::new();
    let line = "speedup --servers 5 --participants 100";
    let said = sandbox.says(&format!("{line} --json")).ended_with(0).json();
    let speed_up = said[0]["speed_up"].as_f64().unwrap();
    assert!((speed_up - 1.8507).abs() < 0.027, "{speed_up}");
    let table = sandbox.says(line).ended_with(0).out;
    assert!(table.contains(&format!("{speed_up:.4}")), "{table}");
    for (more, parts) in [
        ("--step-delay 0", ["--step-delay", "above 0"]),
        ("--server-delay -1", ["--server-delay", "found -1"]),
        ("--samples -3", ["--samples", "-3 is not in"]),
    ] {
        sandbox
            .says(&format!("{line} {more}"))
            .ended_with(2)
            .complained_of(&parts);
    }
    sandbox
        .says("speedup --servers 5 --participants 3")
        .ended_with(2)
        .complained_of(&["--participants: found 3, needed at least 5"]);
}

/// P-FedAvg, Fig. 2: the speed-up rises with K and falls with E (a), and with β (b). The values are those of the closed form;
/// over 20,000 samples five standard errors are below 0.05.
#[test]
fn the_speed_up_rises_with_participants_and_falls_with_local_work() {
    let sandbox = Sandbox::new();
    let speed_ups = |line: &str| -> Vec<f64> {
        let found = sandbox.says(&format!("{line} --json")).ended_with(0).json();
        let value = |line: &serde_json::Value| line["speed_up"].as_f64().unwrap();
        found.iter().map(value).collect()
    };
    let line = "speedup --servers 5 --participants 50,100,500 --local-steps 1,20";
    let found = speed_ups(line);
    for (found, expected) in found.iter().zip([1.67, 1.19, 1.85, 1.32, 2.09, 1.72]) {
        assert!((found - expected).abs() < 0.05, "{found} {expected}");
    }
    assert_eq!(found.len(), 6);
    let table = sandbox.says(&format!("{line} -o a.svg")).ended_with(0).out;
    assert!(table.contains(&format!("{:.4}", found[5])), "{table}");
    let drawn = fs::read_to_string(sandbox.path("a.svg")).unwrap();
    for text in ["Participants, K", "Local iterations, E", "Speed-up"] {
        assert!(drawn.contains(text), "{drawn}");
    }
    let line = "speedup --servers 5 --participants 1000 --local-steps 5 --step-delay 1,10,50";
    let found = speed_ups(line);
    for (found, expected) in found.iter().zip([2.07, 1.64, 1.23]) {
        assert!((found - expected).abs() < 0.05, "{found} {expected}");
    }
    sandbox.says(&format!("{line} -o b.pdf")).ended_with(0);
    assert!(sandbox.path("b.pdf").exists());
    sandbox
        .says("speedup --servers 5 --participants 100 --samples 10 -o c.svg")
        .ended_with(2)
        .complained_of(&[
            "a figure needs several values of --participants, --step-delay, --local-steps",
        ]);
    sandbox
        .says("speedup --servers 5 --participants 100,4")
        .ended_with(2)
        .complained_of(&["--participants: found 4, needed at least 5"]);
}
