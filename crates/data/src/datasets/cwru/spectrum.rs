//! The features of a window of vibrations: how strong each frequency is at the drive end and at the fan end.

use realfft::RealFftPlanner;

/// Samples of a window.
pub(super) const WINDOW: usize = 300;
/// Frequencies of a window, from the constant to just below half the sampling rate.
pub(super) const BINS: usize = WINDOW / 2;

/// The first [`BINS`] magnitudes of the discrete Fourier transform of each window of `signal`, over [`BINS`]; samples
/// that do not fill a window are left out. `[windows, BINS]`.
pub(super) fn magnitudes(signal: &[f64]) -> Vec<f64> {
    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(WINDOW);
    let (mut input, mut output) = (transform.make_input_vec(), transform.make_output_vec());
    let mut scratch = transform.make_scratch_vec();
    let mut magnitudes = Vec::with_capacity(signal.len() / WINDOW * BINS);
    for window in signal.chunks_exact(WINDOW) {
        input.copy_from_slice(window);
        transform
            .process_with_scratch(&mut input, &mut output, &mut scratch)
            .expect("the buffers were made for this transform");
        magnitudes.extend(output[..BINS].iter().map(|bin| bin.norm() / BINS as f64));
    }
    magnitudes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_shows_at_its_frequency_with_its_amplitude() {
        let wave = |sample: usize| {
            let phase = std::f64::consts::TAU * 7.0 * sample as f64 / WINDOW as f64;
            0.5 + 3.0 * phase.sin()
        };
        let signal: Vec<f64> = (0..2 * WINDOW + 5).map(wave).collect();
        let found = magnitudes(&signal);
        assert_eq!(found.len(), 2 * BINS);
        for window in found.chunks_exact(BINS) {
            for (bin, magnitude) in window.iter().enumerate() {
                // The constant counts twice, as in the formula. Rounding of 300 terms of size 3.
                let needed =
                    [1.0, 3.0, 0.0][usize::from(bin > 0) + usize::from(bin > 0 && bin != 7)];
                assert!((magnitude - needed).abs() < 1e-12, "bin {bin}: {magnitude}");
            }
        }
    }
}
