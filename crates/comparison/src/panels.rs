//! The panels of a figure: the values of a setting side by side.

use meshfold_figure::{Legend, Panel, Style};

use crate::error::TableError;
use crate::fields::ABSENT;
use crate::name::without_star;
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
    /// One for each curve; none for one that lies in all panels.
    places: Vec<Option<usize>>,
}

impl Panels {
    /// Those that `request` asks for, in the order of what is drawn, whose values are `drawn`; one without a title if it asks for none.
    /// What lacks the setting, as a method without an overlay lacks `topology`, lies in all panels, to be compared with. Where it has the
    /// same other settings as what has the setting, being without it is a value as any other.
    ///
    /// # Errors
    /// [`TableError::NoPanels`] and [`TableError::ManyPanels`].
    pub(crate) fn of(
        drawn: &[Vec<String>],
        request: &PlotRequest,
        wording: &Wording,
    ) -> Result<Self, TableError> {
        let Some(field) = &request.panels else {
            return Ok(Self {
                column: None,
                titles: vec![String::new()],
                places: vec![Some(0); drawn.len()],
            });
        };
        let mut by = request.curves.by.iter();
        let column = by.position(|name| name == field);
        let column = column.ok_or_else(|| TableError::NoPanels {
            written: field.clone(),
        })?;
        let mut values: Vec<&String> = Vec::new();
        let mut places = Vec::new();
        let others = |keys: &[String]| {
            let mut keys = keys.to_vec();
            keys.remove(column);
            keys
        };
        let lacks = |keys: &[String]| keys[column] == ABSENT;
        let has_twin = |keys: &[String]| {
            let mut having = drawn.iter().filter(|other| !lacks(other));
            having.any(|other| others(other) == others(keys))
        };
        let lacks_all = drawn.iter().all(|keys| lacks(keys));
        for keys in drawn {
            let value = &keys[column];
            if lacks(keys) && !lacks_all && !has_twin(keys) {
                places.push(None);
                continue;
            }
            let known = values.iter().position(|other| *other == value);
            places.push(Some(known.unwrap_or(values.len())));
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
        let title = |value: &&String| wording.value_alone(field, value);
        Ok(Self {
            column: Some(column),
            titles: values.iter().map(title).collect(),
            places,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.titles.len()
    }

    /// `values`, one for each setting, without that of the setting of the panels.
    pub(crate) fn without(&self, mut values: Vec<String>) -> Vec<String> {
        if let Some(column) = self.column {
            values.remove(column);
        }
        values
    }

    /// The legends of curves, and the style of each: `drawn` are their values of the settings of `by`, in the first places, and `all`
    /// those of all runs.
    pub(crate) fn looks(
        &self,
        request: &PlotRequest,
        wording: &Wording,
        [all, drawn]: [&[Vec<String>]; 2],
    ) -> (Vec<Legend>, Vec<Style>) {
        let by = &request.curves.by;
        let words = |keys: &Vec<String>| self.without(wording.values(by, keys));
        let [all, drawn] = [all, drawn].map(|keys| keys.iter().map(words).collect::<Vec<_>>());
        let titles = self.without(by.iter().map(|name| title(name, wording)).collect());
        Legend::among(&titles, &all, &drawn)
    }

    /// Says that something stands in all panels, if it does.
    pub(crate) fn note(&self, request: &PlotRequest) -> Option<String> {
        let field = request.panels.as_ref()?;
        let is_everywhere = self.places.iter().any(Option::is_none);
        is_everywhere.then(|| format!("what has no {field} stands in all panels"))
    }

    /// The panels with all that is `drawn`, each put by `put` where it lies.
    pub(crate) fn filled<T: Clone>(self, drawn: Vec<T>, put: impl Fn(&mut Panel, T)) -> Vec<Panel> {
        let panel = |title| Panel {
            title,
            ..Panel::default()
        };
        let mut panels: Vec<Panel> = self.titles.into_iter().map(panel).collect();
        for (place, drawn) in self.places.into_iter().zip(drawn) {
            match place {
                Some(place) => put(&mut panels[place], drawn),
                None => panels
                    .iter_mut()
                    .for_each(|panel| put(panel, drawn.clone())),
            }
        }
        panels
    }
}

/// The words for the setting `name` in a legend.
pub(crate) fn title(name: &str, wording: &Wording) -> String {
    let words = wording.asked_for(name).map(str::to_owned);
    words.unwrap_or_else(|| without_star(name).replace('_', " "))
}
