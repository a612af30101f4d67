//! Variants of an image: shifted crops and mirror images, with the numbers that tell batches which one is meant.

use super::{Examples, Features, Input, Shape};

/// An image as training sees it once it is augmented: a crop of its own size out of the padded image, perhaps mirrored.
///
/// `Q[c, y, x] = I[c, y + down, x + right]`, where pixels outside of the image `I` are 0 as the dataset stores them: of
/// bytes that is black before they are scaled. If it is `flipped`, the variant is `V[c, y, x] = Q[c, y, W − 1 − x]`, else
/// `V = Q`: the crop comes first, as in torchvision's `RandomCrop` before `RandomHorizontalFlip`.
///
/// # Source
/// He et al., Deep residual learning for image recognition (2016), section 4.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Rows of pixels from the first of the image down to the first of the crop, −8 to 8.
    pub down: i8,
    /// Pixels from the first of a row to the first of the crop, −8 to 8.
    pub right: i8,
    /// Whether the crop is mirrored, left for right.
    pub flipped: bool,
}

impl Variant {
    /// The most pixels that a crop is shifted.
    pub const MOST_SHIFT: usize = 8;

    /// Shifts in one direction, −8 to 8.
    pub const SHIFTS: u32 = 2 * Self::MOST_SHIFT as u32 + 1;

    /// Variants of an image.
    pub const COUNT: u32 = 2 * Self::SHIFTS * Self::SHIFTS;

    /// The most images whose variants can all be numbered by 32 bits.
    pub const MOST_EXAMPLES: usize = (u32::MAX / Self::COUNT) as usize;

    /// Its number, below [`COUNT`](Self::COUNT): `flipped · 17² + (down mod 17) · 17 + (right mod 17)`. That of the image
    /// itself is 0.
    pub fn number(self) -> u32 {
        let shift = |pixels: i8| i32::from(pixels).rem_euclid(Self::SHIFTS as i32) as u32;
        let mirrored = u32::from(self.flipped) * Self::SHIFTS;
        (mirrored + shift(self.down)) * Self::SHIFTS + shift(self.right)
    }

    /// The variant with this number.
    ///
    /// # Panics
    /// If it is not below [`COUNT`](Self::COUNT).
    pub fn numbered(number: u32) -> Self {
        assert!(number < Self::COUNT, "there is a variant of this number");
        let shift = |number: u32| {
            let shift = (number % Self::SHIFTS) as i8;
            let beyond = usize::from(shift.unsigned_abs()) > Self::MOST_SHIFT;
            if beyond {
                shift - Self::SHIFTS as i8
            } else {
                shift
            }
        };
        Self {
            down: shift(number / Self::SHIFTS),
            right: shift(number),
            flipped: number >= Self::SHIFTS * Self::SHIFTS,
        }
    }

    /// What a batch holds for this variant of example `example` of `examples`: `example + examples · number`, which for the image itself
    /// is `example`.
    ///
    /// # Panics
    /// If there are more than [`MOST_EXAMPLES`](Self::MOST_EXAMPLES).
    pub fn index_of(self, example: u32, examples: usize) -> u32 {
        assert!(
            examples <= Self::MOST_EXAMPLES,
            "variants are numbered by 32 bits"
        );
        example + examples as u32 * self.number()
    }

    /// Writes the variant of the image `from` `[channels, height, width]` to `to`, its numbers being `read(channel, pixel)`.
    #[inline(always)]
    fn read<T: Copy + Default>(
        self,
        shape: Shape,
        from: &[T],
        to: &mut [f32],
        read: impl Fn(usize, T) -> f32,
    ) {
        let Shape { height, width, .. } = shape;
        let (down, right) = (isize::from(self.down), isize::from(self.right));
        // The pixels of a row of the crop that lie in the image.
        let first = right.min(0).unsigned_abs().min(width);
        let last = width - right.max(0).unsigned_abs().min(width);
        let channels = from.chunks_exact(height * width);
        for (channel, (from, to)) in channels
            .zip(to.chunks_exact_mut(height * width))
            .enumerate()
        {
            let outside = read(channel, T::default());
            for (y, to) in to.chunks_exact_mut(width).enumerate() {
                let line = y.checked_add_signed(down).filter(|line| *line < height);
                match line {
                    Some(line) if first < last => {
                        let from = &from[line * width..][..width];
                        let from = &from[first.strict_add_signed(right)..][..last - first];
                        to[..first].fill(outside);
                        for (to, pixel) in to[first..last].iter_mut().zip(from) {
                            *to = read(channel, *pixel);
                        }
                        to[last..].fill(outside);
                        if self.flipped {
                            to.reverse();
                        }
                    }
                    _ => to.fill(outside),
                }
            }
        }
    }
}

impl Examples {
    /// The example that `index` of a batch means, whatever its variant.
    #[inline(always)]
    pub fn example_of(&self, index: usize) -> usize {
        // Most batches have no variants, and a division takes longer than the comparison.
        match index < self.len() {
            true => index,
            false => index % self.len(),
        }
    }

