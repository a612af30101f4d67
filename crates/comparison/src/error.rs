//! Why a table cannot be made.

use meshfold_data::nearest;
use meshfold_experiment::results::{Progress, ResultsError};
use meshfold_statistics::Spread;

use crate::at::At;
use crate::grouping::Shown;

/// What is wrong with the request, or with the runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// No run has a setting of this name.
    #[error(
        "no setting is called `{written}`{}; the runs differ in: {}; they have in common: {}",
        meant(written, varied.iter().chain(others)),
        list(varied),
        list(others)
    )]
    UnknownField {
        /// What was asked for.
        written: String,
        /// Settings in which the runs differ.
        varied: Vec<String>,
        /// The other settings.
        others: Vec<String>,
    },
    /// A setting is asked for twice.
    #[error("`{written}` is named twice among the settings of the {shown}s; name it once")]
    Repeated {
        /// What rows or curves were asked for.
        shown: Shown,
        /// The setting.
        written: String,
    },
    /// A run has several settings whose names end so.
    #[error("`{written}` may be any of {}; write more of the name", list(paths))]
    AmbiguousField {
        /// What was asked for.
        written: String,
        /// The settings.
        paths: Vec<String>,
    },
    /// No run recorded a figure of this name.
    #[error(
        "no figure is called `{written}`{}; those that there are: {}",
        meant(written, known.iter().chain(of_clients)),
        figures(known, of_clients)
    )]
    UnknownFigure {
        /// What was asked for.
        written: String,
        /// The figures that the runs recorded.
        known: Vec<String>,
        /// What they recorded of each client.
        of_clients: Vec<String>,
    },
    /// Words are asked for of what is not there.
    #[error(
        "--name {written}: it is no setting, figure or value that is shown; settings and figures: {}; values: {}",
        list(names),
        list(values)
    )]
    UnknownName {
        /// What was to be named.
        written: String,
        /// The settings and figures that are shown.
        names: Vec<String>,
        /// The values that are shown.
        values: Vec<String>,
    },
    /// Several words are asked for in place of one name.
    #[error("--name {written}: it is named twice")]
    NamedTwice {
        /// What was to be named.
        written: String,
    },
    /// What curves are to be drawn over is neither a figure nor a setting.
    #[error(
        "--x {written}{}: needed {}, or a figure that never decreases along a run, of: {}; or a setting whose values are numbers, of: {}",
        meant(written, known.iter().chain(settings)),
        measures(),
        list(known),
        list(settings)
    )]
    UnknownProgress {
        /// What was asked for.
        written: String,
        /// The figures that the runs recorded.
        known: Vec<String>,
        /// The settings in which the runs differ by numbers.
        settings: Vec<String>,
    },
    /// A figure is to be drawn over a setting whose values are no numbers.
    #[error(
        "--x {written}: its values are to be numbers, and they are {}; draw them by --bars, with {written} first in --by",
        list(found)
    )]
    NoNumbersIn {
        /// The setting.
        written: String,
        /// Its values.
        found: Vec<String>,
    },
    /// A figure is to be drawn over a setting that none of the chosen runs has.
    #[error("--x {written}: no run that is to be drawn has this setting")]
    NoneHas {
        /// The setting.
        written: String,
    },
    /// A figure of another kind than the one with the target is to choose.
    #[error(
        "--on {on}: the target is one of {metric}; needed a figure of the same kind, or a cost such as round, bytes_total or simulated_seconds"
    )]
    OtherTarget {
        /// What is to choose.
        on: String,
        /// What is to reach the target.
        metric: String,
    },
    /// A figure is to be drawn over a figure of overlays that no run has.
    #[error(
        "--x {written}: no run that is to be drawn has an overlay of which this figure is known"
    )]
    NoOverlay {
        /// The figure.
        written: String,
    },
    /// A figure is to be drawn over a setting that tells its curves apart.
    #[error("--x {written}: leave `{by}` out of --by, as each curve goes over its values")]
    AcrossItself {
        /// The setting.
        written: String,
        /// What it is called in `by`.
        by: String,
    },
    /// Curves are to be drawn over a figure that does not say how far a run is.
    #[error(
        "--x {written}: in the run {run} it falls from {from} to {to} by round {round}, and needed is what never decreases along a \
         run, such as rounds, bytes or wall_seconds"
    )]
    Decreases {
        /// The figure.
        written: String,
        /// The values that tell the run from others.
        run: String,
        /// The first round after which the figure is less than before.
        round: f64,
        /// What it was before.
        from: f64,
        /// What it is then.
        to: f64,
    },
    /// What was recorded of each client is to be summed up in a way that there is not.
    #[error(
        "no figure is called `{written}`: of the clients there are .mean, .min, .max, .std, the quantiles .p0 to .p100 and the means \
         of the worst .worst1 to .worst100, in whole per cents"
    )]
    NoFigureOfClients {
        /// What was asked for.
        written: String,
    },
    /// A figure over the clients is asked for, and no run has written what each client has.
    #[error(
        "`{written}` is not known yet: no run has its clients.parquet, which is written when it ends"
    )]
    NoClientTable {
        /// What was asked for.
        written: String,
    },
    /// Seconds on a network are asked for, and no run describes one.
    #[error("`{written}` is not known, as these runs have no `network`")]
    NoNetwork {
        /// What was asked for.
        written: String,
    },
    /// A target that no accuracy can reach.
    #[error("--at target={target}: needed an accuracy as a fraction, up to 1, as {metric} is one")]
    NoFraction {
        /// What was asked for.
        target: f64,
        /// The figure.
        metric: String,
    },
    /// A target of what a run spends.
    #[error(
        "--at target= asks when a run gets as good as that: {metric} says what the run has spent. Name an accuracy or a loss in --metric; the table shows \
         the rounds, bytes and seconds until then"
    )]
    TargetOfCost {
        /// The figure.
        metric: String,
    },
    /// The best value is asked for of the setting that repeats the rows.
    #[error(
        "--best {written}: a row is the mean or the median over {written}, of which no value is the best; name another setting in --best or --over"
    )]
    BestOfRepetitions {
        /// The setting.
        written: String,
    },
    /// Runs that would be taken as repetitions of each other differ in more than they may.
    #[error(
        "the {shown} {row} mixes runs that differ in {}; {}{}",
        list(differing),
        remedy(*shown),
        or_whole(within.as_deref())
    )]
    Mixed {
        /// What the runs would become.
        shown: Shown,
        /// Its values.
        row: String,
        /// The settings in which they differ.
        differing: Vec<String>,
        /// The choice that tells the rows apart and that all these settings belong to, if they belong to one.
        within: Option<String>,
    },
    /// Two runs of a row have the same seed, or whatever is averaged over.
    #[error(
        "the {shown} {row} has two runs of {over} on different data: a file of the dataset differs between their machines, or was replaced. \
         Run one of them again with `--again`, or give one folder of results at a time"
    )]
    OtherData {
        /// What was to be made of them.
        shown: Shown,
        /// The values that tell it apart.
        row: String,
        /// The setting that is averaged over, and its value.
        over: String,
    },
    /// Two runs of a row share the value that is averaged over.
    #[error("the {shown} {row} has two runs of {over}: give one folder of results at a time")]
    Twice {
        /// What the runs would become.
        shown: Shown,
        /// Its values.
        row: String,
        /// What both runs have.
        over: String,
    },
    /// No run reaches a target whose cost is asked for.
    #[error("{written}: no run has reached this test accuracy")]
    NeverReached {
        /// The figure.
        written: String,
    },
    /// A cost is asked for without a target that can be reached.
    #[error("{written}: needed a test accuracy as a fraction, such as rounds_to=0.9")]
    NoTarget {
        /// The figure.
        written: String,
    },
    /// Two values of a setting would be called the same.
    #[error("--name: {} and {} are both called `{words}`, and could not be told apart", values[0], values[1])]
    SameWords {
        /// The words.
        words: String,
        /// The values.
        values: [String; 2],
    },
    /// A cost until a target is asked for at a place.
    #[error("{written}: it is known of a run as a whole, and does not go with --at {at}")]
    CostAt {
        /// The figure.
        written: String,
        /// The place.
        at: At,
    },
    /// A cost until a target is asked for in a figure of curves.
    #[error(
        "--y {written}: it is one number of a run as a whole; it goes with --bars, and with --x and a setting"
    )]
    CostOfCurves {
        /// The figure.
        written: String,
    },
    /// The setting compared by is none of the columns.
    #[error("--compare {written}: the rows are not told apart by `{written}`; name it in --by")]
    NotAColumn {
        /// What was asked for.
        written: String,
    },
    /// The setting whose values are to stand side by side is none of the columns.
    #[error(
        "--across {written}: needed one setting, by which the rows are told apart; name it in --by, too"
    )]
    NoColumnAcross {
        /// What was asked for.
        written: String,
    },
    /// The setting that is to tell panels apart does not tell curves apart.
    #[error(
        "--panels {written}: the curves are not told apart by `{written}`; name it in --by, too"
    )]
    NoPanels {
        /// What was asked for.
        written: String,
    },
    /// A setting has too many values for a panel each.
    #[error(
        "--panels {written}: it has {count} values, and needed are at most {most}, a panel each; choose among them by --only {written}=..."
    )]
    ManyPanels {
        /// The setting.
        written: String,
        /// How many values it has.
        count: usize,
        /// The most panels.
        most: usize,
    },
    /// Means are to stand side by side, and what it took to reach a target has several columns.
    #[error(
        "--across sets one number of each row side by side: leave out --at target=, or --across; --metric rounds_to= goes with it"
    )]
    AcrossTarget,
    /// Medians are to be compared.
    #[error(
        "--compare compares means, by a paired t test: it does not go with --summary median. Leave out one of them"
    )]
    ComparedMedians,
    /// What is asked for around medians lies around means.
    #[error(
        "{option} {spread} lies around a mean: a median has its quartiles, so leave it out, or leave out --summary median"
    )]
    SpreadOfMedian {
        /// The option.
        option: &'static str,
        /// What was asked for.
        spread: &'static str,
    },
    /// No row has the value to compare with.
    #[error(
        "--compare {field}={value}: found no such row; {field} is one of {}",
        list(known)
    )]
    NoBaseline {
        /// The setting.
        field: String,
        /// The value asked for.
        value: String,
        /// The values that there are.
        known: Vec<String>,
    },
    /// No run has this value of a setting.
    #[error(
        "--only {field}={value}: no run has it; {field} is one of {}{}",
        list(known),
        if *is_a_setting { format!("; each setting has an option of its own: `--only {value}`") } else { String::new() }
    )]
    UnknownValue {
        /// The setting.
        field: String,
        /// The value asked for.
        value: String,
        /// The values that there are.
        known: Vec<String>,
        /// Whether the value is another setting with its value.
        is_a_setting: bool,
    },
    /// There is nothing to compare.
    #[error("there are no runs to compare")]
    NoRuns,
    /// No run has all the values that were asked for.
    #[error(
        "--only {field}={}: no run is left; in the runs with {}, {field} is one of {}",
        values.join(","),
        before.join(" and "),
        list(known)
    )]
    NothingLeft {
        /// The setting after which none is left.
        field: String,
        /// The values of it that were asked for.
        values: Vec<String>,
        /// What was asked for before, each a setting and its values.
        before: Vec<String>,
        /// The values of the setting in the runs that have these.
        known: Vec<String>,
    },
    /// A figure that is not recorded for each client.
    #[error(
        "`{written}` is not known of each client; what is: {}; `evaluate: {{clients: [own, labels]}}` records more",
        list(known)
    )]
    NoClients {
        /// The figure.
        written: String,
        /// The figures that are known of each client.
        known: Vec<String>,
    },
    /// A figure over the clients of which no client has a number.
    #[error(
        "`{written}` has no number of any client: there is no test example for it, or the models of these runs are those of servers or walkers"
    )]
    NoNumbers {
        /// The figure.
        written: String,
    },
    /// A figure is asked for twice.
    #[error("`{written}` is named twice in --metric; name it once")]
    FigureTwice {
        /// The figure.
        written: String,
    },
    /// Several figures are to stand where there is room for one.
    #[error("several figures in --metric do not go with {other}; name one figure")]
    SeveralWith {
        /// The other option.
        other: &'static str,
    },
    /// The records of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl TableError {
    /// That `option` asks for this `spread` around a median.
    pub(crate) fn spread_of_median(option: &'static str, spread: Spread) -> Self {
        let spread = match spread {
            Spread::Interval => "interval",
            Spread::Deviation => "sd",
            Spread::Error => "se",
        };
        Self::SpreadOfMedian { option, spread }
    }
}

