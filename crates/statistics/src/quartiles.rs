//! The median and the quartiles of a few numbers, of which some may only be known to be large.

/// A quantile of numbers of which some may only be known to be larger than all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// This number.
    Number(f64),
    /// More than this number.
    Over(f64),
}

impl Quantile {
    /// The number, if it is known.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Over(_) => None,
        }
    }

    /// The number, or else the one that it is larger than.
    pub fn least(self) -> f64 {
        match self {
            Self::Number(number) | Self::Over(number) => number,
        }
    }
}

/// The quantiles that part some numbers in four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// How many numbers are known.
    pub known: usize,
    /// How many there are, with those that are only known to be larger.
    pub all: usize,
    /// The 25 % quantile.
    pub low: Quantile,
    /// The 50 % quantile.
    pub median: Quantile,
    /// The 75 % quantile.
    pub high: Quantile,
}

impl Quartiles {
    /// The quartiles of the numbers `known` and of one more for each of `ends`, which is larger than its end and than all that are known;
    /// `None` if there is no number.
    ///
    /// Quantiles are linear between two numbers, as those of [`quantile`](crate::quantile). A quantile is known if both of them are. It
    /// is more than the largest number known, and more than the least of the `ends`, if one is not.
    pub fn of(known: &[f64], ends: &[f64]) -> Option<Self> {
        let mut sorted = known.to_vec();
        sorted.sort_by(f64::total_cmp);
        let all = known.len() + ends.len();
        let last = all.checked_sub(1)?;
        let least_end = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let quantile = |share: f64| {
            let place = share * last as f64;
            let [below, above] =
                [place.floor(), place.ceil()].map(|place| sorted.get(place as usize));
            match (below, above) {
                (Some(below), Some(above)) => {
                    Quantile::Number(below + place.fract() * (above - below))
                }
                _ => Quantile::Over(sorted.last().map_or(least_end, |last| last.max(least_end))),
            }
        };
        Some(Self {
            known: known.len(),
            all,
            low: quantile(0.25),
            median: quantile(0.5),
            high: quantile(0.75),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(quartiles: &Quartiles) -> [Option<f64>; 3] {
        [quartiles.low, quartiles.median, quartiles.high].map(Quantile::number)
    }

    /// `numpy.quantile([7, 1, 4, 2], [.25, .5, .75])`.
    #[test]
    fn quartiles_are_those_of_numpy() {
        let found = Quartiles::of(&[7.0, 1.0, 4.0, 2.0], &[]).unwrap();
        assert_eq!(numbers(&found), [Some(1.75), Some(3.0), Some(4.75)]);
        assert_eq!((found.known, found.all), (4, 4));
        let one = Quartiles::of(&[3.0], &[]).unwrap();
        assert_eq!(numbers(&one), [Some(3.0); 3]);
        assert_eq!(Quartiles::of(&[], &[]), None);
    }

    #[test]
    fn a_median_is_known_if_more_than_half_of_the_numbers_are() {
        let most = Quartiles::of(&[30.0, 10.0, 20.0], &[100.0, 80.0]).unwrap();
        assert_eq!(
            [most.low, most.median, most.high],
            [
                Quantile::Number(20.0),
                Quantile::Number(30.0),
                Quantile::Over(80.0)
            ]
        );
        assert_eq!((most.known, most.all), (3, 5));
        let half = Quartiles::of(&[10.0, 20.0], &[100.0, 100.0]).unwrap();
        assert_eq!(
            [half.low, half.median],
            [Quantile::Number(17.5), Quantile::Over(100.0)]
        );
        let none = Quartiles::of(&[], &[100.0, 90.0]).unwrap();
        assert_eq!(none.low, Quantile::Over(90.0));
    }

    #[test]
    fn what_ended_soon_is_still_larger_than_all_that_are_known() {
        let found = Quartiles::of(&[50.0], &[3.0, 100.0]).unwrap();
        assert_eq!(found.median, Quantile::Over(50.0));
    }
}
