//! Images that are read one after another: training images are handed on in pieces, those after them are kept for
//! validation.

use std::mem;

use crate::examples::per_piece;
use crate::{DataError, Examples};

/// Makes examples of the pixels of images and their labels.
type Make<'a> = &'a dyn Fn(Vec<u8>, Vec<u16>) -> Result<Examples, DataError>;

/// Collects images and hands them on in pieces.
pub(crate) struct ImagePieces<'a> {
    /// How many are for training and have yet to come.
    train: usize,
    /// Images of a piece.
    step: usize,
    make: Make<'a>,
    see: &'a mut dyn FnMut(&Examples),
    pixels: Vec<u8>,
    labels: Vec<u16>,
    /// Where the owners of images are known.
    owners: Option<Vec<u32>>,
    failed: Option<DataError>,
}

impl<'a> ImagePieces<'a> {
    /// No images yet. The first `train` images go to `see`, in pieces of at most `most` bytes; an image has `width`
    /// bytes.
    pub(crate) fn new(
        train: usize,
        [most, width]: [usize; 2],
        make: Make<'a>,
        see: &'a mut dyn FnMut(&Examples),
    ) -> Self {
        Self {
            train,
            step: per_piece(most, width),
            make,
            see,
            pixels: Vec::new(),
            labels: Vec::new(),
            owners: None,
            failed: None,
        }
    }

    /// Expects an owner for every image.
    pub(crate) fn with_owners(mut self) -> Self {
        self.owners = Some(Vec::new());
        self
    }

    /// Takes the next image, which is `owner`'s.
    pub(crate) fn push_of(&mut self, owner: u32, label: u16, image: &[u8]) {
        self.owners.get_or_insert_default().push(owner);
        self.push(label, image);
    }

    /// Takes the next image.
    pub(crate) fn push(&mut self, label: u16, image: &[u8]) {
        if self.labels.is_empty() && self.train > 0 {
            self.pixels
                .reserve_exact(self.step.min(self.train) * image.len());
        }
        self.pixels.extend_from_slice(image);
        self.labels.push(label);
        if self.labels.len() == self.step.min(self.train) {
            self.train -= self.labels.len();
            match self.taken() {
                Ok(piece) => (self.see)(&piece),
                Err(error) => self.failed = self.failed.take().or(Some(error)),
            }
        }
    }

    /// The training examples without any image, for what they have in common, and the images after them, if any.
    ///
    /// # Errors
    /// Why no examples could be made of a piece.
    pub(crate) fn finish(mut self) -> Result<(Examples, Option<Examples>), DataError> {
        // The first failure counts, whatever comes of the images behind it.
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let left = self.taken()?;
        Ok((left.selected(&[]), (!left.is_empty()).then_some(left)))
    }

    fn taken(&mut self) -> Result<Examples, DataError> {
        let examples = (self.make)(mem::take(&mut self.pixels), mem::take(&mut self.labels))?;
        Ok(match &mut self.owners {
            Some(owners) => examples.with_owners(mem::take(owners)),
            None => examples,
        })
    }
}