/// ` (did you mean `seed`?)`: the name in `known`, or the end of one, that `written` comes closest to, if it is close.
fn meant<'a>(written: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known = known.map(String::as_str);
    let ends = known.flat_map(|name| [Some(name), name.rsplit_once('.').map(|(_, end)| end)]);
    match nearest(written, ends.flatten()) {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => String::new(),
    }
}

/// What may be done about runs that are mixed.
fn remedy(shown: Shown) -> &'static str {
    match shown {
        Shown::Row => "name it in --by, --over or --best, or choose one of its values by --only",
        Shown::Curve => "name it in --by or --over, or choose one of its values by --only",
    }
}

/// How a choice is named with all its settings.
fn or_whole(choice: Option<&str>) -> String {
    choice.map_or_else(String::new, |choice| {
        format!(", or name `{choice}.*` in place of `{choice}`: the choice with all its settings")
    })
}

/// The figures that runs have: each once, and once what there is of all that have a spread or a number for each client.
fn figures(known: &[String], of_clients: &[String]) -> String {
    let whole = |name: &&String| {
        let above = name.rsplit_once('.').map(|(above, _)| above);
        !known.iter().any(|other| Some(other.as_str()) == above)
    };
    let figures: Vec<&String> = known.iter().filter(whole).collect();
    let with = |part: &str| -> Vec<String> {
        let has_part = |name: &&&String| known.contains(&format!("{name}.{part}"));
        let some = figures.iter().filter(has_part);
        some.map(|name| (*name).clone()).collect()
    };
    let (spread, weighted) = (with("std"), with("weighted"));
    let mut told = match figures.is_empty() {
        true => "nothing".to_owned(),
        false => figures
            .iter()
            .map(|name| name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    };
    if !spread.is_empty() {
        told.push_str(&format!("; .min, .max and .std of {}", list(&spread)));
    }
    if !weighted.is_empty() {
        told.push_str(&format!("; .weighted of {}", list(&weighted)));
    }
    if !of_clients.is_empty() {
        told.push_str(&format!(
            "; the quantiles .p0 to .p100 of the clients and the means of the worst, .worst1 to .worst100, of {}",
            list(of_clients)
        ));
    }
    told
}

/// The measures of progress.
fn measures() -> String {
    Progress::ALL.map(Progress::name).join(", ")
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    }
}
