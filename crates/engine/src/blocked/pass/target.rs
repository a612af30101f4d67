//! Where a gradient goes.

/// Where a gradient goes.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) gradient: &'a mut [f32],
    /// Whether it is added to what is there.
    pub(crate) add: bool,
}

impl Target<'_> {
    /// Takes the gradient `d` as it is.
    pub(crate) fn take(self, d: &[f32]) {
        let Self { gradient, add } = self;
        if add {
            gradient.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
        } else {
            gradient.copy_from_slice(d);
        }
    }
}
