//! `meshfold data list | fetch | check | convert`.

mod convert;

use std::io::Write;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use meshfold_data::{
    DataError, DataFolder, FetchOptions, FileStatus, Manifest, Progress, check, fetch, manifests,
};
use serde::Serialize;

use crate::arguments::DataArguments;
use crate::failure::Failure;
use crate::figures::bytes;
use crate::json_lines;
use crate::table::{Column, Table};
use crate::terminal;
use convert::ConvertCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the datasets and what is there of them
    List(DataListArguments),
    /// Download a dataset, verified before it is put in place
    Fetch(DatasetArguments),
    /// Compare a dataset's files with their published sizes and SHA-256
    Check(DatasetArguments),
    /// Make the files of a dataset out of those that its makers publish
    #[command(subcommand)]
    Convert(ConvertCommand),
}

#[derive(Debug, Args)]
pub(crate) struct DataListArguments {
    #[command(flatten)]
    data: DataArguments,
    /// Print one JSON object per dataset, one a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DatasetArguments {
    /// The dataset's name, as `meshfold data list` shows it
    name: String,
    #[command(flatten)]
    data: DataArguments,
    /// Print one JSON object per file, one a line
    #[arg(long)]
    json: bool,
}

/// Lists, fetches, checks or converts datasets.
///
/// # Errors
/// [`Failure::Refused`] for unknown names and for files that are missing or wrong, [`Failure::Broken`] if a download
/// fails.
pub(crate) fn data(command: &DataCommand) -> Result<(), Failure> {
    match command {
        DataCommand::List(arguments) => list(arguments),
        DataCommand::Fetch(arguments) => bring(arguments),
        DataCommand::Check(arguments) => compare(arguments),
        DataCommand::Convert(ConvertCommand::Femnist(arguments)) => convert::femnist(arguments),
    }
}

/// A dataset in the list.
#[derive(Serialize)]
struct DatasetEntry<'a> {
    name: &'a str,
    title: &'a str,
    /// How many files are needed, and how many are there; `check` says whether they are right.
    files: usize,
    files_present: usize,
    /// Why the folder cannot be read, if so.
    unreadable: Option<String>,
    /// Bytes to fetch when nothing is there.
    bytes: u64,
    /// How to get the files that no mirror has.
    by_hand: Option<&'a str>,
    folder: Option<String>,
    homepage: Option<&'a str>,
    licence: Option<&'a str>,
    citation: Option<&'a str>,
}

fn list(arguments: &DataListArguments) -> Result<(), Failure> {
    let folder = arguments.data.folder()?;
    let made = [
        (
            "glyphs",
            "digits that the program draws itself, 60,000 + 10,000 images of 28 x 28 by default",
        ),
        (
            "consensus",
            "examples that are all (1, 1), 8 + 8 by default: DeceFL's consensus example",
        ),
    ];
    let listed: Vec<DatasetEntry<'_>> = made
        .into_iter()
        .map(|(name, title)| made_here(name, title))
        .chain(
            manifests()
                .iter()
                .map(|manifest| from_files(manifest, &folder)),
        )
        .collect();
    if arguments.json {
        return Ok(json_lines::print(&listed)?);
    }
    let columns = [
        Column::Text("name"),
        Column::Text("what"),
        Column::Figure("size"),
        Column::Text("here"),
    ];
    let mut table = Table::new(&columns);
    for dataset in &listed {
        let size = if dataset.files == 0 {
            String::new()
        } else {
            bytes(dataset.bytes)
        };
        table.row([
            dataset.name.to_owned(),
            dataset.title.to_owned(),
            size,
            here(dataset),
        ]);
    }
    table.print()?;
    writeln!(
        std::io::stdout().lock(),
        "in {} ({})",
        folder.path().display(),
        folder.origin()
    )?;
    Ok(())
}

/// Whether the files of `dataset` are there, and what brings them.
fn here(dataset: &DatasetEntry<'_>) -> String {
    if let Some(reason) = &dataset.unreadable {
        return format!("cannot be read: {reason}");
    }
    match (dataset.files, dataset.files_present) {
        (0, _) if dataset.folder.is_none() => "always".to_owned(),
        (files, present) if files == present && files > 0 => "yes".to_owned(),
        (_, 0) if dataset.by_hand.is_some() => {
            format!("by hand: meshfold data fetch {} says how", dataset.name)
        }
        (_, 0) => format!("no: meshfold data fetch {}", dataset.name),
        (files, present) => format!(
            "{present} of {files} files: meshfold data fetch {}",
            dataset.name
        ),
    }
}

fn made_here<'a>(name: &'a str, title: &'a str) -> DatasetEntry<'a> {
    DatasetEntry {
        name,
        title,
        files: 0,
        files_present: 0,
        unreadable: None,
        bytes: 0,
        by_hand: None,
        folder: None,
        homepage: None,
        licence: None,
        citation: None,
    }
}

fn from_files<'a>(manifest: &'a Manifest, folder: &DataFolder) -> DatasetEntry<'a> {
    let home = manifest.folder(folder);
    let present = manifest.present(folder);
    DatasetEntry {
        name: &manifest.name,
        title: &manifest.title,
        files: manifest.files.len(),
        files_present: present.as_ref().map_or(0, |present| *present),
        unreadable: present.err().map(|error| match error {
            DataError::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        }),
        bytes: manifest.bytes(),
        by_hand: manifest.by_hand.as_deref(),
        folder: Some(home.display().to_string()),
        homepage: Some(&manifest.homepage),
        licence: Some(&manifest.licence),
        citation: Some(&manifest.citation),
    }
}

