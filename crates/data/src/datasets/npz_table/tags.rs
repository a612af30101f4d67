//! Labels and owners in arrays: whole numbers, or texts that are numbered in their order.

use crate::datasets::words::{Numbered, Words};
use crate::files::fault::Fault;
use crate::formats::npy::NpyArray;
use crate::formats::zip_member::ZipMember;

/// One array of labels or owners after the other, those of the training examples first.
#[derive(Debug)]
pub(super) struct Tags<T> {
    /// What an entry is, as `a label`.
    what: &'static str,
    /// The largest number.
    most: T,
    numbers: Vec<T>,
    /// The entries of arrays of texts, which are numbered once all are known.
    texts: Words,
}

impl<T: TryFrom<u64> + Into<f64> + Copy> Tags<T> {
    /// An empty list, which takes numbers up to `most` or as many different texts.
    pub(super) fn new(what: &'static str, most: T) -> Self {
        Self {
            what,
            most,
            numbers: Vec::new(),
            texts: Words::default(),
        }
    }

    /// Appends the `count` elements of `array`.
    ///
    /// # Errors
    /// A [`Fault`] at what is wrong, and if numbers follow texts or the other way round.
    pub(super) fn read(
        &mut self,
        mut array: NpyArray<ZipMember<'_>>,
        count: usize,
    ) -> Result<(), Fault> {
        let found = &array.header().shape;
        if !matches!(found[..], [found] | [found, 1] if found == count) {
            let hint = match found[..] {
                [rows, columns] if rows == count && columns > 1 => {
                    "; if each row has a 1 at its class, save `y.argmax(axis=1)`"
                }
                _ => "",
            };
            let reason = format!("shape {found:?} found, [{count}] needed{hint}");
            return Err(Fault::at(0_u64, reason));
        }
        match array.header().kind.is_text() {
            true if !self.numbers.is_empty() => return Err(self.mixed("texts", "numbers")),
            false if self.texts.len() > 0 => return Err(self.mixed("numbers", "texts")),
            true => self.read_texts(&mut array, count)?,
            false => self.read_numbers(&mut array, count)?,
        }
        array.into_content().finish()
    }

    fn mixed(&self, found: &str, needed: &str) -> Fault {
        let what = self.what;
        Fault::at(
            0_u64,
            format!("{found} found where {what} of a training example is one of {needed}"),
        )
    }

    fn read_texts(
        &mut self,
        array: &mut NpyArray<ZipMember<'_>>,
        count: usize,
    ) -> Result<(), Fault> {
        let (what, most) = (self.what, self.most.into());
        array.each_text(count, |text| {
            if text.is_empty() {
                return Err(format!("found an empty text, {what} is needed"));
            }
            self.texts.push(text)?;
            match self.texts.different() as f64 > most {
                true => Err(format!("more than {most} different texts")),
                false => Ok(()),
            }
        })
    }

    fn read_numbers(
        &mut self,
        array: &mut NpyArray<ZipMember<'_>>,
        count: usize,
    ) -> Result<(), Fault> {
        let most: f64 = self.most.into();
        let room = self.numbers.try_reserve_exact(count);
        room.map_err(|_| Fault::at(0_u64, format!("no memory for {count} numbers")))?;
        array.each(count, |value| {
            let fits = value.fract() == 0.0 && (0.0..=most).contains(&value);
            let number = fits.then(|| T::try_from(value as u64).ok()).flatten();
            let refusal = || format!("{value} found, a whole number from 0 to {most} needed");
            self.numbers.push(number.ok_or_else(refusal)?);
            Ok(())
        })
    }

    /// The number of every entry, and the names of the numbers if the entries are texts. Texts are numbered in sorted
    /// order, by value if all of them are numbers.
    pub(super) fn numbered(self) -> (Vec<T>, Option<Vec<String>>) {
        if self.texts.len() == 0 {
            return (self.numbers, None);
        }
        let number = |number: u32| T::try_from(u64::from(number)).ok();
        let Numbered { rows, names, .. } = self.texts.numbered();
        let numbers = rows
            .into_iter()
            .map(|text| number(text).expect("there are at most so many texts"));
        (numbers.collect(), names)
    }
}
