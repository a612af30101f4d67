//! Where something was written.

/// Bytes `start..start + length` of one text of an experiment: where something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// 0 is the file, `i` the `i`-th override, counted from 1.
    pub(crate) text: usize,
    /// First byte.
    pub(crate) start: usize,
    /// Number of bytes.
    pub(crate) length: usize,
    /// First byte of the alias (`*name`) that stands for it in the same text, if one does.
    pub(crate) alias: Option<usize>,
}