/// A file and what was done or found.
#[derive(Serialize)]
struct File<'a> {
    dataset: &'a str,
    path: String,
    /// `ok`, `copy`, `uncompared`, `missing`, `wrong_size`, `wrong_checksum` or `unreadable`.
    status: &'static str,
    /// The mirror that delivered it, if it was fetched just now.
    url: Option<String>,
}

fn bring(arguments: &DatasetArguments) -> Result<(), Failure> {
    let manifest = Manifest::by_name(&arguments.name)?;
    let folder = arguments.data.folder()?;
    let mut bars = Bars::default();
    let fetched = fetch(
        manifest,
        &folder,
        &FetchOptions::default(),
        &mut |progress| bars.show(&progress),
    );
    bars.end();
    let fetched = fetched?;
    if arguments.json {
        let file = |file: &meshfold_data::FetchedFile| File {
            dataset: &manifest.name,
            path: file.path.display().to_string(),
            status: "ok",
            url: file.url.clone(),
        };
        return Ok(json_lines::print(fetched.files.iter().map(file))?);
    }
    let mut table = Table::new(&[Column::Text("file"), Column::Text("from")]);
    for file in &fetched.files {
        let from = file
            .url
            .clone()
            .unwrap_or_else(|| "was there already".to_owned());
        table.row([file.path.display().to_string(), from]);
    }
    table.print()?;
    writeln!(
        std::io::stdout().lock(),
        "{}\nlicence: {}",
        manifest.title,
        manifest.licence
    )?;
    Ok(())
}

/// The bar of the file that is being downloaded.
#[derive(Default)]
struct Bars {
    file: String,
    url: String,
    bar: Option<ProgressBar>,
}

impl Bars {
    fn show(&mut self, progress: &Progress<'_>) {
        if self.file != progress.file || self.url != progress.url {
            self.end();
            (self.file, self.url) = (progress.file.to_owned(), progress.url.to_owned());
            if terminal::is_watched() {
                let template = "{prefix} {bar:24} {decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}, {eta} left";
                let style = ProgressStyle::with_template(template).expect("the template is valid");
                let bar = ProgressBar::new(progress.total)
                    .with_style(style)
                    .with_prefix(self.file.clone());
                self.bar = Some(terminal::show(bar));
            } else {
                terminal::line(&format!(
                    "{} from {}, {}",
                    progress.file,
                    progress.url,
                    bytes(progress.total)
                ));
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_position(progress.received);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn compare(arguments: &DatasetArguments) -> Result<(), Failure> {
    let manifest = Manifest::by_name(&arguments.name)?;
    let folder = arguments.data.folder()?;
    if let (true, Some(how)) = (manifest.files.is_empty(), &manifest.by_hand) {
        return Err(Failure::refused(format_args!(
            "{}: every user's files are different, there is nothing to compare them with; {how}",
            manifest.name
        )));
    }
    let mut report = check(manifest, &folder);
    for needed in manifest.with_needed().skip(1) {
        report.files.extend(check(needed, &folder).files);
    }
    if arguments.json {
        let file = |file: &meshfold_data::FileCheck| File {
            dataset: &report.dataset,
            path: file.path.display().to_string(),
            status: name(&file.status),
            url: None,
        };
        json_lines::print(report.files.iter().map(file))?;
    } else {
        let mut table = Table::new(&[Column::Text("file"), Column::Text("found")]);
        for file in &report.files {
            table.row([file.path.display().to_string(), words(&file.status)]);
        }
        table.print()?;
    }
    if report.is_ok() {
        return Ok(());
    }
    let remedy = match &manifest.by_hand {
        Some(how) => how.clone(),
        None => {
            let given = arguments.data.given();
            let place = given.map(|folder| format!(" --data-dir {}", folder.display()));
            format!(
                "run `meshfold data fetch {}{}`",
                manifest.name,
                place.unwrap_or_default()
            )
        }
    };
    Err(Failure::refused(format_args!(
        "{}: files in {} are missing, wrong or cannot be read ({}); {remedy}",
        manifest.name,
        manifest.folder(&folder).display(),
        folder.origin(),
    )))
}

fn name(status: &FileStatus) -> &'static str {
    match status {
        FileStatus::Ok => "ok",
        FileStatus::Copy { .. } => "copy",
        FileStatus::Uncompared => "uncompared",
        FileStatus::Missing => "missing",
        FileStatus::WrongSize { .. } | FileStatus::Overlong { .. } => "wrong_size",
        FileStatus::WrongChecksum { .. } => "wrong_checksum",
        FileStatus::Unreadable { .. } => "unreadable",
    }
}

fn words(status: &FileStatus) -> String {
    match status {
        FileStatus::Ok => "as published".to_owned(),
        FileStatus::Copy { note } => format!("a known copy: {note}"),
        FileStatus::Uncompared => "there; no checksum is known".to_owned(),
        FileStatus::Missing => "missing".to_owned(),
        FileStatus::WrongSize { found, needed } => format!("{found} bytes, {needed} needed"),
        FileStatus::Overlong { needed } => {
            format!("more than {needed} bytes of content, {needed} needed")
        }
        FileStatus::WrongChecksum { found, needed } => format!("SHA-256 {found}, {needed} needed"),
        FileStatus::Unreadable { reason } => format!("cannot be read: {reason}"),
    }
}
