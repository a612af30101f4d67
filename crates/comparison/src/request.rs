//! What a table is to show.

use meshfold_statistics::Spread;

use crate::at::At;
use crate::centre::Summary;
use crate::naming::Naming;
use crate::only::Only;

/// What a table is to show. Settings go by their names in YAML, figures by those in `metrics.jsonl`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The settings that tell the rows apart.
    pub by: Vec<String>,
    /// Runs are left out unless each of these settings has one of its values.
    pub only: Vec<Only>,
    /// The setting over whose values a row is the mean or the median, such as the seed.
    pub over: String,
    /// The settings of which each row takes the best value: of several, the best combination of their values.
    pub best: Vec<String>,
    /// The figure that says which value is best, or `validation`; if absent that of the validation examples, if all runs that
    /// have been evaluated have any, else `metric`.
    pub on: Option<String>,
    /// At which evaluation a run is judged.
    pub at: At,
    /// Whether runs that are not finished and have not failed count, too, with the evaluations that they have.
    pub unfinished: bool,
    /// The figure to show.
    pub metric: String,
    /// Further figures to show beside it.
    pub also: Vec<String>,
    /// A setting of `by` and its value: each row is compared with the row that has this value and the same other
    /// settings. Settings of this one, such as the keys of a method, may be absent there.
    pub compare: Option<(String, String)>,
    /// A setting of `by` whose values stand side by side in a [`Grid`](crate::Grid), each with its mean or median.
    pub across: Option<String>,
    /// Whether a row has the mean of its runs or their median.
    pub summary: Summary,
    /// What stands behind ± in a [`Grid`](crate::Grid), beside a mean. A median has its quartiles in brackets, and goes with
    /// [`Spread::Interval`] alone.
    pub spread: Spread,
    /// The words that stand for settings, values and figures in a [`Grid`](crate::Grid).
    pub words: Vec<Naming>,
}

impl Request {
    /// All figures to show, in their order.
    pub fn figures(&self) -> impl Iterator<Item = &String> {
        [&self.metric].into_iter().chain(&self.also)
    }

    /// The last test accuracy over the seeds.
    pub(crate) fn over_seeds() -> Self {
        Self {
            by: Vec::new(),
            only: Vec::new(),
            over: "seed".to_owned(),
            best: Vec::new(),
            on: None,
            at: At::Last,
            unfinished: false,
            metric: "test_accuracy".to_owned(),
            also: Vec::new(),
            compare: None,
            across: None,
            summary: Summary::Mean,
            spread: Spread::Interval,
            words: Vec::new(),
        }
    }
}
