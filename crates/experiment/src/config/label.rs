//! Short texts for what sets the runs of a sweep apart.

use std::collections::{HashMap, HashSet};

use meshfold_data::DatasetConfig;
use meshfold_engine::Model;

use crate::config::run_config::RunConfig;
use crate::config::sweep::Variation;
use crate::config::tree::{Entry, Node, Value};

/// For each run, the paths that its sweep sets, each with a short text of its value.
///
/// Overlays, weights and partitions have labels. Methods, models with a version, and datasets of a program's own go by
/// name, and other values by their YAML. Where two values of one path would read the same, all values of that path go
/// by their YAML.
pub(crate) fn labels(
    variations: &[Variation],
    configs: &[&RunConfig],
) -> Vec<Vec<(String, String)>> {
    let runs = || variations.iter().zip(configs);
    let mut meant: HashMap<(&str, String), &Node> = HashMap::new();
    let mut ambiguous: HashSet<&str> = HashSet::new();
    for (variation, config) in runs() {
        for Entry { key, value, .. } in variation {
            let first = *meant
                .entry((key, short(key, value, config)))
                .or_insert(value);
            if !same_yaml(first, value) {
                ambiguous.insert(key);
            }
        }
    }
    let label = |entry: &Entry, config: &RunConfig| {
        let text = if ambiguous.contains(entry.key.as_str()) {
            value_label(&entry.value)
        } else {
            short(&entry.key, &entry.value, config)
        };
        (entry.key.clone(), text)
    };
    runs()
        .map(|(variation, config)| variation.iter().map(|entry| label(entry, config)).collect())
        .collect()
}

/// Whether both values are written the same.
fn same_yaml(one: &Node, other: &Node) -> bool {
    one.value == other.value || one.to_string() == other.to_string()
}

fn short(path: &str, value: &Node, config: &RunConfig) -> String {
    match (path, &config.topology, &config.weights) {
        ("topology", Some(topology), _) => topology.label(),
        ("weights", _, Some(weights)) => weights.label(),
        ("partition", ..) => config.partition.label(),
        ("algorithm", ..) => config.algorithm.name().to_owned(),
        ("dataset", ..) => match &config.dataset {
            DatasetConfig::Own(own) => own.name().to_owned(),
            _ => value_label(value),
        },
        ("model", ..) => match &config.model {
            Model::Own(own) if !own.version.is_empty() => own.name.clone(),
            _ => value_label(value),
        },
        (_, _, _) if value.value == Value::Null => "none".to_owned(),
        _ => value_label(value),
    }
}

/// One line for a value: `mlp hidden=[200]` for `{mlp: {hidden: [200]}}`.
pub(crate) fn value_label(value: &Node) -> String {
    let Some([choice]) = value.entries() else {
        return value.to_string();
    };
    let Some(fields) = choice.value.entries() else {
        return format!("{}={}", choice.key, choice.value);
    };
    let fields = fields
        .iter()
        .map(|field| format!("{}={}", field.key, field.value));
    std::iter::once(choice.key.clone())
        .chain(fields)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use crate::config::experiment::Experiment;
    use crate::config::source::ExperimentSource;
    use crate::config::variation::joined;

    fn variations(sweep: &str) -> Vec<String> {
        let yaml = format!(
            "name: a\ndataset: glyphs\npartition: {{iid: {{clients: 4}}}}\ntopology: ring\nmodel: logistic\n\
             algorithm: {{dsgd: {{batch_size: 10, learning_rate: 0.1}}}}\nrounds: 2\nsweep: {sweep}\n"
        );
        let source = ExperimentSource::new("e.yaml", yaml);
        let experiment = Experiment::read(&source).unwrap();
        let runs = experiment.runs().unwrap();
        runs.iter().map(|run| joined(&run.variation)).collect()
    }

    #[test]
    fn runs_are_named_by_what_the_sweep_sets() {
        let sweep = "{grid: {topology: [ring, {regular: {degree: 3}}], seed: [1, 2]}}";
        let expected = [
            "topology=ring, seed=1",
            "topology=ring, seed=2",
            "topology=3-regular, seed=1",
            "topology=3-regular, seed=2",
        ];
        assert_eq!(variations(sweep), expected);
        let sweep = "{cases: [{algorithm.dsgd.learning_rate: 0.5, model: {mlp: {hidden: [5]}}}, {rounds: 9}]}";
        assert_eq!(
            variations(sweep),
            ["learning_rate=0.5, model=mlp hidden=[5]", "rounds=9"]
        );
        assert_eq!(variations("null"), [""]);
    }

    #[test]
    fn values_that_would_read_the_same_are_told_apart() {
        let dsgd = |rate: f64| format!("{{dsgd: {{batch_size: 10, learning_rate: {rate}}}}}");
        let sweep = format!("{{grid: {{algorithm: [{}, {}]}}}}", dsgd(0.1), dsgd(0.2));
        let expected =
            [0.1, 0.2].map(|rate| format!("algorithm=dsgd batch_size=10 learning_rate={rate}"));
        assert_eq!(variations(&sweep), expected);
    }
}
