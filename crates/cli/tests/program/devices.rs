//! Devices that the program has, and those that it lacks.

use crate::sandbox::{Sandbox, keys};

#[test]
fn the_processor_is_always_there() {
    let sandbox = Sandbox::new();
    let said = sandbox.says("devices --json").ended_with(0);
    let devices = said.json();
    assert_eq!(
        keys(&devices[0]),
        ["device", "kind", "threads", "instructions", "error"]
    );
    assert_eq!(devices[0]["device"], "cpu");
    let sets: Vec<_> = devices[0]["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| set.as_str().unwrap())
        .collect();
    assert_eq!(sets.last(), Some(&"portable"));
    assert_eq!(devices[0]["kind"], format!("cpu/{}", sets[0]));
    assert!(sandbox.says("devices").ended_with(0).out.contains("cpu/"));
}

#[test]
fn an_instruction_set_can_be_pinned_and_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox
        .says("run tiny.yaml -q --cpu portable --threads 1")
        .ended_with(0);
    let [folder] = sandbox.runs("tiny").try_into().unwrap();
    let environment = sandbox.json(&format!("{folder}/environment.json"));
    assert_eq!(
        (&environment["device"], &environment["threads"]),
        (&"cpu/portable".into(), &1.into())
    );
    let other = sandbox.says("run tiny.yaml --cpu sse9").ended_with(2);
    assert!(other.err.contains("portable"), "{}", other.err);
}

#[cfg(not(feature = "gpu"))]
#[test]
fn a_device_that_the_program_was_built_without_is_refused() {
    let sandbox = Sandbox::new();
    for device in ["wgpu", "wgpu:1", "cuda:0"] {
        let said = sandbox
            .says(&format!("run tiny.yaml --device {device}"))
            .ended_with(2);
        assert!(
            said.err.contains("built for the processor alone")
                && said.err.contains("--features gpu"),
            "{}",
            said.err
        );
    }
    assert!(!sandbox.path("runs").exists());
    sandbox
        .says("run tiny.yaml --device gpu")
        .ended_with(2)
        .complained_of(&["wgpu:INDEX", "auto"]);
    sandbox
        .says("run tiny.yaml --device auto")
        .ended_with(0)
        .complained_of(&["cpu/"]);
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_comes_to_the_results_of_the_processor() {
    let sandbox = Sandbox::new();
    let wgpu = sandbox.says("run tiny.yaml --device wgpu --results gpu --json");
    if wgpu.code == Some(2) {
        assert!(std::env::var_os("MESHFOLD_CI").is_none(), "{}", wgpu.err);
        println!("skipped: {}", wgpu.err);
        return;
    }
    let cpu = sandbox.says("run tiny.yaml --json").ended_with(0);
    let accuracy = |said: &crate::sandbox::Said| {
        said.json()[0]["summary"]["last"]["test_accuracy"]["mean"]
            .as_f64()
            .unwrap()
    };
    // One of ten models may judge one of a hundred digits differently.
    assert!(
        (accuracy(&wgpu) - accuracy(&cpu)).abs() <= 0.002,
        "{} {}",
        accuracy(&wgpu),
        accuracy(&cpu)
    );
}
