//! What the program makes of an experiment, within this process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use meshfold_data::DataFolder;
use meshfold_engine::Device;
use meshfold_experiment::{
    ConfigError, ExperimentSource, RunConfig, RunPlan, plan, plan_without_data,
};

use crate::dice::Dice;
use crate::experiment_text::ExperimentText;
use crate::faults::Mistake;
use crate::process_figures::{forget_own_peak, own_peak_bytes, processor_time};
use crate::reference::Reference;
use crate::session::{Complaint, complaint, panic_message, seed};

/// Processor time that a plan may take, on one thread: several times what the slowest takes alone, as a busy machine doubles it.
pub(crate) const MOST_TIME: Duration = Duration::from_secs(8);

/// Memory that planning may hold.
const MOST_BYTES: u64 = 1 << 30;

/// Bytes of a message, and of all that is shown of it.
const MOST_MESSAGE: (usize, usize) = (4_000, 12_000);

/// What became of a case.
#[derive(Debug)]
pub(crate) struct Finding {
    /// `planned`, `refused`, `found` for a mistake that must be, or `skipped`.
    pub(crate) outcome: &'static str,
    pub(crate) complaints: Vec<Complaint>,
    pub(crate) seconds: f64,
    pub(crate) peak_bytes: u64,
}

/// What a case gives to the program.
pub(crate) enum Given {
    Anything(ExperimentText),
    Mistaken(Box<Mistake>),
}

impl Given {
    /// The case `number` under the seed of this session.
    pub(crate) fn of_case(number: u64) -> Self {
        static REFERENCE: LazyLock<Reference> = LazyLock::new(Reference::read);
        let mut dice = Dice::new(seed(), "configurations", number);
        if dice.chance(0.25)
            && let Some(mistake) = Mistake::draw(&REFERENCE, &mut dice)
        {
            return Self::Mistaken(Box::new(mistake));
        }
        Self::Anything(ExperimentText::draw(&REFERENCE, &mut dice))
    }

    /// The text that is at issue.
    pub(crate) fn text(&self) -> &ExperimentText {
        match self {
            Self::Anything(text) => text,
            Self::Mistaken(mistake) => &mistake.wrong,
        }
    }
}

/// Examines the case `number` with datasets in `data`.
pub(crate) fn examine(number: u64, data: &Path) -> Finding {
    let given = Given::of_case(number);
    forget_own_peak();
    let time = || processor_time("self").expect("this process runs");
    let began = time();
    let (outcome, mut complaints) = match &given {
        Given::Anything(text) => of_anything(text, data),
        Given::Mistaken(mistake) => of_mistake(mistake, data),
    };
    let (took, peak_bytes) = (time() - began, own_peak_bytes());
    complaints.extend(of_cost(&given, took, peak_bytes));
    Finding {
        outcome,
        complaints,
        seconds: took.as_secs_f64(),
        peak_bytes,
    }
}

/// What is wrong with the time and the memory that planning took.
fn of_cost(given: &Given, took: Duration, peak_bytes: u64) -> Vec<Complaint> {
    let plans = match given {
        Given::Anything(_) => 1,
        Given::Mistaken(_) => 2,
    };
    let (path, mut complaints) = (suspected(given), Vec::new());
    if took > plans * MOST_TIME {
        let what = format!("planning takes more than {MOST_TIME:?}{path}");
        complaints.push(complaint(what, format!("{took:?} for {plans} plans")));
    }
    if peak_bytes > MOST_BYTES {
        let what = format!("planning takes more than 1 GB{path}");
        complaints.push(complaint(what, format!("{} MiB", peak_bytes >> 20)));
    }
    complaints
}

/// The choices of dataset and topology, to tell causes apart.
pub(crate) fn suspected(given: &Given) -> String {
    let text = &given.text().yaml;
    let choice = |key: &str| {
        let at = text
            .find(&format!("{key}: "))
            .or_else(|| text.find(&format!("{key}\":")))?;
        let words =
            text[at + key.len()..].split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = words.into_iter().find(|word| !word.is_empty())?;
        Some(format!("{key} {name}"))
    };
    let known: Vec<String> = ["dataset", "topology"]
        .into_iter()
        .filter_map(choice)
        .collect();
    format!(" ({})", known.join(", "))
}

/// Plans an experiment; a panic is a complaint.
fn planned(
    text: &ExperimentText,
    data: &Path,
) -> Result<Result<Vec<RunPlan>, ConfigError>, Complaint> {
    static DEVICE: LazyLock<Device> =
        LazyLock::new(|| Device::cpu().expect("a processor can be opened"));
    let folder = DataFolder::new(data);
    let source = ExperimentSource::new(data.join("experiment.yaml"), text.yaml.clone());
    let source = source.with_overrides(text.overrides.iter().cloned());
    let make = || match text.without_data {
        true => plan_without_data(&DEVICE, &source, &folder),
        false => plan(&source, &folder),
    };
    catching("planning", make)
}

/// Where the last panic was.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// From here on panics are written down and not printed.
pub(crate) fn write_down_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|place| format!("{}:{}", source_of(place.file()), place.line()));
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place.unwrap_or_default();
    }));
}

/// The last parts of the path of a source file, which are the same on every machine.
fn source_of(file: &str) -> String {
    let parts: Vec<&str> = file.rsplit('/').take(4).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// Does `what` and makes a complaint of a panic.
fn catching<T>(what: &str, act: impl FnOnce() -> T) -> Result<T, Complaint> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
        complaint(format!("{what} panics at {place}"), panic_message(&*panic))
    })
}

