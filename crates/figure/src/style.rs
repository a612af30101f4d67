//! How curves are told apart: colour by the first setting, dash by the others.

use crate::drawing::Colour;

/// Colours that can be told apart by people who are colour-blind.
///
/// # Source
/// Okabe and Ito, Color universal design, 2008, without the yellow, which is faint on paper.
const PALETTE: [Colour; COLOURS] = [
    Colour([0, 114, 178]),
    Colour([213, 94, 0]),
    Colour([0, 158, 115]),
    Colour([204, 121, 167]),
    Colour([86, 180, 233]),
    Colour([230, 159, 0]),
    Colour([0, 0, 0]),
];

/// How many colours there are, before they repeat.
pub const COLOURS: usize = 7;

/// Lengths of dashes and gaps in points.
const PATTERNS: [&[f64]; DASHES] = [
    &[],
    &[4.0, 2.0],
    &[1.2, 1.6],
    &[6.0, 1.6, 1.2, 1.6],
    &[2.2, 1.4],
    &[6.0, 1.4, 1.2, 1.4, 1.2, 1.4],
];

/// How many dashes there are, before they repeat.
pub const DASHES: usize = 6;

/// The look of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    colour: Option<usize>,
    dash: usize,
}

impl Style {
    /// The look of what needs no other beside it.
    pub fn first() -> Self {
        Self {
            colour: Some(0),
            dash: 0,
        }
    }

    /// The colour of the group of that number.
    pub(crate) fn of_group(group: usize) -> Self {
        Self {
            colour: Some(group),
            dash: 0,
        }
    }

    /// Whether it stands for a colour, and not for a dash alone.
    pub fn is_coloured(self) -> bool {
        self.colour.is_some()
    }

    pub(crate) fn colour(self) -> Colour {
        match self.colour {
            Some(index) => PALETTE[index % COLOURS],
            None => Colour([90; 3]),
        }
    }

    pub(crate) fn dash(self) -> &'static [f64] {
        PATTERNS[self.dash % DASHES]
    }

    /// Which of the marks its points have: each dash has one.
    pub(crate) fn mark(self) -> usize {
        self.dash % DASHES
    }
}

/// What the colours or the dashes stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// The setting.
    pub title: String,
    /// Its values.
    pub keys: Vec<Key>,
    /// What stands before each value.
    pub swatch: Swatch,
}

/// What shows a look in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swatch {
    /// A piece of a curve.
    Line,
    /// A piece of a curve with the mark of its points.
    Marked,
    /// An area of the colour.
    Area,
}

/// A value of a setting, and how its curves look.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The value.
    pub label: String,
    /// Its look. Where dashes alone count, the colour is grey.
    pub style: Style,
}

impl Legend {
    /// The legends of curves that differ in the settings `titles`, and the style of each curve, from its values of these settings.
    ///
    /// The first setting takes colours and, if it is the only one, dashes as well. The others together take dashes.
    pub fn of(titles: &[String], curves: &[Vec<String>]) -> (Vec<Self>, Vec<Style>) {
        Self::among(titles, curves, curves)
    }

    /// As [`of`](Self::of), of some of the curves that there are, whose values are `all`. Values stand in the order of `curves`. A value looks
    /// as it does among all of them, unless colours or dashes repeat there and a value before it looks the same: then it takes the first that is free.
    pub fn among(
        titles: &[String],
        all: &[Vec<String>],
        curves: &[Vec<String>],
    ) -> (Vec<Self>, Vec<Style>) {
        let Some((first, others)) = titles.split_first() else {
            return (Vec::new(), vec![Style::first(); curves.len()]);
        };
        let looks = Looks {
            colours: places(all, curves, |values| values[0].clone(), COLOURS),
            dashes: places(all, curves, rest, DASHES),
            is_alone: others.is_empty(),
        };
        let styles = curves.iter().map(|values| looks.style(values)).collect();
        let mut legends = vec![looks.of_colours(first)];
        if !looks.is_alone {
            legends.push(looks.of_dashes(others));
        }
        (legends, styles)
    }
}

/// The place of each value among the colours, and that of each combination of the other values among the dashes.
struct Looks {
    colours: Vec<(String, usize)>,
    dashes: Vec<(String, usize)>,
    /// Whether there is one setting, which takes dashes as well.
    is_alone: bool,
}

impl Looks {
    fn style(&self, values: &[String]) -> Style {
        let colour = place(&self.colours, &values[0]);
        let dash = match self.is_alone {
            true => colour,
            false => place(&self.dashes, &rest(values)),
        };
        Style {
            colour: Some(colour),
            dash,
        }
    }

