//! Dropout: which hidden units a local step leaves out.

use crate::stream::{Key, Purpose, stream, threefry};
use rand::Rng;

/// Values that the 24 bits which decide on a unit may take.
const VALUES: f32 = 16_777_216.0;

/// The dropout of one layer: which share of its outputs a training step drops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftOut {
    /// The number of the layer among those with dropout.
    pub(crate) layer: u32,
    /// An output is dropped if the upper 24 bits drawn for it are below this.
    pub(crate) threshold: u32,
    scale: f32,
}

impl LeftOut {
    /// Drops a `share` in `(0, 1)` of the outputs of a layer, which is number `layer` among those with dropout.
    pub fn new(layer: u32, share: f32) -> Self {
        Self {
            layer,
            threshold: (share * VALUES).round() as u32,
            scale: 1.0 / (1.0 - share),
        }
    }

    /// What an output that is kept is multiplied by, `1 / (1 − p)`.
    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }
}

/// The outputs that one local step of one row leaves out: inverted dropout, `y_j · m_j / (1 − p)` with `m_j = 0` with
/// probability `p` and 1 otherwise, after the activation of a layer that is [`LeftOut`], in training alone.
///
/// # Source
/// Srivastava et al., Dropout: a simple way to prevent neural networks from overfitting (2014), section 10.
///
/// # Interpretation
/// Scaled in training rather than in use, as PyTorch does. Every layer, example and unit has a bit of its own, drawn by
/// [`threefry`] at the example's place in the whole batch: it depends neither on the device nor on how a batch is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// The key of the bits.
    pub(crate) key: [u32; 2],
}

impl Dropout {
    /// What row `row` leaves out in its step `step`.
    pub(crate) fn new(seed: u64, row: u32, step: u64) -> Self {
        // The round's place, of 64 bits, holds the step: steps are counted over the whole run.
        let key = Key {
            round: step,
            row,
            ..Key::default()
        };
        let bits = stream(seed, Purpose::Dropout, key).next_u64();
        Self {
            key: [bits as u32, (bits >> 32) as u32],
        }
    }

    /// What output `element = example · outputs + output` of the layer `of` is multiplied by; the example is counted
    /// within the batch.
    #[inline(always)]
    pub fn factor(&self, of: LeftOut, element: u32) -> f32 {
        let bits = threefry(self.key, [element, of.layer])[0] >> 8;
        if bits < of.threshold { 0.0 } else { of.scale }
    }

    /// Multiplies `values`, the outputs of the layer `of` from `first` on.
    #[inline(always)]
    pub(crate) fn apply(&self, of: LeftOut, first: usize, values: &mut [f32]) {
        for (value, element) in values.iter_mut().zip(0u32..) {
            let factor = self.factor(of, (first as u32).wrapping_add(element));
            // What is not a number is left out like any other output.
            *value = if factor == 0.0 { 0.0 } else { *value * factor };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_left_out_is_the_one_asked_for() {
        let (layers, elements) = (4u32, 50_000u32);
        for share in [0.1f32, 0.3, 0.5, 0.9] {
            let dropout = Dropout::new(3, 5, 7);
            let dropped = (0..layers)
                .map(|layer| LeftOut::new(layer, share))
                .flat_map(|layer| (0..elements).map(move |element| (layer, element)))
                .filter(|(layer, element)| dropout.factor(*layer, *element) == 0.0)
                .count() as f64;
            let count = f64::from(layers * elements);
            let (p, found) = (f64::from(share), dropped / count);
            // Four deviations of a binomial share: one run in 16,000 would fail.
            assert!(
                (found - p).abs() < 4.0 * (p * (1.0 - p) / count).sqrt(),
                "{share}: {found}"
            );
        }
    }

    #[test]
    fn what_is_kept_is_scaled_so_that_the_mean_stays() {
        let dropout = Dropout::new(1, 0, 0);
        let mut values = vec![1.0f32; 1000];
        dropout.apply(LeftOut::new(0, 0.75), 0, &mut values);
        assert!(values.iter().all(|value| *value == 0.0 || *value == 4.0));
    }

    #[test]
    fn every_coordinate_has_bits_of_its_own() {
        let bits = |dropout: Dropout, layer| -> Vec<bool> {
            (0..256)
                .map(|element| dropout.factor(LeftOut::new(layer, 0.5), element) == 0.0)
                .collect()
        };
        let base = bits(Dropout::new(1, 1, 1), 1);
        let others = [
            bits(Dropout::new(2, 1, 1), 1),
            bits(Dropout::new(1, 2, 1), 1),
            bits(Dropout::new(1, 1, 2), 1),
            bits(Dropout::new(1, 1, 1), 2),
        ];
        assert!(others.iter().all(|other| *other != base));
        assert_eq!(bits(Dropout::new(1, 1, 1), 1), base);
    }

    #[test]
    fn a_batch_may_be_cut_anywhere() {
        let (dropout, layer) = (Dropout::new(9, 2, 11), LeftOut::new(3, 0.4));
        let mut whole = vec![1.0f32; 97];
        dropout.apply(layer, 0, &mut whole);
        let mut cut = vec![1.0f32; 97];
        let (low, high) = cut.split_at_mut(41);
        dropout.apply(layer, 0, low);
        dropout.apply(layer, 41, high);
        assert_eq!(cut, whole);
    }
}
