//! The panels of a figure: the values of a setting side by side.

use meshfold_figure::{Curve, Legend, Panel, Style};

use crate::curves::Curves;
use crate::error::TableError;
use crate::naming::Wording;
use crate::plot::PlotRequest;

/// The most panels of a figure.
const MOST: usize = 12;

/// Which panel each curve lies in.
pub(crate) struct Panels {
    /// The place, among the settings that tell curves apart, of the one that tells panels apart.
    column: Option<usize>,
    /// One for each panel.
    titles: Vec<String>,
    /// One for each curve.
    places: Vec<usize>,
}

impl Panels {
    /// Those that `request` asks for, in the order of the `curves`; one without a title if it asks for none.
    ///
    /// # Errors
    /// [`TableError::NoPanels`] and [`TableError::ManyPanels`].
    pub(crate) fn of(curves: &Curves, request: &PlotRequest) -> Result<Self, TableError> {
        let Some(field) = &request.panels else {
            return Ok(Self {
                column: None,
                titles: vec![String::new()],
                places: vec![0; curves.curves.len()],
            });
        };
        let mut by = request.curves.by.iter();
        let column = by.position(|name| name == field);
        let column = column.ok_or_else(|| TableError::NoPanels {
            written: field.clone(),
        })?;
        let mut values: Vec<&String> = Vec::new();
        let mut places = Vec::new();
        for curve in &curves.curves {
            let value = &curve.keys[column];
            let known = values.iter().position(|other| *other == value);
            places.push(known.unwrap_or(values.len()));
            if known.is_none() {
                values.push(value);
            }
        }
        if values.len() > MOST {
            return Err(TableError::ManyPanels {
                written: field.clone(),
                count: values.len(),
                most: MOST,
            });
        }
        let title = |value: &&String| curves.wording.value_alone(field, value);
        Ok(Self {
            column: Some(column),
            titles: values.iter().map(title).collect(),
            places,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.titles.len()
    }

    /// The legend of the settings `by` but that of the panels, and the style of each curve.
    pub(crate) fn legend(&self, curves: &Curves, by: &[String]) -> (Vec<Legend>, Vec<Style>) {
        let words = |keys: &[String]| self.without(curves.wording.values(by, keys));
        let all: Vec<Vec<String>> = curves.keys.iter().map(|keys| words(keys)).collect();
        let drawn = curves.curves.iter().map(|curve| words(&curve.keys));
        let drawn: Vec<Vec<String>> = drawn.collect();
        let titles = by.iter().map(|name| title(name, &curves.wording)).collect();
        Legend::among(&self.without(titles), &all, &drawn)
    }

    /// `values` without that of the setting of the panels.
    fn without(&self, mut values: Vec<String>) -> Vec<String> {
        if let Some(column) = self.column {
            values.remove(column);
        }
        values
    }

    /// The panels with the `curves` that lie in them.
    pub(crate) fn filled(self, curves: Vec<Curve>) -> Vec<Panel> {
        let panel = |title| Panel {
            title,
            curves: Vec::new(),
        };
        let mut panels: Vec<Panel> = self.titles.into_iter().map(panel).collect();
        for (place, curve) in self.places.into_iter().zip(curves) {
            panels[place].curves.push(curve);
        }
        panels
    }
}

/// The words for the setting `name` in a legend.
fn title(name: &str, wording: &Wording) -> String {
    let words = wording.asked_for(name).map(str::to_owned);
    words.unwrap_or_else(|| name.replace('_', " "))
}
