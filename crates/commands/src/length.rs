//! Lengths on paper.

use std::str::FromStr;

/// A length, as `85mm`, `3.35in`, `8.5cm` or `240pt`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Length {
    points: f64,
}

/// Units with their points of 1/72 inch.
const UNITS: [(&str, f64); 4] = [
    ("mm", 72.0 / 25.4),
    ("cm", 720.0 / 25.4),
    ("in", 72.0),
    ("pt", 1.0),
];

/// The longest length: 10 m.
const MOST: f64 = 10_000.0 * 72.0 / 25.4;

impl Length {
    pub(crate) fn points(self) -> f64 {
        self.points
    }

    pub(crate) fn millimetres(self) -> f64 {
        self.points * 25.4 / 72.0
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "needed a length such as 85mm, 8.5cm, 3.35in or 8pt";
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
        let (unit, points) = unit.ok_or(needed)?;
        let number = text[..text.len() - unit.len()].trim_end();
        let number: f64 = number.parse().map_err(|_| needed)?;
        let points = number * points;
        match points > 0.0 && points <= MOST {
            true => Ok(Self { points }),
            false => Err(format!(
                "found {text}, needed more than 0 and at most 10000mm"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_and_their_lengths_are_exact() {
        for (text, millimetres) in [
            ("85mm", 85.0),
            ("8.5 cm", 85.0),
            ("1in", 25.4),
            ("72pt", 25.4),
        ] {
            let length: Length = text.parse().unwrap();
            assert!((length.millimetres() - millimetres).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        let needed = "needed a length such as 85mm, 8.5cm, 3.35in or 8pt";
        for text in ["85", "mm", "wide", "85 px", ""] {
            assert_eq!(text.parse::<Length>(), Err(needed.to_owned()), "{text}");
        }
        for text in ["0mm", "-3pt", "1e9in", "NaNmm", "infmm"] {
            let error = text.parse::<Length>().unwrap_err();
            assert!(error.starts_with(&format!("found {text}")), "{error}");
        }
    }
}
