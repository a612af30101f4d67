//! Loops over the places of a grid, `[places, channels]`, that keep the numbers of a channel in registers.

use super::fused::fused;
use super::mask::first_lanes;
use pulp::{MemMask, Simd, WithSimd};

/// Number of interleaved sums over places, so that no addition waits for the one before.
const SIDE: usize = 4;

/// `sums[c] = Σ_p x[p, c]`.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) sums: &'a mut [f32],
}

/// `sums[c] = Σ_p (x[p, c] − mean[c])²`.
#[derive(Debug)]
pub(crate) struct Squares<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) means: &'a [f32],
    pub(crate) sums: &'a mut [f32],
}

/// `plain[c] = Σ_p d[p, c]` and `crossed[c] = Σ_p d[p, c] (x[p, c] − mean[c])`.
#[derive(Debug)]
pub(crate) struct ChannelProducts<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) d: &'a [f32],
    pub(crate) means: &'a [f32],
    pub(crate) plain: &'a mut [f32],
    pub(crate) crossed: &'a mut [f32],
}

/// `y[p, c] = x[p, c] · slope[c] + shift[c]`, then `max(0, ·)` if `relu`.
#[derive(Debug)]
pub(crate) struct ChannelAffine<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) slopes: &'a [f32],
    pub(crate) shifts: &'a [f32],
    pub(crate) y: &'a mut [f32],
    pub(crate) relu: bool,
}

/// `y[p, c] = d[p, c] · slope[c] + x[p, c] · tilt[c] + shift[c]`, added to what `y` holds if `add`.
#[derive(Debug)]
pub(crate) struct ChannelCombine<'a> {
    pub(crate) d: &'a [f32],
    pub(crate) x: &'a [f32],
    pub(crate) slopes: &'a [f32],
    pub(crate) tilts: &'a [f32],
    pub(crate) shifts: &'a [f32],
    pub(crate) y: &'a mut [f32],
    pub(crate) add: bool,
}

/// One vector of channels of every place.
#[derive(Clone, Copy)]
pub(super) struct Lane<S: Simd> {
    simd: S,
    /// The first of the channels.
    pub(super) first: usize,
    channels: usize,
    mask: MemMask<S::m32s>,
}

impl<S: Simd> Lane<S> {
    /// All vectors of `channels` channels; the last may have fewer lanes.
    #[inline(always)]
    pub(super) fn all(simd: S, channels: usize) -> impl Iterator<Item = Self> {
        (0..channels).step_by(S::F32_LANES).map(move |first| Self {
            simd,
            first,
            channels,
            mask: first_lanes(simd, S::F32_LANES.min(channels - first)),
        })
    }

    /// Loads its numbers from float `at` of `from` on.
    ///
    /// # Safety
    /// The lanes that there are are within `from`.
    #[inline(always)]
    pub(super) unsafe fn load(&self, from: &[f32], at: usize) -> S::f32s {
        // SAFETY: the caller's promise; the other lanes are masked.
        unsafe {
            self.simd
                .mask_load_ptr_f32s(self.mask, from.as_ptr().add(at))
        }
    }

    /// Writes its numbers from float `at` of `to` on.
    ///
    /// # Safety
    /// As for [`Lane::load`].
    #[inline(always)]
    pub(super) unsafe fn store(&self, to: &mut [f32], at: usize, values: S::f32s) {
        // SAFETY: the caller's promise; the other lanes are masked.
        unsafe {
            let to = to.as_mut_ptr().add(at);
            self.simd.mask_store_ptr_f32s(self.mask, to, values);
        }
    }

    /// Its numbers among one number per channel.
    #[inline(always)]
    fn of(&self, per_channel: &[f32]) -> S::f32s {
        assert_eq!(per_channel.len(), self.channels, "a number per channel");
        // SAFETY: the lanes that there are are channels.
        unsafe { self.load(per_channel, self.first) }
    }

