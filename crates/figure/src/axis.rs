//! Axes: their range, their ticks and what is written at them.

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is measured, without its unit.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// How numbers are spaced.
    pub scale: Scale,
    /// Where the axis begins and ends; as the curves need it if absent.
    pub limits: Option<[f64; 2]>,
    /// What is written at 0, 1, 2 and so on in place of numbers; nothing of that if it is empty.
    pub names: Vec<String>,
    /// The values that the points have, ascending, if numbers are to be written there and not at round numbers. Round numbers
    /// are written nevertheless where these are many or lie close together.
    pub values: Vec<AxisValue>,
}

/// A value that points of a figure have on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// Its number.
    pub number: f64,
    /// What is written there in place of the number.
    pub name: Option<String>,
}

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Numbers without a unit.
    Number,
    /// Numbers of this unit.
    Of(&'static str),
    /// Fractions, which are written in per cent.
    Share,
    /// Bytes, which are written in kB, MB and so on, powers of 1000.
    Bytes,
}

/// How numbers are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms.
    Logarithmic,
}

/// Numbers that differ by less, relative to the larger one, are taken for equal.
const ROUNDING: f64 = 1e-12;

/// The largest number on an axis. Differences of such numbers are finite, and so are their reciprocals.
const LARGEST: f64 = 1e300;

/// Where the axis goes from, and to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A number on the axis, and what is written at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl Scale {
    /// Whether a number has a place on the axis.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Linear => value.is_finite(),
            Self::Logarithmic => value.is_finite() && value > 0.0,
        }
    }

    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.log10(),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => 10f64.powf(value),
        }
    }

    /// The number nearest to `value` at which an axis may end.
    fn nearest_end(self, value: f64) -> f64 {
        match self {
            Self::Linear => value.clamp(-LARGEST, LARGEST),
            Self::Logarithmic => value.clamp(LARGEST.recip(), LARGEST),
        }
    }
}

impl Range {
    /// The range from `low` to `high`, and `margin` times its length more at both ends. A range of one number, or of numbers that are
    /// equal but for rounding, is widened.
    pub(crate) fn around(scale: Scale, low: f64, high: f64, margin: f64) -> Self {
        let [from, to] = [low, high].map(|end| scale.forward(scale.nearest_end(end)));
        let length = to - from;
        let least = ROUNDING * from.abs().max(to.abs());
        let more = match length > least.max(LARGEST.recip()) {
            true => margin * length,
            false => (0.05 * from.abs()).max(0.05),
        };
        Self {
            scale,
            low: scale.nearest_end(scale.back(from - more)),
            high: scale.nearest_end(scale.back(to + more)),
        }
    }

    /// Where `value` lies on the axis: 0 at the start, 1 at the end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let [low, high, value] =
            [self.low, self.high, value].map(|value| self.scale.forward(value));
        (value - low) / (high - low)
    }
}

/// The unit in which people read bytes of which `largest` is the largest number, and how many bytes it has.
pub fn bytes_unit(largest: f64) -> (f64, &'static str) {
    let names = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let thousands = (largest.log10() / 3.0).floor();
    let index = thousands.clamp(0.0, (names.len() - 1) as f64);
    (1000f64.powf(index), names[index as usize])
}

impl Axis {
    /// An axis with numbers that are spaced evenly, as far as the curves need it.
    #[must_use]
    pub fn linear(title: impl Into<String>, unit: Unit) -> Self {
        Self {
            title: title.into(),
            unit,
            scale: Scale::Linear,
            limits: None,
            names: Vec::new(),
            values: Vec::new(),
        }
    }

