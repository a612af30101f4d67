//! The page of a figure, and its file.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use meshfold_experiment::files::whole_file::write_to;
use meshfold_figure::{Drawing, Format, Page};

use crate::drawn::Drawn;
use crate::failure::Failure;
use crate::length::Length;
use crate::terminal;

/// How large a figure is.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Width of the figure; a column of a paper has about 85 mm
    #[arg(long, value_name = "LENGTH", default_value = "85mm")]
    pub(crate) width: Length,
    /// Height of the letters
    #[arg(long, value_name = "LENGTH", default_value = "8pt")]
    pub(crate) font_size: Length,
    /// Pixels per inch of a PNG
    #[arg(long, value_name = "PIXELS", default_value = "300", value_parser = clap::value_parser!(u16).range(10..=2400))]
    pub(crate) dpi: u16,
}

/// An output file and its format.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    path: PathBuf,
    format: Format,
}

/// The file and the format that a name asks for.
pub(crate) fn out(text: &str) -> Result<Out, String> {
    let path = PathBuf::from(text);
    let format = Format::of(&path);
    let format = format.ok_or("needed a name that ends in .svg, .pdf or .png")?;
    Ok(Out { path, format })
}

impl PageArguments {
    /// The page that is asked for.
    pub(crate) fn page(&self, height: Option<Length>) -> Page {
        Page {
            width: self.width.millimetres(),
            height: height.map(Length::millimetres),
            font_size: self.font_size.points(),
        }
    }

    /// Writes `drawn` to the file `out`, and says that it has a panel for each of several things that are `what`.
    ///
    /// # Errors
    /// As [`write`].
    pub(crate) fn write(&self, drawn: &Drawn, out: &Out, what: &str) -> Result<(), Failure> {
        write(&drawn.drawing, out, self.dpi)?;
        let plural = if drawn.panels == 1 { "" } else { "s" };
        let path = out.path.display();
        writeln!(
            io::stdout().lock(),
            "{path}: {} {what}{plural}",
            drawn.panels
        )?;
        drawn.notes.iter().for_each(|note| terminal::line(note));
        Ok(())
    }
}

/// Writes `drawing` to the file `out`, a PNG with `dpi` pixels per inch.
///
/// # Errors
/// [`Failure::Refused`] if a PNG would be too large, [`Failure::Broken`] if the file cannot be written.
pub(crate) fn write(drawing: &Drawing, out: &Out, dpi: u16) -> Result<(), Failure> {
    let content = drawing.file(out.format, f64::from(dpi));
    let content = content.map_err(|error| Failure::refused(error.to_string()))?;
    write_to(&out.path, &content).map_err(|error| Failure::unwritten(&out.path, error))
}
