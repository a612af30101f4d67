//! The shapes of the ten digits: strokes through control points.
//!
//! A digit is one unit high, centred on the origin, x to the right and y downwards.

/// A pen stroke through its control points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    /// Control points `(x, y)`.
    pub(super) points: &'static [(f32, f32)],
    /// A curve through the points (Catmull-Rom), or straight lines between them.
    pub(super) curved: bool,
}

/// One way of writing a digit.
pub(super) type Template = &'static [Stroke];

/// The ways of writing each digit, indexed by the digit.
pub(super) const DIGITS: [&[Template]; 10] = [
    &[ZERO, ZERO_NARROW],
    &[ONE, ONE_FLAG, ONE_FOOT],
    &[TWO, TWO_LOOP],
    &[THREE, THREE_FLAT],
    &[FOUR_OPEN, FOUR_CLOSED],
    &[FIVE, FIVE_ROUND],
    &[SIX, SIX_STRAIGHT],
    &[SEVEN, SEVEN_BAR],
    &[EIGHT, EIGHT_RINGS],
    &[NINE, NINE_TAIL],
];

const fn curve(points: &'static [(f32, f32)]) -> Stroke {
    Stroke {
        points,
        curved: true,
    }
}

const fn line(points: &'static [(f32, f32)]) -> Stroke {
    Stroke {
        points,
        curved: false,
    }
}

