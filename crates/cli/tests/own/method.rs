//! A method of a program's own: CHOCO-SGD.

use crate::own_method::own;
use crate::runs::{carried_out, planned, records, records_of};
use meshfold::Own;
use meshfold_experiment::results::RecordedRun;
use miette::Diagnostic;
use tempfile::TempDir;

fn choco(keys: &str) -> String {
    format!(
        "topology: ring\nalgorithm: {{own: {{name: choco, {keys}, batch_size: 10, learning_rate: 0.1}}}}\n"
    )
}

#[test]
fn without_compression_and_with_a_whole_step_it_is_dsgd() {
    let choco = records_of(&own(), &choco("gamma: 1, keep: 1"));
    let dsgd = "topology: ring\nalgorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\n";
    let dsgd = records_of(&Own::new(), dsgd);
    assert_eq!(choco.len(), 4);
    for (choco, dsgd) in choco.iter().zip(&dsgd) {
        for figure in ["consensus_distance", "train_loss"] {
            let (a, b) = (&choco[figure], &dsgd[figure]);
            let close = match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-4 * b.abs() + 1e-6,
                _ => a == b,
            };
            assert!(close, "{figure}: {a} and {b}");
        }
        assert_eq!(choco["local_steps"], dsgd["local_steps"]);
    }
}

#[test]
fn it_sends_what_it_keeps() {
    let records = records_of(&own(), &choco("gamma: 0.3, keep: 0.1"));
    // 784 * 10 + 10 parameters, of which 785 go as value and index to two neighbours of each of 8 clients.
    let last = records.last().unwrap();
    assert_eq!(last["bytes_total"].as_u64(), Some(6 * 8 * 2 * 785 * 8));
    let distance = |round: usize| records[round]["consensus_distance"].as_f64().unwrap();
    assert!(distance(1) > 0.0 && distance(3).is_finite());
}

#[test]
fn what_it_records_is_in_tables_as_the_spread_over_clients() {
    let results = TempDir::new().unwrap();
    let plan = planned(&own(), &choco("gamma: 0.3, keep: 0.1")).unwrap();
    let folder = carried_out(&plan[0], results.path(), usize::MAX);
    let told = records(&folder);
    assert!(
        told[0].get("own").is_none(),
        "no round is done at the start"
    );
    for record in &told[1..] {
        let part = |name: &str| record["own"]["sent_norm"][name].as_f64().unwrap();
        let [mean, min, max, std] = ["mean", "min", "max", "std"].map(part);
        assert!(0.0 < min && min < mean && mean < max && std > 0.0);
    }
    let run = RecordedRun::read(&folder).unwrap();
    let figures = run.figures().unwrap();
    let last = told.last().unwrap()["own"]["sent_norm"]["max"].as_f64();
    assert_eq!(figures[3].get("own.sent_norm.max").copied(), last);
    assert!(!figures[0].contains_key("own.sent_norm"));
    assert!(figures[3].contains_key("own.sent_norm"));
}

