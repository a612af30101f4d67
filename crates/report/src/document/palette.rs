//! Colours that colour-blind readers can tell apart, on light and on dark paper.

use plotly::common::DashType;
use std::fmt::Write;

/// Colours of the groups on light paper: Okabe and Ito (2008), their yellow replaced, which vanishes on white.
const LIGHT: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#b3589a", "#b07d00", "#3f9fd8", "#5d6066",
];

/// The same hues, lighter.
const DARK: [&str; 7] = [
    "#56a9e8", "#ff8a4c", "#3ccf9f", "#e08cc6", "#e8b93c", "#8fd0f7", "#b4b8bf",
];

/// Line styles, taken in turn once the colours are used up.
const DASHES: [DashType; 4] = [
    DashType::Solid,
    DashType::Dash,
    DashType::Dot,
    DashType::DashDot,
];

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

/// Line style of a group.
pub(crate) fn dash(group: usize) -> DashType {
    DASHES[group / LIGHT.len() % DASHES.len()].clone()
}

/// Index of a group's colour among the page's variables `--series-0` and so on.
pub(crate) fn series(group: usize) -> usize {
    group % LIGHT.len()
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

    #[test]
    fn neighbouring_groups_differ_in_colour_and_later_ones_in_dash() {
        assert!((0..SERIES).all(|group| colour(group) != colour(group + 1)));
        assert!(matches!(
            (dash(0), dash(LIGHT.len())),
            (DashType::Solid, DashType::Dash)
        ));
    }
}
