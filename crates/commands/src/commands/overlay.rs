//! `meshfold overlay FILE`, and the same for a topology given on the command line.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, value_parser};
use meshfold_comparison::Naming;
use meshfold_experiment::{
    CliqueSummary, ExperimentSource, Own, PlannedOverlay, RamanujanBound, RunConfig, RunPlan,
    ScheduleSummary, brief, check_overlay_memory, nodes_of_edge_lists, plan, with_edge_lists,
    with_weight_list,
};
use meshfold_topology::{DECAYS, OverlaySummary, Topology, Weights};
use serde::Serialize;

use crate::arguments::DataArguments;
use crate::drawn::overlays;
use crate::failure::Failure;
use crate::figures::{count, decimal, eigenvalue};
use crate::json_lines;
use crate::page::{Out, PageArguments, out};
use crate::table::{Column, Table};

mod round_edges;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  meshfold overlay experiments/quickstart.yaml
  meshfold overlay --topology '{regular: {degree: 3}}' --nodes 100 --weights laplacian
  meshfold overlay experiment.yaml --edges edges.csv --rounds 20   # who sends to whom in each round, with weights
  meshfold overlay --topology one_peer --nodes 16 --edges edges.csv --rounds 4
  meshfold overlay --topology one_peer --nodes 16 -o one_peer.pdf --rounds 4 --width 170mm")]
pub(crate) struct OverlayArguments {
    /// The experiment's YAML file
    #[arg(required_unless_present = "topology", conflicts_with_all = ["topology", "nodes", "weights", "seed"])]
    file: Option<PathBuf>,
    /// Override a value of the experiment; repeatable
    #[arg(long = "set", value_name = "A.B=C", requires = "file")]
    overrides: Vec<String>,
    #[command(flatten)]
    data: DataArguments,
    /// In place of a file: a topology, as a file would give it
    #[arg(long, value_name = "YAML")]
    topology: Option<String>,
    /// Nodes of that topology [default: those in its file of edges]
    #[arg(long, requires = "topology", value_parser = value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Mixing weights on it [default: those that it prescribes, or metropolis_hastings; uniform on directed ones]
    #[arg(long, value_name = "YAML", requires = "topology")]
    weights: Option<String>,
    /// Seed of random topologies
    #[arg(long, default_value_t = 1, requires = "topology")]
    seed: u64,
    /// Print one JSON object per run, one a line
    #[arg(long)]
    json: bool,
    /// Write who sends to whom in each round, and with which weight, to a CSV file
    #[arg(long, value_name = "FILE", conflicts_with = "json", group = "files")]
    edges: Option<PathBuf>,
    /// Draw the overlays to this file, .svg, .pdf or .png: a panel for each
    #[arg(short, long, value_name = "FILE", value_parser = out, conflicts_with = "json", group = "files")]
    out: Option<Out>,
    /// How many rounds of each run that file has, from the first on
    #[arg(long, value_name = "N", default_value_t = 1, requires = "files", value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Words that stand for a setting or a value in the drawing, such as alpha=α; repeatable
    #[arg(long, value_name = "SETTING|VALUE=TEXT", requires = "out")]
    name: Vec<Naming>,
    #[command(flatten)]
    page: PageArguments,
}

/// Prints the figures of the overlays.
///
/// # Errors
/// [`Failure::Refused`] if they cannot be built, or if no run exchanges over one.
pub(crate) fn overlay(arguments: &OverlayArguments, own: &Own) -> Result<(), Failure> {
    match (&arguments.file, &arguments.topology) {
        (_, Some(topology)) if arguments.edges.is_some() || arguments.out.is_some() => {
            of_experiment(&as_an_experiment(topology, arguments, own)?, arguments)
        }
        (_, Some(topology)) => {
            let planned = given(topology, arguments, own)?;
            let label = planned.topology.label();
            if arguments.json {
                let figures = Some(planned.figures());
                return Ok(json_lines::print([Line::of(label, figures)])?);
            }
            print(&[Shown {
                label,
                planned: &planned,
            }])
        }
        (Some(file), None) => {
            let source = ExperimentSource::read(file)?
                .with_overrides(arguments.overrides.iter().cloned())
                .with_own(own.clone());
            of_experiment(&source, arguments)
        }
        (None, None) => Err(Failure::refused(
            "found neither a file nor a topology, needed one of them",
        )),
    }
}

