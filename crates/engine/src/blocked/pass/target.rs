//! Where a gradient goes.

/// Where a gradient goes.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) gradient: &'a mut [f32],
    /// Whether it is added to what is there.
    pub(crate) add: bool,
}