#[rustfmt::skip]
const ZERO: Template = &[curve(&[
    (0.04, -0.50), (-0.22, -0.36), (-0.33, 0.00), (-0.22, 0.38), (0.02, 0.50),
    (0.24, 0.36), (0.33, 0.00), (0.24, -0.36), (0.02, -0.50),
])];
#[rustfmt::skip]
const ZERO_NARROW: Template = &[curve(&[
    (0.20, -0.42), (-0.04, -0.48), (-0.22, -0.20), (-0.24, 0.20), (-0.06, 0.48),
    (0.14, 0.40), (0.25, 0.06), (0.22, -0.26), (0.04, -0.50), (-0.10, -0.40),
])];
const ONE: Template = &[curve(&[(0.02, -0.50), (0.00, 0.00), (0.00, 0.50)])];
#[rustfmt::skip]
const ONE_FLAG: Template = &[
    line(&[(-0.20, -0.26), (0.04, -0.50)]),
    curve(&[(0.04, -0.50), (0.02, 0.00), (0.00, 0.50)]),
];
#[rustfmt::skip]
const ONE_FOOT: Template = &[
    line(&[(-0.16, -0.32), (0.02, -0.50), (0.02, 0.48)]),
    line(&[(-0.22, 0.49), (0.24, 0.49)]),
];
#[rustfmt::skip]
const TWO: Template = &[
    curve(&[(-0.28, -0.28), (-0.12, -0.48), (0.14, -0.47), (0.27, -0.25), (0.12, 0.06), (-0.30, 0.47)]),
    line(&[(-0.30, 0.47), (0.32, 0.46)]),
];
#[rustfmt::skip]
const TWO_LOOP: Template = &[curve(&[
    (-0.26, -0.34), (-0.04, -0.50), (0.22, -0.38), (0.22, -0.10), (-0.02, 0.26), (-0.24, 0.46),
    (-0.34, 0.36), (-0.18, 0.26), (0.04, 0.40), (0.22, 0.48), (0.36, 0.38),
])];
#[rustfmt::skip]
const THREE: Template = &[
    curve(&[(-0.28, -0.38), (-0.04, -0.50), (0.22, -0.36), (0.16, -0.12), (-0.06, -0.03)]),
    curve(&[(-0.06, -0.03), (0.20, 0.06), (0.28, 0.28), (0.06, 0.49), (-0.28, 0.39)]),
];
#[rustfmt::skip]
const THREE_FLAT: Template = &[
    line(&[(-0.26, -0.48), (0.26, -0.48), (-0.04, -0.10)]),
    curve(&[(-0.04, -0.10), (0.22, 0.02), (0.26, 0.30), (0.02, 0.50), (-0.28, 0.38)]),
];
#[rustfmt::skip]
const FOUR_OPEN: Template = &[
    curve(&[(-0.22, -0.48), (-0.28, -0.20), (-0.26, 0.06), (0.00, 0.06), (0.32, 0.00)]),
    curve(&[(0.22, -0.46), (0.17, 0.00), (0.12, 0.50)]),
];
#[rustfmt::skip]
const FOUR_CLOSED: Template = &[
    line(&[(0.12, -0.50), (-0.32, 0.14), (0.34, 0.14)]),
    line(&[(0.12, -0.50), (0.12, 0.50)]),
];
#[rustfmt::skip]
const FIVE: Template = &[
    line(&[(0.28, -0.48), (-0.18, -0.48), (-0.23, -0.06)]),
    curve(&[(-0.23, -0.06), (0.04, -0.14), (0.27, 0.08), (0.20, 0.40), (-0.06, 0.50), (-0.30, 0.38)]),
];
#[rustfmt::skip]
const FIVE_ROUND: Template = &[
    curve(&[(-0.16, -0.46), (-0.20, -0.20), (-0.10, -0.12), (0.16, 0.02), (0.22, 0.30), (0.02, 0.50), (-0.26, 0.42)]),
    curve(&[(-0.16, -0.46), (0.08, -0.44), (0.32, -0.50)]),
];
#[rustfmt::skip]
const SIX: Template = &[curve(&[
    (0.20, -0.48), (-0.12, -0.26), (-0.28, 0.10), (-0.20, 0.42), (0.04, 0.50),
    (0.26, 0.33), (0.19, 0.08), (-0.04, 0.03), (-0.25, 0.20),
])];
#[rustfmt::skip]
const SIX_STRAIGHT: Template = &[curve(&[
    (-0.06, -0.50), (-0.20, -0.14), (-0.24, 0.22), (-0.08, 0.48), (0.16, 0.44),
    (0.24, 0.22), (0.08, 0.06), (-0.14, 0.16), (-0.20, 0.32),
])];
#[rustfmt::skip]
const SEVEN: Template = &[
    line(&[(-0.30, -0.47), (0.28, -0.48)]),
    curve(&[(0.28, -0.48), (0.06, 0.00), (-0.08, 0.50)]),
];
#[rustfmt::skip]
const SEVEN_BAR: Template = &[
    line(&[(-0.28, -0.36), (-0.26, -0.48), (0.30, -0.48)]),
    curve(&[(0.30, -0.48), (0.10, -0.04), (-0.04, 0.50)]),
    line(&[(-0.16, 0.02), (0.28, -0.02)]),
];
#[rustfmt::skip]
const EIGHT: Template = &[curve(&[
    (0.22, -0.36), (0.00, -0.50), (-0.22, -0.34), (-0.10, -0.10), (0.14, 0.08), (0.26, 0.30),
    (0.02, 0.50), (-0.25, 0.32), (-0.13, 0.08), (0.12, -0.12), (0.23, -0.34), (0.06, -0.49),
])];
#[rustfmt::skip]
const EIGHT_RINGS: Template = &[
    curve(&[(0.00, -0.50), (-0.20, -0.36), (-0.16, -0.12), (0.02, -0.04), (0.19, -0.16), (0.20, -0.38), (0.00, -0.50)]),
    curve(&[(0.02, -0.04), (-0.22, 0.12), (-0.24, 0.36), (0.00, 0.50), (0.24, 0.36), (0.22, 0.12), (0.02, -0.04)]),
];
#[rustfmt::skip]
const NINE: Template = &[
    curve(&[(0.24, -0.30), (0.04, -0.50), (-0.21, -0.38), (-0.24, -0.12), (-0.02, 0.02), (0.20, -0.14), (0.25, -0.34)]),
    curve(&[(0.25, -0.34), (0.21, 0.10), (0.10, 0.50)]),
];
#[rustfmt::skip]
const NINE_TAIL: Template = &[curve(&[
    (0.22, -0.36), (0.00, -0.50), (-0.22, -0.34), (-0.18, -0.08), (0.06, -0.02), (0.22, -0.22),
    (0.25, -0.40), (0.25, -0.04), (0.20, 0.30), (0.00, 0.50), (-0.24, 0.40),
])];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_fills_the_unit_height_and_stays_in_it() {
        for (digit, ways) in DIGITS.iter().enumerate() {
            assert!(ways.len() >= 2, "digit {digit} is written in one way only");
            for template in *ways {
                let heights = || template.iter().flat_map(|s| s.points).map(|p| p.1);
                let top = heights().fold(f32::MAX, f32::min);
                let bottom = heights().fold(f32::MIN, f32::max);
                assert!((-0.5..=-0.45).contains(&top), "digit {digit}: top {top}");
                assert!(
                    (0.45..=0.5).contains(&bottom),
                    "digit {digit}: bottom {bottom}"
                );
            }
        }
    }
}