/// The overlays of the runs of an experiment.
fn of_experiment(source: &ExperimentSource, arguments: &OverlayArguments) -> Result<(), Failure> {
    let plans = plan(source, &arguments.data.folder_for(source)?)?;
    if plans.iter().all(|plan| plan.overlay.is_none()) {
        return Err(Failure::refused(
            "found no overlay: the method exchanges over none",
        ));
    }
    if let Some(out) = &arguments.out {
        let drawn = overlays(
            &plans,
            arguments.rounds as usize,
            arguments.page.page(None),
            &arguments.name,
        )?;
        return arguments.page.write(&drawn, out, "overlay");
    }
    if let Some(file) = &arguments.edges {
        return round_edges::write(&plans, arguments.rounds as usize, file);
    }
    if arguments.json {
        // Runs without an overlay keep their line, so that lines are those of `plan --json`.
        let lines = plans.iter().map(|plan| {
            let planned = plan.overlay.as_ref();
            Line::of(plan.label(), planned.map(|planned| planned.figures()))
        });
        return Ok(json_lines::print(lines)?);
    }
    let mut different: Vec<(String, &Arc<PlannedOverlay>)> = Vec::new();
    let mut known = HashSet::new();
    for plan in &plans {
        if let Some(planned) = &plan.overlay
            && known.insert(what_is_shown(plan, planned)?)
        {
            different.push((brief(&plan.label()).into_owned(), planned));
        }
    }
    let shown: Vec<_> = different
        .into_iter()
        .map(|(label, planned)| Shown { label, planned })
        .collect();
    print(&shown)
}

/// The settings and figures of an overlay: where they agree under several seeds, it is shown once.
fn what_is_shown(plan: &RunPlan, planned: &PlannedOverlay) -> std::io::Result<String> {
    let shown = (
        &plan.config.topology,
        &plan.config.weights,
        planned.figures(),
    );
    Ok(serde_json::to_string(&shown)?)
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<T> {
    /// The run, or the topology that was given.
    label: String,
    /// The overlay's figures; without an overlay there are none.
    #[serde(flatten)]
    figures: Option<T>,
}

impl<T> Line<T> {
    fn of(label: String, figures: Option<T>) -> Self {
        Self { label, figures }
    }
}

/// An experiment whose runs have the given topology, in as many rounds as are asked for.
fn as_an_experiment(
    topology: &str,
    arguments: &OverlayArguments,
    own: &Own,
) -> Result<ExperimentSource, Failure> {
    let weights = arguments.weights.as_deref();
    let nodes = nodes(&as_in_a_file(topology, weights, own)?.0, arguments)?;
    let OverlayArguments { seed, rounds, .. } = arguments;
    let weights = weights.unwrap_or("null");
    let text = format!(
        "topology: {topology}\nweights: {weights}\nname: overlay\nseed: {seed}\nrounds: {rounds}\n\
         dataset: {{glyphs: {{train: {}, test: 10}}}}\npartition: {{iid: {{clients: {nodes}}}}}\nmodel: logistic\n\
         algorithm: {{dsgd: {{batch_size: 1, learning_rate: 1}}}}\n",
        nodes.max(10)
    );
    Ok(ExperimentSource::new("--topology and --weights", text).with_own(own.clone()))
}

/// How many nodes are asked for, or are in the file of edges.
fn nodes(topology: &Topology, arguments: &OverlayArguments) -> Result<usize, Failure> {
    match arguments.nodes {
        Some(nodes) => Ok(nodes as usize),
        None => nodes_of_edge_lists(topology)?.ok_or_else(|| {
            Failure::refused(
                "--nodes is missing: only a file of edges says how many there are, and one without edges does not",
            )
        }),
    }
}

/// The overlay of a topology that is given as a file would give it.
fn given(
    topology: &str,
    arguments: &OverlayArguments,
    own: &Own,
) -> Result<PlannedOverlay, Failure> {
    let (topology, weights) = as_in_a_file(topology, arguments.weights.as_deref(), own)?;
    let nodes = nodes(&topology, arguments)?;
    let weights = with_weight_list(weights)?;
    let topology = ready(topology, &weights, nodes)?;
    let seed = arguments.seed;
    Ok(PlannedOverlay::of_nodes(topology, weights, nodes, seed)?)
}

/// The topology with the edges of files filled in, for `nodes` nodes.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be read, or if there is not enough memory for the overlay.
pub(super) fn ready(
    topology: Topology,
    weights: &Weights,
    nodes: usize,
) -> Result<Topology, Failure> {
    let topology = with_edge_lists(topology, nodes)?;
    check_overlay_memory(&topology, weights, nodes)?;
    Ok(topology)
}

/// The topology that `--topology` gives, and the weights of `--weights`, or those that suit it.
///
/// # Errors
/// [`Failure::Refused`] if they cannot be read.
pub(super) fn as_in_a_file(
    topology: &str,
    weights: Option<&str>,
    own: &Own,
) -> Result<(Topology, Weights), Failure> {
    // The keys that say nothing about overlays are there because a configuration has them.
    let text = "name: overlay\ndataset: glyphs\npartition: {iid: {clients: 1}}\nmodel: logistic\n\
                algorithm: {dsgd: {batch_size: 1, learning_rate: 1}}\nrounds: 1\n";
    let weights = weights.unwrap_or("null");
    let source = ExperimentSource::new(
        "--topology and --weights",
        format!("topology: {topology}\nweights: {weights}\n{text}"),
    );
    let config = RunConfig::read(&source.with_own(own.clone()))?;
    let Some(topology) = config.topology else {
        return Err(Failure::refused("found null, needed a topology"));
    };
    let suited = || Weights::suited_to(&topology);
    let weights = config.weights.unwrap_or_else(suited);
    Ok((topology, weights))
}

/// An overlay to show.
struct Shown<'a> {
    label: String,
    planned: &'a PlannedOverlay,
}

