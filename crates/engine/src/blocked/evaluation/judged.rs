//! The examples that models are judged on.

use crate::blocked::pass::inputs::Inputs;
use crate::blocked::pass::memory_size::CHUNK;

/// As many where numbers that all of them share are taken once: the fewer, the more they share.
pub(crate) const ALIKE: usize = 48;
/// Examples of one task: enough that packing and scheduling do not show.
const TASK: usize = 24 * CHUNK;
/// Examples that models are judged on, as their first layer reads them.
#[derive(Debug)]
pub(crate) struct JudgedExamples {
    /// What they are of all examples, in the order in which they are read.
    pub(super) indices: Vec<u32>,
    /// How many are read at once, and each such run of them.
    pub(super) chunk: usize,
    pub(super) inputs: Vec<Inputs>,
}

impl JudgedExamples {
    /// The runs of each task, with what they are of all examples.
    pub(super) fn tasks(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = (&[u32], &Inputs)> + Clone> {
        let each = (TASK / self.chunk).max(1);
        let indices = self.indices.chunks(self.chunk * each);
        let tasks = indices.zip(self.inputs.chunks(each));
        tasks.map(|(indices, inputs)| indices.chunks(self.chunk).zip(inputs))
    }
}
