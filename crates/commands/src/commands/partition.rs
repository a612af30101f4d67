//! `meshfold partition FILE`.

mod heterogeneity;

use std::io::Write;

use clap::Args;
use meshfold_comparison::Naming;
use meshfold_data::{DataFolder, DatasetConfig, Input, Windows, label_histogram};
use meshfold_experiment::results::Names;
use meshfold_experiment::{Own, RunPlan, brief, plan};
use serde::Serialize;

use crate::arguments::ExperimentArguments;
use crate::commands::partition::heterogeneity::Heterogeneity;
use crate::drawn::{different, partitions};
use crate::failure::Failure;
use crate::figures::count;
use crate::json_lines;
use crate::length::Length;
use crate::page::{Out, PageArguments, out};
use crate::table::{Column, Table};
use crate::table_names::TableNames;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  meshfold partition experiments/quickstart.yaml
  meshfold partition experiment.yaml --set partition.dirichlet.alpha=0.1 -o partition.pdf   # a dot for each client and label")]
pub(crate) struct PartitionArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// Print one JSON object per run, one a line
    #[arg(long)]
    json: bool,
    /// Print client,label,examples; of a text client,examples,tokens,vocabulary
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Draw it to this file, .svg, .pdf or .png: a panel for each partition of the sweep
    #[arg(short, long, value_name = "FILE", value_parser = out, conflicts_with_all = ["json", "csv"])]
    out: Option<Out>,
    /// Words that stand for a setting or a value in the drawing, such as alpha=α; repeatable
    #[arg(long, value_name = "SETTING|VALUE=TEXT", requires = "out")]
    name: Vec<Naming>,
    #[command(flatten)]
    page: PageArguments,
    /// Height of the drawing [default: 0.72 of the width, 90 mm at most; of several panels, what their rows need]
    #[arg(long, value_name = "LENGTH", requires = "out")]
    height: Option<Length>,
}

/// The partition of one run.
#[derive(Serialize)]
struct Shares {
    id: String,
    label: String,
    clients: usize,
    classes: usize,
    examples: usize,
    /// Examples of each client, `[N]`.
    sizes: Vec<usize>,
    #[serde(flatten)]
    contents: Contents,
    /// How much clients differ, of examples with labels.
    #[serde(flatten)]
    heterogeneity: Option<Heterogeneity>,
    /// Examples in the clients' local test sets, which are none of the others.
    #[serde(skip_serializing_if = "is_zero")]
    local_test_examples: usize,
    /// Test examples, where the local test sets are parts of them.
    #[serde(skip)]
    tests_of_owners: Option<usize>,
    /// Examples that were there to be dealt and that no client has.
    #[serde(skip_serializing_if = "is_zero")]
    undealt_examples: usize,
    /// Labels of examples that were there to be dealt, of which no client has one to train on; none of a text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    untrained_labels: Vec<usize>,
    /// What labels and clients are called, of a table of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Names>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What the examples of each client are.
#[derive(Serialize)]
#[serde(untagged)]
enum Contents {
    /// Examples with class labels.
    Labels {
        /// Examples of each label that each client has, `[N][C]`.
        histograms: Vec<Vec<u64>>,
    },
    /// Windows of a text.
    Text {
        /// Tokens of the text that each client's windows lie over, `[N]`.
        tokens: Vec<usize>,
        /// Different tokens among them, `[N]`.
        vocabulary: Vec<usize>,
    },
}

/// Prints how many examples of which label each client has, or how much of a text.
///
/// # Errors
/// [`Failure::Refused`] if the experiment cannot be planned, or if several partitions are asked for as one CSV.
pub(crate) fn partition(arguments: &PartitionArguments, own: &Own) -> Result<(), Failure> {
    let source = arguments.experiment.source()?.with_own(own.clone());
    let folder = arguments.experiment.data.folder_for(&source)?;
    let plans = plan(&source, &folder)?;
    let mut texts = Texts {
        folder: &folder,
        known: Vec::new(),
    };
    let mut names = TableNames::new(&folder);
    if let Some(out) = &arguments.out {
        let page = arguments.page.page(arguments.height);
        let drawn = partitions(&plans, &folder, page, &arguments.name)?;
        return arguments.page.write(&drawn, out, "partition");
    }
    if arguments.json {
        let shares = plans
            .iter()
            .map(|plan| Ok(Shares::of(plan, texts.of(plan)?, names.of(plan)?)));
        return json_lines::print_made(shares);
    }
    let different = different(&plans);
    if arguments.csv {
        let [only] = different.as_slice() else {
            let count = different.len();
            return Err(Failure::refused(format_args!(
                "found {count} different partitions in the sweep, a CSV holds one; choose with --set sweep=null"
            )));
        };
        let classes = only.dataset.classes();
        let csv = match texts.of(only)? {
            Some(windows) => only.partition.to_text_csv(&windows, classes),
            None => only.partition.to_csv(labels_of(only), classes),
        };
        return Ok(std::io::stdout().lock().write_all(csv.as_bytes())?);
    }
    for plan in &different {
        if different.len() > 1 {
            writeln!(std::io::stdout().lock(), "{}", brief(&plan.label()))?;
        }
        Shares::of(plan, texts.of(plan)?, names.of(plan)?).print(&plan.config.partition.label())?;
    }
    Ok(())
}

/// The texts of datasets, which their plans do without; each is read once.
struct Texts<'f> {
    folder: &'f DataFolder,
    known: Vec<(DatasetConfig, Windows)>,
}

