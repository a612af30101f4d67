//! Curves over the progress of runs: the mean or the median over repeated runs, with a band.

use meshfold_experiment::results::{Figures, Progress, RecordedRun};
use meshfold_statistics::Spread;

use crate::ages::ages;
use crate::at::At;
use crate::centre::{Centre, Summary};
use crate::choosing::best_of;
use crate::cost_figure::CostFigure;
use crate::deciding::{Way, choice, deciding, taken};
use crate::error::TableError;
use crate::fields::Fields;
use crate::grouping::{Group, Names, Shown};
use crate::horizontal::Horizontal;
use crate::judged::{Judged, expect_figure, is_of_test_examples, known_of_clients};
use crate::loss::Loss;
use crate::name::Name;
use crate::naming::{Known, Naming, Wording};
use crate::notes::{Choice, edges, failing, missing, of_other_data, unequal};
use crate::only::{Chosen, Only};
use crate::series::{Band, Sample, Series};
use crate::setting_axis::numbers;

/// Which curves to draw. Settings go by their names in YAML, figures by those in `metrics.jsonl`.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// The settings that tell the curves apart.
    pub by: Vec<String>,
    /// The setting over whose values a curve is the mean or the median, such as the seed.
    pub over: String,
    /// Runs are left out unless each of these settings has one of its values.
    pub only: Vec<Only>,
    /// The settings of which each curve takes the best value: of several, the best combination of their values.
    pub best: Vec<String>,
    /// The figure that says which value is best, as in [`Request::on`](crate::Request::on), at the last evaluation.
    pub on: Option<String>,
    /// The horizontal axis.
    pub x: Horizontal,
    /// The figure of the vertical axis.
    pub y: String,
    /// Whether a curve is the mean of its runs or their median.
    pub summary: Summary,
    /// What is drawn around it: around a median [`Band::Interval`] are the quartiles.
    pub band: Band,
    /// The words that stand for settings, values and figures.
    pub words: Vec<Naming>,
}

/// Curves about runs.
#[derive(Clone, Debug)]
pub struct Curves {
    /// In the order of their first runs.
    pub curves: Vec<MeanCurve>,
    /// The values of the settings in `by` of all runs, also of those that `only` leaves out, in the order in which their runs were first noted, each once.
    pub keys: Vec<Vec<String>>,
    /// What the losses of the curves are.
    pub loss: Loss,
    /// What a reader must know: which runs are missing or ended early, what has no band.
    pub notes: Vec<String>,
    /// The words for settings, values and figures.
    pub(crate) wording: Wording,
}

/// The curve of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanCurve {
    /// The values of the settings in `by`.
    pub keys: Vec<String>,
    /// How many runs it is the mean or the median of.
    pub runs: usize,
    /// Ascending by `x`.
    pub points: Vec<CurvePoint>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The progress of the runs.
    pub x: f64,
    /// The mean or the median of their figures.
    pub y: f64,
    /// The lower end of the band; `y` where there is none.
    pub low: f64,
    /// The upper end of the band; `y` where there is none.
    pub high: f64,
}