/// A table with a column for each overlay.
fn print(overlays: &[Shown<'_>]) -> Result<(), Failure> {
    let titles = overlays.iter().map(|shown| Column::Figure(&shown.label));
    let mut table = Table::new(
        &[Column::Text("")]
            .into_iter()
            .chain(titles)
            .collect::<Vec<_>>(),
    );
    let mut row = |name: &str, figure: &dyn Fn(&OverlaySummary) -> String| {
        let figures = overlays.iter().map(|shown| figure(&shown.planned.summary));
        table.row(std::iter::once(name.to_owned()).chain(figures));
    };
    row("nodes", &|summary| count(summary.nodes as u64));
    row("edges", &|summary| count(summary.edges as u64));
    row("degree, least", &|summary| summary.degree.min.to_string());
    row("degree, mean", &|summary| {
        format!("{:.2}", summary.degree.mean)
    });
    row("degree, most", &|summary| summary.degree.max.to_string());
    row("λ2", &|summary| eigenvalue(summary.lambda2));
    row("λN", &|summary| decimal(summary.lambda_n));
    row("λ", &|summary| eigenvalue(summary.lambda));
    row("gap 1 − λ", &|summary| decimal(summary.gap));
    row("κ of the Laplacian", &|summary| decimal(summary.kappa));
    let bound = RamanujanBound::of;
    if overlays
        .iter()
        .any(|shown| bound(&shown.planned.summary).is_some())
    {
        row("κ of a Ramanujan graph, at most", &|summary| {
            decimal(bound(summary).map(|bound| bound.kappa))
        });
        row("its λ with the best θ, at most", &|summary| {
            decimal(bound(summary).map(|bound| bound.lambda))
        });
    }
    row("p", &|summary| decimal(summary.p));
    row("disagreement", &|summary| decimal(summary.disagreement));
    for (place, decay) in DECAYS.iter().enumerate() {
        row(&format!("effective neighbours, γ = {decay}"), &|summary| {
            let figure = summary.effective_neighbours.get(place);
            decimal(figure.and_then(|figure| figure.neighbours))
        });
    }
    row("θ", &|summary| decimal(summary.theta));
    row("C_λ", &|summary| decimal(summary.c_lambda));
    row("λ of the walk", &|summary| eigenvalue(summary.lambda_walk));
    row("doubly stochastic", &|summary| {
        yes(summary.doubly_stochastic)
    });
    row("least self weight", &|summary| {
        decimal(Some(summary.min_self_weight))
    });
    row("edge connectivity", &|summary| {
        let directions = if summary.directed {
            " without directions"
        } else {
            ""
        };
        format!("{}{directions}", summary.edge_connectivity)
    });
    row("diameter", &|summary| match summary.diameter {
        Some(edges) => count(edges as u64),
        None => "-".to_owned(),
    });
    row("mean distance", &|summary| decimal(summary.mean_distance));
    row("clustering", &|summary| decimal(summary.clustering));
    row("degree assortativity", &|summary| {
        decimal(summary.assortativity)
    });
    let repeats = overlays
        .iter()
        .any(|shown| shown.planned.schedule.is_some());
    if repeats {
        schedule_rows(&mut table, overlays);
    }
    let drawn = overlays
        .iter()
        .any(|shown| shown.planned.lambda_of_draws.is_some());
    if drawn {
        row_of_draws(&mut table, overlays);
    }
    if overlays.iter().any(|shown| shown.planned.cliques.is_some()) {
        clique_rows(&mut table, overlays);
    }
    table.print()?;
    let changes = overlays.iter().any(|shown| shown.planned.topology.varies());
    if let Some(note) = note(changes, repeats, drawn) {
        writeln!(std::io::stdout().lock(), "{note}")?;
    }
    Ok(())
}

/// Which overlay the rows are about, where overlays change.
fn note(changes: bool, repeats: bool, drawn: bool) -> Option<&'static str> {
    match (changes, repeats, drawn) {
        (false, ..) => None,
        (true, false, false) => {
            Some("Where overlays change, the figures are those of the overlay in round 1.")
        }
        (true, true, _) => Some(
            "Where overlays change, the rows above `period of the overlays` are about the one in round 1.",
        ),
        (true, false, true) => Some(
            "Where overlays change, the rows above `λ per exchange, over all draws` are about the one in round 1.",
        ),
    }
}

