//! Runs that repeat each other under other seeds, taken together.

use crate::at::At;
use crate::centre::{Centre, Summary};
use crate::cost_figure::{CostFigure, OF};
use crate::difference::short;
use crate::error::TableError;
use crate::fields::{Fields, differing};
use crate::judged::Judged;
use crate::name::Name;
use crate::naming::Wording;

/// What runs that repeat each other become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A row of a table.
    Row,
    /// A curve of a figure.
    Curve,
}

/// The settings that a table or a figure is about, found in the runs.
pub(crate) struct Names {
    pub(crate) shown: Shown,
    pub(crate) by: Vec<Name>,
    pub(crate) over: Name,
    pub(crate) best: Vec<Name>,
}

/// Runs of one row.
#[derive(Clone)]
pub(crate) struct Group<'a> {
    /// The values of the settings in `by`.
    pub(crate) keys: Vec<String>,
    /// The values of the settings in `best`.
    pub(crate) chosen: Vec<String>,
    pub(crate) runs: Vec<&'a Judged>,
    /// What a reader calls it, if words were asked for.
    called: Option<String>,
}

impl Names {
    /// Requires that no setting is named twice.
    ///
    /// # Errors
    /// [`TableError::Repeated`].
    pub(crate) fn expect_distinct(&self) -> Result<(), TableError> {
        let all = self.by.iter().chain(&self.best);
        let mut seen: Vec<&Name> = Vec::new();
        for name in all {
            if seen.iter().any(|other| other.is_same(name)) {
                return Err(TableError::Repeated {
                    shown: self.shown,
                    written: name.written.clone(),
                });
            }
            seen.push(name);
        }
        Ok(())
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Row => "row",
            Self::Curve => "curve",
        })
    }
}

impl<'a> Group<'a> {
    /// The groups in the order of their first runs, one for each value of `by` and `best`.
    pub(crate) fn all(runs: &'a [Judged], names: &Names) -> Result<Vec<Self>, TableError> {
        let mut groups: Vec<Self> = Vec::new();
        for run in runs {
            let value = |name: &Name| name.text(&run.fields);
            let keys: Vec<String> = names.by.iter().map(value).collect();
            let chosen: Vec<String> = names.best.iter().map(value).collect();
            let same = |group: &&mut Self| group.keys == keys && group.chosen == chosen;
            match groups.iter_mut().find(same) {
                Some(group) => group.runs.push(run),
                None => groups.push(Self {
                    keys,
                    chosen,
                    runs: vec![run],
                    called: None,
                }),
            }
        }
        groups.iter().try_for_each(|group| group.check(names))?;
        Ok(groups)
    }

    /// Requires that the runs differ only in the setting that is averaged over, and that no two share its value.
    fn check(&self, names: &Names) -> Result<(), TableError> {
        let fields: Vec<Fields> = self.runs.iter().map(|run| run.fields.clone()).collect();
        let mut named: Vec<&Name> = names.by.iter().collect();
        named.push(&names.over);
        named.extend(&names.best);
        let differing = differing(&fields, &named);
        let row = self.name();
        if !differing.is_empty() {
            let short = |path: &String| short(path, &fields);
            let has_all = |name: &&Name| differing.iter().all(|path| name.surrounds(path));
            let within = names.by.iter().find(has_all);
            return Err(TableError::Mixed {
                shown: names.shown,
                row,
                within: within.map(|name| name.written.clone()),
                differing: differing.iter().map(short).collect(),
            });
        }
        let mut seen: Vec<(String, &Judged)> = Vec::new();
        for run in &self.runs {
            let value = names.over.text(&run.fields);
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == value) {
                let over = format!("{} {value}", names.over.written);
                let shown = names.shown;
                let examples = other.examples.as_ref().zip(run.examples.as_ref());
                return Err(match examples.is_some_and(|(one, other)| one != other) {
                    true => TableError::OtherData { shown, row, over },
                    false => TableError::Twice { shown, row, over },
                });
            }
            seen.push((value, run));
        }
        Ok(())
    }

    /// Calls the group by the words for its values of the settings `names`.
    pub(crate) fn call(&mut self, wording: &Wording, names: &Names) {
        let settings = names.by.iter().chain(&names.best);
        let settings: Vec<String> = settings.map(|name| name.written.clone()).collect();
        let values: Vec<String> = self.keys.iter().chain(&self.chosen).cloned().collect();
        let words = wording.values(&settings, &values);
        self.called = (!words.is_empty()).then(|| words.join(", "));
    }

    /// The row in words.
    pub(crate) fn name(&self) -> String {
        if let Some(called) = &self.called {
            return called.clone();
        }
        let parts: Vec<&str> = self
            .keys
            .iter()
            .chain(&self.chosen)
            .map(String::as_str)
            .collect();
        match parts.is_empty() {
            true => "of all runs".to_owned(),
            false => parts.join(", "),
        }
    }

    /// The value of `over` and the figure, for each run that has the figure.
    pub(crate) fn values(&self, over: &Name, metric: &str, at: &At) -> Vec<(String, f64)> {
        let pair = |run: &&Judged| Some((over.text(&run.fields), run.value(metric, at)?));
        self.runs.iter().filter_map(pair).collect()
    }

    /// The mean or the median of the figure over the runs.
    pub(crate) fn centre(
        &self,
        over: &Name,
        metric: &str,
        at: &At,
        summary: Summary,
    ) -> Option<Centre> {
        let values = self.values(over, metric, at);
        let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
        let cost = CostFigure::parse(metric);
        let ends = cost.map(|cost| self.ends(OF, cost.target, cost.way.figure()));
        Centre::of_costs(&values, &ends.unwrap_or_default(), summary)
    }

    /// How far each run went, by the figure called `cost`, which never reaches `target` of `metric`, as far as that is known. Nothing if no
    /// run has measured the cost.
    pub(crate) fn ends(&self, metric: &str, target: f64, cost: &str) -> Vec<f64> {
        if !self.runs.iter().any(|run| run.measured(cost)) {
            return Vec::new();
        }
        let never = |run: &&&Judged| {
            run.knows_reaching(metric, target) && run.reaching(metric, target).is_none()
        };
        let end = |run: &&Judged| match run.figures.last() {
            Some(last) => last.get(cost).copied(),
            None => Some(0.0),
        };
        self.runs.iter().filter(never).filter_map(end).collect()
    }
}
