//! The small images of FEMNIST: NIST's of 128 × 128, made grey and 28 × 28 as Pillow does it.
//!
//! Pillow (7.0 and later) halves an image before it resamples it, as 128 is more than four times 28. Its weights are fixed-point
//! numbers of 32 bits; crates that resample by Lanczos' kernel keep 16 of them and differ in the last bit of a pixel.
//!
//! # Source
//! Pillow, `Image.thumbnail` (`Image.py`), `rgb2l` (`Convert.c`), `ImagingReduce2x2` (`Reduce.c`), `precompute_coeffs`,
//! `normalize_coeffs_8bpc` and `ImagingResampleHorizontal_8bpc` (`Resample.c`).

use std::f64::consts::PI;
use std::io::Cursor;

use png::{BitDepth, Decoder, Limits, Transformations};

use super::SHAPE;

/// Height and width of NIST's images.
const SIDE: usize = 128;
const HALF: usize = SIDE / 2;
const SMALL: usize = SHAPE.width;
/// Bytes that decoding one image may take.
const MOST_BYTES: usize = 1 << 20;
/// Bits of a weight after the point.
const PRECISION: u32 = 32 - 8 - 2;
/// Half the width of Lanczos' kernel.
const SUPPORT: f64 = 3.0;

/// Makes small images out of large ones.
pub(super) struct Thumbnails {
    /// The window of each small pixel along an axis.
    windows: Vec<Window>,
}

impl Thumbnails {
    pub(super) fn new() -> Self {
        Self {
            windows: (0..SMALL).map(Window::of).collect(),
        }
    }

    /// The 28 × 28 pixels of the PNG image `content`, row after row.
    ///
    /// # Errors
    /// What is wrong with the image.
    pub(super) fn of_png(&self, content: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.of_grey(&grey(content)?))
    }

    /// The small image of `pixels`, `[128, 128]`.
    fn of_grey(&self, pixels: &[u8]) -> Vec<u8> {
        let half = halved(pixels);
        let narrow: Vec<u8> = half
            .chunks_exact(HALF)
            .flat_map(|row| self.windows.iter().map(|window| window.mean(row, 1)))
            .collect();
        let small = self.windows.iter();
        small
            .flat_map(|window| (0..SMALL).map(|column| window.mean(&narrow[column..], SMALL)))
            .collect()
    }
}

/// The grey pixels of a PNG image of 128 × 128.
fn grey(content: &[u8]) -> Result<Vec<u8>, String> {
    let limits = Limits { bytes: MOST_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(content), limits);
    decoder.set_transformations(Transformations::EXPAND);
    let refused = |error: png::DecodingError| format!("no PNG image: {error}");
    let mut reader = decoder.read_info().map_err(refused)?;
    let (width, height) = reader.info().size();
    if (width as usize, height as usize) != (SIDE, SIDE) {
        return Err(format!(
            "an image of {width} x {height} pixels, {SIDE} x {SIDE} needed"
        ));
    }
    let (colour, depth) = reader.output_color_type();
    if depth != BitDepth::Eight {
        return Err("an image of 16 bits a pixel, 8 needed".into());
    }
    let channels = colour.samples();
    let mut pixels = vec![0; SIDE * SIDE * channels];
    reader.next_frame(&mut pixels).map_err(refused)?;
    // Transparency is ignored, as in Pillow.
    Ok(pixels
        .chunks_exact(channels)
        .map(|pixel| match pixel {
            [red, green, blue, ..] => luminance([*red, *green, *blue]),
            _ => pixel[0],
        })
        .collect())
}

/// ITU-R 601-2, rounded as Pillow does.
fn luminance(colours: [u8; 3]) -> u8 {
    let [red, green, blue] = colours.map(u32::from);
    ((red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16) as u8
}

/// Means of 2 × 2 pixels.
fn halved(pixels: &[u8]) -> Vec<u8> {
    let rows = pixels.chunks_exact(2 * SIDE);
    let mean = |upper: &[u8], lower: &[u8]| {
        let sum: u32 = upper
            .iter()
            .chain(lower)
            .map(|pixel| u32::from(*pixel))
            .sum();
        ((sum + 2) >> 2) as u8
    };
    rows.flat_map(|pair| {
        let (upper, lower) = pair.split_at(SIDE);
        let pairs = upper.chunks_exact(2).zip(lower.chunks_exact(2));
        pairs.map(|(upper, lower)| mean(upper, lower))
    })
    .collect()
}

/// The pixels whose weighted mean is a small pixel, along one axis.
struct Window {
    first: usize,
    /// Weights times `2^PRECISION`.
    weights: Vec<i32>,
}

impl Window {
    /// The window of the small pixel `index`.
    fn of(index: usize) -> Self {
        let scale = HALF as f64 / SMALL as f64;
        let center = (index as f64 + 0.5) * scale;
        let reach = SUPPORT * scale;
        let first = (center - reach + 0.5).max(0.0) as usize;
        let end = ((center + reach + 0.5) as usize).min(HALF);
        let weight = |place: usize| lanczos((place as f64 - center + 0.5) / scale);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let fixed = |weight: &f64| (weight / sum * f64::from(1 << PRECISION)).round() as i32;
        Self {
            first,
            weights: weights.iter().map(fixed).collect(),
        }
    }

    /// The mean of every `stride`-th of `pixels`.
    fn mean(&self, pixels: &[u8], stride: usize) -> u8 {
        let pixels = pixels.iter().step_by(stride).skip(self.first);
        let products = pixels.zip(&self.weights).map(|(p, w)| i32::from(*p) * w);
        let sum = products.sum::<i32>() + (1 << (PRECISION - 1));
        (sum >> PRECISION).clamp(0, 255) as u8
    }
}

fn lanczos(place: f64) -> f64 {
    match place.abs() < SUPPORT {
        true => sinc(place) * sinc(place / SUPPORT),
        false => 0.0,
    }
}

fn sinc(place: f64) -> f64 {
    match place == 0.0 {
        true => 1.0,
        false => (place * PI).sin() / (place * PI),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_ground_keeps_its_grey() {
        let thumbnails = Thumbnails::new();
        for value in [0, 1, 100, 254, 255] {
            let small = thumbnails.of_grey(&[value; SIDE * SIDE]);
            assert_eq!(small, [value; SMALL * SMALL]);
        }
    }

    fn png(side: u32, depth: BitDepth, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, side, side);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(content).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn what_is_no_image_of_nist_is_refused() {
        let refusal = |content: &[u8]| Thumbnails::new().of_png(content).unwrap_err();
        assert!(refusal(b"GIF89a").starts_with("no PNG image: "));
        let long = png(4000, BitDepth::One, &vec![0; 2_000_000]);
        let told = "an image of 4000 x 4000 pixels, 128 x 128 needed";
        assert_eq!(refusal(&long), told);
        let deep = png(128, BitDepth::Sixteen, &[0; 2 * SIDE * SIDE]);
        assert_eq!(refusal(&deep), "an image of 16 bits a pixel, 8 needed");
        let good = png(128, BitDepth::Eight, &[7; SIDE * SIDE]);
        assert_eq!(Thumbnails::new().of_png(&good).unwrap(), [7; 784]);
        // The last are sums, and the end of the file.
        for cut in 0..good.len() - 20 {
            assert!(refusal(&good[..cut]).starts_with("no PNG image: "), "{cut}");
        }
    }
}
