//! Paths of sweeps in which `*` stands for the choice of each run.

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan};
use miette::Diagnostic;
use serde_json::json;

use crate::{YAML, plans};

/// The experiment with a sweep over two methods and this further entry of the grid.
fn two_methods(entry: &str) -> String {
    let dsgd = "{dsgd: {batch_size: 20, learning_rate: 0.5}}";
    let dfedavg = "{dfedavg: {batch_size: 20, learning_rate: 0.5}}";
    format!("{YAML}sweep: {{grid: {{algorithm: [{dsgd}, {dfedavg}], {entry}}}}}\n")
}

fn refused(yaml: &str) -> ConfigError {
    let source = ExperimentSource::new("tiny.yaml", yaml);
    plan(&source, &DataFolder::new("nowhere")).expect_err("the runs cannot be planned")
}

#[test]
fn every_method_gets_every_rate() {
    let planned = plans(&two_methods("algorithm.*.learning_rate: [0.1, 0.3]"));
    let labels: Vec<String> = planned.iter().map(|plan| plan.label()).collect();
    assert_eq!(
        labels,
        [
            "algorithm=dsgd, learning_rate=0.1",
            "algorithm=dsgd, learning_rate=0.3",
            "algorithm=dfedavg, learning_rate=0.1",
            "algorithm=dfedavg, learning_rate=0.3",
        ]
    );
    assert_eq!(
        planned[3].settings()["algorithm.dfedavg.learning_rate"],
        json!(0.3)
    );
    let written = YAML.replace("dfedavgm: {local: {epochs: 2}, ", "dsgd: {");
    let by_hand = plans(&written.replace("0.05", "0.1"));
    assert_eq!(planned[0].id, by_hand[0].id);
}

#[test]
fn a_choice_without_the_key_is_named_with_its_run() {
    let error = refused(&two_methods(
        "algorithm.*.order: [mix_then_step], seed: [1, 2]",
    ));
    assert!(
        error
            .to_string()
            .starts_with("algorithm.dfedavg: unknown key `order`"),
        "{error}"
    );
    assert_eq!(error.marked(), Some("order"));
    let help = error.help().unwrap().to_string();
    assert!(
        help.contains("met in the run algorithm=dfedavg batch_size=20 learning_rate=0.5"),
        "{help}"
    );
}

#[test]
fn an_override_below_a_choice_is_replaced_by_the_sweep() {
    let yaml = two_methods("algorithm.*.learning_rate: [0.1, 0.3]");
    for path in [
        "algorithm.*.learning_rate",
        "algorithm.dfedavgm.learning_rate",
    ] {
        let source = ExperimentSource::new("tiny.yaml", yaml.as_str())
            .with_overrides([format!("{path}=0.2")]);
        let error = plan(&source, &DataFolder::new("nowhere")).unwrap_err();
        assert!(
            error.to_string().contains("would change nothing"),
            "{error}"
        );
    }
    let source =
        ExperimentSource::new("tiny.yaml", YAML).with_overrides(["algorithm.*.learning_rate=0.2"]);
    let planned = plan(&source, &DataFolder::new("nowhere")).unwrap();
    let rate = &planned[0].config.to_json()["algorithm"]["dfedavgm"]["learning_rate"];
    assert_eq!(rate, &json!(0.2));
}
