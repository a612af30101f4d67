//! What goes in and out of a stage on the backward pass.

use super::entry::Entry;

/// What a stage read, and where the gradient by it goes.
#[derive(Debug)]
pub(crate) struct StageIo<'a> {
    pub(crate) entry: Entry<'a>,
    /// Laid out as what was read; `None` if that was the example.
    pub(crate) below: Option<&'a mut [f32]>,
    pub(crate) batch: usize,
    /// Floats that the stage gives of an example.
    pub(crate) width: usize,
    /// Whether no stage follows.
    pub(crate) last: bool,
    /// Whether the step left outputs of some layers out.
    pub(crate) drops_out: bool,
}