/// The row that only overlays have that are drawn anew in each round.
fn row_of_draws(table: &mut Table, overlays: &[Shown<'_>]) {
    let mut row = |name: &str, figure: &dyn Fn(f64) -> String| {
        let lambda = overlays.iter().map(|shown| shown.planned.lambda_of_draws);
        let figures = lambda.map(|lambda| lambda.map_or_else(|| "-".to_owned(), figure));
        table.row(std::iter::once(name.to_owned()).chain(figures));
    };
    row("λ per exchange, over all draws", &|lambda| {
        eigenvalue(Some(lambda))
    });
    row("p over all draws, 1 − λ²", &|lambda| {
        decimal(Some(1.0 - lambda * lambda))
    });
}

/// The rows that only overlays have that repeat after a while.
fn schedule_rows(table: &mut Table, overlays: &[Shown<'_>]) {
    let mut row = |name: &str, figure: &dyn Fn(&ScheduleSummary) -> String| {
        let figures = overlays
            .iter()
            .map(|shown| shown.planned.schedule.as_ref().map(figure));
        let figures = figures.map(|figure| figure.unwrap_or_else(|| "-".to_owned()));
        table.row(std::iter::once(name.to_owned()).chain(figures));
    };
    row("period of the overlays, rounds", &|schedule| {
        count(schedule.period as u64)
    });
    row("λ of a period", &|schedule| {
        eigenvalue(schedule.joint_lambda)
    });
    row("gap 1 − λ of a period", &|schedule| {
        decimal(schedule.joint_lambda.map(|lambda| 1.0 - lambda))
    });
    row("λ per exchange, in the long run", &|schedule| {
        eigenvalue(schedule.lambda)
    });
    let after = |rounds: Option<usize>| {
        rounds.map_or_else(|| "never".to_owned(), |rounds| rounds.to_string())
    };
    row("rounds until exact consensus", &|schedule| {
        after(schedule.rounds_to_consensus)
    });
    row("rounds until all are linked", &|schedule| {
        after(schedule.rounds_to_connect)
    });
}

/// The rows that only overlays of cliques have.
fn clique_rows(table: &mut Table, overlays: &[Shown<'_>]) {
    let mut row = |name: &str, figure: &dyn Fn(&CliqueSummary) -> String| {
        let figures = overlays
            .iter()
            .map(|shown| shown.planned.cliques.as_ref().map(figure));
        let figures = figures.map(|figure| figure.unwrap_or_else(|| "-".to_owned()));
        table.row(std::iter::once(name.to_owned()).chain(figures));
    };
    row("cliques", &|cliques| count(cliques.count as u64));
    row("clique size, least", &|cliques| cliques.size[0].to_string());
    row("clique size, most", &|cliques| cliques.size[1].to_string());
    row("clique skew, mean", &|cliques| {
        decimal(cliques.skew.map(|skew| skew[0]))
    });
    row("clique skew, most", &|cliques| {
        decimal(cliques.skew.map(|skew| skew[1]))
    });
}

fn yes(fact: bool) -> String {
    if fact { "yes" } else { "no" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        _overlay: OverlayArguments,
    }

    #[test]
    fn an_overlay_comes_from_a_file_or_from_the_command_line() {
        let read = |line: &str| Line::try_parse_from(line.split(' ')).is_ok();
        assert!(read("overlay a.yaml --set seed=3"));
        assert!(read("overlay --topology ring --nodes 10 --seed 4"));
        assert!(!read("overlay"));
        assert!(read("overlay --topology ring"));
        assert!(!read("overlay a.yaml --topology ring --nodes 10"));
        assert!(!read("overlay --topology ring --nodes 0"));
    }
}
