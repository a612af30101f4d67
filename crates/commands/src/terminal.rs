//! Standard error as a person sees it: lines, and progress bars below them.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use indicatif::{MultiProgress, ProgressBar};
use jiff::Timestamp;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::prelude::*;

use crate::ranks;

/// All bars of the program, so that lines can be written above them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// The bar below all others, if there is one.
static BELOW: OnceLock<ProgressBar> = OnceLock::new();

/// Whether nothing is to be said.
static SILENT: AtomicBool = AtomicBool::new(false);

/// From here on nothing is said, because another process speaks for this one. Bugs are reported all the same.
pub(crate) fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Whether a person may be watching standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal() && !SILENT.load(Ordering::Relaxed)
}

/// The columns of text that standard output has room for; none if it is no terminal, or one that does not tell.
pub(crate) fn width() -> Option<usize> {
    let size = console::Term::stdout().size_checked();
    size.map(|(_, columns)| usize::from(columns))
}

/// Writes a line, above the bars if there are any. If nobody reads standard error, nothing happens.
pub(crate) fn line(text: &str) {
    write(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
}

fn write(text: &[u8]) {
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    // There is nowhere left to say that standard error cannot be written to.
    BARS.suspend(|| io::stderr().lock().write_all(text).ok());
}

/// Shows `bar` below the lines; it stays hidden where standard error is no terminal.
pub(crate) fn show(bar: ProgressBar) -> ProgressBar {
    match BELOW.get() {
        Some(below) => BARS.insert_before(below, bar),
        None => BARS.add(bar),
    }
}

/// Shows `bar` below all other bars, as the one that is there for the whole command.
pub(crate) fn show_below(bar: ProgressBar) -> ProgressBar {
    BELOW.get_or_init(|| BARS.add(bar)).clone()
}

/// Sets up how errors, warnings and internal errors look; `verbose` is how often `-v` was given.
pub(crate) fn prepare(verbose: u8) {
    let watched = is_watched();
    let handler = move |_: &_| {
        let options = miette::MietteHandlerOpts::new().without_cause_chain();
        // Text that goes to a file is kept in whole lines, so that it can be searched.
        Box::new(options.wrap_lines(watched).build()) as Box<dyn miette::ReportHandler>
    };
    miette::set_hook(Box::new(handler)).expect("it is set once, before any error");
    std::panic::set_hook(Box::new(|panic| {
        if meshfold_experiment::is_guarded() {
            return;
        }
        #[cfg(feature = "gpu")]
        if meshfold_engine::is_told_by_runs(panic) {
            return;
        }
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()));
        let reason = panic.payload_as_str().unwrap_or("unknown reason");
        let version = env!("CARGO_PKG_VERSION");
        SILENT.store(false, Ordering::Relaxed);
        line(&format!(
            "meshfold {version} met a bug{}: {reason}\nplease report it, with the command and the experiment's file",
            place.unwrap_or_default()
        ));
        ranks::end_after_bug();
    }));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Lines)
        .with_ansi(watched)
        .with_target(verbose > 1);
    let lines = match verbose {
        0 => lines.without_time().boxed(),
        _ => lines.with_timer(Clock).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(levels(verbose)))
        .init();
}

/// The time of a line, in UTC.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{:.3}", Timestamp::now())
    }
}

/// The log level of each target.
fn levels(verbose: u8) -> Targets {
    let (ours, others) = match verbose {
        0 => (LevelFilter::WARN, LevelFilter::WARN),
        1 => (LevelFilter::INFO, LevelFilter::WARN),
        _ => (LevelFilter::DEBUG, LevelFilter::INFO),
    };
    // Drivers warn of what they lack at every start, used or not.
    let drivers = ["wgpu_hal", "wgpu_core", "naga"].map(|name| (name, LevelFilter::ERROR));
    Targets::new()
        .with_default(others)
        .with_target("meshfold", ours)
        .with_targets(drivers)
}

/// Takes the lines of the log.
#[derive(Clone, Copy)]
struct Lines;

impl Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        write(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