    /// Writes its numbers among one number per channel.
    #[inline(always)]
    fn put(&self, per_channel: &mut [f32], values: S::f32s) {
        assert_eq!(per_channel.len(), self.channels, "a number per channel");
        // SAFETY: the lanes that there are are channels.
        unsafe { self.store(per_channel, self.first, values) }
    }

    /// `N` sums over `places` places. `term` adds the terms of one place, given the float where its numbers begin.
    #[inline(always)]
    fn sums<const N: usize>(
        &self,
        places: usize,
        term: impl Fn(usize, &mut [S::f32s; N]),
    ) -> [S::f32s; N] {
        let mut sums = [[self.simd.splat_f32s(0.0); N]; SIDE];
        let whole = places - places % SIDE;
        for place in (0..whole).step_by(SIDE) {
            for (beside, sums) in sums.iter_mut().enumerate() {
                term((place + beside) * self.channels + self.first, sums);
            }
        }
        for place in whole..places {
            term(place * self.channels + self.first, &mut sums[0]);
        }
        let add = |a, b| self.simd.add_f32s(a, b);
        std::array::from_fn(|n| add(add(sums[0][n], sums[1][n]), add(sums[2][n], sums[3][n])))
    }
}

/// The number of places in `grids`, which have `channels` channels.
#[inline(always)]
fn places(grids: &[&[f32]], channels: usize) -> usize {
    let size = grids[0].len();
    let same = grids.iter().all(|grid| grid.len() == size);
    assert!(same && size.is_multiple_of(channels), "grids of one shape");
    size / channels
}

impl WithSimd for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let channels = self.sums.len();
        let places = places(&[self.x], channels);
        for lane in Lane::all(simd, channels) {
            let [sum] = lane.sums(places, |at, [sum]| {
                // SAFETY: `at` is the lane's place in the grid.
                *sum = simd.add_f32s(*sum, unsafe { lane.load(self.x, at) });
            });
            lane.put(self.sums, sum);
        }
    }
}

impl WithSimd for Squares<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let channels = self.sums.len();
        let places = places(&[self.x], channels);
        for lane in Lane::all(simd, channels) {
            let mean = lane.of(self.means);
            let [sum] = lane.sums(places, |at, [sum]| {
                // SAFETY: `at` is the lane's place in the grid.
                let apart = simd.sub_f32s(unsafe { lane.load(self.x, at) }, mean);
                *sum = fused(simd, apart, apart, *sum);
            });
            lane.put(self.sums, sum);
        }
    }
}

impl WithSimd for ChannelProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let channels = self.plain.len();
        let places = places(&[self.x, self.d], channels);
        for lane in Lane::all(simd, channels) {
            let mean = lane.of(self.means);
            let [plain, crossed] = lane.sums(places, |at, [plain, crossed]| {
                // SAFETY: `at` is the lane's place in both grids.
                let (x, d) = unsafe { (lane.load(self.x, at), lane.load(self.d, at)) };
                *plain = simd.add_f32s(*plain, d);
                *crossed = fused(simd, d, simd.sub_f32s(x, mean), *crossed);
            });
            lane.put(self.plain, plain);
            lane.put(self.crossed, crossed);
        }
    }
}

impl WithSimd for ChannelAffine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let channels = self.slopes.len();
        let places = places(&[self.x, self.y], channels);
        for lane in Lane::all(simd, channels) {
            let (slope, shift) = (lane.of(self.slopes), lane.of(self.shifts));
            for place in 0..places {
                let at = place * channels + lane.first;
                // SAFETY: `at` is the lane's place in both grids.
                unsafe {
                    let y = fused(simd, lane.load(self.x, at), slope, shift);
                    let y = match self.relu {
                        true => simd.max_f32s(y, simd.splat_f32s(0.0)),
                        false => y,
                    };
                    lane.store(self.y, at, y);
                }
            }
        }
    }
}

