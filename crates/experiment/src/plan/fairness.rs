//! Whether the methods that a sweep compares do the same work in a round.

use std::collections::BTreeMap;

use meshfold_algorithms::Local;

use crate::plan::run_plan::RunPlan;

/// Shares of work that differ by no more are the same: last batches that are not full differ by some percent.
const SAME: f64 = 0.1;

/// The expected work of a round in which nobody fails or falls behind, over all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Work {
    /// Local steps.
    steps: f64,
    /// Training examples that they see.
    examples: f64,
    /// The same in passes over the examples of all clients.
    epochs: f64,
}

impl Work {
    fn of(plan: &RunPlan) -> Self {
        let training = plan.config.algorithm.training();
        let examples = plan.population.setting.examples() as f64;
        let shard = examples / plan.clients.max(1) as f64;
        let batch = training.sgd.batch_on((shard.round() as usize).max(1)) as f64;
        let steps = plan.local_steps_per_round;
        let of_step = match training.local {
            // The last batch of an epoch has what is left.
            Local::Epochs(_) => shard / (shard / batch).ceil().max(1.0),
            Local::Steps(_) => batch,
        };
        Self {
            steps,
            examples: steps * of_step,
            epochs: steps * of_step / examples.max(1.0),
        }
    }

    fn figures(self) -> [f64; 3] {
        [self.steps, self.examples, self.epochs]
    }
}

/// The least and the most of something.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    fn with(self, value: f64) -> Self {
        Self {
            least: self.least.min(value),
            most: self.most.max(value),
        }
    }

    fn is_near(self, other: Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
        near(self.least, other.least) && near(self.most, other.most)
    }

    fn text(self) -> String {
        let (least, most) = (rounded(self.least), rounded(self.most));
        match least == most {
            true => least,
            false => format!("{least} to {most}"),
        }
    }
}

/// A sentence about the methods of `plans` if a round is not the same work under all of them. That one method does more than
/// another is no fault, but then the round is no fair measure of their progress.
pub(super) fn uneven_work(plans: &[RunPlan]) -> Option<String> {
    let work = plans
        .iter()
        .map(|plan| (plan.config.algorithm.name(), Work::of(plan)));
    sentence(work)
}

fn sentence<'a>(work: impl Iterator<Item = (&'a str, Work)>) -> Option<String> {
    let mut methods: BTreeMap<&str, [Range; 3]> = BTreeMap::new();
    for (method, work) in work {
        let figures = work.figures();
        let ranges = methods.entry(method).or_insert(figures.map(|value| Range {
            least: value,
            most: value,
        }));
        for (range, value) in ranges.iter_mut().zip(figures) {
            *range = range.with(value);
        }
    }
    let mut all = methods.values();
    let first = all.next()?;
    let is_even = |ranges: &[Range; 3]| {
        let mut pairs = ranges.iter().zip(first);
        pairs.all(|(range, first)| range.is_near(*first))
    };
    if all.all(is_even) {
        return None;
    }
    let say = |(method, [steps, examples, epochs]): (&&str, &[Range; 3])| {
        format!(
            "{method} {} local steps, {} examples, {} epochs",
            steps.text(),
            examples.text(),
            epochs.text()
        )
    };
    let parts: Vec<String> = methods.iter().map(say).collect();
    Some(format!(
        "by the plan, a round is not the same work under every method: {}. Compare their progress by examples or epochs, as in \
         `meshfold figure --x epochs` and `meshfold table --at examples=N`",
        parts.join("; ")
    ))
}

/// Three digits, or all of a whole number below a million.
fn rounded(value: f64) -> String {
    let is_whole = (value - value.round()).abs() < 1e-6 * value.abs().max(1.0);
    match value {
        0.0 => "0".to_owned(),
        _ if is_whole && value < 1e6 => format!("{value:.0}"),
        _ if (1e-3..1e6).contains(&value) => {
            let decimals = (2.0 - value.log10().floor()).max(0.0) as usize;
            let text = format!("{value:.decimals$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(steps: f64, batch: f64) -> Work {
        Work {
            steps,
            examples: steps * batch,
            epochs: steps * batch / 60_000.0,
        }
    }

    #[test]
    fn methods_that_do_the_same_are_not_named() {
        let even = [("dsgd", work(20.0, 32.0)), ("alone", work(20.0, 32.0))];
        assert_eq!(sentence(even.into_iter()), None);
        assert_eq!(sentence(even[..1].iter().copied()), None);
        assert_eq!(sentence([].into_iter()), None);
        let one_method = [("dsgd", work(20.0, 32.0)), ("dsgd", work(40.0, 32.0))];
        assert_eq!(sentence(one_method.into_iter()), None);
        let remainders = [("dsgd", work(20.0, 32.0)), ("alone", work(20.0, 30.0))];
        assert_eq!(sentence(remainders.into_iter()), None);
    }

    #[test]
    fn methods_that_do_more_are_named_with_what_they_do() {
        let uneven = [
            ("dsgd", work(20.0, 30.0)),
            ("alone", work(3_010.0, 20.0)),
            ("alone", work(1_505.0, 20.0)),
        ];
        let said = sentence(uneven.into_iter()).unwrap();
        let parts = "alone 1505 to 3010 local steps, 30100 to 60200 examples, 0.502 to 1 epochs; \
                     dsgd 20 local steps, 600 examples, 0.01 epochs";
        assert!(said.contains(parts), "{said}");
        let other_batch = [("dsgd", work(20.0, 30.0)), ("alone", work(20.0, 60.0))];
        assert!(sentence(other_batch.into_iter()).is_some());
    }
}