    /// [`Examples::read`] of an index beyond the examples.
    #[inline(always)]
    pub(super) fn read_variant(&self, index: usize, to: &mut [f32]) {
        let Input::Numbers(shape) = self.input else {
            panic!("texts have no variants");
        };
        let number = (index / self.len()) as u32;
        let (variant, example) = (Variant::numbered(number), index % self.len());
        let place = example * shape.features()..(example + 1) * shape.features();
        match &self.features {
            Features::Bytes { values, scales } => {
                let scale = |channel: usize| if scales.len() == 1 { 0 } else { channel };
                variant.read(shape, &values[place], to, |channel, byte: u8| {
                    scales[scale(channel)].apply(byte)
                });
            }
            Features::Numbers(values) => {
                variant.read(shape, &values[place], to, |_, value: f32| value);
            }
            Features::Tokens(_) => panic!("texts have no variants"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scale;

    fn all() -> impl Iterator<Item = Variant> {
        let shifts = || -8..=8;
        let pairs = shifts().flat_map(move |down| shifts().map(move |right| (down, right)));
        pairs.flat_map(|(down, right)| {
            [false, true].map(|flipped| Variant {
                down,
                right,
                flipped,
            })
        })
    }

    #[test]
    fn variants_have_numbers_of_their_own_and_the_image_itself_has_0() {
        let mut numbers: Vec<u32> = all().map(Variant::number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..Variant::COUNT));
        assert!(all().all(|variant| Variant::numbered(variant.number()) == variant));
        assert_eq!(Variant::default().index_of(7, 11), 7);
        assert!(Variant::MOST_EXAMPLES as u64 * u64::from(Variant::COUNT) <= 1 << 32);
    }

    /// The variant by its definition, pixel by pixel, of `pixel(channel, y, x)`.
    fn by_definition(
        variant: Variant,
        shape: Shape,
        pixel: impl Fn(usize, Option<(usize, usize)>) -> f32,
    ) -> Vec<f32> {
        let Shape {
            channels,
            height,
            width,
        } = shape;
        let mut all = Vec::new();
        for channel in 0..channels {
            for y in 0..height {
                for x in 0..width {
                    let x = if variant.flipped { width - 1 - x } else { x };
                    let line = y as isize + isize::from(variant.down);
                    let place = x as isize + isize::from(variant.right);
                    let is_in = (0..height as isize).contains(&line)
                        && (0..width as isize).contains(&place);
                    let at = is_in.then_some((line as usize, place as usize));
                    all.push(pixel(channel, at));
                }
            }
        }
        all
    }

    #[test]
    fn a_variant_is_the_crop_of_the_padded_image_and_its_mirror_image() {
        let shape = |channels, height, width| Shape {
            channels,
            height,
            width,
        };
        for shape in [shape(3, 5, 6), shape(1, 12, 11), shape(2, 1, 3)] {
            let count = 3 * shape.features();
            let bytes: Vec<u8> = (0..count).map(|at| (at * 37 % 251 + 1) as u8).collect();
            let floats: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) - 0.5).collect();
            let labels = vec![0, 1, 0];
            let scale = |channel| Scale::standardising(0.3 - 0.1 * channel as f32, 0.2);
            let own: Vec<Scale> = (0..shape.channels).map(scale).collect();
            let new = |scales: &[Scale]| {
                let (bytes, labels) = (bytes.clone(), labels.clone());
                Examples::scaled_by_channel(bytes, labels, shape, 2, scales.to_vec()).unwrap()
            };
            let (together, each) = (new(&own[..1]), new(&own));
            let numbers = Examples::numbers(floats.clone(), labels.clone(), shape, 2).unwrap();
            for (variant, example) in all().flat_map(|variant| [(variant, 0), (variant, 2)]) {
                let index = variant.index_of(example, 3) as usize;
                let at = |channel: usize, (y, x): (usize, usize)| {
                    let plane = example as usize * shape.channels + channel;
                    (plane * shape.height + y) * shape.width + x
                };
                let byte =
                    |channel, place: Option<_>| place.map_or(0, |place| bytes[at(channel, place)]);
                let expected =
                    by_definition(variant, shape, |c, place| own[0].apply(byte(c, place)));
                assert_eq!(together.row(index), expected, "{variant:?} of {shape:?}");
                let expected =
                    by_definition(variant, shape, |c, place| own[c].apply(byte(c, place)));
                assert_eq!(each.row(index), expected, "{variant:?} of {shape:?}");
                let float = |c, place: Option<_>| place.map_or(0.0, |place| floats[at(c, place)]);
                let expected = by_definition(variant, shape, float);
                assert_eq!(numbers.row(index), expected, "{variant:?} of {shape:?}");
                assert_eq!(numbers.example_of(index), example as usize);
            }
        }
    }
}