impl WithSimd for ChannelCombine<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let channels = self.slopes.len();
        let places = places(&[self.x, self.d, self.y], channels);
        for lane in Lane::all(simd, channels) {
            let (slope, tilt) = (lane.of(self.slopes), lane.of(self.tilts));
            let shift = lane.of(self.shifts);
            for place in 0..places {
                let at = place * channels + lane.first;
                // SAFETY: `at` is the lane's place in all grids.
                unsafe {
                    let level = fused(simd, lane.load(self.x, at), tilt, shift);
                    let mut y = fused(simd, lane.load(self.d, at), slope, level);
                    if self.add {
                        y = simd.add_f32s(lane.load(self.y, at), y);
                    }
                    lane.store(self.y, at, y);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    /// Sums of at most 70 numbers below 8.
    fn close(got: &[f32], want: impl Fn(usize) -> f64) {
        for (at, got) in got.iter().enumerate() {
            let want = want(at);
            assert!((f64::from(*got) - want).abs() < 1e-4, "{at}: {got} {want}");
        }
    }

    #[test]
    fn sums_over_places_equal_host_loops_on_odd_sizes() {
        for (places, channels) in [(1, 1), (3, 5), (13, 16), (70, 33), (64, 64), (9, 40)] {
            let (x, d) = (numbers(places * channels, 1), numbers(places * channels, 2));
            let means = numbers(channels, 3);
            let sum = |channel: usize, term: &dyn Fn(f64, f64) -> f64| -> f64 {
                let of = |place: usize| {
                    let at = place * channels + channel;
                    term(
                        f64::from(x[at]) - f64::from(means[channel]),
                        f64::from(d[at]),
                    )
                };
                (0..places).map(of).sum()
            };
            for set in Instructions::every() {
                let mut sums = vec![f32::NAN; channels];
                let mut crossed = sums.clone();
                set.run(Sums {
                    x: &d,
                    sums: &mut sums,
                });
                close(&sums, |channel| sum(channel, &|_, d| d));
                set.run(Squares {
                    x: &x,
                    means: &means,
                    sums: &mut sums,
                });
                close(&sums, |channel| sum(channel, &|x, _| x * x));
                set.run(ChannelProducts {
                    x: &x,
                    d: &d,
                    means: &means,
                    plain: &mut sums,
                    crossed: &mut crossed,
                });
                close(&sums, |channel| sum(channel, &|_, d| d));
                close(&crossed, |channel| sum(channel, &|x, d| x * d));
            }
        }
    }

    #[test]
    fn maps_of_places_equal_host_loops_on_odd_sizes() {
        for (places, channels) in [(1, 1), (3, 5), (13, 16), (7, 33)] {
            let count = places * channels;
            let (x, d, before) = (numbers(count, 1), numbers(count, 2), numbers(count, 6));
            let (slopes, tilts) = (numbers(channels, 3), numbers(channels, 4));
            let shifts = numbers(channels, 5);
            let of = |values: &[f32], at: usize| f64::from(values[at]);
            for set in Instructions::every() {
                for flag in [false, true] {
                    let mut y = before.clone();
                    set.run(ChannelAffine {
                        x: &x,
                        slopes: &slopes,
                        shifts: &shifts,
                        y: &mut y,
                        relu: flag,
                    });
                    close(&y, |at| {
                        let channel = at % channels;
                        let y = of(&x, at) * of(&slopes, channel) + of(&shifts, channel);
                        if flag { y.max(0.0) } else { y }
                    });
                    y.copy_from_slice(&before);
                    set.run(ChannelCombine {
                        d: &d,
                        x: &x,
                        slopes: &slopes,
                        tilts: &tilts,
                        shifts: &shifts,
                        y: &mut y,
                        add: flag,
                    });
                    close(&y, |at| {
                        let channel = at % channels;
                        let y = of(&d, at) * of(&slopes, channel)
                            + of(&x, at) * of(&tilts, channel)
                            + of(&shifts, channel);
                        if flag { y + of(&before, at) } else { y }
                    });
                }
            }
        }
    }
}