#[test]
fn it_resumes_with_the_same_bits_under_failures_and_stragglers() {
    let more = format!(
        "{}failures: [{{clients: {{share: 0.3}}, from_round: 1, redraw: each_round}}]\n",
        choco("gamma: 0.3, keep: 0.1, local: {steps: 4}")
    );
    let (whole, parts) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let plan = planned(&own(), &more).unwrap().remove(0);
    let whole = records(&carried_out(&plan, whole.path(), usize::MAX));
    let begun = carried_out(&plan, parts.path(), 2);
    assert!(begun.join("checkpoint.safetensors").exists());
    assert!(records(&begun).len() < whole.len());
    assert_eq!(
        records(&carried_out(&plan, parts.path(), usize::MAX)),
        whole
    );
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn it_comes_to_the_same_on_a_gpu_and_resumes_there() {
    use crate::runs::carried_out_on;
    use meshfold::engine::Device;

    let open = || Device::open("wgpu".parse().unwrap(), None, None).unwrap();
    let results = [(); 3].map(|()| TempDir::new().unwrap());
    let plan = planned(&own(), &choco("gamma: 0.3, keep: 1")).unwrap();
    let cpu = records(&carried_out(&plan[0], results[0].path(), usize::MAX));
    let gpu = records(&carried_out_on(
        open(),
        &plan[0],
        results[1].path(),
        usize::MAX,
    ));
    assert_eq!((cpu.len(), gpu.len()), (4, 4));
    for (cpu, gpu) in cpu.iter().zip(&gpu) {
        assert_eq!(cpu["bytes_total"], gpu["bytes_total"]);
        for figure in ["consensus_distance", "train_loss"] {
            let close = match (cpu[figure].as_f64(), gpu[figure].as_f64()) {
                (Some(cpu), Some(gpu)) => (cpu - gpu).abs() <= 1e-3 * cpu.abs() + 1e-6,
                (cpu, gpu) => cpu == gpu,
            };
            assert!(close, "{figure}: {} and {}", cpu[figure], gpu[figure]);
        }
    }
    carried_out_on(open(), &plan[0], results[2].path(), 2);
    let resumed = carried_out_on(open(), &plan[0], results[2].path(), usize::MAX);
    assert_eq!(records(&resumed), gpu);
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let fault = |keys: &str| {
        let error = planned(&own(), &choco(keys)).unwrap_err();
        let marked = error.marked().unwrap_or_default().to_owned();
        (error.to_string(), error.line(), marked)
    };
    let (message, line, marked) = fault("gamma: 2, keep: 0.1");
    assert_eq!(message, "gamma is 2, but it must be above 0 and at most 1");
    assert_eq!((line, marked.as_str()), (Some(9), "2"));
    let (message, line, marked) = fault("gama: 0.3, keep: 0.1");
    assert_eq!(message, "algorithm.own: unknown key `gama`");
    assert_eq!((line, marked.as_str()), (Some(9), "gama"));
    let (message, ..) = fault("gamma: high, keep: 0.1");
    assert_eq!(
        message,
        "algorithm.own.gamma: found the text \"high\", needed a number"
    );
    let (message, ..) = fault("keep: 0.1");
    assert_eq!(message, "algorithm.own: missing key `gamma`");
    let misspelt = "topology: ring\nalgorithm: {own: {name: chocco}}\n";
    let error = planned(&own(), misspelt).unwrap_err();
    assert_eq!(
        error.to_string(),
        "algorithm.own.name: this program has no method of its own named `chocco`"
    );
    assert_eq!(error.marked(), Some("chocco"));
    let help = |error: &dyn Diagnostic| error.help().unwrap().to_string();
    assert_eq!(help(&error), "did you mean `choco`? methods: choco");
    let without = planned(&Own::new(), misspelt).unwrap_err();
    assert!(help(&without).contains("docs/own.md"));
}

#[test]
fn ids_know_keys_and_versions() {
    let id = |own: &Own, keys: &str| planned(own, &choco(keys)).unwrap()[0].id.clone();
    let plain = id(&own(), "gamma: 0.3, keep: 0.1");
    assert_eq!(
        id(&own(), "keep: 0.1, gamma: 0.3, local: {steps: 1}"),
        plain
    );
    assert_ne!(id(&own(), "keep: 0.1, gamma: 0.4"), plain);
    let second = Own::new().method::<crate::own_method::Choco>(("choco", "2"));
    assert_ne!(id(&second, "gamma: 0.3, keep: 0.1"), plain);
    let asks = id(&second, "gamma: 0.3, keep: 0.1, version: 2");
    assert_eq!(asks, id(&second, "gamma: 0.3, keep: 0.1"));
    let error = planned(&second, &choco("gamma: 0.3, keep: 0.1, version: 3")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "algorithm.own.version: found 3, needed 2, which this program has"
    );
}

#[test]
fn its_name_stands_in_labels_and_its_configuration_reads_back() {
    let sweep = "topology: ring\nalgorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}\n\
        sweep: {grid: {algorithm: [{dsgd: {batch_size: 10, learning_rate: 0.1}}, \
        {own: {name: choco, gamma: 0.3, keep: 0.1, batch_size: 10, learning_rate: 0.1}}]}}\n";
    let plans = planned(&own(), sweep).unwrap();
    let labels: Vec<String> = plans.iter().map(|plan| plan.label()).collect();
    assert_eq!(labels, ["algorithm=dsgd", "algorithm=choco"]);
    let yaml = plans[1].config.to_yaml();
    assert!(yaml.contains("name: choco"), "{yaml}");
    let source = meshfold_experiment::ExperimentSource::new("config.yaml", yaml);
    let read = meshfold_experiment::RunConfig::read(&source.with_own(own())).unwrap();
    assert_eq!(read, plans[1].config);
}
