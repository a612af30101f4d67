//! Partitions: a dot for the examples of each label that each client has.

use std::collections::HashSet;
use std::sync::Arc;

use meshfold_comparison::Naming;
use meshfold_data::{DataFolder, Input};
use meshfold_experiment::RunPlan;
use meshfold_figure::{
    Axis, AxisValue, Bar, Dot, Figure, Key, Legend, Page, Panel, Point, Style, Swatch, Unit,
};

use super::{DrawError, Drawn, expect_few, titles};
use crate::figures::count;
use crate::table_names::TableNames;

/// How much of the space of a client its bar takes.
const BAR: f64 = 0.9;

/// The first run with each partition.
pub(crate) fn different(plans: &[RunPlan]) -> Vec<&RunPlan> {
    let mut known = HashSet::new();
    let is_new = |plan: &&RunPlan| known.insert(Arc::as_ptr(&plan.partition));
    plans.iter().filter(is_new).collect()
}

/// A panel for each partition of `plans`, one for those that differ in their seed alone.
///
/// Columns are clients and rows are labels. The area of a dot is the number of examples; with many clients or labels the length of a bar
/// is. `names` are words for titles. Of a text, whose examples have no classes, there is a bar for the examples of each client.
///
/// # Errors
/// [`DrawError`] if names of labels cannot be read from `folder`, or if the panels are too many or have no room.
pub fn partitions(
    plans: &[RunPlan],
    folder: &DataFolder,
    page: Page,
    names: &[Naming],
) -> Result<Drawn, DrawError> {
    let all = different(plans);
    let shown = without_seeds(&all);
    expect_few(shown.len(), "different partitions")?;
    let size = page.size(shown.len())?;
    let are_of_text = |plan: &&RunPlan| !matches!(plan.dataset.input(), Input::Numbers(_));
    let texts = shown.iter().filter(|plan| are_of_text(plan)).count();
    if texts > 0 && texts < shown.len() {
        return Err(DrawError::Unlike);
    }
    let panels: Vec<Held> = shown.iter().map(|plan| Held::of(plan, texts > 0)).collect();
    let most = panels.iter().map(Held::most).max().unwrap_or(0);
    let clients = panels.iter().map(|held| held.rows.len()).max().unwrap_or(0);
    let key = Key {
        label: format!("{} examples", count(most)),
        style: Style::first(),
    };
    let titles = titles(&shown, names)?.into_iter();
    let drawn = panels.iter().zip(titles).map(|(held, title)| Panel {
        title,
        ..held.panel(most)
    });
    let figure = Figure {
        size,
        font_size: page.font_size,
        x: numbered("Client", clients, None),
        y: match texts {
            0 => {
                let labels = shown.iter().map(|plan| plan.dataset.classes()).max();
                numbered("Label", labels.unwrap_or(0), label_names(&shown, folder)?)
            }
            _ => Axis::linear("Examples", Unit::Number),
        },
        legend: match texts {
            0 => vec![Legend {
                title: "Largest".to_owned(),
                keys: vec![key],
                swatch: Swatch::Area,
            }],
            _ => Vec::new(),
        },
        panels: drawn.collect(),
    };
    let left_out = all.len() - shown.len();
    let note = (left_out > 0).then(|| {
        format!("not drawn, as only their seed differs: {left_out} more of the partitions")
    });
    Ok(Drawn {
        drawing: figure.drawing(),
        panels: shown.len(),
        notes: note.into_iter().collect(),
    })
}

/// The first of those of `plans` whose datasets and partitions have the same settings.
fn without_seeds<'p>(plans: &[&'p RunPlan]) -> Vec<&'p RunPlan> {
    let mut shown: Vec<&RunPlan> = Vec::new();
    for plan in plans {
        let is_alike = |other: &&RunPlan| {
            other.config.partition == plan.config.partition
                && other.config.dataset == plan.config.dataset
                && other.clients == plan.clients
        };
        if !shown.iter().any(is_alike) {
            shown.push(plan);
        }
    }
    shown
}

/// What labels are called, if all plans have them from the same dataset.
fn label_names(plans: &[&RunPlan], folder: &DataFolder) -> Result<Option<Vec<String>>, DrawError> {
    let Some((first, others)) = plans.split_first() else {
        return Ok(None);
    };
    if others
        .iter()
        .any(|other| other.config.dataset != first.config.dataset)
    {
        return Ok(None);
    }
    let names = TableNames::new(folder).of(first)?;
    Ok(names.map(|names| {
        (0..first.dataset.classes())
            .map(|label| names.label(label))
            .collect()
    }))
}

/// An axis with `length` whole numbers, from 0.
fn numbered(title: &str, length: usize, names: Option<Vec<String>>) -> Axis {
    let value = |number: usize| AxisValue {
        number: number as f64,
        name: names.as_ref().map(|names| names[number].clone()),
    };
    Axis {
        limits: Some([-0.5, length as f64 - 0.5]),
        values: (0..length).map(value).collect(),
        ..Axis::linear(title, Unit::Number)
    }
}

/// What clients have.
struct Held {
    /// Examples of each label, or of a text all examples in one number: `[N][C]`.
    rows: Vec<Vec<u64>>,
    is_text: bool,
}

impl Held {
    fn of(plan: &RunPlan, is_text: bool) -> Self {
        let labels = plan.dataset.labelled(plan.config.partition.pools()).labels;
        let rows = match is_text {
            true => plan
                .partition
                .sizes()
                .iter()
                .map(|size| vec![*size as u64])
                .collect(),
            false => plan.partition.label_counts(labels, plan.dataset.classes()),
        };
        Self { rows, is_text }
    }

    fn most(&self) -> u64 {
        self.rows.iter().flatten().copied().max().unwrap_or(0)
    }

    /// The panel, where `most` is the largest number that may be in one.
    fn panel(&self, most: u64) -> Panel {
        if self.is_text {
            let bars = self.rows.iter().enumerate().map(|(client, row)| {
                let (x, y) = (client as f64, row[0] as f64);
                Bar {
                    style: Style::first(),
                    end: Point {
                        x,
                        y,
                        low: y,
                        high: y,
                    },
                    width: BAR,
                }
            });
            return Panel {
                bars: bars.collect(),
                ..Panel::default()
            };
        }
        let dots = self.rows.iter().enumerate().flat_map(|(x, row)| {
            row.iter().enumerate().map(move |(y, examples)| Dot {
                x,
                y,
                share: *examples as f64 / most.max(1) as f64,
            })
        });
        Panel {
            dots: dots.collect(),
            ..Panel::default()
        }
    }
}