impl Texts<'_> {
    /// The windows that the partition of `plan` deals, if its examples are of a text.
    fn of(&mut self, plan: &RunPlan) -> Result<Option<Windows>, Failure> {
        let dataset = &plan.config.dataset;
        if let Input::Numbers(_) = plan.dataset.input() {
            return Ok(None);
        }
        if let Some((_, windows)) = self.known.iter().find(|(known, _)| known == dataset) {
            return Ok(Some(windows.clone()));
        }
        let windows = dataset.load(self.folder)?.windows();
        let read = windows.clone().map(|windows| (dataset.clone(), windows));
        self.known.extend(read);
        Ok(windows)
    }
}

/// Labels of the examples that the partition of `plan` deals.
fn labels_of(plan: &RunPlan) -> &[u16] {
    plan.dataset.labelled(plan.config.partition.pools()).labels
}

/// How many examples the partition of `plan` could deal to clients: all but the test set that it holds out.
fn to_be_dealt(plan: &RunPlan) -> usize {
    let all = plan
        .dataset
        .labelled(plan.config.partition.pools())
        .examples;
    all - plan.partition.held_out().map_or(0, <[u32]>::len)
}

/// The labels that `labels` has and none of the clients' `histograms`.
fn untrained(labels: &[u16], histograms: &[Vec<u64>], classes: usize) -> Vec<usize> {
    let known = label_histogram(labels, classes);
    let nobody_has = |label: &usize| histograms.iter().all(|counts| counts[*label] == 0);
    let is_untrained = |label: &usize| known[*label] > 0 && nobody_has(label);
    (0..classes).filter(is_untrained).collect()
}

impl Shares {
    /// What the clients of `plan` have; `windows` are the examples if they are of a text.
    fn of(plan: &RunPlan, windows: Option<Windows>, names: Option<Names>) -> Self {
        let (labels, classes) = (labels_of(plan), plan.dataset.classes());
        let sizes = plan.partition.sizes();
        let examples: usize = sizes.iter().sum();
        let local_test_examples = plan.partition.local_test_examples();
        let has_tests_of_owners = plan.partition.has_tests_of_owners();
        let dealt_tests = match has_tests_of_owners {
            true => 0,
            false => local_test_examples,
        };
        let contents = match windows {
            Some(windows) => {
                let shares = plan.partition.text_shares(&windows, classes);
                Contents::Text {
                    tokens: shares.iter().map(|share| share.tokens).collect(),
                    vocabulary: shares.iter().map(|share| share.vocabulary).collect(),
                }
            }
            None => Contents::Labels {
                histograms: plan.partition.label_counts(labels, classes),
            },
        };
        Self {
            id: plan.id.clone(),
            label: plan.label(),
            clients: plan.clients,
            classes,
            examples,
            heterogeneity: match &contents {
                Contents::Labels { histograms } => Heterogeneity::of(histograms),
                Contents::Text { .. } => None,
            },
            local_test_examples,
            tests_of_owners: has_tests_of_owners.then(|| plan.dataset.test()),
            undealt_examples: to_be_dealt(plan).saturating_sub(examples + dealt_tests),
            untrained_labels: match &contents {
                Contents::Labels { histograms } => untrained(labels, histograms, classes),
                Contents::Text { .. } => Vec::new(),
            },
            contents,
            sizes,
            names,
        }
    }