fn of_anything(text: &ExperimentText, data: &Path) -> (&'static str, Vec<Complaint>) {
    match planned(text, data) {
        Err(panic) => ("refused", vec![panic]),
        Ok(Ok(plans)) => ("planned", plans.iter().take(10).flat_map(of_plan).collect()),
        Ok(Err(error)) => ("refused", of_refusal(error)),
    }
}

/// A mistake in an experiment that is right otherwise must be found, where it is.
fn of_mistake(mistake: &Mistake, data: &Path) -> (&'static str, Vec<Complaint>) {
    if !matches!(planned(&mistake.right, data), Ok(Ok(_))) {
        return ("skipped", Vec::new());
    }
    let kind = mistake.kind;
    match planned(&mistake.wrong, data) {
        Err(panic) => ("found", vec![panic]),
        Ok(Ok(_)) => {
            let detail = difference(&mistake.right.yaml, &mistake.wrong.yaml);
            let what = format!("{kind} is accepted{}", changed_key(&detail));
            ("found", vec![complaint(what, detail)])
        }
        Ok(Err(error)) => {
            let (found, needed) = (error.line(), mistake.line);
            let message = error.to_string();
            let mut complaints = of_refusal(error);
            if needed.is_some() && found != needed {
                let what = format!("{kind} is shown in another line");
                let detail = format!("line {found:?} in place of {needed:?}: {message}");
                complaints.push(complaint(what, detail));
            }
            ("found", complaints)
        }
    }
}

/// The lines that differ.
fn difference(right: &str, wrong: &str) -> String {
    let differing = right
        .lines()
        .zip(wrong.lines())
        .find(|(right, wrong)| right != wrong);
    differing.map_or_else(String::new, |(right, wrong)| {
        format!("{right}\nand with the mistake\n{wrong}")
    })
}

/// The key of the experiment, and the choice, that the difference is in.
fn changed_key(difference: &str) -> String {
    let line = difference.lines().next().unwrap_or_default();
    let words: Vec<&str> = line
        .split([':', ' ', '{', '['])
        .filter(|word| !word.is_empty())
        .take(2)
        .collect();
    format!(" in {}", words.join("."))
}

/// What is wrong with a plan.
fn of_plan(plan: &RunPlan) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let yaml = plan.config.to_yaml();
    match RunConfig::read(&ExperimentSource::new("config.yaml", yaml.clone())) {
        Ok(read) if read.to_yaml() == yaml => {}
        Ok(_) => {
            let what = "config.yaml reads back as another one";
            complaints.push(complaint(what, yaml.clone()));
        }
        Err(error) => {
            let what = format!(
                "config.yaml does not read back: {}",
                pattern(&error.to_string())
            );
            complaints.push(complaint(what, format!("{error}\n{yaml}")));
        }
    }
    if !plan.local_steps_per_round.is_finite() || serde_json::to_string(&plan.summary()).is_err() {
        complaints.push(complaint("a plan has figures that are not finite", yaml));
    }
    complaints
}

/// What is wrong with a refusal: it has no line, cannot be shown, or reads badly.
fn of_refusal(error: ConfigError) -> Vec<Complaint> {
    let (line, message) = (error.line(), error.to_string());
    let shape = pattern(&message);
    let mut complaints = Vec::new();
    if line.is_none() {
        complaints.push(complaint(format!("no line: {shape}"), message.clone()));
    }
    if message.len() > MOST_MESSAGE.0 {
        complaints.push(complaint(
            format!("a message of many bytes: {shape}"),
            format!("{} bytes", message.len()),
        ));
    }
    if speaks_rust(&message) {
        complaints.push(complaint(
            format!("a message that prints Rust: {shape}"),
            message.clone(),
        ));
    }
    match catching("showing an error", || {
        format!("{:?}", miette::Report::new(error))
    }) {
        Err(panic) => complaints.push(panic),
        Ok(shown) if shown.len() > MOST_MESSAGE.1 => {
            let detail = format!("{} bytes: {shape}", shown.len());
            complaints.push(complaint("an error that is shown in many bytes", detail));
        }
        Ok(_) => {}
    }
    complaints
}

/// A message without what differs from case to case: its first words, numbers and quoted text left out.
fn pattern(message: &str) -> String {
    let mut quoted = false;
    let mut kept = String::new();
    for letter in message.chars().take(300) {
        match letter {
            '`' | '"' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' => {
                if !kept.ends_with('#') {
                    kept.push('#');
                }
            }
            _ => kept.push(letter),
        }
    }
    let after_path = kept
        .split_once(": ")
        .map_or(kept.as_str(), |(_, rest)| rest);
    after_path.chars().take(70).collect()
}

/// Whether a message looks like a printed value of the program's own language.
fn speaks_rust(message: &str) -> bool {
    let before_brace = message.split(" { ").next().unwrap_or_default();
    let name = before_brace.rsplit(' ').next().unwrap_or_default();
    let is_type = name.chars().next().is_some_and(char::is_uppercase) && name.len() > 2;
    before_brace.len() < message.len() && is_type
        || ["Some(", "Err(", "Error(", "Kind("]
            .iter()
            .any(|word| message.contains(word))
}

#[test]
fn printed_values_are_told_from_sentences() {
    assert!(speaks_rust("exceeded: Depth { depth: 65 }"));
    assert!(speaks_rust("found Some(3)"));
    assert!(!speaks_rust(
        "found the number 3, needed a map such as { a: 1 }"
    ));
    assert_eq!(
        pattern("sweep.grid: found the number 12.5, needed `a`"),
        "found the number #.#, needed "
    );
}
