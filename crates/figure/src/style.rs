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
}

/// What the colours or the dashes stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// The setting.
    pub title: String,
    /// Its values.
    pub keys: Vec<Key>,
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
        let Some((first, others)) = titles.split_first() else {
            let style = Style {
                colour: Some(0),
                dash: 0,
            };
            return (Vec::new(), vec![style; curves.len()]);
        };
        let colours = distinct(curves.iter().map(|values| values[0].clone()));
        let dashes = distinct(curves.iter().map(|values| values[1..].join(", ")));
        let is_alone = others.is_empty();
        let style = |values: &Vec<String>| {
            let colour = place(&colours, &values[0]);
            let dash = match is_alone {
                true => colour,
                false => place(&dashes, &values[1..].join(", ")),
            };
            Style {
                colour: Some(colour),
                dash,
            }
        };
        let styles = curves.iter().map(style).collect();
        let by_colour = |(index, label)| Key {
            label,
            style: Style {
                colour: Some(index),
                dash: if is_alone { index } else { 0 },
            },
        };
        let by_dash = |(dash, label)| Key {
            label,
            style: Style { colour: None, dash },
        };
        let mut legends = vec![Self {
            title: first.clone(),
            keys: colours.into_iter().enumerate().map(by_colour).collect(),
        }];
        if !is_alone {
            legends.push(Self {
                title: others.join(", "),
                keys: dashes.into_iter().enumerate().map(by_dash).collect(),
            });
        }
        (legends, styles)
    }
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

fn place(values: &[String], value: &str) -> usize {
    let place = values.iter().position(|other| other == value);
    place.unwrap_or(0)
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
    fn colours_and_dashes_repeat_when_there_are_no_more() {
        let style = |index| Style {
            colour: Some(index),
            dash: index,
        };
        assert_eq!(style(COLOURS).colour(), style(0).colour());
        assert_eq!(style(DASHES + 1).dash(), style(1).dash());
    }
}
