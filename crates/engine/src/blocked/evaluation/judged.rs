//! The examples that models are judged on.

use crate::blocked::pass::inputs::Inputs;
use crate::blocked::pass::memory_size::CHUNK;

/// Most examples of a chunk where the numbers that all of them share are computed once. Smaller chunks share more.
pub(crate) const SHARED_CHUNK: usize = 48;
/// Examples of one task: enough to make the cost of packing and scheduling negligible.
const TASK: usize = 24 * CHUNK;
/// Examples that models are judged on, as their first layer reads them.
#[derive(Debug)]
pub(crate) struct JudgedExamples {
    /// Their indices among all examples, in the order in which they are read.
    pub(super) indices: Vec<u32>,
    /// Examples per chunk, and what the first layer reads of each chunk.
    pub(super) chunk: usize,
    pub(super) inputs: Vec<Inputs>,
}

impl JudgedExamples {
    /// The chunks of each task, with the indices of their examples.
    pub(super) fn tasks(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = (&[u32], &Inputs)> + Clone> {
        let each = (TASK / self.chunk).max(1);
        let indices = self.indices.chunks(self.chunk * each);
        let tasks = indices.zip(self.inputs.chunks(each));
        tasks.map(|(indices, inputs)| indices.chunks(self.chunk).zip(inputs))
    }
}
