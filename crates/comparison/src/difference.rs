//! The settings in which runs differ.

use meshfold_experiment::results::Settings;
use serde_json::Value;

use crate::fields::{Fields, differing, paths, text};
use crate::name::Name;

/// A setting that is not the same in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its path in the configuration, such as `algorithm.dsgd.learning_rate`.
    pub path: String,
    /// The end of the path that stands for no other setting, such as `learning_rate`.
    pub short: String,
    /// Its value in each run; absent where the run has no such setting.
    pub values: Vec<Option<Value>>,
}

impl Difference {
    /// The settings in which `runs` differ, in alphabetical order, without those below a choice that itself differs. A
    /// run whose settings are not known has no values.
    pub fn among(runs: &[Option<&Settings>]) -> Vec<Self> {
        let known: Vec<Fields> = runs.iter().copied().flatten().map(Fields::of).collect();
        let fields: Vec<Fields> = runs
            .iter()
            .map(|run| run.map(Fields::of).unwrap_or_default())
            .collect();
        let paths = differing(&known, &[]).into_iter();
        paths
            .map(|path| Self {
                short: short(&path, &known),
                values: fields.iter().map(|run| run.at(&path).cloned()).collect(),
                path,
            })
            .collect()
    }

    /// Every setting that two runs do not share, also below a choice that differs itself.
    pub fn between(a: &Settings, b: &Settings) -> Vec<Self> {
        let fields = [Fields::of(a), Fields::of(b)];
        let differs = |path: &String| fields[0].at(path) != fields[1].at(path);
        let is_content = |path: &String| fields.iter().any(|run| is_content(path, run));
        let paths = paths(&fields).into_iter();
        let paths = paths.filter(|path| differs(path) && !is_content(path));
        paths
            .map(|path| Self {
                short: short(&path, &fields),
                values: fields.iter().map(|run| run.at(&path).cloned()).collect(),
                path,
            })
            .collect()
    }

    /// The values as tables show them; a dash for what is absent.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.values.iter().map(|value| text(value.as_ref()))
    }
}

/// Whether `path` is the content of a choice, as `topology.ring` is that of `topology`. If it has one key it looks like a
/// choice as well.
fn is_content(path: &str, run: &Fields) -> bool {
    let is_chosen = path.rsplit_once('.').is_some_and(|(above, last)| {
        let choice = run.at(above).and_then(Value::as_str);
        choice == Some(last) && !is_content(above, run)
    });
    let own = run.at(path).and_then(Value::as_str);
    let has = |key: &str| run.at(&format!("{path}.{key}")).is_some();
    is_chosen && own.is_some_and(has)
}

/// The shortest end of `path` that stands for nothing else in `runs`.
pub(crate) fn short(path: &str, runs: &[Fields]) -> String {
    let ends = path.rmatch_indices('.').map(|(dot, _)| &path[dot + 1..]);
    let stands_for = |end: &&str| Name::find(end, runs).is_ok_and(|name| name.stands_for(path));
    let mut ends = ends.filter(stands_for);
    ends.next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    fn shown(differences: &[Difference]) -> Vec<(&str, Vec<String>)> {
        let row = |difference: &Difference| difference.texts().collect();
        let rows = differences.iter();
        rows.map(|difference| (difference.short.as_str(), row(difference)))
            .collect()
    }

    #[test]
    fn a_setting_goes_by_the_shortest_end_that_is_its_own() {
        let [a, b] = [
            settings("rate: 1\nalgorithm: {dsgd: {rate: 0.1, steps: 2}}"),
            settings("rate: 1\nalgorithm: {dsgd: {rate: 0.5, steps: 3}}"),
        ];
        let differences = Difference::among(&[Some(&a), None, Some(&b)]);
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        assert_eq!(
            shown(&differences),
            [
                ("dsgd.rate", row(["0.1", "–", "0.5"])),
                ("steps", row(["2", "–", "3"]))
            ]
        );
        assert_eq!(differences[0].path, "algorithm.dsgd.rate");
    }

    #[test]
    fn between_two_runs_every_path_counts() {
        let [a, b] = [
            settings("seed: 1\nalgorithm: {dsgd: {rate: 0.1}}"),
            settings("seed: 1\nalgorithm: {fedavg: {rate: {inverse_time: {initial: 0.5}}}}"),
        ];
        let paths = |differences: Vec<Difference>| -> Vec<String> {
            differences.into_iter().map(|found| found.path).collect()
        };
        assert_eq!(
            paths(Difference::between(&a, &b)),
            [
                "algorithm",
                "algorithm.dsgd.rate",
                "algorithm.fedavg.rate",
                "algorithm.fedavg.rate.inverse_time.initial"
            ]
        );
        assert_eq!(
            paths(Difference::among(&[Some(&a), Some(&b)])),
            ["algorithm"]
        );
    }
}