    /// What a number of the axis is divided by before it is written, and the unit that is written then.
    fn written_unit(&self, range: &Range) -> (f64, String) {
        let largest = range.low.abs().max(range.high.abs());
        let thousands = (largest.log10() / 3.0).floor();
        match self.unit {
            Unit::Share => (0.01, "%".to_owned()),
            Unit::Bytes => {
                let (divisor, name) = bytes_unit(largest);
                (divisor, name.to_owned())
            }
            Unit::Number | Unit::Of(_) => {
                let unit = match self.unit {
                    Unit::Of(unit) => unit,
                    _ => "",
                };
                let is_plain = (1e-2..1e5).contains(&largest);
                if is_plain || range.scale == Scale::Logarithmic {
                    return (1.0, unit.to_owned());
                }
                let power = 3 * thousands as i32;
                let text = format!("{} {unit}", power_of_ten(power));
                (10f64.powi(power), text.trim_end().to_owned())
            }
        }
    }

    /// What is written along the axis.
    pub(crate) fn heading(&self, range: &Range) -> String {
        let (_, unit) = self.written_unit(range);
        match unit.is_empty() {
            true => self.title.clone(),
            false => format!("{} ({unit})", self.title),
        }
    }

    /// At most `most` ticks, or a few more on a logarithmic axis.
    pub(crate) fn ticks(&self, range: &Range, most: usize) -> Vec<Tick> {
        if !self.names.is_empty() {
            let tick = |(place, name): (usize, &String)| Tick {
                value: place as f64,
                label: name.clone(),
            };
            return self.names.iter().enumerate().map(tick).collect();
        }
        let (divisor, _) = self.written_unit(range);
        match range.scale {
            Scale::Linear => even_ticks(range, divisor, most),
            Scale::Logarithmic => powers(range, divisor, most),
        }
    }

    /// Ticks at the values of the points that lie in `range`.
    pub(crate) fn ticks_at_values(&self, range: &Range) -> Vec<Tick> {
        let (divisor, _) = self.written_unit(range);
        let is_inside = |value: &&AxisValue| (range.low..=range.high).contains(&value.number);
        let tick = |AxisValue { number, name }: &AxisValue| Tick {
            value: *number,
            label: name.clone().unwrap_or_else(|| shortest(number / divisor)),
        };
        self.values.iter().filter(is_inside).map(tick).collect()
    }
}

/// Fewer ticks than these say little.
const FEW: usize = 3;

/// Multiples of 1, 2 or 5 times a power of ten, or of 2.5 times one where the others are few; none in a range without a length.
fn even_ticks(range: &Range, divisor: f64, most: usize) -> Vec<Tick> {
    let (low, high) = (range.low / divisor, range.high / divisor);
    let least = (high - low) / most.max(1) as f64;
    let usual = multiples([low, high], divisor, step(least, &[1.0, 2.0, 5.0]));
    match usual.len() < FEW {
        true => multiples([low, high], divisor, step(least, &[1.0, 2.0, 2.5, 5.0])),
        false => usual,
    }
}

/// The multiples of `step` from `low` to `high`, in units of `divisor`.
fn multiples([low, high]: [f64; 2], divisor: f64, step: f64) -> Vec<Tick> {
    if !step.is_normal() {
        return Vec::new();
    }
    let power = step.log10().floor();
    // 2.5 has a digit more than 2 and 5.
    let digits = f64::from((step / 10f64.powf(power)).fract() > 0.1);
    let decimals = (digits - power).max(0.0) as usize;
    // Rounding must not lose the first or the last multiple.
    let slack = 1e-9 * (high - low);
    let first = ((low - slack) / step).ceil() as i64;
    let last = ((high + slack) / step).floor() as i64;
    let tick = |index| {
        let value = index as f64 * step;
        Tick {
            value: value * divisor,
            label: number(value, decimals),
        }
    };
    (first..=last).map(tick).collect()
}

/// The least of `factors` times a power of ten that is at least `least`.
fn step(least: f64, factors: &[f64]) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    // Rounding may leave a power of ten a little too small.
    let found = factors
        .iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * (1.0 - 1e-9));
    found.unwrap_or(10.0 * power)
}

