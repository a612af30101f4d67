//! `meshfold data convert`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use meshfold_data::{ConversionProgress, FemnistArchives, FemnistConversion};

use crate::arguments::DataArguments;
use crate::failure::Failure;
use crate::figures::count;
use crate::json_lines;
use crate::terminal;

/// A dataset that others than its makers put together.
#[derive(Debug, Subcommand)]
pub(crate) enum ConvertCommand {
    /// LEAF's FEMNIST out of the archives of NIST's Special Database 19
    Femnist(FemnistArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FemnistArguments {
    /// NIST's archive of the images by class, by_class.zip
    #[arg(long, value_name = "FILE")]
    pub(crate) by_class: PathBuf,
    /// NIST's archive of the images by writer, by_write.zip
    #[arg(long, value_name = "FILE")]
    pub(crate) by_write: PathBuf,
    /// Seed of the draw of the training images, nine of ten of each writer
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) data: DataArguments,
    /// Print what was made as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Units of a step that the bar counts.
const PARTS: u64 = 1000;

/// Makes FEMNIST out of NIST's archives.
///
/// # Errors
/// [`Failure::Refused`] for archives that are missing or not what they should be.
pub(super) fn femnist(arguments: &FemnistArguments) -> Result<(), Failure> {
    let archives = FemnistArchives {
        by_class: arguments.by_class.clone(),
        by_write: arguments.by_write.clone(),
        seed: arguments.seed,
    };
    let folder = arguments.data.folder()?;
    let mut steps = Steps::default();
    let converted = archives.convert(&folder, &mut |progress| steps.show(progress));
    steps.end();
    let converted = converted?;
    if arguments.json {
        return Ok(json_lines::print([&converted])?);
    }
    let mut out = std::io::stdout().lock();
    for line in told(&converted) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The lines that sum up the conversion.
fn told(made: &FemnistConversion) -> Vec<String> {
    let [train, test, writers, classes] =
        [made.train, made.test, made.writers, made.classes].map(|found| count(found as u64));
    let mut lines = vec![
        made.path.display().to_string(),
        format!(
            "{} images of {writers} writers in {classes} classes: {train} train, {test} test",
            count((made.train + made.test) as u64)
        ),
    ];
    let rest = [
        (made.unlabelled, "images of no class, left out"),
        (made.lone, "writers of a single image, left out"),
        (
            made.ambiguous,
            "images in a second class; the class that is listed first counts",
        ),
    ];
    for (found, what) in rest.into_iter().filter(|(found, _)| *found > 0) {
        lines.push(format!("{what}: {}", count(found as u64)));
    }
    lines
}

/// The step that goes on.
#[derive(Default)]
struct Steps {
    step: &'static str,
    bar: Option<ProgressBar>,
}

impl Steps {
    fn show(&mut self, progress: ConversionProgress) {
        if self.step != progress.step {
            self.end();
            self.step = progress.step;
            if terminal::is_watched() {
                let style =
                    ProgressStyle::with_template("{prefix} {bar:24} {percent} %, {eta} left");
                let bar = ProgressBar::new(PARTS)
                    .with_style(style.expect("the template is valid"))
                    .with_prefix(progress.step);
                self.bar = Some(terminal::show(bar));
            } else {
                terminal::line(progress.step);
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_position((progress.share * PARTS as f64) as u64);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
