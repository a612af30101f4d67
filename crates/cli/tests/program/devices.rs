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
    // Sets with products of bfloat16 are kinds of their own for these alone.
    let widest = sets.iter().find(|set| !set.ends_with("-bf16")).unwrap();
    assert_eq!(devices[0]["kind"], format!("cpu/{widest}"));
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
    sandbox
        .says("run tiny.yaml -q --cpu portable --set precision=bf16")
        .ended_with(0);
    let kinds = sandbox.runs("tiny").into_iter().map(|folder| {
        let environment = sandbox.json(&format!("{folder}/environment.json"));
        environment["device"].as_str().unwrap().to_owned()
    });
    let mut kinds: Vec<String> = kinds.collect();
    kinds.sort();
    assert_eq!(kinds, ["cpu/portable", "cpu/portable+bf16"]);
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

/// Three rounds of a method each; one with a death on the complete overlay.
#[cfg(feature = "gpu")]
const METHODS: &str = "\
name: methods
dataset: {glyphs: {train: 600, test: 100}}
partition: {shards: {clients: 10, per_client: 2}}
topology: {regular: {degree: 4}}
model: {mlp: {hidden: [16]}}
algorithm: {dsgd: &work {local: {steps: 1}, batch_size: 20, learning_rate: 0.05}}
rounds: 3
sweep:
  cases:
    - algorithm: {dsgd: *work}
    - {algorithm: {dsgd: *work}, topology: complete, failures: [{clients: {list: [3]}, from_round: 2}]}
    - algorithm: {dfedavgm: {local: {epochs: 2}, batch_size: 20, learning_rate: 0.05}}
    - {algorithm: {d_cliques: {batch_size: 20, learning_rate: 0.05, momentum: 0.9}}, topology: {d_cliques: {max_clique_size: 5}}}
    - algorithm: {dfedrw: {walkers: 3, hops: 3, neighbours: 2, quantise: {bits: 8}, batch_size: 20, learning_rate: 0.05}}
    - {algorithm: {p_fedavg: {servers: {count: 3}, participation: {per_server: 2}, batch_size: 20, learning_rate: 0.05}}, topology: ring}
    - algorithm: {gradient_tracking: *work}
    - {algorithm: {scaffold: {participation: {clients: 4}, batch_size: 20, learning_rate: 0.05}}, topology: null}
";

/// The last records of all runs of `methods.yaml` on a device, in the order of the sweep.
#[cfg(feature = "gpu")]
fn last_records(sandbox: &Sandbox, device: &str) -> Vec<serde_json::Value> {
    let line = format!("run methods.yaml --device {device} --results {device} --json");
    let said = sandbox.says(&line).ended_with(0);
    let last = |line: &serde_json::Value| {
        let id = line["summary"]["id"].as_str().unwrap();
        let metrics = sandbox.read(&format!("{device}/methods/{id}/metrics.jsonl"));
        serde_json::from_str(metrics.lines().last().unwrap()).unwrap()
    };
    said.json().iter().map(last).collect()
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn every_method_comes_to_the_same_on_a_gpu() {
    let sandbox = Sandbox::new();
    sandbox.write("methods.yaml", METHODS);
    let [gpu, cpu] = ["wgpu", "cpu"].map(|device| last_records(&sandbox, device));
    assert_eq!((gpu.len(), cpu.len()), (8, 8));
    for (method, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate() {
        for counted in [
            "local_steps",
            "examples_seen",
            "bytes_total",
            "messages_total",
            "alive",
        ] {
            assert_eq!(gpu[counted], cpu[counted], "{counted} of method {method}");
        }
        let figure = |record: &serde_json::Value, name: &str| match name {
            "test_loss" => record[name]["mean"].as_f64().unwrap(),
            name => record[name].as_f64().unwrap(),
        };
        // Sums in another order in f32, over some tens of steps; a level of the quantiser that falls otherwise moves one
        // parameter by 1/127 of the norm of a visit.
        for (name, tolerance) in [
            ("test_loss", 1e-3),
            ("train_loss", 1e-3),
            ("consensus_distance", 1e-2),
        ] {
            let (gpu, cpu) = (figure(gpu, name), figure(cpu, name));
            let apart = (gpu - cpu).abs();
            assert!(
                apart <= tolerance * cpu.abs() + 1e-6,
                "{name} of method {method}: {gpu} {cpu}"
            );
        }
    }
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn runs_of_a_sweep_have_the_same_bits_together_on_a_gpu() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "methods.yaml",
        &format!("{METHODS}  grid: {{seed: [1, 2]}}\n"),
    );
    let results = |at_once: usize| {
        let line = format!(
            "run methods.yaml --device wgpu --at-once {at_once} --results at-once-{at_once} --json"
        );
        let folders = sandbox.says(&line).ended_with(0).json();
        let of_run = |line: &serde_json::Value| sandbox.results(line["folder"].as_str().unwrap());
        folders.iter().map(of_run).collect::<Vec<_>>()
    };
    let alone = results(1);
    assert_eq!(alone.len(), 16);
    for at_once in [2, 16] {
        assert!(results(at_once) == alone, "{at_once} at once");
    }
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_gpu_comes_to_the_results_of_the_processor() {
    let sandbox = Sandbox::new();
    let wgpu = "run tiny.yaml --device wgpu --results gpu --json";
    let wgpu = sandbox.says(wgpu).ended_with(0);
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