    fn of_colours(&self, title: &str) -> Legend {
        let key = |(label, colour): &(String, usize)| Key {
            label: label.clone(),
            style: Style {
                colour: Some(*colour),
                dash: if self.is_alone { *colour } else { 0 },
            },
        };
        Legend {
            title: title.to_owned(),
            keys: self.colours.iter().map(key).collect(),
            swatch: Swatch::Line,
        }
    }

    fn of_dashes(&self, titles: &[String]) -> Legend {
        let key = |(label, dash): &(String, usize)| Key {
            label: label.clone(),
            style: Style {
                colour: None,
                dash: *dash,
            },
        };
        Legend {
            title: titles.join(", "),
            keys: self.dashes.iter().map(key).collect(),
            swatch: Swatch::Line,
        }
    }
}

/// The values of all settings but the first.
fn rest(values: &[String]) -> String {
    values[1..].join(", ")
}

/// The values in the order in which they are met.
fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The values `of` the curves `drawn`, each with a place, which follows its order among `all`. Every `most`-th place looks the same.
fn places(
    all: &[Vec<String>],
    drawn: &[Vec<String>],
    of: fn(&[String]) -> String,
    most: usize,
) -> Vec<(String, usize)> {
    let [all, drawn] = [all, drawn].map(|curves| distinct(curves.iter().map(|values| of(values))));
    let mut places: Vec<(String, usize)> = Vec::new();
    for (own, value) in all.into_iter().enumerate() {
        let is_taken = |place: usize| places.iter().any(|(_, other)| other % most == place % most);
        let free = (0..most).find(|place| !is_taken(*place));
        let place = match free {
            Some(free) if is_taken(own) => free,
            _ => own,
        };
        if drawn.contains(&value) {
            places.push((value, place));
        }
    }
    places.sort_by_key(|(value, _)| drawn.iter().position(|other| other == value));
    places
}

fn place(places: &[(String, usize)], value: &str) -> usize {
    let found = places.iter().find(|(other, _)| other == value);
    found.map_or(0, |(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_first_setting_takes_colours_and_the_others_dashes() {
        let curves = [
            words(&["ring", "dsgd", "0.1"]),
            words(&["ring", "dsgd", "0.2"]),
            words(&["complete", "dsgd", "0.1"]),
        ];
        let (legends, styles) = Legend::of(&words(&["topology", "algorithm", "rate"]), &curves);
        let looks: Vec<(Option<usize>, usize)> = styles
            .iter()
            .map(|style| (style.colour, style.dash))
            .collect();
        assert_eq!(looks, [(Some(0), 0), (Some(0), 1), (Some(1), 0)]);
        let titles: Vec<&str> = legends.iter().map(|legend| legend.title.as_str()).collect();
        assert_eq!(titles, ["topology", "algorithm, rate"]);
        let labels: Vec<&str> = legends[1]
            .keys
            .iter()
            .map(|key| key.label.as_str())
            .collect();
        assert_eq!(labels, ["dsgd, 0.1", "dsgd, 0.2"]);
    }

    #[test]
    fn one_setting_alone_takes_both_so_that_it_is_read_without_colour() {
        let (legends, styles) = Legend::of(&words(&["topology"]), &[words(&["a"]), words(&["b"])]);
        assert_eq!((styles[1].colour, styles[1].dash), (Some(1), 1));
        assert_eq!(legends[0].keys[1].style, styles[1]);
        assert!(Legend::of(&[], &[vec![]]).0.is_empty());
    }

    #[test]
    fn a_value_looks_the_same_whichever_others_are_drawn() {
        let title = words(&["topology"]);
        let values = |names: &[&str]| -> Vec<Vec<String>> {
            names.iter().map(|name| words(&[name])).collect()
        };
        let colours = |all: &[&str], drawn: &[&str]| -> Vec<Option<usize>> {
            let (legends, styles) = Legend::among(&title, &values(all), &values(drawn));
            let keys: Vec<Style> = legends[0].keys.iter().map(|key| key.style).collect();
            assert_eq!(keys, styles);
            styles.iter().map(|style| style.colour).collect()
        };
        let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        assert_eq!(colours(&all[..3], &["b", "c"]), [Some(1), Some(2)]);
        // There are seven colours: of the eighth value it is that of the first.
        assert_eq!(colours(&all[..3], &["c", "a"]), [Some(2), Some(0)]);
        assert_eq!(colours(&all, &["b", "h"]), [Some(1), Some(7)]);
        assert_eq!(colours(&all, &["a", "b", "h"]), [Some(0), Some(1), Some(2)]);
        assert_eq!(colours(&all, &all)[6..], [Some(6), Some(7), Some(8)]);
    }

    #[test]
    fn colours_and_dashes_repeat_when_there_are_no_more() {
        let style = |index| Style {
            colour: Some(index),
            dash: index,
        };
        assert_eq!(style(COLOURS).colour(), style(0).colour());
        assert_eq!(style(DASHES + 1).dash(), style(1).dash());
    }
}
