//! A bandwidth that changes over time.

/// A piecewise constant bandwidth that begins anew after its last piece.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTrace {
    /// When each piece begins, from 0, ascending; the end of the last piece follows.
    starts: Vec<f64>,
    /// Bytes per second of each piece.
    rates: Vec<f64>,
    /// Bytes carried before each start.
    carried: Vec<f64>,
}

impl RateTrace {
    /// The bandwidth whose pieces begin at the given seconds and carry the given bytes per second.
    ///
    /// The last piece lasts as long as the one before it; a single piece lasts for ever.
    ///
    /// # Panics
    /// Unless there is a piece, the first begins at 0, each later than the one before, no rate is negative and one is not 0.
    pub(super) fn new(pieces: &[(f64, f64)]) -> Self {
        let mut starts: Vec<f64> = pieces.iter().map(|piece| piece.0).collect();
        let rates: Vec<f64> = pieces.iter().map(|piece| piece.1).collect();
        assert!(starts.first() == Some(&0.0), "a trace begins at 0");
        assert!(rates.iter().all(|rate| *rate >= 0.0) && rates.iter().any(|rate| *rate > 0.0));
        starts.push(match starts.as_slice() {
            // Times may be so long that a step as small as the last is lost in rounding.
            [.., before, last] => (2.0 * last - before).max(last.next_up()),
            _ => 1.0,
        });
        assert!(starts.is_sorted_by(|a, b| a < b), "the pieces ascend");
        let mut carried = vec![0.0];
        for (times, rate) in starts.windows(2).zip(&rates) {
            let before = carried[carried.len() - 1];
            carried.push(before + rate * (times[1] - times[0]));
        }
        Self {
            starts,
            rates,
            carried,
        }
    }

    /// Seconds after which the trace begins anew.
    #[must_use]
    pub fn period_seconds(&self) -> f64 {
        self.starts[self.rates.len()]
    }

    /// Seconds that `bytes` take from `start_seconds` on: the least t with `∫ rate = bytes` over `start..start + t`.
    ///
    /// # Complexity
    /// O(log pieces).
    #[must_use]
    pub fn seconds(&self, bytes: u64, start_seconds: f64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        if let [rate] = self.rates[..] {
            return bytes as f64 / rate;
        }
        let (period, all) = (self.period_seconds(), self.carried[self.rates.len()]);
        let offset = start_seconds.rem_euclid(period);
        let target = self.carried_until(offset) + bytes as f64;
        // A target that a whole number of periods carries is reached within the last of them.
        let periods = ((target / all).ceil() - 1.0).max(0.0);
        let rest = (target - periods * all).max(f64::MIN_POSITIVE).min(all);
        (periods * period + self.reached(rest) - offset).max(0.0)
    }

    /// Bytes carried in the first `offset` seconds of a period.
    fn carried_until(&self, offset: f64) -> f64 {
        let after = self.starts.partition_point(|start| *start <= offset);
        let piece = (after - 1).min(self.rates.len() - 1);
        self.carried[piece] + self.rates[piece] * (offset - self.starts[piece])
    }

    /// When, within a period, `bytes` above 0 have been carried.
    fn reached(&self, bytes: f64) -> f64 {
        let after = self.carried.partition_point(|carried| *carried < bytes);
        let piece = after.clamp(1, self.rates.len()) - 1;
        self.starts[piece] + (bytes - self.carried[piece]) / self.rates[piece]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// 10 B/s for 2 s, nothing for 1 s, 30 B/s for 3 s and, as the last piece lasts as long, 5 B/s for 3 s.
    fn trace() -> RateTrace {
        RateTrace::new(&[(0.0, 10.0), (2.0, 0.0), (3.0, 30.0), (6.0, 5.0)])
    }

    #[test]
    fn a_transfer_takes_the_integral_of_the_rate() {
        assert_eq!(trace().period_seconds(), 9.0);
        for (bytes, start, seconds) in [
            (0, 1.0, 0.0),
            (10, 0.0, 1.0),
            (20, 0.0, 2.0),
            (21, 0.0, 3.0 + 1.0 / 30.0),
            (20, 1.0, 2.0 + 1.0 / 3.0),
            (30, 2.5, 1.5),
            (110, 0.0, 6.0),
            (125, 0.0, 9.0),
            (126, 0.0, 9.1),
            (250, 0.0, 18.0),
            (15, 8.0, 2.0),
            (15, 9.0 * 7.0 + 8.0, 2.0),
            (125 * 40 + 5, 8.0, 9.0 * 40.0 + 1.0),
        ] {
            let found = trace().seconds(bytes, start);
            assert!(
                (found - seconds).abs() < 1e-9,
                "{bytes} from {start}: {found}, not {seconds}"
            );
        }
    }

    #[test]
    fn what_is_sent_in_two_parts_takes_as_long_as_at_once() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1000 {
            let start = rng.random_range(0.0..100.0);
            let (first, second) = (rng.random_range(0..500), rng.random_range(1..500));
            let half = trace().seconds(first, start);
            let both = half + trace().seconds(second, start + half);
            let found = trace().seconds(first + second, start);
            assert!((found - both).abs() < 1e-9, "{start} {first} {second}");
        }
    }

    #[test]
    fn the_last_piece_has_a_length_whatever_the_times_are() {
        let last = 2f64.powi(40);
        let trace = RateTrace::new(&[(0.0, 8.0), (last.next_down(), 8.0), (last, 8.0)]);
        assert!(trace.period_seconds() > last);
        assert!((trace.seconds(80, 3.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn one_piece_is_a_constant_rate() {
        let constant = RateTrace::new(&[(0.0, 4.0)]);
        assert_eq!(constant.seconds(10, 123.4), 2.5);
        let same = RateTrace::new(&[(0.0, 4.0), (0.5, 4.0)]);
        assert!((same.seconds(10, 123.4) - 2.5).abs() < 1e-9);
    }
}
