//! Initial models that cannot be.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

#[test]
fn labels_are_the_start_of_one_parameter_of_each_client() {
    let values = "dataset: {consensus: {values: [3, 1, 4]}}\npartition: {iid: {clients: 3}}\n";
    let seen = |method: &str, model: &str| {
        let text = format!(
            "name: a\n{values}{}start: label\nmodel: {model}\nalgorithm: {method}\nrounds: 1\n",
            if method.contains("decefl") {
                "topology: ring\n"
            } else {
                ""
            },
        );
        plan(
            &ExperimentSource::new("e.yaml", text),
            &DataFolder::new("unused"),
        )
        .map_err(|error| error.to_string())
    };
    let one = "{linear: {targets: value, bias: false}}";
    let own = [
        "{decefl: {batch_size: full, learning_rate: 0.1}}",
        "{fedavg: {batch_size: full, learning_rate: 0.1, steps_from: own}}",
        "{swarm: {batch_size: full, learning_rate: 0.1, steps_from: own}}",
    ];
    for method in own {
        assert_eq!(seen(method, one).unwrap()[0].rows.count, 3, "{method}");
        let refusal = seen(method, "{linear: {targets: value}}").unwrap_err();
        assert!(refusal.contains("the model has 2 parameters"), "{refusal}");
    }
    for method in ["fedavg", "swarm"] {
        let method = format!("{{{method}: {{batch_size: full, learning_rate: 0.1}}}}");
        let refusal = seen(&method, one).unwrap_err();
        assert!(
            refusal.contains("clients have no models of their own"),
            "{refusal}"
        );
    }
}