/// Powers of ten, with 2 and 5 times them where there are fewer than three.
fn powers(range: &Range, divisor: f64, most: usize) -> Vec<Tick> {
    let (low, high) = (range.low / divisor, range.high / divisor);
    let [least, largest] = [low, high].map(|end| end.log10().clamp(-308.0, 308.0));
    let exponents = (least.floor() as i32)..=(largest.ceil() as i32);
    let is_inside = |value: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value);
    let decades = exponents
        .clone()
        .filter(|power| is_inside(&10f64.powi(*power)))
        .count();
    let factors: &[f64] = if decades < 3 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let stride = decades.div_ceil(most.max(1)).max(1) as i32;
    let powers = exponents.filter(|power| power % stride == 0);
    powers
        .flat_map(|power| factors.iter().map(move |factor| (*factor, power)))
        .map(|(factor, power)| (factor * 10f64.powi(power), factor, power))
        .filter(|(value, ..)| is_inside(value))
        .map(|(value, factor, power)| Tick {
            value: value * divisor,
            label: match power {
                -2..=3 => number(value, (-power).max(0) as usize),
                _ if factor == 1.0 => power_of_ten(power),
                _ => format!("{factor}×{}", power_of_ten(power)),
            },
        })
        .collect()
}

/// A number in as few digits as tell it, six at most: `0.05`, `100`, `1.5×10⁻⁶`.
fn shortest(value: f64) -> String {
    let text = format!("{value:.5e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    let is_plain = rounded == 0.0 || (1e-4..1e5).contains(&rounded.abs());
    let scientific = format!("{rounded:e}");
    let text = match scientific.split_once('e') {
        Some((factor, power)) if !is_plain => match (factor, power.parse().unwrap_or(0)) {
            ("1", power) => power_of_ten(power),
            (factor, power) => format!("{factor}×{}", power_of_ten(power)),
        },
        _ => rounded.to_string(),
    };
    text.replacen('-', "−", 1)
}

/// A number with a true minus sign.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|digit| matches!(digit, '0' | '.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

/// `10³`.
fn power_of_ten(power: i32) -> String {
    let raise = |digit: char| match digit {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    let digits: String = power.to_string().chars().map(raise).collect();
    format!("10{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Unit) -> Axis {
        Axis::linear("Title", unit)
    }

    fn linear(low: f64, high: f64) -> Range {
        Range {
            scale: Scale::Linear,
            low,
            high,
        }
    }

    fn logarithmic(low: f64, high: f64) -> Range {
        Range {
            scale: Scale::Logarithmic,
            low,
            high,
        }
    }

    fn labels(unit: Unit, range: Range, most: usize) -> Vec<String> {
        let ticks = axis(unit).ticks(&range, most);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_in_the_range() {
        assert_eq!(
            labels(Unit::Number, linear(0.0, 100.0), 5),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            labels(Unit::Number, linear(-0.3, 0.3), 4),
            ["−0.2", "0.0", "0.2"]
        );
        assert_eq!(
            labels(Unit::Share, linear(0.881, 0.925), 5),
            ["89", "90", "91", "92"]
        );
        assert_eq!(
            labels(Unit::Number, linear(0.0, 0.3), 3),
            ["0.0", "0.1", "0.2", "0.3"]
        );
    }

    #[test]
    fn where_ticks_are_few_they_are_at_multiples_of_two_and_a_half() {
        let shares = labels(Unit::Share, linear(-0.05, 0.95), 4);
        assert_eq!(shares, ["0", "25", "50", "75"]);
        let small = labels(Unit::Number, linear(0.1, 1.05), 4);
        assert_eq!(small, ["0.25", "0.50", "0.75", "1.00"]);
        let short = labels(Unit::Number, linear(0.0, 0.9), 4);
        assert_eq!(short, ["0.00", "0.25", "0.50", "0.75"]);
        assert_eq!(
            labels(Unit::Number, linear(0.0, 1.0), 2),
            ["0.0", "0.5", "1.0"]
        );
    }

    #[test]
    fn large_numbers_are_written_with_their_unit() {
        let heading = |unit, high| axis(unit).heading(&linear(0.0, high));
        assert_eq!(heading(Unit::Number, 99_999.0), "Title");
        assert_eq!(heading(Unit::Number, 2e6), "Title (10⁶)");
        assert_eq!(heading(Unit::Of("s"), 3e5), "Title (10³ s)");
        assert_eq!(heading(Unit::Of("s"), 30.0), "Title (s)");
        assert_eq!(heading(Unit::Share, 1.0), "Title (%)");
        assert_eq!(heading(Unit::Bytes, 512.0), "Title (bytes)");
        assert_eq!(heading(Unit::Bytes, 2.5e9), "Title (GB)");
        assert_eq!(heading(Unit::Number, 2e-5), "Title (10⁻⁶)");
        assert_eq!(labels(Unit::Bytes, linear(0.0, 2.5e9), 3), ["0", "1", "2"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(
            labels(Unit::Number, logarithmic(1e-4, 1e5), 20),
            [
                "10⁻⁴", "10⁻³", "0.01", "0.1", "1", "10", "100", "1000", "10⁴", "10⁵"
            ]
        );
        assert_eq!(
            labels(Unit::Number, logarithmic(0.3, 4.0), 5),
            ["0.5", "1", "2"]
        );
        assert_eq!(labels(Unit::Number, logarithmic(1.0, 1e9), 4).len(), 4);
    }

    #[test]
    fn values_are_written_in_few_digits() {
        let values = [-1.5e-6, 0.0, 1e-5, 0.0001, 0.1 + 0.2, 1.0, 250.0, 1e6, 2e6];
        assert_eq!(
            values.map(shortest),
            [
                "−1.5×10⁻⁶",
                "0",
                "10⁻⁵",
                "0.0001",
                "0.3",
                "1",
                "250",
                "10⁶",
                "2×10⁶"
            ]
        );
        let unnamed = |number| AxisValue { number, name: None };
        let mut rates = Axis {
            values: [0.001, 0.003, 0.007, 0.02].map(unnamed).to_vec(),
            ..axis(Unit::Number)
        };
        let labels = |rates: &Axis, range: Range| -> Vec<String> {
            let ticks = rates.ticks_at_values(&range).into_iter();
            ticks.map(|tick| tick.label).collect()
        };
        // The heading of this axis says that its numbers are thousandths.
        assert_eq!(labels(&rates, linear(0.0, 0.008)), ["1", "3", "7"]);
        assert_eq!(
            labels(&rates, logarithmic(0.001, 0.02)),
            ["0.001", "0.003", "0.007", "0.02"]
        );
        rates.values[1].name = Some("best".to_owned());
        assert_eq!(labels(&rates, linear(0.0, 0.008)), ["1", "best", "7"]);
    }

    #[test]
    fn ranges_have_a_length() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let range = Range::around(scale, 2.0, 2.0, 0.04);
            assert!(range.low < 2.0 && range.high > 2.0, "{range:?}");
            assert!((range.share(2.0) - 0.5).abs() < 1e-9);
        }
        // As means of equal numbers, which are rounded.
        let (low, high) = (0.04, 0.04f64.next_up());
        for margin in [0.0, 0.04] {
            let range = Range::around(Scale::Linear, low, high, margin);
            assert!(range.low < 0.0 && range.high > 0.08, "{range:?}");
            assert!(axis(Unit::Share).ticks(&range, 5).len() >= 3);
        }
        assert!(axis(Unit::Share).ticks(&linear(low, high), 5).len() <= 5);
        let range = Range::around(Scale::Linear, 0.0, 10.0, 0.1);
        assert_eq!((range.low, range.high), (-1.0, 11.0));
        let middle = logarithmic(1.0, 100.0).share(10.0);
        assert!((middle - 0.5).abs() < 1e-12);
    }

    #[test]
    fn scales_hold_what_they_can_place() {
        assert!(Scale::Linear.holds(-1.0) && !Scale::Linear.holds(f64::NAN));
        assert!(!Scale::Logarithmic.holds(0.0) && Scale::Logarithmic.holds(1e-300));
    }
}
