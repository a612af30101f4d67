//! What finished runs say of a row.

use std::collections::BTreeMap;

use meshfold_experiment::RunPlan;
use meshfold_experiment::results::Figures;
use meshfold_statistics::Estimate;

use crate::error::ReproductionError;
use crate::planned::{PlannedRow, PlannedValue};
use crate::reading::Unread;
use crate::rows::Row;
use crate::shown::Unit;
use crate::verdict::Verdict;

/// What finished runs say of a row.
#[derive(Clone, Debug)]
pub struct RowOutcome<'a> {
    /// The row.
    pub row: &'a Row,
    /// What comes of it, by the reading that decides.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// The readings, the one that decides first.
    pub readings: Vec<ReadOut>,
}

/// The values of one reading, and what comes of them.
#[derive(Clone, Debug)]
pub struct ReadOut {
    /// What is read otherwise; `None` for the reading that decides.
    pub name: Option<String>,
    /// The values by name.
    pub values: BTreeMap<String, Values>,
    /// What comes of them.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// A value under some seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    by_seed: Vec<(u64, Option<f64>)>,
}

impl Values {
    /// The value under each seed; `None` where a level was never reached.
    pub fn of(by_seed: Vec<(u64, Option<f64>)>) -> Self {
        Self { by_seed }
    }

    /// The value under each seed.
    pub fn by_seed(&self) -> &[(u64, Option<f64>)] {
        &self.by_seed
    }

    /// Whether it is known under none of the seeds.
    pub fn is_empty(&self) -> bool {
        self.by_seed.is_empty()
    }

    /// The mean over the seeds; `None` if a level was not reached under one of them.
    pub fn mean(&self) -> Option<f64> {
        self.estimate().map(|estimate| estimate.mean)
    }

    /// The share of the seeds under which a level was reached.
    pub(crate) fn share_reached(&self) -> f64 {
        let reached = self.by_seed.iter().filter(|(_, value)| value.is_some());
        reached.count() as f64 / self.by_seed.len() as f64
    }

    /// The mean in `unit`; if some seeds did not reach a level, how many did.
    pub(crate) fn shown(&self, unit: Unit) -> String {
        let reached = self.by_seed.iter().filter(|(_, value)| value.is_some());
        match (self.mean(), reached.count()) {
            (Some(mean), _) => unit.shown(mean),
            (None, 0) => "never".to_owned(),
            (None, some) => format!("reached under {some} of {} seeds", self.by_seed.len()),
        }
    }

    /// The mean and how the seeds spread.
    pub fn estimate(&self) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.by_seed.iter().map(|(_, value)| *value).collect();
        Estimate::of(&values?)
    }
}

impl<'a> RowOutcome<'a> {
    /// What runs say of `row`. `records` are the records of a run by its place among the plans, if it is finished.
    ///
    /// # Errors
    /// [`ReproductionError::Unread`].
    pub fn of(
        row: &PlannedRow<'a>,
        plans: &[RunPlan],
        records: &dyn Fn(usize) -> Option<Vec<Figures>>,
    ) -> Result<Self, ReproductionError> {
        let mut readings = Vec::new();
        for reading in &row.readings {
            let mut found = BTreeMap::new();
            for (name, value) in &reading.values {
                let values = values(value, plans, records);
                let values = values.map_err(|(seed, source)| ReproductionError::Unread {
                    row: row.row.id.clone(),
                    value: name.clone(),
                    seed,
                    source,
                })?;
                found.insert(name.clone(), values);
            }
            readings.push((reading.name.map(str::to_owned), found));
        }
        Ok(Self::judged(row.row, readings, row.missing.as_deref()))
    }

    /// What the values of the readings say of `row`, the one that decides first.
    pub fn judged(
        row: &'a Row,
        readings: Vec<(Option<String>, BTreeMap<String, Values>)>,
        missing: Option<&str>,
    ) -> Self {
        let readings = readings.into_iter().map(|(name, values)| {
            let (verdict, reason) = judge(row, &values);
            ReadOut {
                name,
                values,
                verdict,
                reason,
            }
        });
        let readings: Vec<ReadOut> = readings.collect();
        let (verdict, reason) = match (readings.first(), &row.tested, missing, &row.undecidable) {
            (_, Some(test), _, _) => (Verdict::Tested, format!("the test `{test}` holds it")),
            (_, _, Some(missing), _) => (Verdict::NeedsData, missing.to_owned()),
            (Some(first), None, None, Some(why))
                if first.verdict != Verdict::NotRun || row.claims.is_empty() =>
            {
                (Verdict::NotDecidable, why.clone())
            }
            (Some(first), None, None, _) => (first.verdict, first.reason.clone()),
            (None, None, None, _) => (Verdict::NotRun, "no value of it is known".to_owned()),
        };
        Self {
            row,
            verdict,
            reason,
            readings,
        }
    }

    /// The unit of the row's values.
    pub(crate) fn unit(&self) -> Unit {
        unit(self.row)
    }
}

/// The unit of a row's values.
fn unit(row: &Row) -> Unit {
    let values = row.all_values();
    let read = values.values().find_map(|value| value.read.as_ref());
    Unit::of(read.map_or("", |read| read.measured()))
}

/// A value under the seeds whose runs are finished, or the seed of a run that it cannot be read from, and why.
fn values(
    value: &PlannedValue,
    plans: &[RunPlan],
    records: &dyn Fn(usize) -> Option<Vec<Figures>>,
) -> Result<Values, (u64, Unread)> {
    let under = |run: &usize| {
        let plan = &plans[*run];
        let found = match value.read.needs_runs() {
            true => value.read.of_records(&records(*run)?),
            false => value.read.of_plan(plan),
        };
        let seed = plan.config.seed;
        Some(found.map(|found| (seed, found)).map_err(|why| (seed, why)))
    };
    let by_seed: Result<_, _> = value.runs.iter().filter_map(under).collect();
    by_seed.map(Values::of)
}

/// What the values say by the row's claims, and why.
fn judge(row: &Row, values: &BTreeMap<String, Values>) -> (Verdict, String) {
    let unit = unit(row);
    let judged = row
        .claims
        .iter()
        .map(|claim| Some((claim.is_number(), claim.judge(values, unit)?)));
    let judged: Option<Vec<_>> = judged.collect();
    match judged {
        Some(judged) if !judged.is_empty() => {
            let held: Vec<_> = judged
                .iter()
                .map(|(is_number, (held, _))| (*is_number, *held))
                .collect();
            let texts: Vec<&str> = judged.iter().map(|(_, (_, text))| text.as_str()).collect();
            (Verdict::of(&held), texts.join("; "))
        }
        _ => (Verdict::NotRun, "runs are missing".to_owned()),
    }
}