impl Curves {
    /// The curves of `runs`.
    ///
    /// Runs of one curve that were evaluated at different places, as happens to bytes and seconds, are read between their
    /// evaluations, on straight lines. A curve ends where the first of its runs does.
    ///
    /// # Errors
    /// [`TableError`]: a name that stands for nothing or for several things, runs that are not repetitions, figures that
    /// are not there.
    pub fn of(runs: &[RecordedRun], request: &CurveRequest) -> Result<Self, TableError> {
        let ends = request.band.ends(&request.y);
        let ends = ends.into_iter().flat_map(|(low, high)| [low, high]);
        let on = request.on.iter().cloned();
        let wanted: Vec<String> = [request.y.clone()]
            .into_iter()
            .chain(on)
            .chain(ends)
            .collect();
        let mut judged = Vec::new();
        let fields = Fields::of_each(runs.iter().map(|run| &run.settings));
        for ((run, age), fields) in runs.iter().zip(ages(runs)).zip(fields) {
            let mut run_judged = Judged::of(run, age, fields, &wanted)?;
            if request.x == Horizontal::Progress(Progress::Epochs) {
                add_epochs(run, &mut run_judged.figures);
            }
            judged.push(run_judged);
        }
        let chosen = Chosen::of(judged, &request.only)?;
        let names = names(&chosen, request)?;
        names.expect_distinct()?;
        let judged = &chosen.runs;
        if CostFigure::is_meant(&request.y) {
            return Err(TableError::CostOfCurves {
                written: request.y.clone(),
            });
        }
        expect_band(request.summary, request.band)?;
        expect_figure(&request.y, judged)?;
        expect_quantiles(request, judged)?;
        expect_progress(&request.x, judged)?;
        let on = &deciding(request.on.as_deref(), &request.y, judged);
        if !request.best.is_empty() {
            expect_figure(on, judged)?;
        }
        let mut candidates = Group::all(judged, &names)?;
        chosen.sort(&mut candidates, &names.by, &request.only);
        let wording = wording(&chosen, &names, on, request)?;
        for group in &mut candidates {
            group.call(&wording, &names);
        }
        let groups = best_of(&candidates, &names.over, on, &At::Last, request.summary);
        request.x.expect_to_advance(&groups, &names.over)?;
        let mut notes = best(&groups, on, request, &wording);
        let choice = Choice {
            best: &request.best,
            by: &request.by,
            at: &At::Last,
            summary: request.summary,
        };
        notes.extend(edges(
            &candidates,
            &groups,
            &request.best,
            &request.by,
            &wording,
        ));
        notes.extend(failing(&candidates, &request.best, &wording));
        notes.extend(unequal(&candidates, &names.over, on, &choice, &wording));
        notes.extend(of_other_data(&groups, &names.over));
        let is_known = |run: &Judged| run.measured(&request.y) && run.measured(request.x.figure());
        notes.extend(missing(&groups, &names.over, &request.by, is_known));
        let curves = groups.iter().map(|group| {
            notes.extend(ends_early(group, &names.over));
            curve(group, request)
        });
        // What has no run is in the notes.
        let curves: Vec<MeanCurve> = curves.filter(|curve| curve.runs > 0).collect();
        if is_of_test_examples(&request.y) && judged.iter().any(|run| run.ends_on_other_examples) {
            notes.push(
                "the last evaluation was made on other test examples than those before (`evaluate.last`): the last piece of a curve leads to \
                 another test set"
                    .to_owned(),
            );
        }
        let is_bare = request.band.spread().is_some() && curves.iter().any(|curve| curve.runs < 2);
        if is_bare {
            notes.push(format!(
                "a curve of one {} has no spread and is drawn without a band",
                wording.name(&request.over)
            ));
        }
        Ok(Self {
            curves,
            keys: chosen.keys(&names.by),
            loss: Loss::of(judged.iter().map(|run| &run.fields)),
            notes,
            wording,
        })
    }
}

/// Requires that one of `runs` measured `x`.
fn expect_progress(x: &Horizontal, runs: &[Judged]) -> Result<(), TableError> {
    expect_figure(x.figure(), runs).map_err(|error| match error {
        TableError::UnknownFigure { written, known, .. } => TableError::UnknownProgress {
            written,
            known,
            settings: numbers(runs),
        },
        other => other,
    })
}

/// Requires that the figure is known of each client, if quantiles of the clients are to be drawn and a run has written what each client has.
fn expect_quantiles(request: &CurveRequest, runs: &[Judged]) -> Result<(), TableError> {
    let ends = request.band.ends(&request.y);
    let Some((low, _)) = ends.filter(|_| request.band == Band::Quantiles) else {
        return Ok(());
    };
    match expect_figure(&low, runs) {
        Err(TableError::NoClientTable { .. }) => Ok(()),
        Err(TableError::NoFigureOfClients { .. }) => Err(TableError::NoClients {
            written: request.y.clone(),
            known: known_of_clients(runs),
        }),
        expected => expected,
    }
}

