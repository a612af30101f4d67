//! Colours that colour-blind readers can tell apart, on light and on dark paper.

use std::fmt::Write;

/// Colours of the groups on light paper: Okabe and Ito (2008), their yellow replaced, which vanishes on white.
///
/// The second half has other shades, for settings of many values.
const LIGHT: [&str; COLOURS] = [
    "#0072b2", "#d55e00", "#009e73", "#b3589a", "#b07d00", "#3f9fd8", "#5d6066", "#003a5c",
    "#7d3200", "#0b5c46", "#6a1b4d", "#5c5410", "#e08a8a", "#a7a9ae",
];

/// The same hues on dark paper.
const DARK: [&str; COLOURS] = [
    "#56a9e8", "#ff8a4c", "#3ccf9f", "#e08cc6", "#e8b93c", "#8fd0f7", "#b4b8bf", "#2f6fa8",
    "#b5501c", "#1f8a68", "#a3508a", "#a07c14", "#ffd9c4", "#6f747d",
];

/// How many colours there are before line styles tell groups apart.
pub(crate) const COLOURS: usize = 14;

/// Line styles, taken in turn once the colours are used up.
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];

/// Viridis (Smith and van der Walt, 2015) in steps from low to high.
const LEVELS_OF_ACCURACY: [&str; LEVELS] = [
    "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30",
    "#fde725",
];

/// The same order of hues for dark paper, on which the lowest clients of Viridis would vanish.
const DARK_LEVELS_OF_ACCURACY: [&str; LEVELS] = [
    "#b04fc4", "#8f6bdc", "#7384dc", "#549ad0", "#3aabb6", "#35b98a", "#6ece58", "#b5de2b",
    "#fde725",
];

/// Steps of the scale that nodes are coloured by.
pub(crate) const LEVELS: usize = 9;

/// Groups that are told apart by colour and line style.
pub(crate) const SERIES: usize = LIGHT.len() * DASHES.len();

/// Colour of a group on light paper, which plots carry until the page's script sets the theme.
pub(crate) fn colour(group: usize) -> &'static str {
    LIGHT[group % LIGHT.len()]
}

/// Line style of a group, as plots name it.
pub(crate) fn dash(group: usize) -> &'static str {
    DASHES[group / LIGHT.len() % DASHES.len()]
}

/// The colour of a group as a CSS value. The page's script sets the variable, as the reader chooses what colours follow.
pub(crate) fn of_group(group: usize) -> String {
    format!("var(--group-{group})")
}

/// Step of the scale for a value, 0 at `low` and `LEVELS - 1` at `high`.
pub(crate) fn level(value: f64, low: f64, high: f64) -> usize {
    let share = if high > low {
        (value - low) / (high - low)
    } else {
        1.0
    };
    ((share * LEVELS as f64).max(0.0) as usize).min(LEVELS - 1)
}

/// The colours of light paper as CSS variables, `--series-i` and `--level-i`.
pub(crate) fn light() -> String {
    variables(&LIGHT, &LEVELS_OF_ACCURACY)
}

/// The same variables for dark paper.
pub(crate) fn dark() -> String {
    variables(&DARK, &DARK_LEVELS_OF_ACCURACY)
}

fn variables(series: &[&str], levels: &[&str]) -> String {
    let mut style = String::from(":root{");
    for (name, colours) in [("series", series), ("level", levels)] {
        for (index, colour) in colours.iter().enumerate() {
            write!(style, "--{name}-{index}:{colour};").expect("a String takes any text");
        }
    }
    style.push('}');
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_span_the_range() {
        assert_eq!(
            [0.5, 0.6, 1.0].map(|value| level(value, 0.5, 1.0)),
            [0, 1, LEVELS - 1]
        );
        assert_eq!(level(0.7, 0.7, 0.7), LEVELS - 1);
        assert_eq!(level(f64::NAN, 0.0, 1.0), 0);
    }

    /// CIELAB of a colour under D65 (CIE 15:2004).
    fn lab(colour: &str) -> [f64; 3] {
        let linear = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        let [r, g, b] = [1, 3, 5].map(linear);
        let [x, y, z] = [
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
        ]
        .map(|t: f64| {
            if t > 0.008856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(a: &str, b: &str) -> f64 {
        let squares = lab(a).into_iter().zip(lab(b)).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// A difference of 2.3 in CIELAB is just noticeable; lines are thin and lie apart.
    #[test]
    fn colours_can_be_told_apart_and_from_the_paper() {
        for (paper, colours) in [("#ffffff", LIGHT), ("#14161a", DARK)] {
            for (index, colour) in colours.iter().enumerate() {
                assert!(distance(colour, paper) > 30.0, "{colour} on {paper}");
                for other in &colours[..index] {
                    assert!(distance(colour, other) > 15.0, "{colour} {other}");
                }
            }
        }
    }

    #[test]
    fn neighbouring_groups_differ_in_colour_and_later_ones_in_dash() {
        assert!((0..SERIES).all(|group| colour(group) != colour(group + 1)));
        assert_eq!((dash(0), dash(LIGHT.len())), ("solid", "dash"));
    }
}