    /// A table of clients and what they have, and a line about all of them.
    fn print(&self, label: &str) -> Result<(), Failure> {
        let on_average = match &self.contents {
            Contents::Labels { histograms } => self.print_labels(histograms)?,
            Contents::Text { tokens, vocabulary } => self.print_text(tokens, vocabulary)?,
        };
        let (least, most) = (
            self.sizes.iter().min().unwrap_or(&0),
            self.sizes.iter().max().unwrap_or(&0),
        );
        writeln!(
            std::io::stdout().lock(),
            "{label}: {} clients, {} examples, {least} to {most} each, {on_average} on average",
            self.clients,
            count(self.examples as u64)
        )?;
        let local = count(self.local_test_examples as u64);
        let mut out = std::io::stdout().lock();
        match self.tests_of_owners {
            Some(tests) => {
                let tests = count(tests as u64);
                writeln!(
                    out,
                    "these are for training; of the {tests} test examples {local} are in their owners' local test sets"
                )?;
            }
            None if self.local_test_examples > 0 => writeln!(
                out,
                "these are for training; {local} more are in the clients' local test sets"
            )?,
            None => {}
        }
        drop(out);
        self.print_undealt()?;
        if let Some(heterogeneity) = self.heterogeneity {
            writeln!(std::io::stdout().lock(), "{}", heterogeneity.words())?;
        }
        Ok(())
    }

    /// What no client has, if there is anything.
    fn print_undealt(&self) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.undealt_examples > 0 {
            let undealt = self.undealt_examples;
            let dealt_tests = match self.tests_of_owners {
                Some(_) => 0,
                None => self.local_test_examples,
            };
            let all = self.examples + dealt_tests + undealt;
            writeln!(
                out,
                "{} of the {} examples are no client's",
                count(undealt as u64),
                count(all as u64)
            )?;
        }
        if !self.untrained_labels.is_empty() {
            let names = self.names.clone().unwrap_or_default();
            let labels = self.untrained_labels.iter();
            let labels: Vec<String> = labels.map(|label| names.label(*label)).collect();
            writeln!(
                out,
                "no client has an example to train on of {} of the {} labels: {}",
                labels.len(),
                self.classes,
                labels.join(", ")
            )?;
        }
        Ok(())
    }

    /// A table of clients and labels; how many labels a client has.
    fn print_labels(&self, histograms: &[Vec<u64>]) -> Result<String, Failure> {
        let names = self.names.clone().unwrap_or_default();
        let classes: Vec<String> = (0..self.classes).map(|class| names.label(class)).collect();
        let owner = (!names.clients.is_empty()).then_some(Column::Text("owner"));
        let first = [Column::Figure("client")].into_iter().chain(owner);
        let figures = ["examples"]
            .into_iter()
            .chain(classes.iter().map(String::as_str));
        let columns: Vec<Column<'_>> = first.chain(figures.map(Column::Figure)).collect();
        let mut table = Table::new(&columns);
        for (client, (size, histogram)) in self.sizes.iter().zip(histograms).enumerate() {
            let shown = |examples: &u64| {
                if *examples == 0 {
                    String::new()
                } else {
                    count(*examples)
                }
            };
            table.row(
                [client.to_string()]
                    .into_iter()
                    .chain(
                        names
                            .clients
                            .get(client)
                            .cloned()
                            .map(Option::unwrap_or_default),
                    )
                    .chain([count(*size as u64)])
                    .chain(histogram.iter().map(shown)),
            );
        }
        table.print()?;
        let labels = histograms
            .iter()
            .map(|histogram| histogram.iter().filter(|examples| **examples > 0).count());
        let labels = labels.sum::<usize>() as f64 / self.clients as f64;
        Ok(format!("{labels:.1} labels each"))
    }

    /// A table of clients and how much of a text they have; how many different tokens a client has.
    fn print_text(&self, tokens: &[usize], vocabulary: &[usize]) -> Result<String, Failure> {
        let columns = ["client", "examples", "tokens", "vocabulary"].map(Column::Figure);
        let mut table = Table::new(&columns);
        for (client, ((size, tokens), different)) in
            self.sizes.iter().zip(tokens).zip(vocabulary).enumerate()
        {
            let figures = [size, tokens, different].map(|figure| count(*figure as u64));
            table.row([client.to_string()].into_iter().chain(figures));
        }
        table.print()?;
        let mean = |figures: &[usize]| figures.iter().sum::<usize>() as f64 / self.clients as f64;
        Ok(format!(
            "{:.0} tokens, {:.0} of the {} different ones each",
            mean(tokens),
            mean(vocabulary),
            count(self.classes as u64)
        ))
    }
}