/// Adds the epochs, which no record holds, to the figures of each evaluation of `run`.
fn add_epochs(run: &RecordedRun, figures: &mut [Figures]) {
    let name = Progress::Epochs.figure();
    for (figures, evaluation) in figures.iter_mut().zip(&run.evaluations) {
        figures.extend(evaluation.epochs.map(|epochs| (name.to_owned(), epochs)));
    }
}

fn names(chosen: &Chosen, request: &CurveRequest) -> Result<Names, TableError> {
    let find = |written: &String| chosen.name(written);
    Ok(Names {
        shown: Shown::Curve,
        by: request.by.iter().map(find).collect::<Result<_, _>>()?,
        over: find(&request.over)?,
        best: request.best.iter().map(find).collect::<Result<_, _>>()?,
    })
}

/// How the best values were chosen and which ones each curve has, if some were.
fn best(groups: &[Group<'_>], on: &str, request: &CurveRequest, wording: &Wording) -> Vec<String> {
    let (best, over) = (&request.best, &request.over);
    if best.is_empty() {
        return Vec::new();
    }
    let way = Way {
        best,
        summary: request.summary,
    };
    let rows = groups.iter();
    let rows = rows.map(|group| (group.keys.as_slice(), group.chosen.as_slice()));
    vec![
        choice(&way, over, on, [&request.y].into_iter(), wording),
        taken(best, &request.by, rows, wording),
    ]
}

/// The words that `request` asks for. Values of runs that are not chosen may be named, too.
fn wording(
    chosen: &Chosen,
    names: &Names,
    on: &str,
    request: &CurveRequest,
) -> Result<Wording, TableError> {
    let x = request.x.to_string();
    let figures = [x, request.x.figure().to_owned(), request.y.clone()];
    let deciding = (!request.best.is_empty()).then(|| on.to_owned());
    let figures = figures.into_iter().chain(deciding);
    let settings = names.by.iter().chain(&names.best);
    let settings: Vec<&Name> = settings.chain([&names.over]).collect();
    let known = Known::of(figures, &settings, &chosen.all);
    Wording::of(&request.words, &known)
}

/// The runs of the group that end before the others, if some do: those that are not finished, and those whose budget was spent or that
/// had reached their targets.
fn ends_early(group: &Group<'_>, over: &Name) -> Option<String> {
    let furthest = group.runs.iter().filter_map(|run| run.last_round());
    let furthest = furthest.fold(0.0, f64::max);
    let is_shorter = |run: &Judged| run.last_round().is_some_and(|last| last < furthest);
    let values = |is_meant: &dyn Fn(&Judged) -> bool| {
        let runs = group.runs.iter().filter(|run| is_meant(run));
        let values: Vec<String> = runs.map(|run| over.text(&run.fields)).collect();
        (!values.is_empty()).then(|| (values.len(), values.join(", ")))
    };
    let say = |(count, values): (usize, String), [one, several]: [&str; 2]| {
        let verb = if count == 1 { one } else { several };
        format!("{} {values} {verb}", over.written)
    };
    let unfinished = values(&|run| !run.is_finished);
    let unfinished = unfinished.map(|runs| say(runs, ["is not finished", "are not finished"]));
    let early = values(&|run| run.is_finished && is_shorter(run));
    let early = early.map(|runs| say(runs, ["ended before the others"; 2]));
    let told: Vec<String> = unfinished.into_iter().chain(early).collect();
    (!told.is_empty()).then(|| {
        format!(
            "{}: {}; the curve ends where the first of its runs does",
            group.name(),
            told.join("; ")
        )
    })
}

fn curve(group: &Group<'_>, request: &CurveRequest) -> MeanCurve {
    let series =
        |run: &&Judged| Series::of(&run.figures, request.x.figure(), &request.y, request.band);
    let all: Vec<Series> = group.runs.iter().map(series).collect();
    let measured: Vec<&Series> = all.iter().filter(|series| !series.is_empty()).collect();
    let places = Series::common_places(&measured);
    let point = |x: f64| {
        let samples = measured.iter().filter_map(|series| series.at(x));
        point(x, &samples.collect::<Vec<_>>(), request)
    };
    MeanCurve {
        keys: group.keys.clone(),
        runs: measured.len(),
        points: places.into_iter().filter_map(point).collect(),
    }
}

/// The mean or the median of `samples`, and the band around it.
fn point(x: f64, samples: &[Sample], request: &CurveRequest) -> Option<CurvePoint> {
    let of = |part: fn(&Sample) -> f64| {
        let values: Vec<f64> = samples.iter().map(part).collect();
        Centre::of(&values, request.summary)
    };
    let number = |part| of(part)?.number();
    let centre = of(|sample| sample.value)?;
    let y = centre.number()?;
    let around = request.band.spread();
    let around = around.and_then(|spread| centre.around(spread));
    let (low, high) = match request.band {
        Band::Interval | Band::Deviation | Band::Error | Band::None => {
            around.map_or((y, y), |around| (around.low, around.high))
        }
        Band::Quantiles => (number(|sample| sample.low)?, number(|sample| sample.high)?),
        Band::Range => (
            samples.iter().map(|sample| sample.low).fold(y, f64::min),
            samples.iter().map(|sample| sample.high).fold(y, f64::max),
        ),
    };
    Some(CurvePoint { x, y, low, high })
}

/// Requires that what is drawn around medians does not lie around means.
///
/// # Errors
/// [`TableError::SpreadOfMedian`].
pub(crate) fn expect_band(summary: Summary, band: Band) -> Result<(), TableError> {
    match (summary, band.spread()) {
        (Summary::Median, Some(spread @ (Spread::Deviation | Spread::Error))) => {
            Err(TableError::spread_of_median("--band", spread))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(summary: Summary, band: Band) -> CurveRequest {
        CurveRequest {
            by: Vec::new(),
            over: "seed".to_owned(),
            only: Vec::new(),
            best: Vec::new(),
            on: None,
            x: Horizontal::Progress(Progress::Rounds),
            y: "test_accuracy".to_owned(),
            summary,
            band,
            words: Vec::new(),
        }
    }

    fn place(summary: Summary, band: Band) -> [f64; 3] {
        let sample = |value: f64| Sample {
            value,
            low: value - 1.0,
            high: value + 2.0,
        };
        let samples = [7.0, 1.0, 4.0, 2.0].map(sample);
        let found = point(3.0, &samples, &request(summary, band)).unwrap();
        assert_eq!(found.x, 3.0);
        [found.low, found.y, found.high]
    }

    /// `numpy.quantile([7, 1, 4, 2], [.25, .5, .75])`.
    #[test]
    fn a_curve_of_medians_lies_between_the_quartiles() {
        let median = |band| place(Summary::Median, band);
        assert_eq!(median(Band::Interval), [1.75, 3.0, 4.75]);
        assert_eq!(median(Band::Quantiles), [2.0, 3.0, 5.0]);
        assert_eq!(median(Band::Range), [0.0, 3.0, 9.0]);
        assert_eq!(median(Band::None), [3.0; 3]);
        assert_eq!(place(Summary::Mean, Band::Quantiles), [2.5, 3.5, 5.5]);
    }

    #[test]
    fn bands_of_means_do_not_lie_around_medians() {
        for (band, name) in [(Band::Deviation, "sd"), (Band::Error, "se")] {
            let said = expect_band(Summary::Median, band).unwrap_err().to_string();
            assert!(said.starts_with(&format!("--band {name} lies around a mean")));
            assert!(expect_band(Summary::Mean, band).is_ok());
        }
        for band in [Band::Interval, Band::Quantiles, Band::Range, Band::None] {
            assert!(expect_band(Summary::Median, band).is_ok());
        }
    }
}
