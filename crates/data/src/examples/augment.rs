//! Random crops and mirror images of the images that a model is trained on.

use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Input, Variant};

/// How training images are augmented: every time one is drawn for a batch, a crop of the padded image takes its place, perhaps
/// mirrored. Where an image lands is uniform over all `(2 · crop_padding + 1)²` crops.
///
/// Every method sees augmented images in its local steps and in the gradients of its batches, full batches included; those of
/// `evaluate.fine_tune` do as well. Models are judged, and `evaluate.theory` measures, on the images as they are.
///
/// # Source
/// He et al., Deep residual learning for image recognition (2016), section 4.2: 4 pixels of padding and mirror images for CIFAR-10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// Pixels that are added on each side of an image before a crop of its own size is drawn; up to 8. They are 0 as the dataset stores
    /// them, which is black before pixels are scaled.
    #[schemars(extend("unit" = "pixels"))]
    pub crop_padding: u32,
    /// Whether every other crop, by a fair coin, is mirrored left for right.
    pub horizontal_flip: bool,
}

/// A setting of [`Augment`] that cannot work, or does not fit the examples.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("augment: found {found}, needed {needed}")]
pub struct AugmentError {
    /// The setting; `None` if it is all of them.
    pub setting: Option<&'static str>,
    /// What there is.
    pub found: String,
    /// What there has to be.
    pub needed: &'static str,
}

impl Augment {
    /// Checks the values by themselves.
    ///
    /// # Errors
    /// [`AugmentError`] if the padding is more than [`Variant::MOST_SHIFT`], or if images stay as they are.
    pub fn check(&self) -> Result<(), AugmentError> {
        match self.crop_padding {
            padding if padding as usize > Variant::MOST_SHIFT => Err(AugmentError {
                setting: Some("crop_padding"),
                found: padding.to_string(),
                needed: "at most 8 pixels",
            }),
            0 if !self.horizontal_flip => Err(AugmentError {
                setting: None,
                found: "nothing that changes an image".to_owned(),
                needed: "a `crop_padding` of at least 1, `horizontal_flip: true` or both",
            }),
            _ => Ok(()),
        }
    }

    /// Checks that `examples` training examples with this `input` can be augmented.
    ///
    /// # Errors
    /// [`AugmentError`] if they are no images of two dimensions, if a crop could miss an image, or if there are more than
    /// [`Variant::MOST_EXAMPLES`].
    pub fn fits(&self, input: Input, examples: usize) -> Result<(), AugmentError> {
        let wrong = |setting, found, needed| {
            Err(AugmentError {
                setting,
                found,
                needed,
            })
        };
        let needed = "a dataset of images, more than one pixel high and wide";
        let shape = match input {
            Input::Tokens { window } => {
                return wrong(None, format!("windows of {window} tokens"), needed);
            }
            Input::Numbers(shape) => shape,
        };
        let (height, width) = (shape.height, shape.width);
        if height < 2 || width < 2 {
            let found = format!("examples of {height} × {width} numbers");
            return wrong(None, found, needed);
        }
        if self.crop_padding as usize >= height.min(width) {
            let found = format!("{} for images of {height} × {width}", self.crop_padding);
            let needed = "less than an image is high and wide";
            return wrong(Some("crop_padding"), found, needed);
        }
        if examples > Variant::MOST_EXAMPLES {
            let found = format!("{examples} training examples");
            let needed = "at most 7430739, whose variants 32 bits can number";
            return wrong(None, found, needed);
        }
        Ok(())
    }

    /// Draws a variant, uniformly over all shifts of up to `crop_padding` pixels each way, and mirrored or not.
    pub fn draw(&self, rng: &mut impl Rng) -> Variant {
        let padding = self.crop_padding as i8;
        let mut shift = || rng.random_range(-padding..=padding);
        let (down, right) = (shift(), shift());
        // The coin is tossed in any case, so that mirror images move no other draw.
        let mirrors: bool = rng.random();
        Variant {
            down,
            right,
            flipped: mirrors && self.horizontal_flip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const CIFAR: Augment = Augment {
        crop_padding: 4,
        horizontal_flip: true,
    };

    fn image(height: usize, width: usize) -> Input {
        Input::Numbers(Shape {
            channels: 3,
            height,
            width,
        })
    }

    #[test]
    fn values_that_change_nothing_or_are_too_large_are_refused() {
        let of = |crop_padding, horizontal_flip| Augment {
            crop_padding,
            horizontal_flip,
        };
        for fine in [CIFAR, of(8, false), of(0, true)] {
            assert_eq!(fine.check(), Ok(()));
        }
        let setting = |augment: Augment| augment.check().unwrap_err().setting;
        assert_eq!(setting(of(0, false)), None);
        assert_eq!(setting(of(9, true)), Some("crop_padding"));
    }

    #[test]
    fn images_whose_variants_have_numbers_are_augmented_and_nothing_else() {
        let most = Variant::MOST_EXAMPLES;
        assert_eq!(CIFAR.fits(image(32, 32), most), Ok(()));
        let found = |input, examples| CIFAR.fits(input, examples).unwrap_err();
        let many = found(image(32, 32), most + 1);
        assert!(many.needed.contains(&most.to_string()), "{many}");
        assert_eq!(found(image(4, 32), 9).setting, Some("crop_padding"));
        for other in [image(1, 784), image(9, 1), Input::Tokens { window: 80 }] {
            assert_eq!(found(other, 9).setting, None, "{other:?}");
        }
    }

    /// Pearson's statistic of so many draws over as many cells as there are variants to draw.
    fn statistic(augment: Augment, draws: u32) -> (f64, f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = vec![0u32; Variant::COUNT as usize];
        for _ in 0..draws {
            counts[augment.draw(&mut rng).number() as usize] += 1;
        }
        let side = 2 * augment.crop_padding + 1;
        let cells = side * side * (1 + u32::from(augment.horizontal_flip));
        let drawn = counts.iter().filter(|count| **count > 0).count();
        assert_eq!(
            drawn, cells as usize,
            "every variant is drawn, and no other"
        );
        let expected = f64::from(draws) / f64::from(cells);
        let squares = counts.iter().filter(|count| **count > 0);
        let squares = squares.map(|count| (f64::from(*count) - expected).powi(2) / expected);
        (squares.sum(), f64::from(cells - 1))
    }

    #[test]
    fn all_variants_are_equally_likely() {
        for (crop_padding, horizontal_flip) in [(4, true), (8, true), (1, false), (0, true)] {
            let augment = Augment {
                crop_padding,
                horizontal_flip,
            };
            let (found, freedom) = statistic(augment, 200_000);
            // Four deviations of a chi-square variable.
            assert!(
                (found - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(),
                "{augment:?}: {found} with {freedom} degrees of freedom"
            );
        }
    }

    #[test]
    fn mirror_images_move_no_shift() {
        let drawn = |horizontal_flip| {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let augment = Augment {
                horizontal_flip,
                ..CIFAR
            };
            let shifts = (0..50).map(|_| augment.draw(&mut rng));
            shifts.map(|it| (it.down, it.right)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(true), drawn(false));
    }
}
